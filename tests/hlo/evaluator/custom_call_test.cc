// The factorisations that XLA expands itself: Qr, ProductOfElementaryHouseholderReflectors, Eigh.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hlo/evaluator/evaluate_text.h"

namespace smelt::hlo {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

// Largest magnitude among the elements.
double Largest(const Literal& literal) {
  double largest = 0;
  for (int64_t i = 0; i < literal.element_count(); ++i) largest = std::max(largest, std::abs(literal.GetComplex(i)));
  return largest;
}

// h v - v w of the matrix whose one triangle is that of a, with a's other triangle as it may be.
std::string EigenResidual(const std::string& lower, const std::string& matrix) {
  return R"(ENTRY e { a = c64[2,2] constant({{(2, 0), (1, 5)}, {(3, -1), (-1, 0)}})
    c = (c64[2,2], f32[2]) custom-call(a), custom_call_target="Eigh", backend_config=")" +
         lower + R"(,1,100,1e-6"  v = c64[2,2] get-tuple-element(c), index=0  w = f32[2] get-tuple-element(c), index=1
    h = c64[2,2] constant()" +
         matrix + R"()  hv = c64[2,2] dot(h, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    wc = c64[2] convert(w)  wb = c64[2,2] broadcast(wc), dimensions={1}  vw = c64[2,2] multiply(v, wb)
    ROOT r = c64[2,2] subtract(hv, vw) })";
}

TEST(EvaluateCustomCall, EighReadsTheTriangleThatIsNamed) {
  EXPECT_LT(Largest(*EvaluateText(EigenResidual("1", "{{(2, 0), (3, 1)}, {(3, -1), (-1, 0)}}"))), 1e-5);
  EXPECT_LT(Largest(*EvaluateText(EigenResidual("0", "{{(2, 0), (1, 5)}, {(1, -5), (-1, 0)}}"))), 1e-5);
}

// The vectors that XLA:CPU gives, signs and all.
TEST(EvaluateCustomCall, EighHasXlasSignsAndOrder) {
  const auto eigh = [](const std::string& sort, const std::string& part) {
    return EvaluateValues(R"(ENTRY e { a = f32[3,3] constant({{2, 1, 3}, {1, -1, 4}, {3, 4, 0}})
      c = (f32[3,3], f32[3]) custom-call(a), custom_call_target="Eigh", backend_config="1,)" +
                          sort + R"(,100,1e-6"  v = f32[3,3] get-tuple-element(c), index=0
      w = f32[3] get-tuple-element(c), index=1  ROOT r = )" +
                          part + " }");
  };
  EXPECT_THAT(eigh("1", "f32[3] copy(w)"),
              Pointwise(DoubleNear(1e-4), std::vector<double>{-4.79542, -0.03576, 5.83118}));
  EXPECT_THAT(eigh("1", "f32[9] reshape(v)"),
              Pointwise(DoubleNear(1e-4), std::vector<double>{-0.20859, -0.75776, 0.61829, -0.68289, 0.56541, 0.46257,
                                                              0.70011, 0.32574, 0.63541}));
  EXPECT_THAT(eigh("0", "f32[3] copy(w)"),
              Pointwise(DoubleNear(1e-4), std::vector<double>{5.83118, -0.03576, -4.79542}));
}

TEST(EvaluateCustomCall, QrOfComplexNumbersMultipliesBack) {
  const auto result =
      EvaluateText(R"(ENTRY e { a = c64[3,2] constant({{(2, 0), (1, 5)}, {(3, -1), (-1, 0)}, {(0, 2), (4, 1)}})
    f = (c64[3,2], c64[2]) custom-call(a), custom_call_target="Qr"
    h = c64[3,2] get-tuple-element(f), index=0  t = c64[2] get-tuple-element(f), index=1
    q = c64[3,2] custom-call(h, t), custom_call_target="ProductOfElementaryHouseholderReflectors"
    s = c64[2,2] slice(h), slice={[0:2], [0:2]}  i = s32[2,2] iota(), iota_dimension=0  j = s32[2,2] iota(), iota_dimension=1
    u = pred[2,2] compare(i, j), direction=LE  z = c64[] constant((0, 0))  zb = c64[2,2] broadcast(z), dimensions={}
    r = c64[2,2] select(u, s, zb)  p = c64[3,2] dot(q, r), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ROOT d = c64[3,2] subtract(p, a) })");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(Largest(*result), 1e-5);
}

}  // namespace
}  // namespace smelt::hlo
