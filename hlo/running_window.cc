#include "hlo/running_window.h"

#include <vector>

#include "hlo/computation.h"
#include "hlo/opcode.h"

namespace smelt::hlo {
namespace {

bool IsOneCommutativeOperation(const Computation& reducer) {
  const Instruction& root = *reducer.root();
  return root.operand_count() == 2 && HasFlag(root.opcode(), kCommutative) &&
         root.operand(0)->opcode() == Opcode::kParameter && root.operand(1)->opcode() == Opcode::kParameter;
}

}  // namespace

std::optional<RunningWindow> RunningWindowOf(const Instruction& reduce_window) {
  const std::vector<WindowDimension>& window = reduce_window.attributes<WindowAttributes>().window.dimensions;
  const std::vector<int64_t>& sizes = reduce_window.operand(0)->shape().dimensions;
  std::optional<RunningWindow> running;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDimension& w = window[d];
    if (w.stride != 1 || w.window_dilation != 1 || w.base_dilation != 1 || w.reversal) return std::nullopt;
    if (w.size == 1 && w.padding_low == 0 && w.padding_high == 0) continue;
    if (running || w.size != sizes[d]) return std::nullopt;
    const bool forward = w.padding_low == w.size - 1 && w.padding_high == 0;
    const bool backward = w.padding_high == w.size - 1 && w.padding_low == 0;
    if (!forward && !backward) return std::nullopt;
    running = RunningWindow{static_cast<int64_t>(d), backward, IsOneCommutativeOperation(*reduce_window.called(0))};
  }
  return running;
}

}  // namespace smelt::hlo
