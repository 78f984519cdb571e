#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/index_space.h"
#include "hlo/evaluator/scalar_function.h"
#include "hlo/running_window.h"

namespace smelt::hlo {
namespace {

// Position in the input that window position `w` of output position `o` reads, or -1 when that is padding or lies
// between dilated elements.
int64_t InputPosition(const WindowDimension& window, int64_t bound, int64_t o, int64_t w) {
  const int64_t dilated = o * window.stride + w * window.window_dilation - window.padding_low;
  if (dilated < 0 || dilated % window.base_dilation != 0) return -1;
  const int64_t position = dilated / window.base_dilation;
  return position < bound ? position : -1;
}

int64_t CeilDivide(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
int64_t FloorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// All rows (last dimension) of outputs begin..end, each in blocks of lanes along that dimension.
class WindowReducer {
 public:
  WindowReducer(const Call& call, absl::Span<const std::shared_ptr<Literal>> results, std::vector<PrimitiveType> types,
                std::vector<const void*> initial)
      : call_(call),
        input_(call.operand(0).shape()),
        output_(call.shape().IsTuple() ? call.shape().tuple_shapes[0] : call.shape()),
        windows_(call.instruction.attributes<WindowAttributes>().window.dimensions),
        results_(results),
        reducer_(call.evaluation, *call.instruction.called(0), call.step.programs[0].get(), types, std::move(initial)),
        input_strides_(input_.Strides()) {
    for (PrimitiveType type : types) bytes_.push_back(StorageBytes(type));
    elements_.resize(types.size());
    byte_strides_.resize(types.size());
    targets_.resize(types.size());
  }

  absl::Status Run(int64_t begin, int64_t end) {
    const int64_t rank = output_.rank();
    const int64_t last = rank - 1;
    std::vector<int64_t> outer(output_.dimensions.begin(), output_.dimensions.end() - 1);
    std::vector<int64_t> index(outer.size());
    int64_t rest = begin;
    for (int64_t d = last; d-- > 0;) {
      index[d] = rest % outer[d];
      rest /= outer[d];
    }
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t first = 0; first < output_.dimensions[last]; first += LaneReducer::kLanes) {
        const int64_t lanes = std::min(LaneReducer::kLanes, output_.dimensions[last] - first);
        reducer_.Start(lanes);
        SMELT_RETURN_IF_ERROR(AddWindow(index, first, lanes));
        for (size_t a = 0; a < bytes_.size(); ++a) {
          targets_[a] = static_cast<char*>(results_[a]->raw()) + (row * output_.dimensions[last] + first) * bytes_[a];
        }
        reducer_.Finish(targets_, lanes);
      }
      NextIndex(outer, &index);
    }
    return absl::OkStatus();
  }

 private:
  // Adds every window position to the lanes that it has an element for.
  absl::Status AddWindow(const std::vector<int64_t>& index, int64_t first, int64_t lanes) {
    const int64_t last = output_.rank() - 1;
    std::vector<int64_t> sizes;
    for (int64_t d = 0; d < last; ++d) sizes.push_back(windows_[d].size);
    std::vector<int64_t> w(sizes.size(), 0);
    do {
      int64_t offset = 0;
      bool inside = true;
      for (int64_t d = 0; d < last && inside; ++d) {
        const int64_t position = InputPosition(windows_[d], input_.dimensions[d], index[d], w[d]);
        inside = position >= 0;
        offset += position * input_strides_[d];
      }
      if (!inside) continue;
      for (int64_t k = 0; k < windows_[last].size; ++k) SMELT_RETURN_IF_ERROR(AddLanes(offset, k, first, lanes));
    } while (NextIndex(sizes, &w));
    return absl::OkStatus();
  }

  absl::Status AddLanes(int64_t offset, int64_t k, int64_t first, int64_t lanes) {
    const WindowDimension& window = windows_.back();
    const int64_t bound = input_.dimensions.back();
    if (window.base_dilation != 1) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t position = InputPosition(window, bound, first + lane, k);
        if (position >= 0) SMELT_RETURN_IF_ERROR(Add(offset + position, 0, lane, 1));
      }
      return absl::OkStatus();
    }
    // Lanes whose position o * stride + shift is in 0..bound.
    const int64_t shift = k * window.window_dilation - window.padding_low;
    const int64_t low = std::max(first, CeilDivide(-shift, window.stride));
    const int64_t high = std::min(first + lanes - 1, FloorDivide(bound - 1 - shift, window.stride));
    if (low > high) return absl::OkStatus();
    return Add(offset + low * window.stride + shift, window.stride, low - first, high - low + 1);
  }

  absl::Status Add(int64_t element, int64_t stride, int64_t lane, int64_t count) {
    for (size_t a = 0; a < bytes_.size(); ++a) {
      elements_[a] = call_.operand(static_cast<int64_t>(a)).data<char>() + element * bytes_[a];
      byte_strides_[a] = stride * bytes_[a];
    }
    return reducer_.Add(elements_, byte_strides_, lane, count);
  }

  const Call& call_;
  const Shape& input_;
  const Shape& output_;
  const std::vector<WindowDimension>& windows_;
  absl::Span<const std::shared_ptr<Literal>> results_;
  LaneReducer reducer_;
  std::vector<int64_t> input_strides_;
  std::vector<int64_t> bytes_;
  std::vector<const char*> elements_;
  std::vector<int64_t> byte_strides_;
  std::vector<char*> targets_;
};

// Results along the dimension of a running window, each from the one before it: the order in which its window would be
// reduced, or, in reverse, that order backwards.
class RunningReducer {
 public:
  RunningReducer(const Call& call, absl::Span<const std::shared_ptr<Literal>> results, std::vector<PrimitiveType> types,
                 std::vector<const void*> initial, RunningWindow running)
      : call_(call),
        results_(results),
        running_(running),
        size_(results[0]->shape().dimensions[running.dimension]),
        reducer_(call.evaluation, *call.instruction.called(0), call.step.programs[0].get(), types, std::move(initial)) {
    for (PrimitiveType type : types) bytes_.push_back(StorageBytes(type));
    const std::vector<int64_t>& dimensions = results[0]->shape().dimensions;
    for (size_t d = running.dimension + 1; d < dimensions.size(); ++d) inner_ *= dimensions[d];
    blocks_ = (inner_ + LaneReducer::kLanes - 1) / LaneReducer::kLanes;
    lines_ = results[0]->shape().ElementCount() / (size_ * inner_) * blocks_;
  }

  // Each of up to kLanes elements that lie beside each other, and all that follow them.
  int64_t lines() const { return lines_; }

  absl::Status Run(int64_t begin, int64_t end) {
    std::vector<const char*> elements(bytes_.size());
    std::vector<char*> targets(bytes_.size());
    for (int64_t line = begin; line < end; ++line) {
      const int64_t first = line % blocks_ * LaneReducer::kLanes;
      const int64_t lanes = std::min(LaneReducer::kLanes, inner_ - first);
      reducer_.Start(lanes);
      for (int64_t k = 0; k < size_; ++k) {
        const int64_t at = (line / blocks_ * size_ + (running_.reverse ? size_ - 1 - k : k)) * inner_ + first;
        for (size_t a = 0; a < bytes_.size(); ++a) {
          elements[a] = call_.operand(static_cast<int64_t>(a)).data<char>() + at * bytes_[a];
          targets[a] = static_cast<char*>(results_[a]->raw()) + at * bytes_[a];
        }
        SMELT_RETURN_IF_ERROR(reducer_.Add(elements, bytes_, 0, lanes));
        reducer_.Finish(absl::MakeSpan(targets), lanes);
      }
    }
    return absl::OkStatus();
  }

 private:
  const Call& call_;
  absl::Span<const std::shared_ptr<Literal>> results_;
  const RunningWindow running_;
  const int64_t size_;
  LaneReducer reducer_;
  std::vector<int64_t> bytes_;
  int64_t inner_ = 1, blocks_ = 1, lines_ = 0;
};

// `run(begin, end)` over all of `count`, part by part, so that the limits are looked at between them; on several
// threads where the reducer is a program of its own.
template <typename Run>
absl::Status RunInParts(const Call& call, int64_t count, double seconds_of_each, const Run& run) {
  if (call.step.programs[0] == nullptr) return run(0, count);
  const int64_t part = std::max<int64_t>(1, static_cast<int64_t>(0.2 / seconds_of_each));
  for (int64_t first = 0; first < count; first += part) {
    SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
    absl::Status status;
    std::atomic<bool> failed{false};
    call.evaluation.ParallelFor(std::min(part, count - first), seconds_of_each, [&](int64_t begin, int64_t end) {
      absl::Status result = run(first + begin, first + end);
      if (!result.ok() && !failed.exchange(true)) status = std::move(result);
    });
    SMELT_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Value> EvaluateReduceWindow(const Call& call) {
  const size_t arrays = call.operands.size() / 2;
  std::vector<std::shared_ptr<Literal>> results;
  std::vector<PrimitiveType> types;
  std::vector<const void*> initial;
  for (size_t a = 0; a < arrays; ++a) {
    const Shape& shape = call.shape().IsTuple() ? call.shape().tuple_shapes[a] : call.shape();
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
    results.push_back(std::move(result));
    types.push_back(shape.element_type);
    initial.push_back(call.operand(static_cast<int64_t>(arrays + a)).array().raw());
  }
  const Shape& output = results[0]->shape();
  if (output.rank() == 0) {
    // No dimensions, one element, one window of size one.
    LaneReducer reducer(call.evaluation, *call.instruction.called(0), call.step.programs[0].get(), types, initial);
    std::vector<const char*> elements;
    std::vector<int64_t> strides(arrays, 0);
    std::vector<char*> targets;
    for (size_t a = 0; a < arrays; ++a) {
      elements.push_back(call.operand(static_cast<int64_t>(a)).data<char>());
      targets.push_back(static_cast<char*>(results[a]->raw()));
    }
    reducer.Start(1);
    SMELT_RETURN_IF_ERROR(reducer.Add(elements, strides, 0, 1));
    reducer.Finish(targets, 1);
  } else if (const std::optional<RunningWindow> running = RunningWindowOf(call.instruction);
             running && output.ElementCount() > 0 &&
             (!running->reverse || running->one_operation)) {
    const int64_t lines = RunningReducer(call, results, types, initial, *running).lines();
    const double seconds = static_cast<double>(output.ElementCount()) / static_cast<double>(lines) * 5e-8;
    SMELT_RETURN_IF_ERROR(RunInParts(call, lines, seconds, [&](int64_t begin, int64_t end) {
      return RunningReducer(call, results, types, initial, *running).Run(begin, end);
    }));
  } else if (output.ElementCount() > 0) {
    int64_t window_elements = 1;
    for (const WindowDimension& d : call.instruction.attributes<WindowAttributes>().window.dimensions) {
      if (__builtin_mul_overflow(window_elements, d.size, &window_elements))
        return absl::InvalidArgumentError("has a window that is too large");
    }
    const int64_t rows = output.ElementCount() / output.dimensions.back();
    const double seconds = static_cast<double>(window_elements) * static_cast<double>(output.dimensions.back()) * 1e-9;
    SMELT_RETURN_IF_ERROR(RunInParts(call, rows, seconds, [&](int64_t begin, int64_t end) {
      return WindowReducer(call, results, types, initial).Run(begin, end);
    }));
  }
  if (!call.shape().IsTuple()) return Value(std::move(results[0]));
  std::vector<Value> elements;
  for (std::shared_ptr<Literal>& result : results) elements.push_back(Value(std::move(result)));
  return Value(std::move(elements));
}

}  // namespace smelt::hlo
