// Operations that LLVM takes apart into lanes where it sees halves, or conversions that saturate: not in our code.
#include <gmock/gmock.h>

#include <functional>
#include <string>

#include "kernels/schedule/schedule.h"
#include "kernels/te/tensor.h"
#include "tests/targets/cpu/codegen/assembly.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::BinaryOp;
using kernels::te::Expr;
using kernels::te::PrimitiveType;
using testing::HasSubstr;
using testing::Not;

// Assembler of c = f(a) in vectors.
std::string AssemblyOfVectors(PrimitiveType type, const std::function<Expr(Expr)>& f, const std::string& cpu) {
  const auto a = kernels::te::Placeholder("a", {512}, type);
  const auto c = kernels::te::Compute("c", {512}, [&](kernels::te::Indices i) { return f(a(i[0])); });
  kernels::schedule::Schedule s(kernels::te::MakeGraph({a}, {c}));
  EXPECT_TRUE(s.Vectorize("c", s.Split("c", "i0", cpu == "haswell" ? 8 : 16)->second).ok());
  return AssemblyOf(s, cpu);
}

TEST(VectorTypes, HalvesAreComparedAndRoundedInVectors) {
  const auto zero = kernels::te::FloatConst({PrimitiveType::kF16, 1}, 0);
  for (const char* cpu : {"znver4", "haswell"}) {
    SCOPED_TRACE(cpu);
    const auto assembly = [&](const std::function<Expr(Expr)>& f) {
      return AssemblyOfVectors(PrimitiveType::kF16, f, cpu);
    };
    EXPECT_THAT(assembly([&](Expr x) { return Binary(BinaryOp::kMax, x, zero); }), Not(HasSubstr("vucomiss")));
    EXPECT_THAT(assembly([&](Expr x) { return Unary(kernels::te::UnaryOp::kFloor, x); }), Not(HasSubstr("vroundss")));
    EXPECT_THAT(assembly([&](Expr x) { return Unary(kernels::te::UnaryOp::kExp, x); }), Not(HasSubstr("vucomiss")));
  }
  // A machine that computes with halves compares them as they are.
  EXPECT_THAT(AssemblyOfVectors(
                  PrimitiveType::kF16, [&](Expr x) { return Binary(BinaryOp::kMax, x, zero); }, "sapphirerapids"),
              HasSubstr("vmaxph"));
}

TEST(VectorTypes, FloatsBecomeIntegersInVectors) {
  for (const char* cpu : {"znver4", "haswell"}) {
    for (const PrimitiveType from : {PrimitiveType::kF32, PrimitiveType::kF16}) {
      for (const PrimitiveType to :
           {PrimitiveType::kS32, PrimitiveType::kU32, PrimitiveType::kS8, PrimitiveType::kU8}) {
        const std::string assembly = AssemblyOfVectors(
            from,
            [&](Expr x) {
              return Cast({to, 1}, x);
            },
            cpu);
        EXPECT_THAT(assembly, HasSubstr("vcvttps2")) << cpu << " " << hlo::PrimitiveTypeName(to);
        EXPECT_THAT(assembly, Not(HasSubstr("vcvttss2"))) << cpu << " " << hlo::PrimitiveTypeName(to);
      }
    }
  }
}

}  // namespace
}  // namespace smelt::cpu::codegen
