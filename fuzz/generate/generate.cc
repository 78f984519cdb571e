#include "fuzz/generate/generate.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "fusion/apply.h"
#include "fusion/space.h"
#include "fuzz/generate/rules.h"
#include "hlo/golden/inputs.h"
#include "hlo/passes/dead_code.h"

namespace smelt::fuzz {
namespace {

using hlo::PrimitiveType;
using hlo::Shape;

Palette MakePalette(Random& random, int64_t max_elements) {
  static const std::vector<PrimitiveType> kEveryDay = {PrimitiveType::kF32,  PrimitiveType::kF32, PrimitiveType::kF32,
                                                       PrimitiveType::kBF16, PrimitiveType::kF16, PrimitiveType::kF64,
                                                       PrimitiveType::kS32,  PrimitiveType::kPred};
  static const std::vector<PrimitiveType> kRare = {
      PrimitiveType::kS4,         PrimitiveType::kU4,       PrimitiveType::kS8,
      PrimitiveType::kU8,         PrimitiveType::kS16,      PrimitiveType::kU16,
      PrimitiveType::kU32,        PrimitiveType::kS64,      PrimitiveType::kU64,
      PrimitiveType::kC64,        PrimitiveType::kC128,     PrimitiveType::kF8E5M2,
      PrimitiveType::kF8E4M3,     PrimitiveType::kF8E4M3FN, PrimitiveType::kF8E5M2FNUZ,
      PrimitiveType::kF8E4M3FNUZ, PrimitiveType::kF8E3M4,   PrimitiveType::kF8E4M3B11FNUZ,
      PrimitiveType::kF4E2M1FN,   PrimitiveType::kS2,       PrimitiveType::kU2,
      PrimitiveType::kF8E8M0FNU,  PrimitiveType::kF6E2M3FN, PrimitiveType::kF6E3M2FN,
      PrimitiveType::kS1,         PrimitiveType::kU1};
  static const std::vector<int64_t> kSizes = {1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 24, 31, 33, 50};
  Palette palette;
  palette.largest = random.Chance(1.0 / 16) ? 32 * max_elements : max_elements;
  for (int64_t count = random.Between(1, 3); count > 0; --count) palette.types.push_back(random.Pick(kEveryDay));
  if (random.Chance(0.5)) palette.types.push_back(random.Pick(kRare));
  for (int64_t count = random.Between(2, 4); count > 0; --count) palette.sizes.push_back(random.Pick(kSizes));
  if (random.Chance(0.08)) palette.sizes.push_back(0);
  return palette;
}

// NaN, infinities and negative zeros; the ends of the range of integers.
void AddSpecialNumbers(Random& random, hlo::Literal* literal) {
  const PrimitiveType type = literal->shape().element_type;
  static const std::vector<double> kSpecial = {NAN, HUGE_VAL, -HUGE_VAL, -0.0, 0.0, 1};
  for (int64_t i = 0; i < literal->element_count(); ++i) {
    if (!random.Chance(0.2)) continue;
    if (FloatElement(type)) {
      literal->SetDouble(i, random.Pick(kSpecial));
    } else if (IntegerElement(type)) {
      const int bits = std::min(hlo::BitWidth(type), 63);
      const int64_t most = hlo::IsSigned(type) ? (bits == 63 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1)
                                               : (bits == 63 ? INT64_MAX : (int64_t{1} << bits) - 1);
      const std::vector<int64_t> special = {0, 1, most, hlo::IsSigned(type) ? -1 : most - 1,
                                            hlo::IsSigned(type) ? -most - 1 : 0};
      literal->SetInteger(i, random.Pick(special));
    }
  }
}

void AddLayout(Random& random, Shape* shape) {
  if (!shape->IsArray() || shape->rank() < 2 || !random.Chance(0.3)) return;
  hlo::Layout layout;
  for (int64_t d = shape->rank() - 1; d >= 0; --d) layout.minor_to_major.push_back(d);
  random.Shuffle(layout.minor_to_major);
  shape->layout = std::move(layout);
}

// The same program as XLA would hand it on: some of it in fusions already.
std::unique_ptr<hlo::Module> SomeFused(Random& random, std::unique_ptr<hlo::Module> module) {
  const absl::StatusOr<fusion::Space> space = fusion::Space::Build(*module, fusion::Rules::OwnKernels());
  if (!space.ok()) return module;
  fusion::Config config(space->size());
  for (int64_t d = 0; d < space->size(); ++d) config.Set(d, random.Chance(0.4));
  return fusion::Apply(*space, config);
}

}  // namespace

const std::vector<OpcodeRule>& Rules() {
  static const std::vector<OpcodeRule>& rules = *[] {
    auto* all = new std::vector<OpcodeRule>;
    for (const absl::Span<const OpcodeRule> family :
         {ElementwiseRules(), MovementRules(), IndexedRules(), ContractionRules(), ReductionRules(), ControlRules(),
          SpecialRules()}) {
      all->insert(all->end(), family.begin(), family.end());
    }
    return all;
  }();
  return rules;
}

void Grow(Draft& draft, int64_t count) {
  int64_t total = 0;
  for (const OpcodeRule& rule : Rules()) total += rule.weight;
  const absl::Span<const OpcodeRule> control = ControlRules();
  for (int64_t added = 0, attempts = 0; added < count && attempts < 4 * count; ++attempts) {
    int64_t ticket = draft.random.Below(total);
    const OpcodeRule* rule = nullptr;
    for (const OpcodeRule& candidate : Rules()) {
      rule = &candidate;
      if ((ticket -= candidate.weight) < 0) break;
    }
    if (draft.depth > 0 && !rule->nested) continue;
    const bool calls = std::any_of(control.begin(), control.end(),
                                   [&](const OpcodeRule& other) { return other.opcode == rule->opcode; });
    if (calls && draft.depth >= 2) continue;
    added += rule->add(draft, rule->opcode);
  }
  if (draft.values().empty()) draft.Parameter(draft.AnyShape(AnyElement, 0, 3));
}

hlo::Computation* ScalarOperation(Draft& draft, hlo::Opcode opcode, PrimitiveType type) {
  const std::string name = StrCat(hlo::OpcodeName(opcode), "_", hlo::PrimitiveTypeName(type));
  for (hlo::Computation* computation : draft.module().Computations()) {
    if (computation->name() == name) return computation;
  }
  hlo::Computation* computation = draft.module().AddComputation(name);
  const Shape scalar = Shape::Scalar(type);
  hlo::Instruction* x = computation->Add(hlo::Opcode::kParameter, scalar, {}, hlo::ParameterAttributes{0});
  hlo::Instruction* y = computation->Add(hlo::Opcode::kParameter, scalar, {}, hlo::ParameterAttributes{1});
  computation->set_root(computation->Add(opcode, scalar, {x, y}));
  return computation;
}

std::unique_ptr<hlo::Module> GenerateModule(uint64_t seed, uint64_t index, const GeneratorOptions& options) {
  Random random(seed, index);
  auto module = std::make_unique<hlo::Module>(StrCat("fuzz_", seed, "_", index));
  hlo::Computation* entry = module->AddComputation("main");
  const Palette palette = MakePalette(random, options.max_elements);
  Draft draft(*entry, random, palette, 0);
  Grow(draft, random.Between(2, options.max_instructions));
  // Orders in memory: they must not matter but to a bitcast.
  if (random.Chance(0.12)) {
    for (hlo::Computation* computation : module->Computations()) {
      for (hlo::Instruction* instruction : computation->Instructions()) AddLayout(random, &instruction->shape());
    }
  }
  // Values that nothing reads are results: the last few at least, and any of them if there is none.
  std::vector<Value> results;
  for (auto value = draft.values().rbegin(); value != draft.values().rend() && results.size() < 6; ++value) {
    if (value->instruction->user_count() == 0 && value->instruction->opcode() != hlo::Opcode::kParameter)
      results.push_back(*value);
  }
  if (results.empty()) results.push_back(draft.values().back());
  entry->set_root(results.size() == 1 && random.Chance(0.7) ? results[0].instruction
                                                            : draft.Tuple(results).instruction);
  module->set_entry(entry);
  const absl::StatusOr<bool> cleaned = hlo::EliminateDeadCode(*module);
  Check(cleaned.ok(), "dead code of a generated module cannot be removed");
  if (random.Chance(0.08)) module = SomeFused(random, std::move(module));
  return module;
}

absl::StatusOr<std::vector<hlo::Literal>> GenerateInputs(const hlo::Module& module, uint64_t seed) {
  // Whether an infinite weight meets the zeros of the padding is an engine's own.
  bool has_padding = false;
  for (const hlo::Computation* computation : module.Computations()) {
    for (const hlo::Instruction* instruction : computation->Instructions())
      has_padding |= instruction->opcode() == hlo::Opcode::kConvolution;
  }
  struct Maker {
    uint64_t seed;
    bool special;
    absl::StatusOr<hlo::Literal> Make(const Shape& shape, const std::string& name) {
      if (shape.IsTuple()) {
        std::vector<hlo::Literal> elements;
        for (size_t i = 0; i < shape.tuple_shapes.size(); ++i) {
          SMELT_ASSIGN_OR_RETURN(hlo::Literal element, Make(shape.tuple_shapes[i], StrCat(name, ".", i)));
          elements.push_back(std::move(element));
        }
        return hlo::Literal::Tuple(std::move(elements));
      }
      if (!shape.IsArray()) return hlo::Literal::Create(shape);
      Random random(seed, Hasher().Add(name).Finish().low);
      const PrimitiveType type = shape.element_type;
      hlo::InputRange range{-2, 2};
      if (type == PrimitiveType::kF8E8M0FNU) {
        range = {-2, 2};
      } else if (hlo::IsInteger(type)) {
        const int bits = std::min(hlo::BitWidth(type) - (hlo::IsSigned(type) ? 1 : 0), 52);
        const double most = std::exp2(bits), least = hlo::IsSigned(type) ? -most : 0;
        range = random.Chance(0.3)
                    ? hlo::InputRange{least, most}
                    : hlo::InputRange{std::max(least, random.Chance(0.5) ? -8.0 : 0.0), std::min(most, 8.0)};
      } else if (random.Chance(0.1)) {
        range = {0.25, 1};
      }
      SMELT_ASSIGN_OR_RETURN(hlo::Literal literal,
                             hlo::MakeInput(shape, static_cast<int64_t>(random.Next() & 0xFFFFFF), range));
      if (special && random.Chance(0.12)) AddSpecialNumbers(random, &literal);
      return literal;
    }
  };
  Maker maker{seed, !has_padding};
  std::vector<hlo::Literal> inputs;
  for (const hlo::Instruction* parameter : module.entry()->Parameters()) {
    if (parameter == nullptr) return absl::InvalidArgumentError("the entry computation lacks a parameter number");
    SMELT_ASSIGN_OR_RETURN(hlo::Literal literal, maker.Make(parameter->shape(), parameter->name()));
    inputs.push_back(std::move(literal));
  }
  return inputs;
}

}  // namespace smelt::fuzz
