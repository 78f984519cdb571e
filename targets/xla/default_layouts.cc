#include "targets/xla/default_layouts.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>

#include "base/status_macros.h"
#include "base/str_cat.h"

namespace smelt::xla {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

// These belong to a later stage than XLA's input, or are bound to the layouts that go.
constexpr std::string_view kDroppedHeader[] = {"entry_computation_layout", "input_output_alias", "buffer_donor",
                                               "is_scheduled", "alias_passthrough_params"};

void SetDefaultLayout(Shape* shape) {
  for (Shape& element : shape->tuple_shapes) SetDefaultLayout(&element);
  if (!shape->IsArray()) return;
  hlo::Layout layout;
  layout.minor_to_major.resize(shape->dimensions.size());
  std::iota(layout.minor_to_major.rbegin(), layout.minor_to_major.rend(), 0);
  shape->layout = std::move(layout);
}

std::vector<int64_t> Permuted(const std::vector<int64_t>& values, const std::vector<int64_t>& order) {
  std::vector<int64_t> permuted;
  for (int64_t i : order) permuted.push_back(values[i]);
  return permuted;
}

// The array with its dimensions in this order.
Instruction* Transposed(Instruction* array, const std::vector<int64_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) return array;
  Shape shape = Shape::Array(array->shape().element_type, Permuted(array->shape().dimensions, order));
  return array->parent()->Add(Opcode::kTranspose, std::move(shape), {array}, hlo::DimensionsAttributes{order});
}

absl::Status ReplaceBitcast(Instruction* bitcast) {
  const Shape& from = bitcast->operand(0)->shape();
  const Shape& to = bitcast->shape();
  if (from.ElementCount() != to.ElementCount() || hlo::BitWidth(from.element_type) != hlo::BitWidth(to.element_type) ||
      from.IsDynamic() || to.IsDynamic()) {
    return absl::UnimplementedError(StrCat("`", bitcast->name(), "`: a bitcast from ", from.ToString(), " to ",
                                           to.ToString(), " has no form without layouts, which XLA's front end needs"));
  }
  hlo::Computation* computation = bitcast->parent();
  Instruction* value = Transposed(bitcast->operand(0), MajorToMinor(from));
  if (from.element_type != to.element_type) {
    value =
        computation->Add(Opcode::kBitcastConvert, Shape::Array(to.element_type, value->shape().dimensions), {value});
  }
  const std::vector<int64_t> order = MajorToMinor(to);
  std::vector<int64_t> dimensions = Permuted(to.dimensions, order);
  if (dimensions != value->shape().dimensions) {
    value = computation->Add(Opcode::kReshape, Shape::Array(to.element_type, std::move(dimensions)), {value});
  }
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
  value = Transposed(value, inverse);
  if (value != bitcast->operand(0)) value->shape().layout = to.layout;  // for bitcasts of this one
  for (Instruction* before : bitcast->control_predecessors()) value->AddControlPredecessor(before);
  for (Instruction* after : bitcast->control_successors()) after->AddControlPredecessor(value);
  bitcast->DropControlDependencies();
  bitcast->ReplaceAllUsesWith(value);
  computation->Remove(bitcast);
  return absl::OkStatus();
}

// Whoever is called reads and writes the layouts that the call names, whatever the program around it has.
bool NamesItsLayouts(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCustomCall &&
         std::any_of(instruction.raw_attributes().begin(), instruction.raw_attributes().end(),
                     [](const hlo::RawAttribute& attribute) { return attribute.name == "operand_layout_constraints"; });
}

}  // namespace

std::vector<int64_t> MajorToMinor(const Shape& shape) {
  if (shape.layout && shape.layout->minor_to_major.size() == shape.dimensions.size())
    return {shape.layout->minor_to_major.rbegin(), shape.layout->minor_to_major.rend()};
  std::vector<int64_t> order(shape.dimensions.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

absl::StatusOr<std::unique_ptr<hlo::Module>> WithDefaultLayouts(const hlo::Module& module) {
  std::unique_ptr<hlo::Module> plain = module.Clone();
  std::erase_if(plain->raw_attributes(), [](const hlo::RawAttribute& attribute) {
    return std::find(std::begin(kDroppedHeader), std::end(kDroppedHeader), attribute.name) != std::end(kDroppedHeader);
  });
  for (hlo::Computation* computation : plain->Computations()) {
    // Operands come first: a bitcast of a bitcast sees the layouts as they were.
    for (Instruction* instruction : computation->Instructions()) {
      if (instruction->opcode() == Opcode::kBitcast) SMELT_RETURN_IF_ERROR(ReplaceBitcast(instruction));
    }
  }
  for (hlo::Computation* computation : plain->Computations()) {
    for (Instruction* instruction : computation->Instructions()) {
      if (!NamesItsLayouts(*instruction)) SetDefaultLayout(&instruction->shape());
    }
  }
  return plain;
}

}  // namespace smelt::xla
