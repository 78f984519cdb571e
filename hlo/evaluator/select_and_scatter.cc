#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/index_space.h"
#include "hlo/evaluator/scalar_function.h"

namespace smelt::hlo {
namespace {

constexpr int64_t kLanes = ScalarProgram::kLanes;

bool IsTrivial(const WindowDimension& window) {
  return window.size == 1 && window.stride == 1 && window.padding_low == 0 && window.padding_high == 0;
}

// Works on lanes along one dimension of trivial window (channels, mostly), where lanes never meet; without such a
// dimension, on one lane.
class Selector {
 public:
  Selector(const Call& call, char* result)
      : operand_(call.operand(0)),
        source_(call.operand(1)),
        windows_(call.instruction.attributes<WindowAttributes>().window.dimensions),
        select_(call.evaluation, *call.instruction.called(0), call.step.programs[0].get()),
        scatter_(call.evaluation, *call.instruction.called(1), call.step.programs[1].get()),
        result_(result),
        bytes_(StorageBytes(call.shape().element_type)),
        operand_strides_(operand_.shape().Strides()),
        source_strides_(source_.shape().Strides()) {
    for (int64_t d = operand_.shape().rank(); d-- > 0 && lane_dimension_ < 0;) {
      if (IsTrivial(windows_[d])) lane_dimension_ = d;
    }
    for (auto* buffer : {&chosen_, &candidate_, &update_})
      *buffer = Literal(Shape::Array(operand_.shape().element_type, {kLanes}));
  }

  absl::Status Run(Evaluation& limits) {
    std::vector<int64_t> sizes = source_.shape().dimensions;
    if (HasZero(sizes) || HasZero(operand_.shape().dimensions)) return absl::OkStatus();
    const int64_t lane_count = lane_dimension_ < 0 ? 1 : sizes[lane_dimension_];
    if (lane_dimension_ >= 0) sizes[lane_dimension_] = 1;
    std::vector<int64_t> index(sizes.size(), 0);
    do {
      SMELT_RETURN_IF_ERROR(limits.CheckLimits());
      for (int64_t first = 0; first < lane_count; first += kLanes) {
        SMELT_RETURN_IF_ERROR(RunWindow(index, first, std::min(kLanes, lane_count - first)));
      }
    } while (NextIndex(sizes, &index));
    return absl::OkStatus();
  }

 private:
  void GatherLanes(const char* from, int64_t stride, Literal* to, int64_t count) {
    char* target = static_cast<char*>(to->raw());
    if (stride == 1) {
      std::memcpy(target, from, count * bytes_);
      return;
    }
    for (int64_t i = 0; i < count; ++i) std::memcpy(target + i * bytes_, from + i * stride * bytes_, bytes_);
  }

  absl::Status RunWindow(const std::vector<int64_t>& index, int64_t first, int64_t lanes) {
    const Shape& shape = operand_.shape();
    const int64_t operand_lane = lane_dimension_ < 0 ? 0 : operand_strides_[lane_dimension_];
    const int64_t source_lane = lane_dimension_ < 0 ? 0 : source_strides_[lane_dimension_];
    std::vector<int64_t> sizes, w(index.size(), 0);
    for (const WindowDimension& window : windows_) sizes.push_back(window.size);
    bool any = false;
    do {
      int64_t offset = first * operand_lane;
      bool inside = true;
      for (size_t d = 0; d < index.size() && inside; ++d) {
        const int64_t position =
            index[d] * windows_[d].stride + w[d] * windows_[d].window_dilation - windows_[d].padding_low;
        inside = position >= 0 && position < shape.dimensions[d];
        offset += position * operand_strides_[d];
      }
      if (!inside) continue;
      if (!any) {
        GatherLanes(operand_.data<char>() + offset * bytes_, operand_lane, &chosen_, lanes);
        std::fill_n(chosen_at_, lanes, offset);
        any = true;
        continue;
      }
      GatherLanes(operand_.data<char>() + offset * bytes_, operand_lane, &candidate_, lanes);
      // The computation says whether what was chosen so far stays.
      SMELT_RETURN_IF_ERROR(select_.Apply({chosen_.raw(), candidate_.raw()}, {static_cast<void*>(stays_)}, lanes));
      for (int64_t i = 0; i < lanes; ++i) {
        if (stays_[i] != 0) continue;
        chosen_at_[i] = offset;
        std::memcpy(static_cast<char*>(chosen_.raw()) + i * bytes_, static_cast<char*>(candidate_.raw()) + i * bytes_,
                    bytes_);
      }
    } while (NextIndex(sizes, &w));
    if (!any) return absl::OkStatus();

    int64_t source_offset = first * source_lane;
    for (size_t d = 0; d < index.size(); ++d) source_offset += index[d] * source_strides_[d];
    GatherLanes(source_.data<char>() + source_offset * bytes_, source_lane, &update_, lanes);
    char* old_values = static_cast<char*>(candidate_.raw());
    for (int64_t i = 0; i < lanes; ++i)
      std::memcpy(old_values + i * bytes_, result_ + (chosen_at_[i] + i * operand_lane) * bytes_, bytes_);
    SMELT_RETURN_IF_ERROR(scatter_.Apply({old_values, update_.raw()}, {static_cast<void*>(old_values)}, lanes));
    for (int64_t i = 0; i < lanes; ++i)
      std::memcpy(result_ + (chosen_at_[i] + i * operand_lane) * bytes_, old_values + i * bytes_, bytes_);
    return absl::OkStatus();
  }

  const Value& operand_;
  const Value& source_;
  const std::vector<WindowDimension>& windows_;
  ScalarFunction select_;
  ScalarFunction scatter_;
  char* result_;
  int64_t bytes_;
  std::vector<int64_t> operand_strides_;
  std::vector<int64_t> source_strides_;
  int64_t lane_dimension_ = -1;
  Literal chosen_, candidate_, update_;
  int64_t chosen_at_[kLanes];
  uint8_t stays_[kLanes];
};

}  // namespace

absl::StatusOr<Value> EvaluateSelectAndScatter(const Call& call) {
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(call.shape()));
  const int64_t bytes = StorageBytes(call.shape().element_type);
  char* target = static_cast<char*>(result->raw());
  for (int64_t i = 0; i < result->element_count(); ++i)
    std::memcpy(target + i * bytes, call.operand(2).array().raw(), bytes);
  auto selector = std::make_unique<Selector>(call, target);
  SMELT_RETURN_IF_ERROR(selector->Run(call.evaluation));
  return Value(std::move(result));
}

}  // namespace smelt::hlo
