#include "hlo/evaluator/dot.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>

#include "base/status_macros.h"
#include "hlo/evaluator/contraction_types.h"
#include "hlo/evaluator/gemm.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/strided_copy.h"

namespace smelt::hlo {
namespace {

constexpr double kSecondsPerProduct = 0.05e-9;

// One operand as [batch][rows][depth] with one stride each, whatever dimensions these are made of.
struct Matrix {
  Value value;
  int64_t batch_stride = 0;
  int64_t row_stride = 0;
  int64_t depth_stride = 0;
};

// The one stride of several dimensions walked as one, last fastest; nothing when they do not follow each other.
std::optional<int64_t> MergedStride(const Shape& shape, const std::vector<int64_t>& dimensions) {
  const std::vector<int64_t> strides = shape.Strides();
  std::optional<int64_t> innermost;
  int64_t expected = 0;
  for (size_t i = dimensions.size(); i-- > 0;) {
    const int64_t size = shape.dimensions[dimensions[i]], stride = strides[dimensions[i]];
    if (size == 1) continue;
    if (innermost && stride != expected) return std::nullopt;
    if (!innermost) innermost = stride;
    expected = stride * size;
  }
  return innermost.value_or(1);
}

int64_t SizeOf(const Shape& shape, const std::vector<int64_t>& dimensions) {
  int64_t size = 1;
  for (int64_t d : dimensions) size *= shape.dimensions[d];
  return size;
}

absl::StatusOr<Matrix> AsMatrix(Evaluation& evaluation, Value value, const std::vector<int64_t>& batch,
                                const std::vector<int64_t>& rows, const std::vector<int64_t>& depth) {
  const Shape& shape = value.shape();
  const auto batch_stride = MergedStride(shape, batch), row_stride = MergedStride(shape, rows),
             depth_stride = MergedStride(shape, depth);
  if (batch_stride && row_stride && depth_stride)
    return Matrix{std::move(value), *batch_stride, *row_stride, *depth_stride};
  StridedCopy copy;
  const std::vector<int64_t> strides = shape.Strides();
  for (const std::vector<int64_t>* group : {&batch, &rows, &depth}) {
    for (int64_t d : *group) {
      copy.sizes.push_back(shape.dimensions[d]);
      copy.source_strides.push_back(strides[d]);
    }
  }
  copy.target_strides = Shape::Array(shape.element_type, copy.sizes).Strides();
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> moved, evaluation.NewArray(shape));
  RunStridedCopy(copy, StorageBytes(shape.element_type), value.array().raw(), moved->raw());
  const int64_t row_count = SizeOf(shape, rows), depth_count = SizeOf(shape, depth);
  return Matrix{Value(std::move(moved)), row_count * depth_count, depth_count, 1};
}

std::vector<int64_t> Others(int64_t rank, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> others;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(a.begin(), a.end(), d) == a.end() && std::find(b.begin(), b.end(), d) == b.end()) others.push_back(d);
  }
  return others;
}

template <typename T>
absl::Status MultiplyBatches(Evaluation& evaluation, const Matrix& lhs, const Matrix& rhs, int64_t batches, int64_t m,
                             int64_t n, int64_t k, T* result) {
  const T* a = lhs.value.data<T>();
  const T* b = rhs.value.data<T>();
  if (GemmIsThin<T>(m, n, k)) {
    auto rows = [&](int64_t batch, int64_t begin, int64_t end) {
      GemmThin<T>(a + batch * lhs.batch_stride + begin * lhs.row_stride, end - begin, lhs.row_stride, lhs.depth_stride,
                  b + batch * rhs.batch_stride, rhs.depth_stride, rhs.row_stride, k, n,
                  result + (batch * m + begin) * n, n);
    };
    if (batches == 1 && m < 8 && n >= 64) {
      // One long row: columns are split.
      evaluation.ParallelFor(
          n, static_cast<double>(m * k) * 0.3e-9,
          [&](int64_t begin, int64_t end) {
            GemmThin<T>(a, m, lhs.row_stride, lhs.depth_stride, b + begin * rhs.row_stride, rhs.depth_stride,
                        rhs.row_stride, k, end - begin, result + begin, n);
          },
          64);
      return absl::OkStatus();
    }
    evaluation.ParallelFor(batches * m, static_cast<double>(n * k) * 0.3e-9, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end;) {
        const int64_t batch = at / m, first = at % m;
        const int64_t last = std::min(m, first + end - at);
        rows(batch, first, last);
        at += last - first;
      }
    });
    return absl::OkStatus();
  }
  PrimitiveType type = lhs.value.shape().element_type;
  if (batches == 1) {
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> packed, evaluation.NewScratch(type, GemmPackedSize<T>(k, n)));
    T* panels = static_cast<T*>(packed->raw());
    GemmPack<T>(b, k, n, rhs.depth_stride, rhs.row_stride, panels);
    // The work is done in parts of a few tenths of a second, so that the limits are looked at between them.
    const int64_t rows_per_part =
        std::max<int64_t>(144, static_cast<int64_t>(1e10 / (static_cast<double>(n) * static_cast<double>(k))));
    for (int64_t first = 0; first < m; first += rows_per_part) {
      SMELT_RETURN_IF_ERROR(evaluation.CheckLimits());
      evaluation.ParallelFor(
          std::min(rows_per_part, m - first), static_cast<double>(n * k) * kSecondsPerProduct,
          [&](int64_t begin, int64_t end) {
            GemmRows<T>(a + (first + begin) * lhs.row_stride, end - begin, lhs.row_stride, lhs.depth_stride, panels, k,
                        n, result + (first + begin) * n, n);
          },
          12);
    }
    return absl::OkStatus();
  }
  absl::Status status;
  std::atomic<bool> failed{false};
  evaluation.ParallelFor(batches, static_cast<double>(m * n * k) * kSecondsPerProduct, [&](int64_t begin, int64_t end) {
    absl::StatusOr<std::shared_ptr<Literal>> packed = evaluation.NewScratch(type, GemmPackedSize<T>(k, n));
    if (!packed.ok()) {
      if (!failed.exchange(true)) status = packed.status();
      return;
    }
    T* panels = static_cast<T*>((*packed)->raw());
    for (int64_t batch = begin; batch < end; ++batch) {
      GemmPack<T>(b + batch * rhs.batch_stride, k, n, rhs.depth_stride, rhs.row_stride, panels);
      GemmRows<T>(a + batch * lhs.batch_stride, m, lhs.row_stride, lhs.depth_stride, panels, k, n,
                  result + batch * m * n, n);
    }
  });
  return status;
}

}  // namespace

absl::StatusOr<Value> DotProduct(Evaluation& evaluation, Value lhs_operand, Value rhs_operand,
                                 const DotAttributes& attributes, const Shape& result_shape) {
  const PrimitiveType result_type = result_shape.element_type;
  const PrimitiveType type =
      ContractionType(lhs_operand.shape().element_type, rhs_operand.shape().element_type, result_type);
  SMELT_ASSIGN_OR_RETURN(Value lhs, ConvertedTo(evaluation, std::move(lhs_operand), type));
  SMELT_ASSIGN_OR_RETURN(Value rhs, ConvertedTo(evaluation, std::move(rhs_operand), type));
  const Shape lhs_shape = lhs.shape(), rhs_shape = rhs.shape();

  // Contracting dimensions in the order of the left side: their order does not matter, as long as both sides have the
  // same.
  std::vector<size_t> order(attributes.lhs_contracting.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t x, size_t y) { return attributes.lhs_contracting[x] < attributes.lhs_contracting[y]; });
  std::vector<int64_t> lhs_depth, rhs_depth;
  for (size_t i : order) {
    lhs_depth.push_back(attributes.lhs_contracting[i]);
    rhs_depth.push_back(attributes.rhs_contracting[i]);
  }
  const std::vector<int64_t> lhs_rows = Others(lhs_shape.rank(), attributes.lhs_batch, lhs_depth);
  const std::vector<int64_t> rhs_rows = Others(rhs_shape.rank(), attributes.rhs_batch, rhs_depth);
  const int64_t batches = SizeOf(lhs_shape, attributes.lhs_batch), k = SizeOf(lhs_shape, lhs_depth);
  const int64_t m = SizeOf(lhs_shape, lhs_rows), n = SizeOf(rhs_shape, rhs_rows);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result,
                         evaluation.NewArray(Shape::Array(type, result_shape.dimensions)));
  if (batches * m * n > 0) {
    SMELT_ASSIGN_OR_RETURN(Matrix a, AsMatrix(evaluation, std::move(lhs), attributes.lhs_batch, lhs_rows, lhs_depth));
    SMELT_ASSIGN_OR_RETURN(Matrix b, AsMatrix(evaluation, std::move(rhs), attributes.rhs_batch, rhs_rows, rhs_depth));
    SMELT_RETURN_IF_ERROR(VisitContractionType(type, [&](auto element) {
      using T = decltype(element);
      return MultiplyBatches<T>(evaluation, a, b, batches, m, n, k, static_cast<T*>(result->raw()));
    }));
  }
  return RoundedTo(evaluation, Value(std::move(result)), result_type);
}

absl::StatusOr<Value> EvaluateDot(const Call& call) {
  return DotProduct(call.evaluation, std::move(call.operand(0)), std::move(call.operand(1)),
                    call.instruction.attributes<DotAttributes>(), call.shape());
}

}  // namespace smelt::hlo
