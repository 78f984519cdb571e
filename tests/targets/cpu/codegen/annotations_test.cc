// What attributes of the loop IR become in machine code: stores that pass the caches by, loops that LLVM unrolls.
#include <gmock/gmock.h>

#include "bench/compiled_agreement.h"
#include "kernels/te/tensor.h"
#include "tests/targets/cpu/codegen/assembly.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::schedule::Schedule;
using kernels::te::PrimitiveType;
using testing::HasSubstr;
using testing::Not;

// c = a + 1 in vectors of 16.
Schedule Sums(bool nontemporal) {
  const auto a = kernels::te::Placeholder("a", {64, 32}, PrimitiveType::kF32);
  const auto c = kernels::te::Compute("c", {64, 32}, [&](kernels::te::Indices i) {
    return kernels::te::Binary(kernels::te::BinaryOp::kAdd, a(i[0], i[1]),
                               kernels::te::FloatConst({PrimitiveType::kF32, 1}, 1));
  });
  Schedule s(kernels::te::MakeGraph({a}, {c}));
  EXPECT_TRUE(s.Vectorize("c", s.Split("c", "i1", 16)->second).ok());
  if (nontemporal) {
    EXPECT_TRUE(s.Pragma("c", "i0", "nontemporal", 1).ok());
  }
  return s;
}

TEST(Annotations, NontemporalStoresAreOrderedBeforeThePhaseEnds) {
  for (const char* cpu : {"znver4", "haswell"}) {
    const std::string assembly = AssemblyOf(Sums(true), cpu);
    EXPECT_THAT(assembly, HasSubstr("vmovntps"));
    EXPECT_THAT(assembly, HasSubstr("sfence"));
    EXPECT_THAT(AssemblyOf(Sums(false), cpu), Not(HasSubstr("sfence")));
  }
  EXPECT_THAT(AssemblyOf(Sums(true), "neoverse-n1"), HasSubstr("stnp"));
  const Schedule s = Sums(true);
  EXPECT_EQ(bench::CompiledDifference(s, kernels::lower::Lower(s, {}).value(), DetectTarget(false),
                                      bench::RandomInputs(s.graph())),
            "");
}

TEST(Annotations, LoopsLeftToTheCompilerAreUnrolledThere) {
  for (const int64_t in_loops : {0, 1}) {
    Schedule s = Sums(false);
    ASSERT_TRUE(s.Pragma("c", "i0", "auto_unroll_max_step", 2).ok());
    ASSERT_TRUE(s.Pragma("c", "i0", "unroll_explicit", in_loops).ok());
    const auto function = kernels::lower::Lower(s, {}).value();
    EXPECT_EQ(kernels::ir::ToString(function).find("i1.outer") != std::string::npos, in_loops == 0);
    // One loop is left either way.
    const std::string assembly = AssemblyOf(s, "znver4");
    size_t branches = 0;
    for (size_t at = 0; (at = assembly.find("\tj", at)) != std::string::npos; ++at)
      branches += assembly.compare(at, 5, "\tjmp\t") != 0;
    EXPECT_EQ(branches, 1u) << assembly;
    EXPECT_EQ(bench::CompiledDifference(s, function, DetectTarget(false), bench::RandomInputs(s.graph())), "");
  }
}

}  // namespace
}  // namespace smelt::cpu::codegen
