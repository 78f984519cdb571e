#include "fuzz/trial/stability.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "fuzz/generate/random.h"
#include "hlo/literal.h"
#include "hlo/rounding.h"
#include "measure/verify.h"

namespace smelt::fuzz {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;

bool IsInexact(const Shape& shape) {
  return shape.IsArray() && (hlo::IsFloat(shape.element_type) || hlo::IsComplex(shape.element_type));
}

// Rare flips of the last bit of a narrow type are left to Perturbed: a tolerance for them would hide wrong elements.
double Tolerance(PrimitiveType type) { return std::min(measure::VerifyTolerance(type), 1e-3); }

// What went into a value: the coarsest tolerance of the rounded types below it.
class Ancestry {
 public:
  double Of(const Instruction& instruction) {
    double tolerance = 0;
    absl::flat_hash_set<const Instruction*> seen = {&instruction};
    std::vector<const Instruction*> stack = {&instruction};
    while (!stack.empty()) {
      const Instruction& next = *stack.back();
      stack.pop_back();
      tolerance = std::max(tolerance, Own(next));
      for (const Instruction* operand : next.operands()) {
        if (seen.insert(operand).second) stack.push_back(operand);
      }
    }
    return tolerance;
  }

 private:
  double Own(const Instruction& instruction) {
    double tolerance = 0;
    if (hlo::RoundsResult(instruction)) {
      std::vector<const Shape*> leaves;
      instruction.shape().AppendLeaves(&leaves);
      for (const Shape* leaf : leaves) {
        if (IsInexact(*leaf)) tolerance = std::max(tolerance, Tolerance(leaf->element_type));
      }
    }
    for (const hlo::Computation* called : instruction.called()) {
      auto [found, is_new] = computations_.try_emplace(called, 0);
      if (is_new) {
        double most = 0;
        for (const Instruction* inside : called->Instructions()) most = std::max(most, Own(*inside));
        computations_[called] = most;
      }
      tolerance = std::max(tolerance, computations_[called]);
    }
    return tolerance;
  }

  absl::flat_hash_map<const hlo::Computation*, double> computations_;
};

// Factors 1 + k units in the last place.
hlo::Literal Factors(const Shape& shape, Random& random) {
  hlo::Literal factors(Shape::Array(shape.element_type, shape.dimensions));
  const PrimitiveType type = shape.element_type;
  const PrimitiveType part = hlo::IsComplex(type) ? hlo::ComplexPart(type) : type;
  const bool wide = hlo::BitWidth(part) >= 32, tiny = hlo::BitWidth(part) <= 8;
  for (int64_t i = 0; i < factors.element_count(); ++i) {
    double factor = 1;
    if (wide) {
      factor += static_cast<double>(random.Between(-8, 8)) * (part == PrimitiveType::kF64 ? 0x1p-52 : 0x1p-23);
    } else if (random.Chance(tiny ? 0.25 : 0.5)) {
      // The neighbours of 1 in the type.
      static constexpr double kSteps[] = {0x1p-11, 0x1p-10, 0x1p-9, 0x1p-8, 0x1p-7, 0x1p-6,
                                          0x1p-5,  0x1p-4,  0x1p-3, 0x1p-2, 0.5,    1};
      const double sign = random.Chance(0.5) ? -1 : 1;
      for (double step : kSteps) {
        factors.SetDouble(i, 1 + sign * step);
        factor = factors.GetDouble(i);
        if (factor != 1) break;
      }
    }
    factors.SetComplex(i, {factor, 0});
  }
  return factors;
}

// Operations that sum: their operands are disturbed too, because what is lost is relative to the terms, not the sum.
bool Accumulates(Opcode opcode) {
  using enum Opcode;
  return opcode == kDot || opcode == kConvolution || opcode == kReduce || opcode == kReduceWindow ||
         opcode == kScatter || opcode == kSelectAndScatter || opcode == kScan || opcode == kFft ||
         opcode == kCholesky || opcode == kTriangularSolve || opcode == kBatchNormGrad ||
         opcode == kBatchNormInference || opcode == kBatchNormTraining || opcode == kAdd || opcode == kSubtract;
}

class Perturbation {
 public:
  explicit Perturbation(uint64_t seed) : random_(seed, 0x70657274) {}

  void Run(hlo::Computation& computation) {
    for (Instruction* instruction : computation.PostOrder()) {
      if (instruction->opcode() == Opcode::kGetTupleElement) {
        if (IsInexact(instruction->shape()) && hlo::RoundsResult(*instruction->operand(0))) Disturb(*instruction);
        continue;
      }
      if (!hlo::RoundsResult(*instruction)) continue;
      if (instruction->opcode() == Opcode::kConvolution) DropInfiniteWeights(*instruction);
      if (instruction->opcode() == Opcode::kBatchNormTraining) LeaveSomeVariance(*instruction);
      if (Accumulates(instruction->opcode())) {
        for (int64_t i = 0; i < instruction->operand_count(); ++i) {
          const Shape& shape = instruction->operand(i)->shape();
          if (!IsInexact(shape) || hlo::BitWidth(shape.element_type) < 32) continue;
          Instruction* const operand = instruction->operand(i);
          instruction->ReplaceOperand(i, Product(*operand));
        }
      }
      if (IsInexact(instruction->shape())) Disturb(*instruction);
    }
  }

 private:
  Instruction* Product(Instruction& value) {
    hlo::Computation& computation = *value.parent();
    const Shape shape = Shape::Array(value.shape().element_type, value.shape().dimensions);
    Instruction* factors =
        computation.Add(Opcode::kConstant, shape, {},
                        hlo::ConstantAttributes{std::make_shared<const hlo::Literal>(Factors(shape, random_)), false});
    return computation.Add(Opcode::kMultiply, shape, {&value, factors});
  }
  // An engine may multiply padding and dilation by the kernel or leave them out, and XLA:CPU does either, by the
  // library it calls: where the kernel holds an infinity, one gives a NaN and the other does not. Without infinities
  // there is no difference.
  static void DropInfiniteWeights(Instruction& convolution) {
    const auto& window = convolution.attributes<hlo::ConvolutionAttributes>().window.dimensions;
    const bool reads_outside = std::any_of(window.begin(), window.end(), [](const hlo::WindowDimension& d) {
      return d.padding_low > 0 || d.padding_high > 0 || d.base_dilation > 1;
    });
    Instruction& kernel = *convolution.operand(1);
    if (!reads_outside || !IsInexact(kernel.shape())) return;
    hlo::Computation& computation = *convolution.parent();
    const Shape shape = Shape::Array(kernel.shape().element_type, kernel.shape().dimensions);
    Instruction* difference = computation.Add(Opcode::kSubtract, shape, {&kernel, &kernel});  // a NaN where infinite
    Instruction* finite = computation.Add(Opcode::kCompare, Shape::Array(PrimitiveType::kPred, shape.dimensions),
                                          {difference, difference}, hlo::CompareAttributes{});
    Instruction* zero = computation.Add(Opcode::kConstant, shape, {},
                                        hlo::ConstantAttributes{std::make_shared<const hlo::Literal>(shape), false});
    convolution.ReplaceOperand(1, computation.Add(Opcode::kSelect, shape, {finite, &kernel, zero}));
  }

  void Disturb(Instruction& value) {
    if (value.shape().element_type == PrimitiveType::kF8E8M0FNU) return;
    const std::vector<Instruction*> users(value.users().begin(), value.users().end());
    const bool is_root = value.IsRoot();
    Instruction* product = Product(value);
    for (Instruction* user : users) value.ReplaceUsesIn(user, product);
    if (is_root) value.parent()->set_root(product);
  }

  // A variance may be the mean of squares less the square of the mean, and then is not quite zero where all are equal.
  void LeaveSomeVariance(Instruction& normalisation) {
    const std::vector<Instruction*> users(normalisation.users().begin(), normalisation.users().end());
    hlo::Computation& computation = *normalisation.parent();
    for (Instruction* user : users) {
      if (user->opcode() != Opcode::kGetTupleElement || user->attributes<hlo::TupleIndexAttributes>().index != 2)
        continue;
      const Shape shape = Shape::Array(user->shape().element_type, user->shape().dimensions);
      hlo::Literal noise(shape);
      for (int64_t i = 0; i < noise.element_count(); ++i)
        noise.SetDouble(i, static_cast<double>(random_.Between(-8, 8)) * 0x1p-23);
      const auto binary = [&](Opcode opcode, Instruction* x, Instruction* y) {
        return computation.Add(opcode, shape, {x, y});
      };
      Instruction* mean =
          computation.Add(Opcode::kGetTupleElement, shape, {&normalisation}, hlo::TupleIndexAttributes{1});
      Instruction* part = computation.Add(Opcode::kConstant, shape, {},
                                          hlo::ConstantAttributes{std::make_shared<const hlo::Literal>(noise), false});
      const std::vector<Instruction*> readers(user->users().begin(), user->users().end());
      const bool is_root = user->IsRoot();
      Instruction* sum =
          binary(Opcode::kAdd, user, binary(Opcode::kMultiply, binary(Opcode::kMultiply, mean, mean), part));
      for (Instruction* reader : readers) user->ReplaceUsesIn(reader, sum);
      if (is_root) computation.set_root(sum);
    }
  }

  Random random_;
};

}  // namespace

std::vector<double> LeafTolerances(const hlo::Module& module) {
  const Instruction& root = *module.entry()->root();
  Ancestry ancestry;
  std::vector<double> tolerances;
  const auto append = [&](const Instruction& value) {
    const double tolerance = ancestry.Of(value);
    std::vector<const Shape*> leaves;
    value.shape().AppendLeaves(&leaves);
    for (const Shape* leaf : leaves) {
      if (leaf->IsArray()) tolerances.push_back(IsInexact(*leaf) ? tolerance : 0);
    }
  };
  if (root.opcode() == Opcode::kTuple) {
    for (const Instruction* element : root.operands()) append(*element);
  } else {
    append(root);
  }
  return tolerances;
}

std::unique_ptr<hlo::Module> Perturbed(const hlo::Module& module, uint64_t seed) {
  std::unique_ptr<hlo::Module> copy = module.Clone();
  Perturbation perturbation(seed);
  for (hlo::Computation* computation : copy->ExecutedComputations()) perturbation.Run(*computation);
  return copy;
}

}  // namespace smelt::fuzz
