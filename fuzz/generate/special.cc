// Operations that the compiled engine leaves to the evaluator: they must still meet the rest of the program properly.
#include <algorithm>

#include "fuzz/generate/rules.h"

namespace smelt::fuzz {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;
using enum hlo::Opcode;

bool AddRandomBits(Draft& draft, Opcode opcode) {
  static const std::vector<PrimitiveType> kTypes = {PrimitiveType::kU32, PrimitiveType::kU32, PrimitiveType::kU64,
                                                    PrimitiveType::kU16, PrimitiveType::kU8,  PrimitiveType::kS32};
  const auto algorithm = static_cast<hlo::RandomAlgorithm>(draft.random.Below(3));
  const Shape bits = Shape::Array(draft.random.Pick(kTypes), draft.AnyShape(AnyElement, 0, 3).dimensions);
  const int64_t words = algorithm == hlo::RandomAlgorithm::kThreeFry ? 2 : draft.random.Between(2, 3);
  const Value state = draft.ExactOfShape(Shape::Array(PrimitiveType::kU64, {words}));
  draft.KeepShaped(opcode, Shape::Tuple({Shape::Array(PrimitiveType::kU64, {words}), bits}), {state},
                   hlo::RngBitGeneratorAttributes{algorithm}, true, 2);
  return true;
}

bool AddFft(Draft& draft, Opcode opcode) {
  static const std::vector<int64_t> kLengths = {1, 2, 3, 4, 5, 8, 12};
  const PrimitiveType real = draft.random.Chance(0.7) ? PrimitiveType::kF32 : PrimitiveType::kF64;
  hlo::FftAttributes a;
  a.type = static_cast<hlo::FftType>(draft.random.Below(4));
  std::vector<int64_t> dimensions;
  if (draft.random.Chance(0.4)) dimensions.push_back(draft.PartSize(3));
  double elements = 1;
  for (int64_t rank = draft.random.Between(1, 2); rank > 0; --rank) {
    a.lengths.push_back(draft.random.Pick(kLengths));
    dimensions.push_back(a.lengths.back());
    elements *= static_cast<double>(a.lengths.back());
  }
  if (a.type == hlo::FftType::kIrfft) dimensions.back() = dimensions.back() / 2 + 1;
  const PrimitiveType type = a.type == hlo::FftType::kRfft ? real : hlo::ComplexOf(real);
  const Value x = draft.Bounded(draft.OfShape(Shape::Array(type, dimensions)), 2);
  draft.Keep(opcode, {x}, a, false, 4 * elements);
  return true;
}

// x with its diagonal far from zero.
Value StrongDiagonal(Draft& draft, const Value& x) {
  const Shape& shape = x.shape();
  const int64_t n = shape.dimensions.back(), rank = shape.rank();
  hlo::Computation& computation = draft.computation();
  const Shape positions = Shape::Array(PrimitiveType::kS32, shape.dimensions);
  hlo::Instruction* row = computation.Add(kIota, positions, {}, hlo::IotaAttributes{rank - 2});
  hlo::Instruction* column = computation.Add(kIota, positions, {}, hlo::IotaAttributes{rank - 1});
  hlo::Instruction* diagonal =
      computation.Add(kCompare, Shape::Array(PrimitiveType::kPred, shape.dimensions), {row, column},
                      hlo::CompareAttributes{hlo::ComparisonDirection::kEq, {}});
  const Value strong = draft.Splat(shape, static_cast<double>(2 * n));
  return {computation.Add(kSelect, shape, {diagonal, strong.instruction, x.instruction}), false,
          2.0 * static_cast<double>(n)};
}

Shape AnyMatrices(Draft& draft) {
  static const std::vector<PrimitiveType> kTypes = {PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kF64,
                                                    PrimitiveType::kC64, PrimitiveType::kC128};
  std::vector<int64_t> dimensions;
  if (draft.random.Chance(0.4)) dimensions.push_back(draft.PartSize(3));
  dimensions.resize(dimensions.size() + 2, draft.PartSize(7));
  return Shape::Array(draft.random.Pick(kTypes), dimensions);
}

bool AddCholesky(Draft& draft, Opcode opcode) {
  const Value x = StrongDiagonal(draft, draft.Bounded(draft.OfShape(AnyMatrices(draft)), 1));
  const bool lower = draft.random.Chance(0.5);
  // The other triangle holds anything; what XLA leaves there is not part of the result.
  const Value factor = draft.Keep(opcode, {x}, hlo::CholeskyAttributes{lower}, false, 8);
  (void)factor;
  return true;
}

bool AddTriangularSolve(Draft& draft, Opcode opcode) {
  const Value a = StrongDiagonal(draft, draft.Bounded(draft.OfShape(AnyMatrices(draft)), 1));
  hlo::TriangularSolveAttributes attributes;
  attributes.left_side = draft.random.Chance(0.5);
  attributes.lower = draft.random.Chance(0.5);
  attributes.unit_diagonal = draft.random.Chance(0.2) && a.shape().dimensions.back() < 3;
  attributes.transpose_a = static_cast<hlo::TriangularTranspose>(draft.random.Below(3));
  Shape right = Shape::Array(a.type(), a.shape().dimensions);
  right.dimensions[right.rank() - (attributes.left_side ? 1 : 2)] = draft.PartSize(5);
  const Value b = draft.Bounded(draft.OfShape(right), 2);
  draft.Keep(opcode, {a, b}, attributes, false, 8);
  return true;
}

const OpcodeRule kSpecialRules[] = {
    {kRngBitGenerator, 2, AddRandomBits},
    {kFft, 1, AddFft},
    {kCholesky, 1, AddCholesky},
    {kTriangularSolve, 1, AddTriangularSolve},
};

}  // namespace

absl::Span<const OpcodeRule> SpecialRules() { return kSpecialRules; }

}  // namespace smelt::fuzz
