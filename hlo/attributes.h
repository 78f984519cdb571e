// Typed attributes of instructions: one struct for a family of opcodes, held by Instruction in a variant.
//
// Only what changes the meaning of an instruction is typed here. What Smelt only carries from text to text (metadata,
// sharding, origin, statistics, backend_config and attributes that it does not know) stays in
// Instruction::raw_attributes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hlo/shape.h"

namespace smelt::hlo {

class Literal;

struct ParameterAttributes {
  int64_t number = 0;
  bool operator==(const ParameterAttributes&) const = default;
};

struct ConstantAttributes {
  std::shared_ptr<const Literal> literal;  // never null in a verified module
  bool elided = false;  // the text was `{...}`: the literal holds a deterministic pattern, and prints as `{...}` again
};

// broadcast, concatenate (one), reduce, reverse, transpose, map, get-dimension-size and set-dimension-size (one).
struct DimensionsAttributes {
  std::vector<int64_t> dimensions;
  bool operator==(const DimensionsAttributes&) const = default;
};

struct IotaAttributes {
  int64_t dimension = 0;
  bool operator==(const IotaAttributes&) const = default;
};

struct TupleIndexAttributes {
  int64_t index = 0;
  bool operator==(const TupleIndexAttributes&) const = default;
};

enum class ComparisonDirection : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
enum class ComparisonType : uint8_t { kFloat, kFloatTotalOrder, kSigned, kUnsigned };

struct CompareAttributes {
  ComparisonDirection direction = ComparisonDirection::kEq;
  std::optional<ComparisonType> type;  // absent: follows from the element type
  bool operator==(const CompareAttributes&) const = default;
};

struct SliceDimension {
  int64_t start = 0;
  int64_t limit = 0;
  int64_t stride = 1;
  bool operator==(const SliceDimension&) const = default;
};
struct SliceAttributes {
  std::vector<SliceDimension> dimensions;
  bool operator==(const SliceAttributes&) const = default;
};

struct DynamicSliceAttributes {
  std::vector<int64_t> sizes;
  bool operator==(const DynamicSliceAttributes&) const = default;
};

struct PadDimension {
  int64_t low = 0;  // negative: crops
  int64_t high = 0;
  int64_t interior = 0;
  bool operator==(const PadDimension&) const = default;
};
struct PadAttributes {
  std::vector<PadDimension> dimensions;
  bool operator==(const PadAttributes&) const = default;
};

// dot, ragged-dot, scaled-dot.
struct DotAttributes {
  std::vector<int64_t> lhs_contracting;
  std::vector<int64_t> rhs_contracting;
  std::vector<int64_t> lhs_batch;
  std::vector<int64_t> rhs_batch;
  std::vector<int64_t> lhs_ragged;
  std::vector<int64_t> rhs_group;
  bool operator==(const DotAttributes&) const = default;
};

struct WindowDimension {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t window_dilation = 1;  // rhs_dilate
  int64_t base_dilation = 1;    // lhs_dilate
  bool reversal = false;        // rhs_reversal
  bool operator==(const WindowDimension&) const = default;
};
struct Window {
  std::vector<WindowDimension> dimensions;
  bool operator==(const Window&) const = default;
};
// reduce-window, select-and-scatter.
struct WindowAttributes {
  Window window;
  bool operator==(const WindowAttributes&) const = default;
};

// The text's dim_labels, `b01f_01io->b01f`, as positions in each array.
struct ConvolutionDimensions {
  int64_t input_batch = 0;
  int64_t input_feature = 0;
  std::vector<int64_t> input_spatial;
  int64_t kernel_input_feature = 0;
  int64_t kernel_output_feature = 0;
  std::vector<int64_t> kernel_spatial;
  int64_t output_batch = 0;
  int64_t output_feature = 0;
  std::vector<int64_t> output_spatial;
  bool operator==(const ConvolutionDimensions&) const = default;
};
struct ConvolutionAttributes {
  Window window;
  ConvolutionDimensions dimensions;
  int64_t feature_group_count = 1;
  int64_t batch_group_count = 1;
  bool operator==(const ConvolutionAttributes&) const = default;
};

struct GatherAttributes {
  std::vector<int64_t> offset_dims;
  std::vector<int64_t> collapsed_slice_dims;
  std::vector<int64_t> start_index_map;
  int64_t index_vector_dim = 0;
  std::vector<int64_t> slice_sizes;
  std::vector<int64_t> operand_batching_dims;
  std::vector<int64_t> start_indices_batching_dims;
  bool indices_are_sorted = false;
  bool operator==(const GatherAttributes&) const = default;
};

struct ScatterAttributes {
  std::vector<int64_t> update_window_dims;
  std::vector<int64_t> inserted_window_dims;
  std::vector<int64_t> scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  std::vector<int64_t> input_batching_dims;
  std::vector<int64_t> scatter_indices_batching_dims;
  bool indices_are_sorted = false;
  bool unique_indices = false;
  bool operator==(const ScatterAttributes&) const = default;
};

struct SortAttributes {
  int64_t dimension = 0;
  bool is_stable = false;
  bool operator==(const SortAttributes&) const = default;
};

struct TopKAttributes {
  int64_t k = 0;
  bool largest = true;
  bool is_stable = false;
  bool operator==(const TopKAttributes&) const = default;
};

enum class RandomDistribution : uint8_t { kUniform, kNormal };
struct RngAttributes {
  RandomDistribution distribution = RandomDistribution::kUniform;
  bool operator==(const RngAttributes&) const = default;
};

enum class RandomAlgorithm : uint8_t { kDefault, kThreeFry, kPhilox };
struct RngBitGeneratorAttributes {
  RandomAlgorithm algorithm = RandomAlgorithm::kDefault;
  bool operator==(const RngBitGeneratorAttributes&) const = default;
};

struct RngStateAttributes {
  int64_t delta = 0;
  bool operator==(const RngStateAttributes&) const = default;
};

enum class FftType : uint8_t { kFft, kIfft, kRfft, kIrfft };
struct FftAttributes {
  FftType type = FftType::kFft;
  std::vector<int64_t> lengths;
  bool operator==(const FftAttributes&) const = default;
};

struct CholeskyAttributes {
  bool lower = false;
  bool operator==(const CholeskyAttributes&) const = default;
};

enum class TriangularTranspose : uint8_t { kNoTranspose, kTranspose, kAdjoint };
struct TriangularSolveAttributes {
  bool left_side = false;
  bool lower = false;
  bool unit_diagonal = false;
  TriangularTranspose transpose_a = TriangularTranspose::kNoTranspose;
  bool operator==(const TriangularSolveAttributes&) const = default;
};

struct BatchNormAttributes {
  float epsilon = 0;
  int64_t feature_index = 0;
  bool operator==(const BatchNormAttributes&) const = default;
};

struct ReducePrecisionAttributes {
  int64_t exponent_bits = 0;
  int64_t mantissa_bits = 0;
  bool operator==(const ReducePrecisionAttributes&) const = default;
};

enum class FusionKind : uint8_t { kLoop, kInput, kOutput, kCustom };
struct FusionAttributes {
  FusionKind kind = FusionKind::kLoop;
  bool operator==(const FusionAttributes&) const = default;
};

// conditional: kPredicate came as true_computation and false_computation (called[0] is true's), else
// branch_computations.
struct ConditionalAttributes {
  bool predicate_form = false;
  bool operator==(const ConditionalAttributes&) const = default;
};

struct ScanAttributes {
  int64_t dimension = 0;
  int64_t num_carries = 0;
  bool is_reverse = false;
  bool is_associative = false;
  bool operator==(const ScanAttributes&) const = default;
};

// custom-call. Everything but the target and the flags that matter to passes is kept raw.
struct CustomCallAttributes {
  std::string target;
  bool has_side_effect = false;
  bool operator==(const CustomCallAttributes&) const = default;
};

// all-gather, reduce-scatter and other collectives whose dimensions matter to their shape.
struct CollectiveAttributes {
  std::vector<int64_t> dimensions;
  std::optional<int64_t> channel_id;
  std::string replica_groups;  // as written; empty when absent
  bool operator==(const CollectiveAttributes&) const = default;
};

using Attributes =
    std::variant<std::monostate, ParameterAttributes, ConstantAttributes, DimensionsAttributes, IotaAttributes,
                 TupleIndexAttributes, CompareAttributes, SliceAttributes, DynamicSliceAttributes, PadAttributes,
                 DotAttributes, WindowAttributes, ConvolutionAttributes, GatherAttributes, ScatterAttributes,
                 SortAttributes, TopKAttributes, RngAttributes, RngBitGeneratorAttributes, RngStateAttributes,
                 FftAttributes, CholeskyAttributes, TriangularSolveAttributes, BatchNormAttributes,
                 ReducePrecisionAttributes, FusionAttributes, ConditionalAttributes, ScanAttributes,
                 CustomCallAttributes, CollectiveAttributes>;

}  // namespace smelt::hlo
