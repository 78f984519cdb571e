// Which kernels of XLA's program become calls, and what is written for them (targets/xla/embed/).
#include "targets/xla/embed/embed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "targets/cpu/processor/detect.h"
#include "targets/xla/embed/link_table.h"
#include "tests/scratch_folder.h"

namespace smelt::embed {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class Embed : public testing::Test {
 protected:
  void Run(std::string_view text, Which which = Which::kAll) {
    auto module = hlo::ParseModule(text, {.file_name = "test.hlo"});
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    EmbedOptions options{.target = *cpu::ParseTarget("cpu:threads=2"), .which = which};
    auto embedded = EmbedKernels(options, module_.get());
    ASSERT_TRUE(embedded.ok()) << embedded.status();
    embedded_ = *std::move(embedded);
    EXPECT_TRUE(hlo::VerifyModule(*module_).ok()) << hlo::VerifyModule(*module_);
  }
  std::string WhyLeft(std::string_view name) const {
    for (const LeftKernel& left : embedded_.left) {
      if (left.name == name) return left.reason;
    }
    return "not left";
  }

  std::unique_ptr<hlo::Module> module_;
  Embedded embedded_;
};

TEST_F(Embed, ContractionsAndFusionsBecomeCallsAndEqualOnesShareTheirCode) {
  Run(R"(HloModule m
one { a = f32[64,64]{1,0} parameter(0) ROOT t = f32[64,64]{1,0} tanh(a) }
two { a = f32[64,64]{1,0} parameter(0) ROOT t = f32[64,64]{1,0} tanh(a) }
ENTRY main {
  x = f32[64,64]{1,0} parameter(0)
  d = f32[64,64]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = f32[64,64]{1,0} fusion(d), kind=kLoop, calls=one
  ROOT g = f32[64,64]{1,0} fusion(f), kind=kLoop, calls=two
})");
  EXPECT_THAT(embedded_.calls, UnorderedElementsAre("d", "f", "g"));
  EXPECT_EQ(embedded_.kernels.size(), 2u);
  const std::string text = hlo::ToText(*module_, {});
  EXPECT_THAT(text, HasSubstr("custom_call_target=\"smelt_kernel\""));
  EXPECT_THAT(text, HasSubstr("api_version=API_VERSION_TYPED_FFI"));
  EXPECT_THAT(text, HasSubstr("{kernel = \"" + embedded_.kernels[0].id + "\"}"));
}

TEST_F(Embed, OnlyContractionsWhereThatIsAskedFor) {
  Run(R"(HloModule m
one { a = f32[64,64]{1,0} parameter(0) ROOT t = f32[64,64]{1,0} tanh(a) }
ENTRY main {
  x = f32[64,64]{1,0} parameter(0)
  d = f32[64,64]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT f = f32[64,64]{1,0} fusion(d), kind=kLoop, calls=one
})",
      Which::kContractions);
  EXPECT_THAT(embedded_.calls, UnorderedElementsAre("d"));
  EXPECT_EQ(WhyLeft("f"), "no contraction");
}

TEST_F(Embed, ArraysInOtherLayoutsStayWithXla) {
  Run(R"(HloModule m
ENTRY main {
  x = f32[64,64]{0,1} parameter(0)
  y = f32[64,64]{1,0} parameter(1)
  d = f32[64,64]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,64]{0,1} dot(y, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[64,64]{1,0}, f32[64,64]{0,1}) tuple(d, e)
})");
  EXPECT_THAT(WhyLeft("d"), HasSubstr("`x` has a layout"));
  EXPECT_THAT(WhyLeft("e"), HasSubstr("its result has a layout"));
}

TEST_F(Embed, AKernelThatMayRunInPlaceStaysWithXla) {
  Run(R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
step { a = f32[64,64]{1,0} parameter(0) b = f32[64,64]{1,0} parameter(1) ROOT s = f32[64,64]{1,0} subtract(a, b) }
ENTRY main {
  p = f32[64,64]{1,0} parameter(0)
  g = f32[64,64]{1,0} parameter(1)
  d = f32[64,64]{1,0} dot(p, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  next = f32[64,64]{1,0} fusion(p, d), kind=kLoop, calls=step
  ROOT t = (f32[64,64]{1,0}) tuple(next)
})");
  EXPECT_THAT(embedded_.calls, UnorderedElementsAre("d"));  // it reads p before that is written, into memory of its own
  EXPECT_EQ(WhyLeft("next"), "it may write over what it reads");
}

TEST_F(Embed, ALoopsStateIsNotWrittenByACallThatReadsIt) {
  Run(R"(HloModule m
half { a = f32[64,64]{1,0} parameter(0) c = f32[] constant(0.5) b = f32[64,64]{1,0} broadcast(c), dimensions={} ROOT s = f32[64,64]{1,0} multiply(a, b) }
body {
  s = (s32[], f32[64,64]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64,64]{1,0} get-tuple-element(s), index=1
  one = s32[] constant(1)
  n = s32[] add(i, one)
  y = f32[64,64]{1,0} fusion(x), kind=kLoop, calls=half
  ROOT t = (s32[], f32[64,64]{1,0}) tuple(n, y)
}
condition { s = (s32[], f32[64,64]{1,0}) parameter(0) i = s32[] get-tuple-element(s), index=0 k = s32[] constant(3) ROOT c = pred[] compare(i, k), direction=LT }
ENTRY main {
  x = f32[64,64]{1,0} parameter(0)
  c = f32[64,64]{1,0} copy(x)
  z = s32[] constant(0)
  t = (s32[], f32[64,64]{1,0}) tuple(z, c)
  w = (s32[], f32[64,64]{1,0}) while(t), condition=condition, body=body
  ROOT r = f32[64,64]{1,0} get-tuple-element(w), index=1
})");
  EXPECT_EQ(WhyLeft("y"), "it may write over what it reads");
}

TEST_F(Embed, CallsKeepTheOrderThatControlDependenciesDemand) {
  Run(R"(HloModule m
ENTRY main {
  x = f32[64,64]{1,0} parameter(0)
  first = f32[64,64]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  second = f32[64,64]{1,0} dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}, control-predecessors={first}
  ROOT t = (f32[64,64]{1,0}, f32[64,64]{1,0}) tuple(first, second)
})");
  EXPECT_THAT(embedded_.calls, UnorderedElementsAre("first", "second"));
  const hlo::Instruction& second = *module_->entry()->root()->operand(1);
  ASSERT_EQ(second.control_predecessors().size(), 1u);
  EXPECT_EQ(second.control_predecessors()[0], module_->entry()->root()->operand(0));
}

TEST_F(Embed, TheTableNamesEveryPhase) {
  Run(R"(HloModule m
ENTRY main {
  x = f32[64,64]{1,0} parameter(0)
  ROOT d = f32[64,64]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  ASSERT_EQ(embedded_.kernels.size(), 1u);
  const std::string table = LinkTable(embedded_.kernels);
  for (const runtime::PhaseDescriptor& phase : embedded_.kernels[0].object.descriptor.phases)
    EXPECT_THAT(table, HasSubstr("extern PhaseFunction " + phase.symbol + ";"));
  EXPECT_THAT(table, HasSubstr("smelt_kernel_count = 1;"));
  EXPECT_THAT(LinkTable({}), HasSubstr("smelt_kernel_count = 0;"));
  // Whoever loads it asks Linux for the registers of AMX first.
  EXPECT_THAT(table, HasSubstr("smelt_uses_tiles = 0;"));
  embedded_.kernels[0].object.descriptor.uses_tiles = true;
  EXPECT_THAT(LinkTable(embedded_.kernels), HasSubstr("smelt_uses_tiles = 1;"));
  // What reads the library has the same structures, and a C compiler takes them.
  std::ifstream header(SMELT_SOURCE_DIR "/python/smelt/jax/kernel_table.h");
  const std::string structures((std::istreambuf_iterator<char>(header)), {});
  ASSERT_FALSE(structures.empty());
  EXPECT_THAT(table, StartsWith(structures));
  const ScratchFolder folder;
  const std::string file = folder.In("table.c");
  std::ofstream(file) << table;
  EXPECT_EQ(std::system(("cc -std=c99 -Werror -fsyntax-only " + file).c_str()), 0);
}

}  // namespace
}  // namespace smelt::embed
