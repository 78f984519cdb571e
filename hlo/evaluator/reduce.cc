#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/scalar_function.h"
#include "hlo/evaluator/strided_copy.h"

namespace smelt::hlo {
namespace {

constexpr int64_t kLanes = LaneReducer::kLanes;
constexpr int64_t kRowsPerBlock = 256;  // rows summed before they join the total: keeps f32 sums of many rows accurate
constexpr double kSecondsPerElement = 0.5e-9;

// An input seen as [outer, reduced, inner]: results are numbered by outer, then inner.
struct View {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
};

// Dimensions in the order kept, reduced, kept where the array has it that way; otherwise all kept ones must come first,
// by a transposition.
bool HasThreeGroups(const Shape& shape, const std::vector<bool>& is_reduced, View* view) {
  int group = 0;
  *view = {};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const int64_t size = shape.dimensions[d];
    if (size == 1) continue;
    if (is_reduced[d]) {
      if (group == 2) return false;
      group = 1;
      view->reduced *= size;
    } else {
      if (group >= 1) group = 2;
      (group == 2 ? view->inner : view->outer) *= size;
    }
  }
  return true;
}

absl::StatusOr<Value> KeptDimensionsFirst(Evaluation& evaluation, const Value& input,
                                          const std::vector<bool>& is_reduced) {
  const Shape& shape = input.shape();
  const std::vector<int64_t> strides = shape.Strides();
  StridedCopy copy;
  for (bool reduced : {false, true}) {
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (is_reduced[d] != reduced) continue;
      copy.sizes.push_back(shape.dimensions[d]);
      copy.source_strides.push_back(strides[d]);
    }
  }
  copy.target_strides = Shape::Array(shape.element_type, copy.sizes).Strides();
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> moved, evaluation.NewArray(shape));
  RunStridedCopy(copy, StorageBytes(shape.element_type), input.array().raw(), moved->raw());
  return Value(std::move(moved));
}

// One binary operation over one array, as loops over rows. Sums go through many accumulators, which is faster and more
// accurate than one.
class RowReducer {
 public:
  RowReducer(const ElementwiseKernel& kernel, PrimitiveType type, const void* initial, const View& view)
      : kernel_(kernel),
        type_(type),
        bytes_(StorageBytes(type)),
        kept_bytes_(StorageBytes(kernel.result_type)),
        view_(view) {
    Widen(initial, initial_, 1);
  }

  // Results of one outer index whose inner index is in begin..end.
  void Run(const char* input, char* result, int64_t outer, int64_t begin, int64_t end) {
    const char* base = input + outer * view_.reduced * view_.inner * bytes_;
    char* target = result + outer * view_.inner * bytes_;
    if (view_.inner <= kFewColumns) {
      ReduceContiguous(base, target);
      return;
    }
    for (int64_t start = begin; start < end; start += kWidth) {
      ReduceColumns(base + start * bytes_, target + start * bytes_, std::min(kWidth, end - start));
    }
  }

  static constexpr int64_t kFewColumns = 16;  // below, columns are too few to be lanes

 private:
  static constexpr int64_t kWidth = 1024;

  // Elements in the type of the accumulators: the elements themselves, or wider ones in a buffer.
  const void* Kept(const char* elements, int64_t count) {
    if (kernel_.result_type == type_) return elements;
    ToKeptType(type_, kernel_.result_type, elements, wide_, count);
    return wide_;
  }
  void Widen(const void* elements, void* target, int64_t count) {
    std::memcpy(target, Kept(static_cast<const char*>(elements), count), count * kept_bytes_);
  }
  void Combine(char* accumulator, const void* elements, int64_t count) {
    const void* operands[2] = {accumulator, elements};
    kernel_.Run(operands, accumulator, count);
  }
  void Store(const char* accumulator, char* target, int64_t count) {
    FromKeptType(kernel_.result_type, type_, accumulator, target, count);
  }
  void StartFromInitial(char* accumulator, int64_t count) {
    for (int64_t i = 0; i < count; ++i) std::memcpy(accumulator + i * kept_bytes_, initial_, kept_bytes_);
  }

  void ReduceColumns(const char* input, char* target, int64_t count) {
    StartFromInitial(total_, count);
    for (int64_t first = 0; first < view_.reduced; first += kRowsPerBlock) {
      const int64_t last = std::min(view_.reduced, first + kRowsPerBlock);
      Widen(input + first * view_.inner * bytes_, block_, count);
      for (int64_t r = first + 1; r < last; ++r) Combine(block_, Kept(input + r * view_.inner * bytes_, count), count);
      Combine(total_, block_, count);
    }
    Store(total_, target, count);
  }

  // All of reduced x inner lies in one piece. Lanes take every n-th element and are then folded in halves.
  void ReduceContiguous(const char* input, char* target) {
    const int64_t inner = view_.inner;
    const int64_t width = kWidth / inner * inner;
    const int64_t count = view_.reduced * inner;
    int64_t groups = std::min(width, count) / inner;
    StartFromInitial(total_, inner);
    if (groups > 0) {
      Widen(input, block_, groups * inner);
      for (int64_t start = groups * inner; start < count; start += width) {
        const int64_t length = std::min(width, count - start);
        Combine(block_, Kept(input + start * bytes_, length), length);
      }
      while (groups > 1) {
        const int64_t half = (groups + 1) / 2;
        Combine(block_, block_ + half * inner * kept_bytes_, (groups - half) * inner);
        groups = half;
      }
      Combine(total_, block_, inner);
    }
    Store(total_, target, inner);
  }

  const ElementwiseKernel& kernel_;
  PrimitiveType type_;
  int64_t bytes_;
  int64_t kept_bytes_;
  View view_;
  alignas(64) char initial_[16];
  alignas(64) char total_[kWidth * 16];
  alignas(64) char block_[kWidth * 16];
  alignas(64) char wide_[kWidth * 16];
};

void ReduceRows(Evaluation& evaluation, const ElementwiseKernel& kernel, PrimitiveType type, const Value& input,
                const Value& initial, const View& view, Literal* result) {
  const char* source = input.data<char>();
  char* target = static_cast<char*>(result->raw());
  const double seconds = static_cast<double>(view.reduced * view.inner) * kSecondsPerElement;
  if (view.outer == 1 && view.inner > RowReducer::kFewColumns) {
    evaluation.ParallelFor(
        view.inner, static_cast<double>(view.reduced) * kSecondsPerElement,
        [&](int64_t begin, int64_t end) {
          auto reducer = std::make_unique<RowReducer>(kernel, type, initial.array().raw(), view);
          reducer->Run(source, target, 0, begin, end);
        },
        64);
    return;
  }
  evaluation.ParallelFor(view.outer, seconds, [&](int64_t begin, int64_t end) {
    auto reducer = std::make_unique<RowReducer>(kernel, type, initial.array().raw(), view);
    for (int64_t outer = begin; outer < end; ++outer) reducer->Run(source, target, outer, 0, view.inner);
  });
}

// Any computation over any number of arrays: lanes are results, elements come in row-major order of the reduced
// dimensions.
absl::Status ReduceLanes(LaneReducer* reducer, absl::Span<const Value> inputs, const View& view,
                         absl::Span<const std::shared_ptr<Literal>> results, int64_t begin, int64_t end,
                         Evaluation* limits) {
  const size_t arrays = results.size();
  std::vector<const char*> elements(arrays);
  std::vector<int64_t> strides(arrays);
  std::vector<char*> targets(arrays);
  for (int64_t start = begin; start < end;) {
    const int64_t outer = start / view.inner, inner = start % view.inner;
    // With inner > 1, a block of lanes stays within one outer index; otherwise lanes are rows.
    const int64_t count = std::min({kLanes, end - start, view.inner > 1 ? view.inner - inner : kLanes});
    if (limits != nullptr) SMELT_RETURN_IF_ERROR(limits->CheckLimits());
    reducer->Start(count);
    for (int64_t r = 0; r < view.reduced; ++r) {
      for (size_t a = 0; a < arrays; ++a) {
        const int64_t bytes = StorageBytes(inputs[a].shape().element_type);
        elements[a] = inputs[a].data<char>() + ((outer * view.reduced + r) * view.inner + inner) * bytes;
        strides[a] = (view.inner > 1 ? 1 : view.reduced) * bytes;
      }
      SMELT_RETURN_IF_ERROR(reducer->Add(elements, strides, 0, count));
    }
    for (size_t a = 0; a < arrays; ++a)
      targets[a] = static_cast<char*>(results[a]->raw()) + start * StorageBytes(inputs[a].shape().element_type);
    reducer->Finish(targets, count);
    start += count;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Value> EvaluateReduce(const Call& call) {
  const size_t arrays = call.operands.size() / 2;
  const Shape& input_shape = call.operand(0).shape();
  std::vector<bool> is_reduced(input_shape.rank(), false);
  for (int64_t d : call.instruction.attributes<DimensionsAttributes>().dimensions) is_reduced[d] = true;

  View view;
  const bool three_groups = HasThreeGroups(input_shape, is_reduced, &view);
  std::vector<Value> inputs(call.operands.begin(), call.operands.begin() + arrays);
  if (!three_groups) {
    for (Value& input : inputs) {
      SMELT_ASSIGN_OR_RETURN(input, KeptDimensionsFirst(call.evaluation, input, is_reduced));
    }
    view = {};
    for (int64_t d = 0; d < input_shape.rank(); ++d)
      (is_reduced[d] ? view.reduced : view.outer) *= input_shape.dimensions[d];
  }
  const ScalarProgram* program = call.step.programs[0].get();
  std::vector<std::shared_ptr<Literal>> results;
  std::vector<PrimitiveType> types;
  std::vector<const void*> initial;
  for (size_t a = 0; a < arrays; ++a) {
    const Shape& shape = call.shape().IsTuple() ? call.shape().tuple_shapes[a] : call.shape();
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
    results.push_back(std::move(result));
    types.push_back(inputs[a].shape().element_type);
    initial.push_back(call.operand(arrays + a).array().raw());
  }

  std::optional<ElementwiseKernel> kernel = arrays == 1 ? AccumulatingKernel(program, types[0]) : std::nullopt;
  if (kernel && view.reduced > 0 && results[0]->element_count() > 0) {
    ReduceRows(call.evaluation, *kernel, types[0], inputs[0], call.operand(1), view, results[0].get());
  } else if (program != nullptr && results[0]->element_count() > 2 * kLanes) {
    // Programs cannot fail once their parameters match, which the verifier checks; the first block that does keeps its
    // status all the same.
    absl::Status status;
    std::atomic<bool> failed{false};
    call.evaluation.ParallelFor(
        results[0]->element_count(), static_cast<double>(view.reduced) * 10e-9,
        [&](int64_t begin, int64_t end) {
          LaneReducer reducer(call.evaluation, *call.instruction.called(0), program, types, initial);
          absl::Status part = ReduceLanes(&reducer, inputs, view, results, begin, end, nullptr);
          if (!part.ok() && !failed.exchange(true)) status = std::move(part);
        },
        kLanes);
    SMELT_RETURN_IF_ERROR(status);
  } else {
    LaneReducer reducer(call.evaluation, *call.instruction.called(0), program, types, initial);
    SMELT_RETURN_IF_ERROR(
        ReduceLanes(&reducer, inputs, view, results, 0, results[0]->element_count(), &call.evaluation));
  }
  if (!call.shape().IsTuple()) return Value(std::move(results[0]));
  std::vector<Value> elements;
  for (std::shared_ptr<Literal>& result : results) elements.push_back(Value(std::move(result)));
  return Value(std::move(elements));
}

}  // namespace smelt::hlo
