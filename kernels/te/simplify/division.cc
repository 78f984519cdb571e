// Floor division and modulo by positive constants: split off what is divisible, cancel, and join again.
//
// Let x = sum(c_i * a_i) + c_0. The rules, all exact for integers:
//
//   (d*q + r) // d = q + r // d              (d*q + r) % d = r % d
//   x // d = k, x % d = x - k*d              when x lies in [k*d, k*d + d)
//   (g*a + b) // d = a // (d/g)              (g*a + b) % d = g*(a % (d/g)) + b     when g | d and b lies in [0, g)
//   (x // e) // d = x // (e*d)               (x % m) % d = x % d                   when d | m
//   (x % m) // d = (x // d) % (m/d)          when d | m
//   c*d*(x // d) + c*(x % d) = c*x           c*x - c*d*(x // d) = c*(x % d)
//   (x + y // e) // d = (e*x + y) // (e*d)   where the one above then applies
//
// They fold the index arithmetic of reshapes, of fused loops and of their mixtures: ((i*12 + j) // 12) is i.
#include <algorithm>
#include <numeric>

#include "kernels/te/scalar.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::te {
namespace {

// The constant divisor of a quotient or remainder by a positive constant; 0 otherwise.
int64_t DivisorOf(const Expr& e, BinaryOp op) {
  int64_t divisor = 0;
  if (e->kind != ExprKind::kBinary || e->binary() != op || !IsConstInt(e->operands[1], &divisor)) return 0;
  return std::max<int64_t>(divisor, 0);
}

// x = g*a + b with b over terms that g does not divide.
struct Digits {
  LinearSum a, b;
};

Digits SplitBy(const LinearSum& x, int64_t g) {
  Digits digits;
  for (const auto& [atom, coefficient] : x.terms) {
    if (coefficient % g == 0) {
      digits.a.terms.emplace_back(atom, coefficient / g);
    } else {
      digits.b.terms.emplace_back(atom, coefficient);
    }
  }
  digits.a.constant = FloorDivide(x.constant, g);
  digits.b.constant = FloorModulo(x.constant, g);
  return digits;
}

// Common divisors of d and some coefficient, largest first.
std::vector<int64_t> Candidates(const LinearSum& x, int64_t d) {
  std::vector<int64_t> candidates;
  for (const auto& [atom, coefficient] : x.terms) {
    const int64_t g = std::gcd(coefficient, d);
    if (g > 1 && g < d && std::find(candidates.begin(), candidates.end(), g) == candidates.end())
      candidates.push_back(g);
  }
  std::sort(candidates.rbegin(), candidates.rend());
  return candidates;
}

bool Within(const Interval& range, int64_t size) { return range.lo >= 0 && range.hi < size; }

// The bounds lie between two neighbouring multiples of d.
bool OneQuotient(const Interval& range, int64_t d, int64_t* quotient) {
  if (!range.IsFinite()) return false;
  *quotient = FloorDivide(range.lo, d);
  return *quotient == FloorDivide(range.hi, d);
}

}  // namespace

Expr Simplifier::Divide(const Expr& x, int64_t d) {
  if (d == 1) return x;
  if (const int64_t e = DivisorOf(x, BinaryOp::kFloorDiv); e > 0) {
    int64_t product;
    if (!__builtin_mul_overflow(e, d, &product)) return Divide(x->operands[0], product);
  }
  if (const int64_t m = DivisorOf(x, BinaryOp::kFloorMod); m > 0 && m % d == 0)
    return Modulo(Divide(x->operands[0], d), m / d);
  const std::optional<LinearSum> sum = ToLinear(x);
  if (!sum) return FloorDiv(x, Expr(d));

  LinearSum quotient, rest;
  for (const auto& [atom, coefficient] : sum->terms) {
    if (coefficient % d == 0) {
      quotient.terms.emplace_back(atom, coefficient / d);
    } else {
      rest.terms.emplace_back(atom, coefficient);
    }
  }
  quotient.constant = FloorDivide(sum->constant, d);
  rest.constant = FloorModulo(sum->constant, d);

  int64_t constant;
  if (OneQuotient(BoundsOf(rest), d, &constant)) {
    quotient.constant += constant;
    return SumOf(std::move(quotient));
  }
  Expr inner;
  for (const int64_t g : Candidates(rest, d)) {
    const Digits digits = SplitBy(rest, g);
    if (!Within(BoundsOf(digits.b), g)) continue;
    inner = Divide(SumOf(digits.a), d / g);
    break;
  }
  if (!inner && rest.terms.size() == 1 && rest.terms[0].second == 1) {
    // (y // e + k) // d = (y + k*e) // (e*d)
    const Expr& atom = rest.terms[0].first;
    int64_t offset, product;
    if (const int64_t e = DivisorOf(atom, BinaryOp::kFloorDiv);
        e > 0 && !__builtin_mul_overflow(e, d, &product) && !__builtin_mul_overflow(rest.constant, e, &offset)) {
      inner = Divide(SimplifyBinary(BinaryOp::kAdd, atom->operands[0], Expr(offset)), product);
    } else if (rest.constant == 0) {
      if (const int64_t m = DivisorOf(atom, BinaryOp::kFloorMod); m > 0 && m % d == 0)
        inner = Modulo(Divide(atom->operands[0], d), m / d);
    }
  }
  if (!inner) inner = FloorDiv(FromLinear(rest), Expr(d));
  if (quotient.IsConstant() && quotient.constant == 0) return inner;
  const std::optional<LinearSum> tail = ToLinear(inner);
  const std::optional<LinearSum> joined = tail ? AddScaled(quotient, *tail, 1) : std::nullopt;
  return joined ? SumOf(*joined) : FromLinear(quotient) + inner;
}

Expr Simplifier::Modulo(const Expr& x, int64_t d) {
  if (d == 1) return Expr(0);
  if (const int64_t m = DivisorOf(x, BinaryOp::kFloorMod); m > 0) {
    if (m % d == 0) return Modulo(x->operands[0], d);
    if (d % m == 0) return x;
  }
  const std::optional<LinearSum> sum = ToLinear(x);
  if (!sum) return FloorMod(x, Expr(d));
  LinearSum rest;
  for (const auto& [atom, coefficient] : sum->terms) {
    if (coefficient % d != 0) rest.terms.emplace_back(atom, coefficient);
  }
  rest.constant = FloorModulo(sum->constant, d);
  for (int attempt = 0; attempt < 2; ++attempt) {
    int64_t quotient;
    if (OneQuotient(BoundsOf(rest), d, &quotient)) {
      rest.constant -= quotient * d;
      return SumOf(std::move(rest));
    }
    for (const int64_t g : Candidates(rest, d)) {
      Digits digits = SplitBy(rest, g);
      if (!Within(BoundsOf(digits.b), g)) continue;
      const std::optional<LinearSum> high = ToLinear(Modulo(SumOf(digits.a), d / g));
      const std::optional<LinearSum> joined = high ? AddScaled(digits.b, *high, g) : std::nullopt;
      if (joined) return SumOf(*joined);
    }
    // Once more with coefficients reduced modulo d.
    bool reduced = false;
    for (auto& [atom, coefficient] : rest.terms) {
      const int64_t small = FloorModulo(coefficient, d);
      reduced |= small != coefficient;
      coefficient = small;
    }
    if (!reduced) break;
  }
  if (rest.terms.size() == 1 && rest.terms[0].second == 1 && rest.constant == 0) {
    if (const int64_t m = DivisorOf(rest.terms[0].first, BinaryOp::kFloorMod); m > 0 && m % d == 0)
      return Modulo(rest.terms[0].first->operands[0], d);
  }
  return FloorMod(FromLinear(rest), Expr(d));
}

namespace {

int64_t CoefficientOf(const LinearSum& sum, const Expr& atom) {
  for (const auto& [other, coefficient] : sum.terms) {
    if (other.Same(atom)) return coefficient;
  }
  return 0;
}

// sum - removed coefficients of `atoms`, + factor * other.
std::optional<LinearSum> Exchange(const LinearSum& sum, const Expr& first, const Expr& second, const LinearSum& other,
                                  int64_t factor) {
  LinearSum kept;
  kept.constant = sum.constant;
  for (const auto& term : sum.terms) {
    if (!term.first.Same(first) && !(second && term.first.Same(second))) kept.terms.push_back(term);
  }
  return AddScaled(kept, other, factor);
}

}  // namespace

// x // d where x has a quotient among its terms, as one division; null where it has none.
Expr Simplifier::DivideAsOne(const Expr& x, int64_t d) {
  const std::optional<LinearSum> sum = ToLinear(x);
  if (!sum) return Expr();
  for (const auto& [atom, coefficient] : sum->terms) {
    const int64_t e = coefficient == 1 ? DivisorOf(atom, BinaryOp::kFloorDiv) : 0;
    const std::optional<LinearSum> y = e > 0 ? ToLinear(atom->operands[0]) : std::nullopt;
    int64_t product;
    if (!y || __builtin_mul_overflow(e, d, &product)) continue;
    const std::optional<LinearSum> others = AddScaled({}, *sum, e);
    const std::optional<LinearSum> whole = others ? Exchange(*others, atom, Expr(), *y, 1) : std::nullopt;
    return whole ? Divide(SumOf(*whole), product) : Expr();
  }
  return Expr();
}

bool Simplifier::JoinOnce(LinearSum* sum) {
  for (const auto& [atom, coefficient] : sum->terms) {
    // c*(x % d) + c*d*(x // d) = c*x
    if (const int64_t d = DivisorOf(atom, BinaryOp::kFloorMod); d > 0) {
      int64_t wanted;
      if (__builtin_mul_overflow(coefficient, d, &wanted)) continue;
      for (const auto& [quotient, times] : sum->terms) {
        if (times != wanted || quotient.Same(atom)) continue;
        // The quotient's x may be another by multiples of d, which the remainder has lost.
        Expr x = atom->operands[0];
        if (DivisorOf(quotient, BinaryOp::kFloorDiv) == d && Modulo(quotient->operands[0], d).Same(atom)) {
          x = quotient->operands[0];
        } else if (!Divide(x, d).Same(quotient) && !DivideAsOne(x, d).Same(quotient)) {
          continue;
        }
        const std::optional<LinearSum> linear = ToLinear(x);
        const std::optional<LinearSum> joined =
            linear ? Exchange(*sum, atom, quotient, *linear, coefficient) : std::nullopt;
        if (joined) {
          *sum = *joined;
          return true;
        }
      }
    }
    // c*x - c*d*(x // d) = c*(x % d)
    if (const int64_t d = DivisorOf(atom, BinaryOp::kFloorDiv); d > 0 && coefficient % d == 0) {
      const int64_t factor = -(coefficient / d);
      const std::optional<LinearSum> x = ToLinear(atom->operands[0]);
      if (!x) continue;
      bool contained = true;
      for (const auto& [part, part_coefficient] : x->terms) {
        int64_t wanted;
        contained &= !__builtin_mul_overflow(part_coefficient, factor, &wanted) && CoefficientOf(*sum, part) == wanted;
      }
      if (!contained) continue;
      const Expr remainder = Modulo(atom->operands[0], d);
      const std::optional<LinearSum> r = ToLinear(remainder);
      std::optional<LinearSum> joined = r ? Exchange(*sum, atom, Expr(), *r, factor) : std::nullopt;
      if (joined) joined = AddScaled(*joined, *x, -factor);
      if (joined && joined->terms.size() < sum->terms.size()) {
        *sum = *joined;
        return true;
      }
    }
  }
  return false;
}

Expr Simplifier::SumOf(LinearSum sum) {
  while (JoinOnce(&sum)) {
  }
  return FromLinear(sum);
}

}  // namespace smelt::kernels::te
