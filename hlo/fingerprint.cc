#include "hlo/fingerprint.h"

#include <algorithm>
#include <cstring>

#include "hlo/literal.h"
#include "hlo/raw_attribute.h"

namespace smelt::hlo {
namespace {

// How the parts of an instruction enter a hash. Members of a class, so that they see each other whatever their order.
struct Parts {
  static void Add(Hasher& h, int64_t value) { h.Add(value); }
  static void Add(Hasher& h, bool value) { h.Add(int64_t{value}); }
  static void Add(Hasher& h, float value) {
    int32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    h.Add(int64_t{bits});
  }
  static void Add(Hasher& h, const std::string& value) { h.Add(std::string_view(value)); }
  template <typename T>
  requires std::is_enum_v<T>
  static void Add(Hasher& h, T value) { h.Add(static_cast<int64_t>(value)); }
  static void Add(Hasher& h, const std::vector<int64_t>& values) {
    h.Add(static_cast<int64_t>(values.size()));
    for (int64_t value : values) h.Add(value);
  }
  template <typename T>
  static void Add(Hasher& h, const std::optional<T>& value) {
    h.Add(int64_t{value.has_value()});
    if (value) Add(h, *value);
  }

  // One line for each attribute struct: all its fields.
  template <typename... T>
  static void Fields(Hasher& h, const T&... fields) {
    (Add(h, fields), ...);
  }

  static void Add(Hasher& h, const SliceDimension& d) { Fields(h, d.start, d.limit, d.stride); }
  static void Add(Hasher& h, const PadDimension& d) { Fields(h, d.low, d.high, d.interior); }
  static void Add(Hasher& h, const WindowDimension& d) {
    Fields(h, d.size, d.stride, d.padding_low, d.padding_high, d.window_dilation, d.base_dilation, d.reversal);
  }
  template <typename T>
  requires std::is_class_v<T>
  static void Add(Hasher& h, const std::vector<T>& values) {
    h.Add(static_cast<int64_t>(values.size()));
    for (const T& value : values) Add(h, value);
  }
  static void Add(Hasher& h, const ConvolutionDimensions& d) {
    Fields(h, d.input_batch, d.input_feature, d.input_spatial, d.kernel_input_feature, d.kernel_output_feature,
           d.kernel_spatial, d.output_batch, d.output_feature, d.output_spatial);
  }

  static void AddShape(Hasher& h, const Shape& shape) {
    Fields(h, shape.element_type, shape.dimensions);
    for (size_t i = 0; i < shape.dynamic.size(); ++i) {
      if (shape.dynamic[i]) h.Add(-1 - static_cast<int64_t>(i));
    }
    h.Add(static_cast<int64_t>(shape.tuple_shapes.size()));
    for (const Shape& element : shape.tuple_shapes) AddShape(h, element);
  }

  static void AddLiteral(Hasher& h, const Literal& literal) {
    h.Add(std::string_view(static_cast<const char*>(literal.raw()), literal.byte_size()));
    for (const Literal& element : literal.elements()) AddLiteral(h, element);
  }

  static void Add(Hasher&, const std::monostate&) {}
  static void Add(Hasher& h, const ParameterAttributes& a) { Fields(h, a.number); }
  static void Add(Hasher& h, const ConstantAttributes& a) {
    if (a.literal != nullptr) AddLiteral(h, *a.literal);
  }
  static void Add(Hasher& h, const DimensionsAttributes& a) { Fields(h, a.dimensions); }
  static void Add(Hasher& h, const IotaAttributes& a) { Fields(h, a.dimension); }
  static void Add(Hasher& h, const TupleIndexAttributes& a) { Fields(h, a.index); }
  static void Add(Hasher& h, const CompareAttributes& a) { Fields(h, a.direction, a.type); }
  static void Add(Hasher& h, const SliceAttributes& a) { Fields(h, a.dimensions); }
  static void Add(Hasher& h, const DynamicSliceAttributes& a) { Fields(h, a.sizes); }
  static void Add(Hasher& h, const PadAttributes& a) { Fields(h, a.dimensions); }
  static void Add(Hasher& h, const DotAttributes& a) {
    Fields(h, a.lhs_contracting, a.rhs_contracting, a.lhs_batch, a.rhs_batch, a.lhs_ragged, a.rhs_group);
  }
  static void Add(Hasher& h, const WindowAttributes& a) { Fields(h, a.window.dimensions); }
  static void Add(Hasher& h, const ConvolutionAttributes& a) {
    Fields(h, a.window.dimensions, a.dimensions, a.feature_group_count, a.batch_group_count);
  }
  static void Add(Hasher& h, const GatherAttributes& a) {
    Fields(h, a.offset_dims, a.collapsed_slice_dims, a.start_index_map, a.index_vector_dim, a.slice_sizes,
           a.operand_batching_dims, a.start_indices_batching_dims, a.indices_are_sorted);
  }
  static void Add(Hasher& h, const ScatterAttributes& a) {
    Fields(h, a.update_window_dims, a.inserted_window_dims, a.scatter_dims_to_operand_dims, a.index_vector_dim,
           a.input_batching_dims, a.scatter_indices_batching_dims, a.indices_are_sorted, a.unique_indices);
  }
  static void Add(Hasher& h, const SortAttributes& a) { Fields(h, a.dimension, a.is_stable); }
  static void Add(Hasher& h, const TopKAttributes& a) { Fields(h, a.k, a.largest, a.is_stable); }
  static void Add(Hasher& h, const RngAttributes& a) { Fields(h, a.distribution); }
  static void Add(Hasher& h, const RngBitGeneratorAttributes& a) { Fields(h, a.algorithm); }
  static void Add(Hasher& h, const RngStateAttributes& a) { Fields(h, a.delta); }
  static void Add(Hasher& h, const FftAttributes& a) { Fields(h, a.type, a.lengths); }
  static void Add(Hasher& h, const CholeskyAttributes& a) { Fields(h, a.lower); }
  static void Add(Hasher& h, const TriangularSolveAttributes& a) {
    Fields(h, a.left_side, a.lower, a.unit_diagonal, a.transpose_a);
  }
  static void Add(Hasher& h, const BatchNormAttributes& a) { Fields(h, a.epsilon, a.feature_index); }
  static void Add(Hasher& h, const ReducePrecisionAttributes& a) { Fields(h, a.exponent_bits, a.mantissa_bits); }
  static void Add(Hasher& h, const FusionAttributes& a) { Fields(h, a.kind); }
  static void Add(Hasher& h, const ConditionalAttributes&) {
    h.Add(0);
  }  // the two forms of a predicate's branches mean the same
  static void Add(Hasher& h, const ScanAttributes& a) {
    Fields(h, a.dimension, a.num_carries, a.is_reverse, a.is_associative);
  }
  static void Add(Hasher& h, const CustomCallAttributes& a) { Fields(h, a.target, a.has_side_effect); }
  static void Add(Hasher& h, const CollectiveAttributes& a) { Fields(h, a.dimensions, a.channel_id, a.replica_groups); }

  // The physical order of dimensions, nothing where it is the default.
  static void AddLayout(Hasher& h, const Shape& shape) {
    const bool plain = shape.HasDefaultLayout();
    Add(h, !plain);
    if (!plain) Add(h, shape.layout->minor_to_major);
  }

  static void AddRawAttributes(Hasher& h, const Instruction& instruction) {
    std::vector<const RawAttribute*> kept;
    for (const RawAttribute& raw : instruction.raw_attributes()) {
      if (ChangesMeaning(raw, instruction.opcode())) kept.push_back(&raw);
    }
    std::sort(kept.begin(), kept.end(), [](const RawAttribute* a, const RawAttribute* b) { return a->name < b->name; });
    for (const RawAttribute* raw : kept) Fields(h, raw->name, raw->value);
  }
};

// Numbers instructions by a walk from the root along operands, which does not depend on how they were added, and hashes
// each with the numbers of its operands: the numbers say which values are shared.
class Walk {
 public:
  Walk(const Computation& computation, const absl::flat_hash_map<const Computation*, Hash128>& called)
      : computation_(computation), called_(called) {
    numbers_.reserve(computation.instruction_count());
  }

  Hash128 Hash() {
    const std::vector<Instruction*> parameters = computation_.Parameters();
    hasher_.Add(static_cast<int64_t>(parameters.size()));
    for (const Instruction* parameter : parameters) {
      if (parameter != nullptr) Visit(parameter);
    }
    if (computation_.root() != nullptr) Visit(computation_.root());
    hasher_.Add(computation_.root() != nullptr ? numbers_.at(computation_.root()) : -1);
    if (static_cast<int64_t>(numbers_.size()) != computation_.instruction_count()) {
      for (const Instruction* instruction : computation_.PostOrder()) {
        if (!numbers_.contains(instruction) && instruction->HasSideEffect()) Visit(instruction);
      }
    }
    return hasher_.Finish();
  }

 private:
  void Visit(const Instruction* start) {
    if (!numbers_.emplace(start, -1).second) return;
    stack_.push_back({start, 0});
    while (!stack_.empty()) {
      auto& [instruction, next] = stack_.back();
      const int64_t operands = instruction->operand_count();
      const int64_t edges = operands + static_cast<int64_t>(instruction->control_predecessors().size());
      if (next < edges) {
        const Instruction* before =
            next < operands ? instruction->operand(next) : instruction->control_predecessors()[next - operands];
        ++next;
        if (numbers_.emplace(before, -1).second) stack_.push_back({before, 0});
        continue;
      }
      AddInstruction(*instruction);
      numbers_[instruction] = next_number_++;
      stack_.pop_back();
    }
  }

  void AddInstruction(const Instruction& instruction) {
    hasher_.Add(static_cast<int64_t>(instruction.opcode()));
    Parts::AddShape(hasher_, instruction.shape());
    std::visit([&](const auto& attributes) { Parts::Add(hasher_, attributes); }, instruction.all_attributes());
    for (const Instruction* operand : instruction.operands()) hasher_.Add(numbers_.at(operand));
    hasher_.Add(static_cast<int64_t>(instruction.control_predecessors().size()));
    for (const Instruction* before : instruction.control_predecessors()) hasher_.Add(numbers_.at(before));
    for (const Computation* called : instruction.called()) {
      const auto found = called_.find(called);
      hasher_.Add(found != called_.end() ? found->second
                                         : Hash128{});  // missing: recursion, which only an unverified module has
    }
    if (instruction.opcode() == Opcode::kBitcast) {
      Parts::AddLayout(hasher_, instruction.shape());
      Parts::AddLayout(hasher_, instruction.operand(0)->shape());
    }
    if (!instruction.raw_attributes().empty()) Parts::AddRawAttributes(hasher_, instruction);
  }

  const Computation& computation_;
  const absl::flat_hash_map<const Computation*, Hash128>& called_;
  absl::flat_hash_map<const Instruction*, int64_t> numbers_;  // -1: on the way
  std::vector<std::pair<const Instruction*, int64_t>> stack_;
  int64_t next_number_ = 0;
  Hasher hasher_;
};

bool CallsNothing(const Computation& computation) {
  for (const Instruction* instruction : computation.Instructions()) {
    if (!instruction->called().empty()) return false;
  }
  return true;
}

}  // namespace

Hash128 Fingerprinter::Of(const Computation& computation) {
  if (const auto found = known_.find(&computation); found != known_.end()) return found->second;
  if (CallsNothing(computation)) return known_[&computation] = Walk(computation, known_).Hash();
  // Callees first, on a stack of our own.
  absl::flat_hash_map<const Computation*, bool> opened;
  std::vector<const Computation*> stack = {&computation};
  while (!stack.empty()) {
    const Computation* top = stack.back();
    bool& open = opened[top];
    if (!open) {
      open = true;
      for (const Instruction* instruction : top->Instructions()) {
        for (const Computation* called : instruction->called()) {
          if (!known_.contains(called) && !opened.contains(called)) stack.push_back(called);
        }
      }
      continue;
    }
    stack.pop_back();
    if (!known_.contains(top)) known_[top] = Walk(*top, known_).Hash();
  }
  return known_.at(&computation);
}

Hash128 FingerprintComputation(const Computation& computation) { return Fingerprinter().Of(computation); }

Hash128 Fingerprint(const Module& module) {
  return module.entry() != nullptr ? FingerprintComputation(*module.entry()) : Hash128{};
}

}  // namespace smelt::hlo
