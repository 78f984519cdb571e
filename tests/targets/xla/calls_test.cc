// What may become a function of its own, and that it computes the same under XLA.
#include "targets/xla/calls.h"

#include <cstdlib>
#include <fstream>

#include "fusion/config.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "measure/runner.h"
#include "measure/verify.h"
#include "targets/xla/choices.h"
#include "targets/xla/loop_fusions.h"
#include "targets/xla/program.h"
#include "targets/xla/python.h"
#include "tests/scratch_folder.h"

namespace smelt::xla {
namespace {

// A loop over a small state, a depthwise convolution and an ordinary one.
constexpr char kModule[] = R"(HloModule called

body {
  s = (s32[], f32[64,30]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  v = f32[64,30] get-tuple-element(s), index=1
  c = f32[64,30] cosine(v)
  ROOT t = (s32[], f32[64,30]) tuple(j, c)
}

condition {
  s = (s32[], f32[64,30]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(20)
  ROOT p = pred[] compare(i, n), direction=LT
}

ENTRY main {
  x = f32[2,16,16,3] parameter(0)
  v = f32[64,30] parameter(1)
  k = f32[3,3,1,3] parameter(2)
  w = f32[3,3,3,8] parameter(3)
  zero = s32[] constant(0)
  s = (s32[], f32[64,30]) tuple(zero, v)
  loop = (s32[], f32[64,30]) while(s), condition=condition, body=body
  r = f32[64,30] get-tuple-element(loop), index=1
  d = f32[2,16,16,3] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=3
  c = f32[2,16,16,8] convolution(d, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT t = (f32[64,30], f32[2,16,16,8]) tuple(r, c)
}
)";

TEST(FindCallable, LoopsAndConvolutionsOfFewChannelsAGroup) {
  const auto module = hlo::ParseModule(kModule).value();
  const Callable callable = FindCallable(*module);
  ASSERT_EQ(callable.loops.size(), 1);
  EXPECT_EQ(callable.loops.begin()->second, "loop");
  ASSERT_EQ(callable.convolutions.size(), 1);
  EXPECT_EQ(callable.convolutions.begin()->second, "d");
}

TEST(FindCallable, NotWhatSuchAFunctionCannotHoldOrTakesLong) {
  const std::string text = kModule;
  const auto with = [&](const std::string& line, const std::string& other) {
    std::string changed = text;
    changed.replace(changed.find(line), line.size(), other);
    return FindCallable(*hlo::ParseModule(changed).value());
  };
  const std::string cosine = "c = f32[64,30] cosine(v)";
  EXPECT_TRUE(with(cosine, "c = f32[64,30] custom-call(v), custom_call_target=\"other\"").loops.empty());
  EXPECT_TRUE(with(cosine,
                   "z = f32[] constant(0)  y = f32[64,64] broadcast(z), dimensions={}  u = f32[64,30] broadcast(z), "
                   "dimensions={}  c = f32[64,30] dot(y, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}")
                  .loops.size() == 1);
  EXPECT_TRUE(with(cosine,
                   "z = f32[] constant(0)  y = f32[64,4194304] broadcast(z), dimensions={}  u = f32[4194304,30] "
                   "broadcast(z), dimensions={}  c = f32[64,30] dot(y, u), lhs_contracting_dims={1}, "
                   "rhs_contracting_dims={0}")
                  .loops.empty());
}

TEST(FindCallable, ConvolutionsThatTheLibraryDoesNotTake) {
  const auto found = [](const std::string& type, const std::string& kernel, const std::string& labels) {
    const auto module =
        hlo::ParseModule("HloModule m ENTRY e { x = " + type + "[4,4,4,4] parameter(0)  k = " + type + kernel +
                         " parameter(1)  ROOT c = " + type +
                         "[4,4,4,4] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=" + labels + " }");
    return FindCallable(*module.value()).convolutions.size();
  };
  EXPECT_EQ(found("f32", "[3,3,4,4]", "b01f_01io->b01f"), 0);
  EXPECT_EQ(found("f64", "[3,3,4,4]", "b01f_01io->b01f"), 1);
  EXPECT_EQ(found("f32", "[4,4,3,3]", "bf01_oi01->bf01"), 1);
}

TEST(MakeCall, TheInstructionStandsInAComputationOfItsOwn) {
  const auto module = hlo::ParseModule(kModule).value();
  CallConvolutions(FindCallable(*module), module.get());
  const std::string text = hlo::ToText(*module, {});
  EXPECT_NE(text.find("call("), std::string::npos) << text;
  EXPECT_NE(text.find("frontend_attributes={xla_cpu_small_call=\"true\"}"), std::string::npos) << text;
  EXPECT_EQ(hlo::ToText(*hlo::ParseModule(text).value(), {}), text);
}

TEST(Choices, OfKernelsAndOfWholePrograms) {
  const auto module = hlo::ParseModule(kModule).value();
  XlaProgram program;
  program.library_kernels["0123456789abcdef0123456789abcdef"] = "c";
  const Choices one(program, *module, 1), two(program, *module, 2);
  EXPECT_EQ(one.kernels().size(), 2);  // the depthwise convolution, and what the library can run
  EXPECT_EQ(one.all().size(), 3);
  EXPECT_EQ(two.all().size(), 4);
  EXPECT_EQ(one.WholeProgram().size(), 1);
  ASSERT_EQ(two.WholeProgram().size(), 3);  // both, loops called, nothing cut
  EXPECT_EQ(two.WholeProgram()[0].size(), 2);
  for (const Tiles& way : two.WholeProgram()) EXPECT_FALSE(two.IsPlain(way));
  EXPECT_TRUE(one.IsPlain(one.Library()));
  EXPECT_TRUE(one.IsPlain({{one.kernels().rbegin()->first, kCallTile}}));  // a convolution is no loop
  EXPECT_TRUE(SameCalls(one.Library(), {}));
  EXPECT_FALSE(SameCalls(two.WholeProgram()[2], {}));
  EXPECT_EQ(one.Name("0123456789abcdef0123456789abcdef"), "c");
  EXPECT_EQ(two.Name(UncutKey()), "all fusions");
}

TEST(XlaCalls, ComputeTheSame) {
  const char* python = std::getenv("SMELT_JAX_PYTHON");
  const absl::StatusOr<measure::WorkerOptions> worker = FindXlaWorker({.python = python == nullptr ? "" : python});
  if (!worker.ok()) GTEST_SKIP() << worker.status().message();
  const ScratchFolder folder;
  std::ofstream(folder.In("called.hlo")) << kModule;
  measure::KeptWorker kept(*worker);
  const XlaProgram program = LoadXlaProgram(folder.In("called.hlo"), kept, 120).value();
  const fusion::Space space = XlaSpace(program.program).value();
  const fusion::Config config = targets::NamedFusion(space, program.program.flat, "priority", nullptr).value();
  const Callable callable = FindCallable(program.program.module());
  EXPECT_EQ(callable.loops.size(), 1);
  EXPECT_EQ(callable.convolutions.size(), 1);
  std::map<std::string, std::string> tiles;
  for (const auto* keys : {&callable.loops, &callable.convolutions}) {
    for (const auto& [key, name] : *keys) tiles[key] = kCallTile;
  }
  const std::string text = hlo::ToText(*LoopFusionProgram(space, config, tiles, 1), {});
  size_t calls = 0;
  for (size_t at = text.find("xla_cpu_small_call"); at != std::string::npos;
       at = text.find("xla_cpu_small_call", at + 1))
    ++calls;
  EXPECT_EQ(calls, 2) << text;
  auto verifier = measure::Verifier::Create(*program.program.original, 0, nullptr);
  ASSERT_TRUE(verifier.ok()) << verifier.status();
  measure::Runner runner(*worker, {});
  runner.UseInputs((*verifier)->inputs());
  const auto outputs = runner.Outputs(XlaTrial(program, space, config, tiles, "", 1), folder.In("out.safetensors"));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*verifier)->Compare(*outputs), "");
}

}  // namespace
}  // namespace smelt::xla
