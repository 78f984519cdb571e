#include "hlo/proto/typed_fields.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/proto/device_fields.h"
#include "hlo/text/attribute_values.h"

namespace smelt::hlo::proto {
namespace {

using Proto = HloInstructionProto;
using Operands = absl::Span<Instruction* const>;

constexpr std::string_view kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr std::string_view kComparisonTypes[] = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
constexpr std::string_view kFusionKinds[] = {"kLoop", "kInput", "kOutput", "kCustom"};

template <size_t count>
absl::Status ReadName(std::string_view what, std::string_view name, const std::string_view (&names)[count],
                      size_t* index) {
  *index = std::find(std::begin(names), std::end(names), name) - std::begin(names);
  if (*index < count) return absl::OkStatus();
  std::string known;
  for (std::string_view one : names) StrAppend(&known, known.empty() ? "" : ", ", one);
  return absl::InvalidArgumentError(StrCat(what, " \"", name, "\" is none of ", known));
}

absl::Status BadNumber(std::string_view what, int64_t number) {
  return absl::InvalidArgumentError(StrCat(what, " ", number, " is not one of HLO's"));
}

template <typename List>
void Copy(const List& from, std::vector<int64_t>* to) {
  to->assign(from.begin(), from.end());
}
template <typename List>
void Copy(const std::vector<int64_t>& from, List* to) {
  to->Assign(from.begin(), from.end());
}

absl::Status ReadOneDimension(const Proto& from, int64_t* dimension) {
  if (from.dimensions_size() != 1) {
    return absl::InvalidArgumentError(StrCat("expected one dimension, found ", from.dimensions_size()));
  }
  *dimension = from.dimensions(0);
  return absl::OkStatus();
}

ComparisonType DefaultComparison(Operands operands) {
  if (operands.empty()) return ComparisonType::kFloat;
  const smelt::hlo::PrimitiveType type = operands[0]->shape().element_type;
  if (IsFloat(type) || IsComplex(type)) return ComparisonType::kFloat;
  return IsSigned(type) ? ComparisonType::kSigned : ComparisonType::kUnsigned;
}

// A family: Write and Read.

void Write(const std::monostate&, const Instruction&, Proto*) {}
absl::Status Read(const Proto&, Operands, std::monostate*) { return absl::OkStatus(); }

void Write(const ParameterAttributes& a, const Instruction&, Proto* to) { to->set_parameter_number(a.number); }
absl::Status Read(const Proto& from, Operands, ParameterAttributes* a) {
  a->number = from.parameter_number();
  if (a->number >= 0 && a->number < (int64_t{1} << 31)) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("parameter number ", a->number, "; expected 0 to 2^31 - 1"));
}

void Write(const ConstantAttributes&, const Instruction&, Proto*) {}
absl::Status Read(const Proto&, Operands, ConstantAttributes*) { return absl::OkStatus(); }

void Write(const DimensionsAttributes& a, const Instruction&, Proto* to) {
  Copy(a.dimensions, to->mutable_dimensions());
}
absl::Status Read(const Proto& from, Operands, DimensionsAttributes* a) {
  Copy(from.dimensions(), &a->dimensions);
  return absl::OkStatus();
}

void Write(const IotaAttributes& a, const Instruction&, Proto* to) { to->add_dimensions(a.dimension); }
absl::Status Read(const Proto& from, Operands, IotaAttributes* a) { return ReadOneDimension(from, &a->dimension); }

void Write(const TupleIndexAttributes& a, const Instruction&, Proto* to) { to->set_tuple_index(a.index); }
absl::Status Read(const Proto& from, Operands, TupleIndexAttributes* a) {
  a->index = from.tuple_index();
  return absl::OkStatus();
}

void Write(const CompareAttributes& a, const Instruction& instruction, Proto* to) {
  to->set_comparison_direction(std::string(kDirections[static_cast<int>(a.direction)]));
  const ComparisonType type = a.type.value_or(DefaultComparison(instruction.operands()));
  to->set_comparison_type(std::string(kComparisonTypes[static_cast<int>(type)]));
}
absl::Status Read(const Proto& from, Operands operands, CompareAttributes* a) {
  size_t index;
  SMELT_RETURN_IF_ERROR(ReadName("comparison direction", from.comparison_direction(), kDirections, &index));
  a->direction = static_cast<ComparisonDirection>(index);
  if (from.comparison_type().empty()) return absl::OkStatus();
  SMELT_RETURN_IF_ERROR(ReadName("comparison type", from.comparison_type(), kComparisonTypes, &index));
  const auto type = static_cast<ComparisonType>(index);
  if (type != DefaultComparison(operands)) a->type = type;
  return absl::OkStatus();
}

void Write(const SliceAttributes& a, const Instruction&, Proto* to) {
  for (const SliceDimension& dimension : a.dimensions) {
    Proto::SliceDimensions* slice = to->add_slice_dimensions();
    slice->set_start(dimension.start);
    slice->set_limit(dimension.limit);
    slice->set_stride(dimension.stride);
  }
}
absl::Status Read(const Proto& from, Operands, SliceAttributes* a) {
  for (const Proto::SliceDimensions& slice : from.slice_dimensions()) {
    a->dimensions.push_back({slice.start(), slice.limit(), slice.stride()});
  }
  return absl::OkStatus();
}

void Write(const DynamicSliceAttributes& a, const Instruction&, Proto* to) {
  Copy(a.sizes, to->mutable_dynamic_slice_sizes());
}
absl::Status Read(const Proto& from, Operands, DynamicSliceAttributes* a) {
  Copy(from.dynamic_slice_sizes(), &a->sizes);
  return absl::OkStatus();
}

void Write(const PadAttributes& a, const Instruction&, Proto* to) {
  PaddingConfig* config = to->mutable_padding_config();
  for (const PadDimension& dimension : a.dimensions) {
    PaddingConfig::PaddingConfigDimension* padding = config->add_dimensions();
    padding->set_edge_padding_low(dimension.low);
    padding->set_edge_padding_high(dimension.high);
    padding->set_interior_padding(dimension.interior);
  }
}
absl::Status Read(const Proto& from, Operands, PadAttributes* a) {
  for (const auto& padding : from.padding_config().dimensions()) {
    a->dimensions.push_back({padding.edge_padding_low(), padding.edge_padding_high(), padding.interior_padding()});
  }
  return absl::OkStatus();
}

void WriteDot(const DotAttributes& a, DotDimensionNumbers* to) {
  Copy(a.lhs_contracting, to->mutable_lhs_contracting_dimensions());
  Copy(a.rhs_contracting, to->mutable_rhs_contracting_dimensions());
  Copy(a.lhs_batch, to->mutable_lhs_batch_dimensions());
  Copy(a.rhs_batch, to->mutable_rhs_batch_dimensions());
}
void Write(const DotAttributes& a, const Instruction& instruction, Proto* to) {
  if (instruction.opcode() != Opcode::kRaggedDot) return WriteDot(a, to->mutable_dot_dimension_numbers());
  RaggedDotDimensionNumbers* ragged = to->mutable_ragged_dot_dimension_numbers();
  WriteDot(a, ragged->mutable_dot_dimension_numbers());
  Copy(a.lhs_ragged, ragged->mutable_lhs_ragged_dimensions());
  Copy(a.rhs_group, ragged->mutable_rhs_group_dimensions());
}
absl::Status Read(const Proto& from, Operands, DotAttributes* a) {
  const RaggedDotDimensionNumbers& ragged = from.ragged_dot_dimension_numbers();
  const DotDimensionNumbers& dot =
      from.has_ragged_dot_dimension_numbers() ? ragged.dot_dimension_numbers() : from.dot_dimension_numbers();
  Copy(dot.lhs_contracting_dimensions(), &a->lhs_contracting);
  Copy(dot.rhs_contracting_dimensions(), &a->rhs_contracting);
  Copy(dot.lhs_batch_dimensions(), &a->lhs_batch);
  Copy(dot.rhs_batch_dimensions(), &a->rhs_batch);
  Copy(ragged.lhs_ragged_dimensions(), &a->lhs_ragged);
  Copy(ragged.rhs_group_dimensions(), &a->rhs_group);
  return absl::OkStatus();
}

void Write(const WindowAttributes& a, const Instruction&, Proto* to) { WriteWindow(a.window, to->mutable_window()); }
absl::Status Read(const Proto& from, Operands, WindowAttributes* a) {
  a->window = ReadWindow(from.window());
  return absl::OkStatus();
}

void Write(const ConvolutionAttributes& a, const Instruction&, Proto* to) {
  WriteWindow(a.window, to->mutable_window());
  WriteConvolutionDimensions(a.dimensions, to->mutable_convolution_dimension_numbers());
  to->set_feature_group_count(a.feature_group_count);
  to->set_batch_group_count(a.batch_group_count);
}
absl::Status Read(const Proto& from, Operands, ConvolutionAttributes* a) {
  a->window = ReadWindow(from.window());
  a->dimensions = ReadConvolutionDimensions(from.convolution_dimension_numbers());
  // Older files have no group counts.
  if (from.feature_group_count() != 0) a->feature_group_count = from.feature_group_count();
  if (from.batch_group_count() != 0) a->batch_group_count = from.batch_group_count();
  return absl::OkStatus();
}

void Write(const GatherAttributes& a, const Instruction&, Proto* to) {
  GatherDimensionNumbers* numbers = to->mutable_gather_dimension_numbers();
  Copy(a.offset_dims, numbers->mutable_offset_dims());
  Copy(a.collapsed_slice_dims, numbers->mutable_collapsed_slice_dims());
  Copy(a.start_index_map, numbers->mutable_start_index_map());
  Copy(a.operand_batching_dims, numbers->mutable_operand_batching_dims());
  Copy(a.start_indices_batching_dims, numbers->mutable_start_indices_batching_dims());
  numbers->set_index_vector_dim(a.index_vector_dim);
  Copy(a.slice_sizes, to->mutable_gather_slice_sizes());
  to->set_indices_are_sorted(a.indices_are_sorted);
}
absl::Status Read(const Proto& from, Operands, GatherAttributes* a) {
  const GatherDimensionNumbers& numbers = from.gather_dimension_numbers();
  Copy(numbers.offset_dims(), &a->offset_dims);
  Copy(numbers.collapsed_slice_dims(), &a->collapsed_slice_dims);
  Copy(numbers.start_index_map(), &a->start_index_map);
  Copy(numbers.operand_batching_dims(), &a->operand_batching_dims);
  Copy(numbers.start_indices_batching_dims(), &a->start_indices_batching_dims);
  a->index_vector_dim = numbers.index_vector_dim();
  Copy(from.gather_slice_sizes(), &a->slice_sizes);
  a->indices_are_sorted = from.indices_are_sorted();
  return absl::OkStatus();
}

void Write(const ScatterAttributes& a, const Instruction&, Proto* to) {
  ScatterDimensionNumbers* numbers = to->mutable_scatter_dimension_numbers();
  Copy(a.update_window_dims, numbers->mutable_update_window_dims());
  Copy(a.inserted_window_dims, numbers->mutable_inserted_window_dims());
  Copy(a.scatter_dims_to_operand_dims, numbers->mutable_scatter_dims_to_operand_dims());
  Copy(a.input_batching_dims, numbers->mutable_input_batching_dims());
  Copy(a.scatter_indices_batching_dims, numbers->mutable_scatter_indices_batching_dims());
  numbers->set_index_vector_dim(a.index_vector_dim);
  to->set_indices_are_sorted(a.indices_are_sorted);
  to->set_unique_indices(a.unique_indices);
}
absl::Status Read(const Proto& from, Operands, ScatterAttributes* a) {
  const ScatterDimensionNumbers& numbers = from.scatter_dimension_numbers();
  Copy(numbers.update_window_dims(), &a->update_window_dims);
  Copy(numbers.inserted_window_dims(), &a->inserted_window_dims);
  Copy(numbers.scatter_dims_to_operand_dims(), &a->scatter_dims_to_operand_dims);
  Copy(numbers.input_batching_dims(), &a->input_batching_dims);
  Copy(numbers.scatter_indices_batching_dims(), &a->scatter_indices_batching_dims);
  a->index_vector_dim = numbers.index_vector_dim();
  a->indices_are_sorted = from.indices_are_sorted();
  a->unique_indices = from.unique_indices();
  return absl::OkStatus();
}

void Write(const SortAttributes& a, const Instruction&, Proto* to) {
  to->add_dimensions(a.dimension);
  to->set_is_stable(a.is_stable);
}
absl::Status Read(const Proto& from, Operands, SortAttributes* a) {
  a->is_stable = from.is_stable();
  return ReadOneDimension(from, &a->dimension);
}

void Write(const TopKAttributes& a, const Instruction&, Proto* to) {
  to->set_k(a.k);
  to->set_largest(a.largest);
  to->set_is_stable(a.is_stable);
}
absl::Status Read(const Proto& from, Operands, TopKAttributes* a) {
  *a = {from.k(), from.largest(), from.is_stable()};
  return absl::OkStatus();
}

void Write(const RngAttributes& a, const Instruction&, Proto* to) {
  to->set_distribution(a.distribution == smelt::hlo::RandomDistribution::kUniform ? RNG_UNIFORM : RNG_NORMAL);
}
absl::Status Read(const Proto& from, Operands, RngAttributes* a) {
  if (from.distribution() != RNG_UNIFORM && from.distribution() != RNG_NORMAL) {
    return BadNumber("random distribution", from.distribution());
  }
  a->distribution = from.distribution() == RNG_UNIFORM ? smelt::hlo::RandomDistribution::kUniform
                                                       : smelt::hlo::RandomDistribution::kNormal;
  return absl::OkStatus();
}

// The enumerators of these stand in the proto's order.
void Write(const RngBitGeneratorAttributes& a, const Instruction&, Proto* to) {
  to->set_rng_algorithm(static_cast<RandomAlgorithm>(a.algorithm));
}
absl::Status Read(const Proto& from, Operands, RngBitGeneratorAttributes* a) {
  if (!RandomAlgorithm_IsValid(from.rng_algorithm())) return BadNumber("random algorithm", from.rng_algorithm());
  a->algorithm = static_cast<smelt::hlo::RandomAlgorithm>(from.rng_algorithm());
  return absl::OkStatus();
}

void Write(const RngStateAttributes& a, const Instruction&, Proto* to) { to->set_delta(a.delta); }
absl::Status Read(const Proto& from, Operands, RngStateAttributes* a) {
  a->delta = from.delta();
  return absl::OkStatus();
}

void Write(const FftAttributes& a, const Instruction&, Proto* to) {
  to->set_fft_type(static_cast<FftType>(a.type));
  Copy(a.lengths, to->mutable_fft_length());
}
absl::Status Read(const Proto& from, Operands, FftAttributes* a) {
  if (!FftType_IsValid(from.fft_type())) return BadNumber("FFT type", from.fft_type());
  a->type = static_cast<smelt::hlo::FftType>(from.fft_type());
  Copy(from.fft_length(), &a->lengths);
  return absl::OkStatus();
}

void Write(const CholeskyAttributes& a, const Instruction&, Proto* to) {
  to->mutable_cholesky_options()->set_lower(a.lower);
}
absl::Status Read(const Proto& from, Operands, CholeskyAttributes* a) {
  a->lower = from.cholesky_options().lower();
  return absl::OkStatus();
}

void Write(const TriangularSolveAttributes& a, const Instruction&, Proto* to) {
  TriangularSolveOptions* options = to->mutable_triangular_solve_options();
  options->set_left_side(a.left_side);
  options->set_lower(a.lower);
  options->set_unit_diagonal(a.unit_diagonal);
  options->set_transpose_a(static_cast<TriangularSolveOptions::Transpose>(static_cast<int>(a.transpose_a) + 1));
}
absl::Status Read(const Proto& from, Operands, TriangularSolveAttributes* a) {
  const TriangularSolveOptions& options = from.triangular_solve_options();
  const int transpose = options.transpose_a();
  if (transpose < TriangularSolveOptions::NO_TRANSPOSE || transpose > TriangularSolveOptions::ADJOINT) {
    return BadNumber("transpose_a", transpose);
  }
  *a = {options.left_side(), options.lower(), options.unit_diagonal(),
        static_cast<TriangularTranspose>(transpose - TriangularSolveOptions::NO_TRANSPOSE)};
  return absl::OkStatus();
}

void Write(const BatchNormAttributes& a, const Instruction&, Proto* to) {
  to->set_epsilon(a.epsilon);
  to->set_feature_index(a.feature_index);
}
absl::Status Read(const Proto& from, Operands, BatchNormAttributes* a) {
  *a = {from.epsilon(), from.feature_index()};
  return absl::OkStatus();
}

void Write(const ReducePrecisionAttributes& a, const Instruction&, Proto* to) {
  to->set_exponent_bits(static_cast<int32_t>(a.exponent_bits));
  to->set_mantissa_bits(static_cast<int32_t>(a.mantissa_bits));
}
absl::Status Read(const Proto& from, Operands, ReducePrecisionAttributes* a) {
  *a = {from.exponent_bits(), from.mantissa_bits()};
  return absl::OkStatus();
}

void Write(const FusionAttributes& a, const Instruction&, Proto* to) {
  to->set_fusion_kind(std::string(kFusionKinds[static_cast<int>(a.kind)]));
}
absl::Status Read(const Proto& from, Operands, FusionAttributes* a) {
  size_t index;
  SMELT_RETURN_IF_ERROR(ReadName("fusion kind", from.fusion_kind(), kFusionKinds, &index));
  a->kind = static_cast<FusionKind>(index);
  return absl::OkStatus();
}

// The proto tells the two forms apart as XLA does: by the type of what is branched on.
void Write(const ConditionalAttributes&, const Instruction&, Proto*) {}
absl::Status Read(const Proto& from, Operands operands, ConditionalAttributes* a) {
  a->predicate_form = from.called_computation_ids_size() == 2 && !operands.empty() &&
                      operands[0]->shape().element_type == smelt::hlo::PrimitiveType::kPred;
  return absl::OkStatus();
}

void Write(const ScanAttributes& a, const Instruction&, Proto* to) {
  to->add_dimensions(a.dimension);
  to->set_num_carries(a.num_carries);
  to->set_is_reverse(a.is_reverse);
  to->set_is_associative(a.is_associative ? TRI_STATE_TRUE : TRI_STATE_FALSE);
}
absl::Status Read(const Proto& from, Operands, ScanAttributes* a) {
  a->num_carries = from.num_carries();
  a->is_reverse = from.is_reverse();
  a->is_associative = from.is_associative() == TRI_STATE_TRUE;
  return ReadOneDimension(from, &a->dimension);
}

void Write(const CustomCallAttributes& a, const Instruction&, Proto* to) {
  to->set_custom_call_target(a.target);
  to->set_custom_call_has_side_effect(a.has_side_effect);
}
absl::Status Read(const Proto& from, Operands, CustomCallAttributes* a) {
  *a = {from.custom_call_target(), from.custom_call_has_side_effect()};
  return absl::OkStatus();
}

bool HasGroups(Opcode opcode) {
  return opcode != Opcode::kCollectivePermute && opcode != Opcode::kCollectivePermuteStart;
}
void Write(const CollectiveAttributes& a, const Instruction& instruction, Proto* to) {
  Copy(a.dimensions, to->mutable_dimensions());
  to->set_channel_id(a.channel_id.value_or(0));
  if (HasGroups(instruction.opcode()) && !WriteReplicaGroups(a.replica_groups, to)) to->clear_device_list();
}
absl::Status Read(const Proto& from, Operands, CollectiveAttributes* a) {
  Copy(from.dimensions(), &a->dimensions);
  if (from.channel_id() != 0) a->channel_id = from.channel_id();
  const std::string groups = ReplicaGroupsText(from);
  if (groups.empty()) return absl::OkStatus();
  // What a text may not say, such as an axis that the mesh does not have, a proto may not say either.
  text::Scanner scanner(groups, "replica_groups");
  if (text::ReadReplicaGroups(scanner, &a->replica_groups) && scanner.AtEnd()) return absl::OkStatus();
  return scanner.failed()
             ? scanner.error()
             : absl::InvalidArgumentError(StrCat("replica groups `", groups.substr(0, 80), "` go on after their end"));
}

struct OldComparison {
  std::string_view opcode;
  const char* direction;
};
constexpr OldComparison kOldComparisons[] = {
    {"equal-to", "EQ"},     {"not-equal-to", "NE"},          {"greater-than-or-equal-to", "GE"},
    {"greater-than", "GT"}, {"less-than-or-equal-to", "LE"}, {"less-than", "LT"}};

}  // namespace

void WriteWindow(const smelt::hlo::Window& window, Window* to) {
  for (const smelt::hlo::WindowDimension& dimension : window.dimensions) {
    WindowDimension* one = to->add_dimensions();
    one->set_size(dimension.size);
    one->set_stride(dimension.stride);
    one->set_padding_low(dimension.padding_low);
    one->set_padding_high(dimension.padding_high);
    one->set_window_dilation(dimension.window_dilation);
    one->set_base_dilation(dimension.base_dilation);
    one->set_window_reversal(dimension.reversal);
  }
}

smelt::hlo::Window ReadWindow(const Window& from) {
  smelt::hlo::Window window;
  for (const WindowDimension& one : from.dimensions()) {
    window.dimensions.push_back({one.size(), one.stride(), one.padding_low(), one.padding_high(), one.window_dilation(),
                                 one.base_dilation(), one.window_reversal()});
  }
  return window;
}

void WriteConvolutionDimensions(const ConvolutionDimensions& d, ConvolutionDimensionNumbers* to) {
  to->set_input_batch_dimension(d.input_batch);
  to->set_input_feature_dimension(d.input_feature);
  Copy(d.input_spatial, to->mutable_input_spatial_dimensions());
  to->set_kernel_input_feature_dimension(d.kernel_input_feature);
  to->set_kernel_output_feature_dimension(d.kernel_output_feature);
  Copy(d.kernel_spatial, to->mutable_kernel_spatial_dimensions());
  to->set_output_batch_dimension(d.output_batch);
  to->set_output_feature_dimension(d.output_feature);
  Copy(d.output_spatial, to->mutable_output_spatial_dimensions());
}

ConvolutionDimensions ReadConvolutionDimensions(const ConvolutionDimensionNumbers& from) {
  ConvolutionDimensions d;
  d.input_batch = from.input_batch_dimension();
  d.input_feature = from.input_feature_dimension();
  Copy(from.input_spatial_dimensions(), &d.input_spatial);
  d.kernel_input_feature = from.kernel_input_feature_dimension();
  d.kernel_output_feature = from.kernel_output_feature_dimension();
  Copy(from.kernel_spatial_dimensions(), &d.kernel_spatial);
  d.output_batch = from.output_batch_dimension();
  d.output_feature = from.output_feature_dimension();
  Copy(from.output_spatial_dimensions(), &d.output_spatial);
  return d;
}

void WriteTyped(const Instruction& instruction, HloInstructionProto* to) {
  std::visit([&](const auto& family) { Write(family, instruction, to); }, instruction.all_attributes());
}

absl::Status ReadTyped(const HloInstructionProto& from, absl::Span<Instruction* const> operands,
                       Attributes* attributes) {
  return std::visit([&](auto& family) { return Read(from, operands, &family); }, *attributes);
}

void RenewOpcode(HloInstructionProto* instruction) {
  for (const OldComparison& old : kOldComparisons) {
    if (instruction->opcode() != old.opcode) continue;
    instruction->set_opcode("compare");
    instruction->set_comparison_direction(old.direction);
    return;
  }
}

}  // namespace smelt::hlo::proto
