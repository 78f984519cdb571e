// The Python child of --target=xla: found or refused in a line, broken and replaced, and right.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/file/read.h"
#include "hlo/golden/inputs.h"
#include "hlo/golden/safetensors.h"
#include "hlo/text/parser.h"
#include "measure/runner.h"
#include "measure/verify.h"
#include "nlohmann/json.hpp"
#include "targets/xla/loop_fusions.h"
#include "targets/xla/program.h"
#include "targets/xla/python.h"
#include "targets/xla/stablehlo.h"
#include "tests/scratch_folder.h"

namespace smelt::xla {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kModule[] = R"(HloModule small

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[64,256] parameter(0)
  y = f32[64,256] parameter(1)
  e = f32[64,256] exponential(x)
  m = f32[64,256] multiply(e, y)
  n = f32[64,256] negate(m)
  zero = f32[] constant(0)
  r = f32[64] reduce(n, zero), dimensions={1}, to_apply=sum
  ROOT t = (f32[64,256], f32[64]) tuple(m, r)
}
)";

// The Python that tests of XLA run under: the one that is asked for in SMELT_JAX_PYTHON, or smelt's own search.
absl::StatusOr<measure::WorkerOptions> JaxWorker(int64_t memory = int64_t{8} << 30) {
  const char* python = std::getenv("SMELT_JAX_PYTHON");
  return FindXlaWorker({.python = python == nullptr ? "" : python, .memory_limit_bytes = memory});
}

class XlaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<measure::WorkerOptions> worker = JaxWorker();
    if (!worker.ok()) GTEST_SKIP() << worker.status().message();
    worker_ = *std::move(worker);
    std::ofstream(folder_.In("small.hlo")) << kModule;
  }
  measure::Runner MakeRunner() { return measure::Runner(worker_, {.build_timeout = 60, .run_timeout = 30}); }
  XlaProgram Small() {
    measure::KeptWorker worker(worker_);
    absl::StatusOr<XlaProgram> program = LoadXlaProgram(folder_.In("small.hlo"), worker, 60);
    EXPECT_TRUE(program.ok()) << program.status();
    return *std::move(program);
  }

  static std::unique_ptr<hlo::Module> Fused(const XlaProgram& program, const std::string& fusion) {
    const fusion::Space space = XlaSpace(program.program).value();
    return LoopFusionProgram(space, targets::NamedFusion(space, program.program.flat, fusion, nullptr).value(), {}, 1);
  }

  measure::WorkerOptions worker_;
  const ScratchFolder folder_;
};

TEST(XlaPython, OneWithoutJaxlibIsRefusedInOneLineThatSaysWhatToDo) {
  // Isolated and without site packages, any python3 lacks jaxlib.
  const ScratchFolder folder;
  const std::string python = folder.In("bare-python");
  std::ofstream(python) << "#!/bin/sh\nexec python3 -I -S \"$@\"\n";
  fs::permissions(python, fs::perms::owner_all);
  const absl::StatusOr<measure::WorkerOptions> worker = FindXlaWorker({.python = python});
  ASSERT_FALSE(worker.ok());
  EXPECT_THAT(worker.status().message(), HasSubstr("no jaxlib"));
  EXPECT_THAT(worker.status().message(), HasSubstr("scripts/setup.sh --jax"));
  EXPECT_THAT(worker.status().message(), Not(HasSubstr("\n")));
}

TEST(XlaPython, APathWithoutProgramIsNamed) {
  const absl::StatusOr<measure::WorkerOptions> worker = FindXlaWorker({.python = "/nowhere/python"});
  ASSERT_FALSE(worker.ok());
  EXPECT_THAT(worker.status().message(), HasSubstr("/nowhere/python: no such program"));
}

TEST(XlaPython, AProgramThatIsNoPythonIsRefused) {
  const absl::StatusOr<measure::WorkerOptions> worker = FindXlaWorker({.python = "/bin/false"});
  ASSERT_FALSE(worker.ok());
  EXPECT_THAT(worker.status().message(), HasSubstr("did not start"));
}

TEST_F(XlaTest, FilesOfTheFolderItIsStartedInHideNoModules) {
  for (const char* name : {"json.py", "nt.py", "random.py"}) std::ofstream(folder_.In(name)) << "raise SystemExit(3)\n";
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  const absl::Status status = JaxWorker().status();
  fs::current_path(before);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(XlaTest, EveryFusionComputesWhatTheEvaluatorComputes) {
  const XlaProgram program = Small();
  auto verifier = measure::Verifier::Create(*program.program.original, 0, nullptr);
  ASSERT_TRUE(verifier.ok()) << verifier.status();
  measure::Runner runner = MakeRunner();
  runner.UseInputs((*verifier)->inputs());
  std::vector<measure::Candidate> candidates = {program.xla_default, program.xla_no_library};
  for (const char* fusion : {"none", "priority", "random:1", "random:2"}) {
    auto candidate = XlaCandidate(*Fused(program, fusion));
    ASSERT_TRUE(candidate.ok()) << candidate.status();
    candidates.push_back(*std::move(candidate));
  }
  for (const measure::Candidate& candidate : candidates) {
    auto outputs = runner.Outputs(candidate, folder_.In("outputs"));
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*verifier)->Compare(*outputs), "") << candidate.compiler;
  }
}

TEST_F(XlaTest, ProgramsAreTimedInTurn) {
  const XlaProgram program = Small();
  measure::Runner runner = MakeRunner();
  const measure::Runner::ProgramResult result =
      runner.TimeProgram(XlaCandidate(*Fused(program, "priority")).value(), program.xla_default, 3, 0.2, 1);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.message;
  EXPECT_GE(result.outcome.seconds.size(), 3u);
  EXPECT_EQ(result.outcome.seconds.size(), result.outcome.reference_seconds.size());
  EXPECT_GT(result.outcome.best(), 0);
}

TEST_F(XlaTest, AChildThatIsKilledIsReplaced) {
  const XlaProgram program = Small();
  measure::Runner runner = MakeRunner();
  EXPECT_TRUE(runner.TimePrograms({program.xla_default}, 3, 0.1)[0].ok());
  const measure::Outcome outcome = runner.Inject("crash", 30);
  EXPECT_EQ(outcome.failure, measure::Failure::kRunCrashed);
  EXPECT_THAT(outcome.message, HasSubstr("signal 6"));
  EXPECT_TRUE(runner.TimePrograms({program.xla_default}, 3, 0.1)[0].ok());
}

TEST_F(XlaTest, AChildThatIsKilledFromOutsideIsAnErrorThatNamesTheSignal) {
  auto process = measure::WorkerProcess::Start(worker_);
  ASSERT_TRUE(process.ok()) << process.status();
  ASSERT_EQ(::kill((*process)->pid(), SIGKILL), 0);
  const auto reply = (*process)->Call({{"do", "hello"}}, 30);
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.status().message(), HasSubstr("signal 9"));
  EXPECT_FALSE((*process)->alive());
}

TEST_F(XlaTest, APassThatTakesTooLongIsEndedAtItsLimit) {
  measure::KeptWorker worker(worker_);
  const absl::StatusOr<XlaProgram> program = LoadXlaProgram(folder_.In("small.hlo"), worker, 0.001);
  ASSERT_FALSE(program.ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(program.status())) << program.status();
  EXPECT_THAT(program.status().message(), HasSubstr("small.hlo: XLA's passes"));
}

TEST_F(XlaTest, AChildThatHangsIsEndedAtItsLimitAndReplaced) {
  const XlaProgram program = Small();
  measure::Runner runner = MakeRunner();
  EXPECT_EQ(runner.Inject("spin", 1.0).failure, measure::Failure::kRunTimedOut);
  EXPECT_TRUE(runner.TimePrograms({program.xla_default}, 3, 0.1)[0].ok());
}

TEST_F(XlaTest, AChildThatEatsMemoryIsEndedAtItsLimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "no memory limits under the address sanitizer";
#endif
  worker_.memory_limit_bytes = int64_t{2} << 30;
  measure::Runner runner = MakeRunner();
  EXPECT_EQ(runner.Inject("memory", 60).failure, measure::Failure::kResourceLimit);
}

TEST_F(XlaTest, AModuleThatXlaRefusesIsAValueAndTheNextOneWorks) {
  const XlaProgram program = Small();
  auto other = hlo::ParseModule(R"(HloModule other
ENTRY main {
  x = f32[4] parameter(0)
  ROOT y = f32[4] custom-call(x), custom_call_target="no_such_target"
}
)");
  ASSERT_TRUE(other.ok()) << other.status();
  measure::Runner runner = MakeRunner();
  const std::vector<measure::Outcome> outcomes =
      runner.TimePrograms({XlaCandidate(**other).value(), program.xla_default}, 3, 0.1);
  EXPECT_EQ(outcomes[0].failure, measure::Failure::kBuildFailed);
  EXPECT_THAT(outcomes[0].message, HasSubstr("no_such_target"));
  EXPECT_TRUE(outcomes[1].ok()) << outcomes[1].message;
}

// MLIR's refusals go over several lines, with notes and quoted sources.
TEST_F(XlaTest, WhatXlaSaysInSeveralLinesIsToldInOne) {
  const std::string path = folder_.In("high_parts.hlo");
  std::ofstream(path) << R"(HloModule high_parts
ENTRY main {
  x = s32[4] parameter(0)
  y = s32[4] parameter(1)
  ROOT z = s32[4] mulhi(x, y)
}
)";
  measure::KeptWorker worker(worker_);
  const absl::StatusOr<XlaProgram> program = LoadXlaProgram(path, worker, 60);
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(program.status().message(), HasSubstr("mulhi"));
  EXPECT_THAT(program.status().message(), Not(HasSubstr("\n")));
}

// The child makes inputs by the same formula as this side.
TEST_F(XlaTest, InputsAreThoseOfTheFormula) {
  std::string parameters, results, shapes;
  const char* const types[] = {"f32", "f64", "bf16", "f16", "s32", "u8", "pred", "c64", "s64", "f8e4m3fn"};
  int64_t n = 0;
  for (const char* type : types) {
    absl::StrAppend(&parameters, "  p", n, " = ", type, "[3,5] parameter(", n, ")\n  c", n, " = ", type, "[3,5] copy(p",
                    n, ")\n");
    absl::StrAppend(&results, n > 0 ? ", " : "", "c", n);
    absl::StrAppend(&shapes, n > 0 ? ", " : "", type, "[3,5]");
    ++n;
  }
  auto module = hlo::ParseModule(absl::StrCat("HloModule types\nENTRY main {\n", parameters, "  ROOT t = (", shapes,
                                              ") tuple(", results, ")\n}\n"));
  ASSERT_TRUE(module.ok()) << module.status();
  measure::Runner runner = MakeRunner();
  for (const measure::InputKind kind : measure::kInputKinds) {
    runner.UseInputs({kind, {{4, 3}}});
    auto outputs = runner.Outputs(XlaCandidate(**module).value(), folder_.In("outputs"));
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ASSERT_EQ(outputs->size(), std::size(types));
    for (int64_t i = 0; i < n; ++i) {
      const hlo::Shape& shape = (*module)->entry()->Parameters()[i]->shape();
      const hlo::Literal want = hlo::MakeInput(shape, i, measure::RangeOf({kind, {{4, 3}}}, i, shape)).value();
      EXPECT_TRUE(want == hlo::FromStorable((*outputs)[i], shape).value())
          << types[i] << " " << measure::InputKindName(kind);
    }
  }
}

constexpr char kStableHlo[] = R"(module @jit_f {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
)";

TEST_F(XlaTest, StableHloBecomesAProtoOfTheSameProgram) {
  const std::string path = folder_.In("f.mlir");
  std::ofstream(path) << kStableHlo;
  ASSERT_TRUE(IsStableHlo(path));
  EXPECT_FALSE(IsStableHlo(folder_.In("small.hlo")));
  worker_.cache_folder = folder_.In("cache");
  for (int turn = 0; turn < 2; ++turn) {  // the second from the cache
    const absl::StatusOr<std::string> file = HloOfStableHlo(path, worker_, 60);
    ASSERT_TRUE(file.ok()) << file.status();
    const auto module = hlo::ReadModuleFile(*file);
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_EQ((*module)->entry()->root()->opcode(), hlo::Opcode::kAdd);
  }
}

TEST_F(XlaTest, MalformedStableHloIsOneClearError) {
  worker_.cache_folder = folder_.In("cache");
  const std::string text = kStableHlo;
  const std::string wrong[] = {"",
                               "no module at all",
                               text.substr(0, text.size() / 2),
                               "ML\xefRtorn",
                               std::string("\xff\xfe\x00\x01", 4),
                               "module { func.func @main() { unknown.op } }"};
  for (const std::string& content : wrong) {
    const std::string path = folder_.In("wrong.mlir");
    std::ofstream(path, std::ios::binary) << content;
    const absl::StatusOr<std::string> file = HloOfStableHlo(path, worker_, 60);
    if (content.empty() && file.ok()) continue;  // an empty module, for XLA
    ASSERT_FALSE(file.ok()) << content;
    EXPECT_THAT(file.status().message(), HasSubstr("wrong.mlir"));
    EXPECT_THAT(file.status().message(), Not(HasSubstr("\n")));
  }
}

TEST_F(XlaTest, IntegersOfFourBitsRunAsGiven) {
  const auto module = hlo::ParseModule(R"(HloModule m
ENTRY main {
  x = s4[8,16]{1,0} parameter(0)
  y = u4[8,16]{1,0} parameter(1)
  a = s32[8,16]{1,0} convert(x)
  b = s32[8,16]{1,0} convert(y)
  ROOT c = s32[8,16]{1,0} add(a, b)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  auto verifier = measure::Verifier::Create(**module, 0, nullptr);
  ASSERT_TRUE(verifier.ok()) << verifier.status();
  ToLoopFusions({}, module->get());
  measure::Runner runner = MakeRunner();
  runner.UseInputs((*verifier)->inputs());
  const auto outputs = runner.Outputs(XlaCandidate(**module).value(), folder_.In("outputs.safetensors"));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*verifier)->Compare(*outputs), "");
}

}  // namespace
}  // namespace smelt::xla
