#include "kernels/te/hlo/winograd.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/ceil_div.h"

namespace smelt::kernels::te {
namespace {

using Matrix = std::vector<std::vector<double>>;

// Interpolation at 0, 1, -1 and infinity, or at 0, +-sqrt(1/2), +-sqrt(2) and infinity: row i of `input` is the product
// of x - p over the other points, row i of `weights` the powers of its point divided by that product there, and column
// i of `output` again the powers of the point.
//
// Points in pairs p, -p share their products, and points in pairs p, 1/p keep large factors out of the transforms: with
// the usual 1, -1, 2 and -2 the largest errors were six times as large.
struct Transforms {
  Matrix input, weights, output;
};

const Transforms& TransformsOf(int64_t output_tile) {
  static const Transforms two{
      {{-1, 0, 1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}},
      {{-1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
      {{1, 1, 1, 0}, {0, 1, -1, 1}},
  };
  const double p = std::sqrt(0.5), q = std::sqrt(2.0);
  static const Transforms four{
      {{1, 0, -2.5, 0, 1, 0},
       {0, -q, -2, p, 1, 0},
       {0, q, -2, -p, 1, 0},
       {0, -p, -0.5, q, 1, 0},
       {0, p, -0.5, -q, 1, 0},
       {0, 1, 0, -2.5, 0, 1}},
      {{1, 0, 0},
       {-2.0 / 3, -2 * p / 3, -1.0 / 3},
       {-2.0 / 3, 2 * p / 3, -1.0 / 3},
       {1.0 / 6, q / 6, 1.0 / 3},
       {1.0 / 6, -q / 6, 1.0 / 3},
       {0, 0, 1}},
      {{1, 1, 1, 1, 1, 0}, {0, p, -p, q, -q, 0}, {0, 0.5, 0.5, 2, 2, 0}, {0, p / 2, -p / 2, 2 * q, -2 * q, 1}},
  };
  return output_tile == 2 ? two : four;
}

struct Term {
  double factor;
  Expr value;
};

Expr Constant(double value) { return FloatConst({PrimitiveType::kF32, 1}, value); }

// The sum of the terms: additions where a factor is one, and never a product with zero.
Expr SumOf(const std::vector<Term>& terms) {
  // The first term starts the sum; one that is only added needs no instruction for that.
  const auto worth = [](const Term& term) { return term.factor == 1 ? 2 : term.factor > 0 ? 1 : 0; };
  size_t first = 0;
  for (size_t i = 1; i < terms.size(); ++i) {
    if (worth(terms[i]) > worth(terms[first])) first = i;
  }
  const auto scaled = [](const Term& term, double factor) {
    return factor == 1 ? term.value : Binary(BinaryOp::kMul, term.value, Constant(factor));
  };
  Expr sum = terms[first].factor == -1 ? Unary(UnaryOp::kNegate, terms[first].value)
                                       : scaled(terms[first], terms[first].factor);
  for (size_t i = 0; i < terms.size(); ++i) {
    if (i == first) continue;
    const BinaryOp op = terms[i].factor > 0 ? BinaryOp::kAdd : BinaryOp::kSub;
    sum = Binary(op, sum, scaled(terms[i], std::abs(terms[i].factor)));
  }
  return sum;
}

// The factor of the last term taken out of the sum, so that one term less is multiplied.
Term Factored(std::vector<Term> terms) {
  const double factor = terms.back().factor;
  for (Term& term : terms) term.factor /= factor;
  return {factor, SumOf(terms)};
}

// The other row that has the same numbers with some signs changed: both are the sum and the difference of two halves,
// as interpolation at a point and at its negative is. -1: none.
int MirrorOf(const Matrix& matrix, size_t row) {
  for (size_t other = 0; other < matrix.size(); ++other) {
    bool mirrored = other != row;
    bool differs = false, agrees = false;
    for (size_t j = 0; j < matrix[row].size(); ++j) {
      const double a = matrix[row][j], b = matrix[other][j];
      mirrored = mirrored && std::abs(a) == std::abs(b);
      differs = differs || a != b;
      agrees = agrees || (a == b && a != 0);
    }
    if (mirrored && differs && agrees) return static_cast<int>(other);
  }
  return -1;
}

// Whether two columns have the same numbers up to signs in all rows: then rows take their sum or their difference.
bool ArePaired(const Matrix& matrix, size_t a, size_t b) {
  for (const std::vector<double>& row : matrix) {
    if (std::abs(row[a]) != std::abs(row[b])) return false;
  }
  return true;
}

std::vector<Term> TermsOf(const Matrix& matrix, size_t row, const std::vector<Expr>& x) {
  std::vector<Term> terms;
  for (size_t j = 0; j < x.size(); ++j) {
    const double factor = matrix[row][j];
    if (factor == 0) continue;
    if (j + 1 < x.size() && ArePaired(matrix, j, j + 1)) {
      const bool same = factor == matrix[row][j + 1];
      terms.push_back({factor, Binary(same ? BinaryOp::kAdd : BinaryOp::kSub, x[j], x[j + 1])});
      ++j;
      continue;
    }
    terms.push_back({factor, x[j]});
  }
  return terms;
}

// matrix * x. Rows share what they have in common: equal expressions are one node.
std::vector<Expr> Apply(const Matrix& matrix, const std::vector<Expr>& x) {
  std::vector<Expr> results;
  for (size_t row = 0; row < matrix.size(); ++row) {
    const int mirror = MirrorOf(matrix, row);
    if (mirror < 0) {
      results.push_back(SumOf(TermsOf(matrix, row, x)));
      continue;
    }
    // Both rows write their halves as the upper one has them.
    const size_t upper = std::min<size_t>(row, mirror);
    const size_t lower = std::max<size_t>(row, mirror);
    std::vector<Term> even, odd;
    for (size_t j = 0; j < x.size(); ++j) {
      const double factor = matrix[upper][j];
      if (factor != 0) (factor == matrix[lower][j] ? even : odd).push_back({factor, x[j]});
    }
    const Term half = Factored(even);
    Term other = Factored(odd);
    if (row == lower) other.factor = -other.factor;
    results.push_back(SumOf({half, other}));
  }
  return results;
}

// The row at `index`: a loop over it that is unrolled leaves one of them.
Expr Pick(const Expr& index, const std::vector<Expr>& rows) {
  Expr picked = rows.back();
  for (size_t i = rows.size() - 1; i-- > 0;) picked = Select(index == Expr(static_cast<int64_t>(i)), rows[i], picked);
  return picked;
}

class Winograd {
 public:
  explicit Winograd(const RuleInput& input)
      : input_(input),
        attributes_(input.instruction.attributes<hlo::ConvolutionAttributes>()),
        d_(attributes_.dimensions),
        tile_(OutputTile(input.algorithm)),
        transforms_(TransformsOf(tile_)),
        images_(input.operand_dimensions(0)[d_.input_batch]),
        features_(input.operand_dimensions(0)[d_.input_feature]),
        outputs_(input.dimensions()[d_.output_feature]) {
    for (int s = 0; s < 2; ++s) {
      in_[s] = input.operand_dimensions(0)[d_.input_spatial[s]];
      out_[s] = input.dimensions()[d_.output_spatial[s]];
      tiles_[s] = CeilDiv(out_[s], tile_);
    }
  }

  Value Emit() const {
    const int64_t t = tile_ + 2;
    const std::vector<int64_t> of_tiles{images_, tiles_[0], tiles_[1]};
    const auto shape = [&](int64_t rows, int64_t columns, int64_t features) {
      std::vector<int64_t> dimensions = of_tiles;
      dimensions.insert(dimensions.end(), {rows, columns, features});
      return dimensions;
    };
    const Tensor border = Border();
    const Tensor input_half = Stage("_input_half", shape(t, t, features_), kWinogradInputHalf, [&](Indices i) {
      std::vector<Expr> column;
      for (int64_t y = 0; y < t; ++y) column.push_back(border(i[0], i[1] * tile_ + y, i[2] * tile_ + i[4], i[5]));
      return Pick(i[3], Apply(transforms_.input, column));
    });
    const Tensor input = Stage("_input", shape(t, t, features_), kWinogradInput, [&](Indices i) {
      std::vector<Expr> row;
      for (int64_t x = 0; x < t; ++x) row.push_back(input_half(i[0], i[1], i[2], i[3], Expr(x), i[5]));
      return Pick(i[4], Apply(transforms_.input, row));
    });
    const Tensor weights = Weights(t);
    const ReduceAxis r(features_, "r0");
    const Tensor product = Stage("_product", shape(t, t, outputs_), kWinogradProduct, [&](Indices i) {
      return Sum(Binary(BinaryOp::kMul, input(i[0], i[1], i[2], i[3], i[4], r), weights(i[3], i[4], r, i[5])), {r});
    });
    const Tensor output_half = Stage("_output_half", shape(tile_, t, outputs_), kWinogradOutputHalf, [&](Indices i) {
      std::vector<Expr> column;
      for (int64_t y = 0; y < t; ++y) column.push_back(product(i[0], i[1], i[2], Expr(y), i[4], i[5]));
      return Pick(i[3], Apply(transforms_.output, column));
    });
    const Tensor output = Stage("_output", shape(tile_, tile_, outputs_), kWinogradOutput, [&](Indices i) {
      std::vector<Expr> row;
      for (int64_t x = 0; x < t; ++x) row.push_back(output_half(i[0], i[1], i[2], i[3], Expr(x), i[5]));
      return Pick(i[4], Apply(transforms_.output, row));
    });
    return {Result(output), Expr()};
  }

 private:
  Tensor Stage(std::string_view suffix, std::vector<int64_t> shape, std::string_view tag,
               const std::function<Expr(Indices)>& body) const {
    return Compute(absl::StrCat(input_.name, std::string(suffix)), std::move(shape), body, std::string(tag));
  }

  // The input with its padding, in the order that the tiles read it.
  Tensor Border() const {
    const std::vector<int64_t> shape{images_, tiles_[0] * tile_ + 2, tiles_[1] * tile_ + 2, features_};
    return Stage("_border", shape, kWinogradBorder, [&](Indices i) {
      std::vector<Expr> at(4);
      at[d_.input_batch] = i[0];
      at[d_.input_feature] = i[3];
      Expr inside = Bool(true);
      for (int s = 0; s < 2; ++s) {
        const int64_t low = attributes_.window.dimensions[s].padding_low;
        const Expr position = i[1 + s] - low;
        at[d_.input_spatial[s]] = position;
        if (low > 0) inside = And(inside, position >= 0);
        if (shape[1 + s] - low > in_[s]) inside = And(inside, position < in_[s]);
      }
      return If(inside, input_.operand(0).At(at), Constant(0));
    });
  }

  Tensor Weights(int64_t t) const {
    const auto tap = [&](const Expr& y, const Expr& x, const Expr& feature, const Expr& output) {
      std::vector<Expr> at(4);
      const auto position = [&](int s, const Expr& k) {
        return attributes_.window.dimensions[s].reversal ? Expr(2) - k : k;
      };
      at[d_.kernel_spatial[0]] = position(0, y);
      at[d_.kernel_spatial[1]] = position(1, x);
      at[d_.kernel_input_feature] = feature;
      at[d_.kernel_output_feature] = output;
      return input_.operand(1).At(at);
    };
    const Tensor half = Stage("_weights_half", {t, 3, features_, outputs_}, kWinogradWeightsHalf, [&](Indices i) {
      std::vector<Expr> column;
      for (int64_t y = 0; y < 3; ++y) column.push_back(tap(Expr(y), i[1], i[2], i[3]));
      return Pick(i[0], Apply(transforms_.weights, column));
    });
    return Stage("_weights", {t, t, features_, outputs_}, kWinogradWeights, [&](Indices i) {
      std::vector<Expr> row;
      for (int64_t x = 0; x < 3; ++x) row.push_back(half(i[0], Expr(x), i[2], i[3]));
      return Pick(i[1], Apply(transforms_.weights, row));
    });
  }

  Tensor Result(const Tensor& output) const {
    return Compute(
        input_.name, input_.dimensions(),
        [&](Indices i) {
          std::vector<Expr> at(6);
          at[0] = i[d_.output_batch];
          at[5] = i[d_.output_feature];
          for (int s = 0; s < 2; ++s) {
            const Expr& position = i[d_.output_spatial[s]];
            const bool one = tiles_[s] == 1;
            at[1 + s] = one ? Expr(0) : FloorDiv(position, tile_);
            at[3 + s] = one ? position : FloorMod(position, tile_);
          }
          return output(at);
        },
        std::string(kWinogradResult));
  }

  const RuleInput& input_;
  const hlo::ConvolutionAttributes& attributes_;
  const hlo::ConvolutionDimensions& d_;
  const int64_t tile_;  // of the output: m
  const Transforms& transforms_;
  const int64_t images_;
  const int64_t features_;  // of the input
  const int64_t outputs_;   // features of the output
  int64_t in_[2], out_[2];  // rows and columns
  int64_t tiles_[2];
};

}  // namespace

Value WinogradConvolution(const RuleInput& input) { return Winograd(input).Emit(); }

}  // namespace smelt::kernels::te
