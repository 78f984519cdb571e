// Contractions whose sizes fit nothing: tails of rows, columns and sums, tiles shared out among threads, operands
// packed at the root and beside blocks, compiled for this processor and for narrower ones, against the evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "hlo/text/parser.h"
#include "targets/cpu/processor/detect.h"
#include "tests/kernels/agreement/agreement.h"
#include "tests/kernels/agreement/snippets.h"
#include "tests/targets/cpu/compile/run_compiled.h"

namespace smelt::cpu {
namespace {

using kernels::Difference;
using kernels::MakeReference;
using kernels::Reference;

using ::testing::HasSubstr;
using ::testing::Not;

// Whether this processor runs code for Haswell: AVX2 with multiply-adds, 16 registers.
bool RunsHaswell() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("x86-64-v3") != 0;
#else
  return false;
#endif
}

constexpr const char* kSkipped = "this processor does not run AVX2, so that code for Haswell is not tested here";

// A small second cache makes large panels of small operands.
Target TargetOf(const std::string& text, int64_t l2_bytes = 1 << 20) {
  Target target = ParseTarget(text).value();
  target.levels[1].bytes = l2_bytes;
  return target;
}

void ExpectAgreement(const hlo::Module& module, const Reference& reference, const Target& target) {
  const absl::StatusOr<CompiledRun> run = RunCompiled(module, reference.inputs, target);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(run->kernel->trace, Not(HasSubstr("# fallback")));
  EXPECT_EQ(Difference(run->outputs, reference.outputs), "") << target.ToString() << "\n" << run->kernel->trace;
}

std::string Product(int64_t batch, int64_t rows, int64_t columns, int64_t terms, bool transposed) {
  const std::string right = transposed ? absl::StrCat(columns, ",", terms) : absl::StrCat(terms, ",", columns);
  return absl::Substitute(R"(ENTRY e {
    x = f32[$0,$1,$3] parameter(0)
    y = f32[$0,$4] parameter(1)
    b = f32[$2] parameter(2)
    d = f32[$0,$1,$2] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={$5}
    bb = f32[$0,$1,$2] broadcast(b), dimensions={2}
    ROOT r = f32[$0,$1,$2] add(d, bb)
  })",
                          batch, rows, columns, terms, right, transposed ? 2 : 1);
}

std::string Convolution(int64_t size, int64_t in, int64_t out, int64_t taps, int64_t stride, int64_t groups) {
  const int64_t result = (size + stride - 1) / stride;
  const int64_t padding = std::max<int64_t>((result - 1) * stride + taps - size, 0);
  return absl::Substitute(R"(ENTRY e {
    x = f32[1,$0,$0,$1] parameter(0)
    w = f32[$2,$2,$3,$4] parameter(1)
    ROOT c = f32[1,$5,$5,$4] convolution(x, w), window={size=$2x$2 stride=$6x$6 pad=$7x$7}, dim_labels=b01f_01io->b01f, feature_group_count=$8
  })",
                          size, in, taps, in / groups, out, result, stride,
                          absl::StrCat(padding / 2, "_", padding - padding / 2), groups);
}

class OddContraction : public ::testing::TestWithParam<std::string> {};

TEST_P(OddContraction, AgreesWithTheEvaluatorUnderEveryDecomposition) {
  const auto module = hlo::ParseModule("HloModule m\n" + GetParam() + "\n");
  ASSERT_TRUE(module.ok()) << module.status();
  const Reference reference = MakeReference(**module);
  for (const char* threads : {"cpu:threads=1", "cpu:threads=3", "cpu:threads=16"}) {
    ExpectAgreement(**module, reference, TargetOf(threads));
    ExpectAgreement(**module, reference, TargetOf(threads, 16 << 10));
  }
}

TEST_P(OddContraction, AgreesWithTheEvaluatorOnFewerNarrowerRegisters) {
  if (!RunsHaswell()) GTEST_SKIP() << kSkipped;
  const auto module = hlo::ParseModule("HloModule m\n" + GetParam() + "\n");
  ASSERT_TRUE(module.ok()) << module.status();
  const Reference reference = MakeReference(**module);
  for (const char* threads : {"cpu:haswell,threads=1", "cpu:haswell,threads=5"}) {
    ExpectAgreement(**module, reference, TargetOf(threads));
    ExpectAgreement(**module, reference, TargetOf(threads, 16 << 10));
  }
}

INSTANTIATE_TEST_SUITE_P(Products, OddContraction,
                         ::testing::Values(Product(1, 100, 100, 60, false), Product(1, 101, 67, 53, false),
                                           Product(1, 53, 130, 128, true), Product(1, 7, 1000, 96, false),
                                           Product(1, 35, 300, 256, false), Product(3, 30, 50, 70, false),
                                           Product(3, 31, 33, 64, true), Product(1, 200, 20, 100, false),
                                           Product(1, 1, 2600, 130, false), Product(1, 64, 512, 512, false),
                                           Product(1, 40, 70, 1024, true), Product(1, 13, 48, 512, true),
                                           Product(2, 5, 500, 64, false)));
INSTANTIATE_TEST_SUITE_P(Convolutions, OddContraction,
                         ::testing::Values(Convolution(15, 16, 40, 3, 1, 1), Convolution(14, 24, 70, 3, 2, 1),
                                           Convolution(7, 64, 128, 3, 1, 1), Convolution(13, 17, 65, 1, 1, 1),
                                           Convolution(15, 32, 32, 3, 1, 32), Convolution(9, 48, 96, 3, 1, 3),
                                           Convolution(28, 3, 33, 7, 2, 1), Convolution(20, 32, 100, 1, 2, 1)));

class HaswellSnippet : public ::testing::TestWithParam<kernels::Snippet> {};

TEST_P(HaswellSnippet, AgreesWithTheEvaluator) {
  if (!RunsHaswell()) GTEST_SKIP() << kSkipped;
  const std::unique_ptr<hlo::Module> module = kernels::ParseSnippet(GetParam());
  ExpectAgreement(*module, MakeReference(*module), TargetOf("cpu:haswell,threads=1"));
}

INSTANTIATE_TEST_SUITE_P(All, HaswellSnippet, ::testing::ValuesIn(kernels::Snippets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace smelt::cpu
