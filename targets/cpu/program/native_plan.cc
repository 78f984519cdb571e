#include "targets/cpu/program/native_plan.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/lapack_call.h"
#include "targets/cpu/program/scalar_pattern.h"

namespace smelt::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;
using runtime::native::ElementType;

template <typename... Why>
absl::Status Refuse(const Instruction& instruction, const Why&... why) {
  return absl::UnimplementedError(StrCat(instruction.name(), ": ", why...));
}

absl::StatusOr<ElementType> TypeOf(const Instruction& instruction, const Shape& shape) {
  if (!shape.IsArray() || shape.IsDynamic()) return Refuse(instruction, "only arrays of static size run natively");
  const std::optional<ElementType> type = NativeType(shape.element_type);
  if (type.has_value()) return *type;
  return Refuse(instruction, "no native operation works on ", hlo::PrimitiveTypeName(shape.element_type));
}

std::vector<int64_t> FirstOperands(int64_t count) {
  std::vector<int64_t> operands;
  for (int64_t i = 0; i < count; ++i) operands.push_back(i);
  return operands;
}

int64_t Product(absl::Span<const int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

absl::StatusOr<NativePlan> PlanFft(const Instruction& instruction) {
  const auto& attributes = instruction.attributes<hlo::FftAttributes>();
  const Shape &from = instruction.operand(0)->shape(), &to = instruction.shape();
  SMELT_RETURN_IF_ERROR(TypeOf(instruction, from).status());
  const size_t rank = attributes.lengths.size();
  if (rank == 0 || rank > static_cast<size_t>(to.rank())) return Refuse(instruction, "the transform has no dimensions");
  runtime::native::FftPlan plan;
  plan.kind = static_cast<runtime::native::FftKind>(attributes.type);
  static_assert(static_cast<int>(hlo::FftType::kIrfft) == static_cast<int>(runtime::native::FftKind::kRealInverse));
  const bool to_real = attributes.type == hlo::FftType::kIrfft, from_real = attributes.type == hlo::FftType::kRfft;
  plan.f64 =
      (from_real ? from : to).element_type == (from_real || to_real ? PrimitiveType::kF64 : PrimitiveType::kC128);
  plan.lengths = attributes.lengths;
  plan.batch = Product(absl::MakeConstSpan(to.dimensions).subspan(0, to.rank() - rank));
  const auto expected = [&](const Shape& shape, bool half) {
    std::vector<int64_t> sizes = plan.lengths;
    if (half) sizes.back() = sizes.back() / 2 + 1;
    return std::equal(sizes.begin(), sizes.end(), shape.dimensions.end() - static_cast<std::ptrdiff_t>(rank));
  };
  if (!expected(from, to_real) || !expected(to, from_real) || Product(plan.lengths) == 0)
    return Refuse(instruction, "the transform's lengths are not those of its array");
  return NativePlan{plan, {0}, {}};
}

absl::StatusOr<NativePlan> PlanScatter(const Instruction& instruction) {
  const auto& attributes = instruction.attributes<hlo::ScatterAttributes>();
  const int64_t arrays = instruction.operand_count() / 2;
  runtime::native::ScatterPlan plan;
  for (int64_t a = 0; a < arrays; ++a) {
    SMELT_ASSIGN_OR_RETURN(const ElementType type, TypeOf(instruction, instruction.operand(a)->shape()));
    const auto combiner = CombinerOf(*instruction.called(0), a, arrays);
    if (!combiner.has_value() || !runtime::native::Combines(*combiner, type)) {
      return Refuse(instruction, "updates are combined by `", instruction.called(0)->name(),
                    "`, which is no sum, product, minimum, maximum, logical operation or replacement");
    }
    plan.arrays.push_back({type, *combiner});
  }
  plan.operand = instruction.operand(0)->shape().dimensions;
  plan.indices = instruction.operand(arrays)->shape().dimensions;
  plan.updates = instruction.operand(arrays + 1)->shape().dimensions;
  if (plan.operand.size() > 32 || plan.indices.size() > 32) return Refuse(instruction, "more than 32 dimensions");
  SMELT_ASSIGN_OR_RETURN(plan.index_type, TypeOf(instruction, instruction.operand(arrays)->shape()));
  plan.update_window_dims = attributes.update_window_dims;
  plan.inserted_window_dims = attributes.inserted_window_dims;
  plan.scatter_dims_to_operand_dims = attributes.scatter_dims_to_operand_dims;
  plan.input_batching_dims = attributes.input_batching_dims;
  plan.scatter_indices_batching_dims = attributes.scatter_indices_batching_dims;
  plan.index_vector_dim = attributes.index_vector_dim;
  plan.unique_indices = attributes.unique_indices;
  NativePlan native{plan, {}, FirstOperands(arrays)};
  for (int64_t i = arrays; i < instruction.operand_count(); ++i) native.inputs.push_back(i);
  return native;
}

absl::StatusOr<NativePlan> PlanSelectAndScatter(const Instruction& instruction) {
  runtime::native::SelectAndScatterPlan plan;
  SMELT_ASSIGN_OR_RETURN(plan.type, TypeOf(instruction, instruction.shape()));
  if (hlo::IsComplex(instruction.shape().element_type) || plan.type == ElementType::kPred)
    return Refuse(instruction, "no native operation selects among such values");
  const auto comparison = ComparisonOf(*instruction.called(0));
  if (!comparison.has_value()) {
    return Refuse(instruction, "elements are selected by `", instruction.called(0)->name(),
                  "`, which does not ask for the larger or the smaller one");
  }
  plan.comparison = *comparison;
  if (CombinerOf(*instruction.called(1), 0, 1) != runtime::native::Combiner::kAdd)
    return Refuse(instruction, "`", instruction.called(1)->name(), "` is no sum");
  const auto& windows = instruction.attributes<hlo::WindowAttributes>().window.dimensions;
  for (size_t d = 0; d < windows.size(); ++d) {
    const hlo::WindowDimension& window = windows[d];
    if (window.base_dilation != 1 || window.reversal) return Refuse(instruction, "its window is dilated or reversed");
    plan.dimensions.push_back({instruction.operand(0)->shape().dimensions[d],
                               instruction.operand(1)->shape().dimensions[d], window.size, window.stride,
                               window.window_dilation, window.padding_low});
  }
  return NativePlan{plan, {0, 1, 2}, {}};
}

absl::StatusOr<NativePlan> PlanSort(const Instruction& instruction) {
  runtime::native::SortPlan plan;
  for (const Instruction* operand : instruction.operands()) {
    SMELT_ASSIGN_OR_RETURN(const ElementType type, TypeOf(instruction, operand->shape()));
    plan.operands.push_back(type);
  }
  plan.dimensions = instruction.operand(0)->shape().dimensions;
  plan.dimension = instruction.attributes<hlo::SortAttributes>().dimension;
  if (!plan.dimensions.empty() && plan.dimensions[plan.dimension] > UINT32_MAX)
    return Refuse(instruction, "lines are longer than 32 bits count");
  if (!MatchComparator(*instruction.called(0), &plan)) {
    return Refuse(instruction, "the comparator `", instruction.called(0)->name(),
                  "` is no comparison of operands, one after the other");
  }
  return NativePlan{plan, FirstOperands(instruction.operand_count()), {}};
}

absl::StatusOr<NativePlan> PlanTopK(const Instruction& instruction) {
  const Shape& from = instruction.operand(0)->shape();
  if (!instruction.shape().IsTuple() || instruction.shape().tuple_shapes.size() != 2 || from.rank() == 0)
    return Refuse(instruction, "top-k gives values and indices");
  runtime::native::TopKPlan plan;
  SMELT_ASSIGN_OR_RETURN(plan.type, TypeOf(instruction, from));
  SMELT_ASSIGN_OR_RETURN(plan.index_type, TypeOf(instruction, instruction.shape().tuple_shapes[1]));
  const PrimitiveType index = instruction.shape().tuple_shapes[1].element_type;
  if (hlo::IsComplex(from.element_type) || !hlo::IsInteger(index) || hlo::BitWidth(index) < 32)
    return Refuse(instruction, "no native top-k of such values and indices");
  plan.columns = from.dimensions.back();
  plan.rows = Product(absl::MakeConstSpan(from.dimensions).subspan(0, from.rank() - 1));
  plan.k = instruction.shape().tuple_shapes[0].dimensions.back();
  if (plan.k > plan.columns || plan.columns > UINT32_MAX) return Refuse(instruction, "k is larger than a row");
  plan.largest = instruction.attributes<hlo::TopKAttributes>().largest;
  return NativePlan{plan, {0}, {}};
}

absl::Status CheckRealMatrix(const Instruction& instruction, bool* f64) {
  const PrimitiveType type = instruction.shape().element_type;
  SMELT_RETURN_IF_ERROR(TypeOf(instruction, instruction.shape()).status());
  if (type != PrimitiveType::kF32 && type != PrimitiveType::kF64)
    return Refuse(instruction, "only matrices of f32 and f64 run natively");
  *f64 = type == PrimitiveType::kF64;
  return absl::OkStatus();
}

absl::StatusOr<NativePlan> PlanCholesky(const Instruction& instruction) {
  runtime::native::CholeskyPlan plan;
  SMELT_RETURN_IF_ERROR(CheckRealMatrix(instruction, &plan.f64));
  const std::vector<int64_t>& sizes = instruction.shape().dimensions;
  plan.size = sizes.back();
  plan.batch = Product(absl::MakeConstSpan(sizes).subspan(0, sizes.size() - 2));
  plan.lower = instruction.attributes<hlo::CholeskyAttributes>().lower;
  return NativePlan{plan, {0}, {}};
}

absl::StatusOr<NativePlan> PlanTriangularSolve(const Instruction& instruction) {
  runtime::native::TriangularSolvePlan plan;
  SMELT_RETURN_IF_ERROR(CheckRealMatrix(instruction, &plan.f64));
  const auto& attributes = instruction.attributes<hlo::TriangularSolveAttributes>();
  const std::vector<int64_t>& sizes = instruction.shape().dimensions;
  plan.size = instruction.operand(0)->shape().dimensions.back();
  plan.batch = Product(absl::MakeConstSpan(sizes).subspan(0, sizes.size() - 2));
  plan.left_side = attributes.left_side;
  plan.vectors = sizes[sizes.size() - (plan.left_side ? 1 : 2)];
  plan.lower = attributes.lower;
  plan.transpose = attributes.transpose_a != hlo::TriangularTranspose::kNoTranspose;
  plan.unit_diagonal = attributes.unit_diagonal;
  return NativePlan{plan, {0, 1}, {}};
}

absl::StatusOr<NativePlan> PlanRandomBits(const Instruction& instruction) {
  if (!instruction.shape().IsTuple() || instruction.shape().tuple_shapes.size() != 2)
    return Refuse(instruction, "a generator gives its state and the bits");
  const Shape &state = instruction.operand(0)->shape(), &bits = instruction.shape().tuple_shapes[1];
  const auto algorithm = instruction.attributes<hlo::RngBitGeneratorAttributes>().algorithm;
  runtime::native::RandomBitsPlan plan;
  SMELT_RETURN_IF_ERROR(TypeOf(instruction, bits).status());
  plan.three_fry = algorithm == hlo::RandomAlgorithm::kThreeFry;
  plan.state_words = state.ElementCount();
  plan.element_bytes = hlo::StorageBytes(bits.element_type);
  plan.dimensions = bits.dimensions;
  if (state.element_type != PrimitiveType::kU64 || plan.state_words < 2 ||
      plan.state_words > (plan.three_fry ? 2 : 3) || hlo::IsComplex(bits.element_type) ||
      bits.element_type == PrimitiveType::kPred) {
    return Refuse(instruction, "no native generator has such a state, or gives such bits");
  }
  return NativePlan{plan, {0}, {}};
}

// Larger matrices are LAPACK's own, whose blocks fit the caches.
constexpr int64_t kLargestFactorised = 512;

// A custom call whose operands and results are as the routine has them.
struct LapackMatrix {
  const Instruction& instruction;
  hlo::LapackCall call;
  bool f64;
  std::vector<int64_t> dimensions;  // of the first operand
  int64_t batch, rows, columns;

  // Whether a shape is that of `sizes` of this type for each matrix.
  bool Fits(const Shape& shape, PrimitiveType type, const std::vector<int64_t>& sizes) const {
    std::vector<int64_t> expected(dimensions.begin(), dimensions.end() - 2);
    expected.insert(expected.end(), sizes.begin(), sizes.end());
    return shape.IsArray() && shape.element_type == type && shape.dimensions == expected;
  }
  PrimitiveType type() const { return f64 ? PrimitiveType::kF64 : PrimitiveType::kF32; }
  // Whether the result is a tuple of the matrix itself, then of integers of these sizes.
  bool GivesFactors(const std::vector<std::vector<int64_t>>& integers) const {
    const Shape& shape = instruction.shape();
    if (!shape.IsTuple() || shape.tuple_shapes.size() != 1 + integers.size() ||
        !Fits(shape.tuple_shapes[0], type(), {rows, columns})) {
      return false;
    }
    for (size_t i = 0; i < integers.size(); ++i) {
      if (!Fits(shape.tuple_shapes[1 + i], PrimitiveType::kS32, integers[i])) return false;
    }
    return true;
  }
  absl::Status OtherShapes() const {
    return Refuse(instruction, "its shapes are not those of LAPACK's ", call.routine);
  }
};

absl::StatusOr<NativePlan> PlanPotrf(const LapackMatrix& m) {
  if (m.rows != m.columns || m.instruction.operand_count() != 1 || !m.GivesFactors({{}})) return m.OtherShapes();
  return NativePlan{
      runtime::native::CholeskyPlan{
          .f64 = m.f64, .batch = m.batch, .size = m.rows, .lower = m.call.Option("uplo", 'L') == 'L', .tells = true},
      {0},
      {}};
}

absl::StatusOr<NativePlan> PlanGetrf(const LapackMatrix& m) {
  const runtime::native::LuPlan plan{.f64 = m.f64, .batch = m.batch, .rows = m.rows, .columns = m.columns};
  if (m.instruction.operand_count() != 1 || !m.GivesFactors({{plan.Steps()}, {}})) return m.OtherShapes();
  return NativePlan{plan, {0}, {}};
}

absl::StatusOr<NativePlan> PlanTrsm(const LapackMatrix& m) {
  if (m.rows != m.columns || m.instruction.operand_count() != 2) return m.OtherShapes();
  runtime::native::TriangularSolvePlan plan;
  plan.f64 = m.f64;
  plan.batch = m.batch;
  plan.size = m.rows;
  plan.left_side = m.call.Option("side", 'L') == 'L';
  plan.lower = m.call.Option("uplo", 'L') == 'L';
  plan.transpose = m.call.Option("trans_x", 'N') != 'N';
  plan.unit_diagonal = m.call.Option("diag", 'N') == 'U';
  const Shape &vectors = m.instruction.operand(1)->shape(), &result = m.instruction.shape();
  if (!vectors.IsArray() || vectors.rank() < 2) return m.OtherShapes();
  plan.vectors = vectors.dimensions[vectors.rank() - (plan.left_side ? 1 : 2)];
  const std::vector<int64_t> sizes =
      plan.left_side ? std::vector{plan.size, plan.vectors} : std::vector{plan.vectors, plan.size};
  if (!m.Fits(vectors, m.type(), sizes) || !m.Fits(result, m.type(), sizes)) return m.OtherShapes();
  return NativePlan{plan, {0, 1}, {}};
}

struct LapackRow {
  std::string_view family;
  absl::StatusOr<NativePlan> (*plan)(const LapackMatrix& matrix);
};
constexpr LapackRow kLapackRows[] = {
    {"potrf", PlanPotrf},
    {"getrf", PlanGetrf},
    {"trsm", PlanTrsm},
};

absl::StatusOr<NativePlan> PlanCustomCall(const Instruction& instruction) {
  std::optional<hlo::LapackCall> call = hlo::ReadLapackCall(instruction);
  const auto& target = instruction.attributes<hlo::CustomCallAttributes>().target;
  if (!call || instruction.operand_count() == 0) return Refuse(instruction, "there is no native `", target, "`");
  for (const LapackRow& row : kLapackRows) {
    if (call->family() != row.family || (call->type() != 's' && call->type() != 'd')) continue;
    const bool f64 = call->type() == 'd';
    const Shape& shape = instruction.operand(0)->shape();
    if (!shape.IsArray() || shape.rank() < 2 || shape.IsDynamic())
      return Refuse(instruction, "LAPACK's ", call->routine, " takes matrices");
    const int64_t rows = shape.dimensions[shape.rank() - 2], columns = shape.dimensions.back();
    LapackMatrix matrix{instruction,
                        *std::move(call),
                        f64,
                        shape.dimensions,
                        Product(absl::MakeConstSpan(shape.dimensions).subspan(0, shape.rank() - 2)),
                        rows,
                        columns};
    if (!matrix.Fits(shape, matrix.type(), {rows, columns})) return matrix.OtherShapes();
    if (std::min(rows, columns) > kLargestFactorised)
      return Refuse(instruction, "matrices of more than ", kLargestFactorised, " rows and columns are LAPACK's own");
    return row.plan(matrix);
  }
  return Refuse(instruction, "there is no native `", target, "`");
}

struct Row {
  Opcode opcode;
  absl::StatusOr<NativePlan> (*plan)(const Instruction& instruction);
};
constexpr Row kRows[] = {
    {Opcode::kFft, PlanFft},
    {Opcode::kScatter, PlanScatter},
    {Opcode::kSelectAndScatter, PlanSelectAndScatter},
    {Opcode::kSort, PlanSort},
    {Opcode::kTopK, PlanTopK},
    {Opcode::kCholesky, PlanCholesky},
    {Opcode::kTriangularSolve, PlanTriangularSolve},
    {Opcode::kRngBitGenerator, PlanRandomBits},
    {Opcode::kCustomCall, PlanCustomCall},
};

const Row* FindRow(Opcode opcode) {
  const Row* found = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.opcode == opcode; });
  return found == std::end(kRows) ? nullptr : found;
}

}  // namespace

absl::StatusOr<NativePlan> PlanNative(const Instruction& instruction) {
  const Row* row = FindRow(instruction.opcode());
  if (row == nullptr) return Refuse(instruction, "there is no native ", hlo::OpcodeName(instruction.opcode()));
  SMELT_ASSIGN_OR_RETURN(NativePlan native, row->plan(instruction));
  native.operation = runtime::native::MakeOperation(native.plan);
  if (native.operation == nullptr) return Refuse(instruction, "its window or its rank is too large");
  return native;
}

bool HasNativePlan(Opcode opcode) { return FindRow(opcode) != nullptr; }

}  // namespace smelt::cpu
