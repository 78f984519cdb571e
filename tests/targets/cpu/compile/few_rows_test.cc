// A few rows times a matrix, of which every row is read once: any number of rows, sizes that nothing divides, batches,
// an epilogue, every float, against the evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "targets/cpu/processor/detect.h"
#include "tests/targets/cpu/compile/run_compiled.h"

namespace smelt::cpu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Product {
  int64_t batch, rows, columns, terms;
};

// max(x w + b, 0), `batch` of them.
std::unique_ptr<hlo::Module> Layer(const std::string& type, const Product& p) {
  const std::string result = absl::StrCat(type, "[", p.batch, ",", p.rows, ",", p.columns, "]");
  return hlo::ParseModule(absl::StrCat("HloModule m\nENTRY e { x = ", type, "[", p.batch, ",", p.rows, ",", p.terms,
                                       "] parameter(0)  w = ", type, "[", p.batch, ",", p.terms, ",", p.columns,
                                       "] parameter(1)  b = ", type, "[", p.columns, "] parameter(2)  z = ", type,
                                       "[] constant(0)  d = ", result,
                                       " dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                                       "rhs_contracting_dims={1}  v = ",
                                       result, " broadcast(b), dimensions={2}  s = ", result, " add(d, v)  o = ",
                                       result, " broadcast(z), dimensions={}  ROOT r = ", result, " maximum(s, o) }"))
      .value();
}

constexpr Product kProducts[] = {{1, 2, 256, 64},   {1, 3, 333, 101}, {1, 4, 2050, 48},   {3, 2, 130, 37},
                                 {1, 4, 1030, 650}, {2, 7, 300, 64},  {1, 11, 1300, 130}, {1, 1, 5000, 33}};

TEST(FewRows, OfAnyNumberSizeAndTypeAreTheEvaluators) {
  const Target target = DetectTarget(/*measure=*/false);
  for (const std::string type : {"f32", "f64", "bf16", "f16"}) {
    for (const Product& p : kProducts) {
      const absl::StatusOr<CompiledError> got = ErrorOfCompiled(*Layer(type, p), target);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_LT(got->error, type == "f64"   ? 1e-12
                            : type == "f32" ? 1e-5
                                            : 1e-2)
          << type << " " << p.batch << " of " << p.rows << "x" << p.terms << " times " << p.columns << "\n"
          << got->trace;
    }
  }
}

// A matrix of 14 MB whose rows lie in pages of their own, for more rows than registers hold.
TEST(FewRows, MoreOfThemShareALargeMatrixAsItLies) {
  const Target target = DetectTarget(/*measure=*/false);
  for (const int64_t rows : {5, 12, 13, 32}) {
    const absl::StatusOr<CompiledError> got = ErrorOfCompiled(*Layer("f32", {1, rows, 2600, 1300}), target);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_LT(got->error, 1e-5) << got->trace;
    EXPECT_THAT(got->trace, HasSubstr("rfactor")) << "blocks of the sum";
    if (rows > 12 && target.vector_registers < 32) {
      EXPECT_THAT(got->trace, HasSubstr("cache_read")) << "packed where registers are few";
    } else {
      EXPECT_THAT(got->trace, Not(HasSubstr("cache_read"))) << "nothing is packed";
    }
  }
}

}  // namespace
}  // namespace smelt::cpu
