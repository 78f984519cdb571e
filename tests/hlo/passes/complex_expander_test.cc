#include "hlo/passes/complex_expander.h"

#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

void ExpectExpanded(std::string_view text) {
  const auto before = Parse(text);
  const auto after = before->Clone();
  ASSERT_TRUE(*ExpandComplex(*after));
  ASSERT_TRUE(VerifyModule(*after).ok()) << VerifyModule(*after);
  for (const Computation* computation : after->Computations()) {
    for (const Instruction* instruction : computation->Instructions()) {
      const bool expanded = instruction->opcode() == Opcode::kDot || instruction->opcode() == Opcode::kReduce;
      EXPECT_FALSE(expanded && IsComplex(instruction->shape().element_type)) << instruction->name();
    }
  }
  ExpectSameResults(*before, *after, 1e-5);
  EXPECT_FALSE(*ExpandComplex(*after));
}

TEST(ExpandComplex, Products) {
  ExpectExpanded(R"(ENTRY e { a = c64[5,7] parameter(0) b = c64[7,3] parameter(1)
      ROOT d = c64[5,3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
}

TEST(ExpandComplex, BatchesOfProductsInDoublePrecisionBesideTheirConjugates) {
  ExpectExpanded(R"(ENTRY e { a = c128[2,5,7] parameter(0) b = c128[2,3,7] parameter(1)
      r = f64[2,3,7] real(b) i = f64[2,3,7] imag(b) n = f64[2,3,7] negate(i) c = c128[2,3,7] complex(r, n)
      d = c128[2,5,3] dot(a, c), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
      ROOT s = c128[2,5,3] negate(d) })");
}

TEST(ExpandComplex, Sums) {
  ExpectExpanded(R"(add { x = c64[] parameter(0) y = c64[] parameter(1) ROOT s = c64[] add(y, x) }
      ENTRY e { a = c64[5,7] parameter(0) z = c64[] constant((1, -2))
      ROOT r = c64[7] reduce(a, z), dimensions={0}, to_apply=add })");
}

TEST(ExpandComplex, OtherReductionsStay) {
  const auto module = Parse(R"(mul { x = c64[] parameter(0) y = c64[] parameter(1) ROOT s = c64[] multiply(x, y) }
      ENTRY e { a = c64[5,7] parameter(0) o = c64[] constant((1, 0))
      ROOT r = c64[7] reduce(a, o), dimensions={0}, to_apply=mul })");
  EXPECT_FALSE(*ExpandComplex(*module));
}

}  // namespace
}  // namespace smelt::hlo
