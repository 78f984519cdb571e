// Convolutions, matrix products, poolings and elementwise work of int8 as operations of VDLA: what is computed, the
// schedule's knobs, the tree.
//
//   Convolution c2{.name = "C2", .in_blocks = 4, .out_blocks = 4, .height = 56, .width = 56, .kernel_height = 3,
//                  .kernel_width = 3, .padding = {1, 1, 1, 1}};
//   std::vector<ConvolutionSchedule> space = ConvolutionSchedules(c2, config, /*threads=*/2);
//   Operations operations = ScheduleConvolution(c2, space[0]).value();
//
// Activations lie as (N/batch, C/block, H, W) elements of batch * block int8 (NCHW<n>c), weights as (O/block, I/block,
// KH, KW) elements of block * block (OIHW<o>i), values per channel as O/block elements of int32 (layout.h packs all
// three).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "vdla/isa/config.h"
#include "vdla/lower/operations.h"

namespace smelt::vdla::lower {

enum class EpilogueOperand {
  kImmediate,   // the same number everywhere: `imm`
  kPerChannel,  // int32, one a channel: a constant of the program, in DRAM under `name`
  kTensor,      // int8 in the output's shape: an input of the program under `name`
};

// One operation on every sum before it is stored: x = op(x, operand).
struct EpilogueStep {
  isa::AluOp op = isa::AluOp::kAdd;
  EpilogueOperand operand = EpilogueOperand::kImmediate;
  int32_t imm = 0;
  std::string name;
  // kTensor: int32 per channel, a constant of the program under this name; the tensor is rescaled by it (MULSHIFT)
  // first. Empty: it is not.
  std::string tensor_scale = {};
};

// What is computed. `input` and `output` are the program's, `weights` and the operands per channel its constants.
struct Convolution {
  // What becomes of the values under the window.
  enum class Sum {
    kProducts,           // times weights, summed over the window and all channels
    kProductsByChannel,  // times weights, summed over the window: depthwise, and with ones an average pooling. The GEMM
                         // unit multiplies by diagonal blocks (layout.h); in_blocks is out_blocks
    kMaximum,            // the largest, by the ALU: a max pooling, or the input itself where the window is one by one.
                         // There are no weights; padding is the smallest int8
  };
  std::string name;
  Sum sum = Sum::kProducts;
  bool weights_by_image = false;          // each image has weights of its own: a batch of matrix products
  int64_t images = 1;                     // N / batch
  int64_t in_blocks = 1, out_blocks = 1;  // channels / block
  int64_t height = 1, width = 1;          // of the input
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride_height = 1, stride_width = 1;
  struct Padding {
    int64_t top = 0, left = 0, bottom = 0, right = 0;
  } padding;
  std::vector<EpilogueStep> epilogue;
  bool int8_output = true;  // saturated; else int32 as summed

  int64_t out_height() const { return (height + padding.top + padding.bottom - kernel_height) / stride_height + 1; }
  int64_t out_width() const { return (width + padding.left + padding.right - kernel_width) / stride_width + 1; }
  bool has_weights() const { return sum != Sum::kMaximum; }
  bool by_channel() const { return sum != Sum::kProducts; }
  // Blocks of channels that one block of the output is summed over.
  int64_t sum_blocks() const { return by_channel() ? 1 : in_blocks; }
  // Nothing but the epilogue is computed.
  bool is_elementwise() const {
    return sum == Sum::kMaximum && kernel_height == 1 && kernel_width == 1 && stride_height == 1 && stride_width == 1;
  }
  // Products of blocks: cycles of a GEMM unit that never waits.
  int64_t micro_ops() const {
    if (!has_weights()) return 0;
    return images * out_blocks * out_height() * out_width() * sum_blocks() * kernel_height * kernel_width;
  }
};

// (rows, depth) times (depth, columns) with blocks of columns and depth: a convolution of one by one on a row of
// pixels. `rows` counts elements (rows / batch).
Convolution MatrixProduct(std::string name, int64_t rows, int64_t depth_blocks, int64_t column_blocks);

// The epilogues that networks have: bias, requantisation with a multiplier and a shift for each channel, and relu.
std::vector<EpilogueStep> RequantizeEpilogue(bool residual, bool relu);

struct ConvolutionSchedule {
  // The tile that is computed before it is stored, and the channels that are summed at a time.
  int64_t out_blocks = 1, rows = 1, columns = 1, in_blocks = 1;
  enum class Order {
    kWeightStationary,  // channels of the output outside: weights stay where the input's channels are not split
    kInputStationary,   // rows outside: the input stays
  };
  Order order = Order::kInputStationary;
  int64_t threads = 1;  // virtual
  enum class Axis { kRows, kChannels };
  Axis axis = Axis::kRows;      // whose tiles the threads share out
  bool gather_columns = false;  // a kernel one wide that skips columns: only those that are used are loaded, one by one

  std::string ToString() const;
  bool operator==(const ConvolutionSchedule&) const = default;
};

// The tree of a schedule. InvalidArgument: tiles beyond the tensor, threads below 1, gather_columns where nothing is
// skipped.
absl::StatusOr<Operations> ScheduleConvolution(const Convolution& convolution, const ConvolutionSchedule& schedule);

// Every schedule with so many virtual threads whose tiles fit the memories, those with the least estimated time first.
std::vector<ConvolutionSchedule> ConvolutionSchedules(const Convolution& convolution, const isa::Config& config,
                                                      int64_t threads);

// Cycles that a schedule takes by a formula: the longer of work and traffic with several threads, most of both with
// one. For ranking; the simulator decides.
double EstimateCycles(const Convolution& convolution, const ConvolutionSchedule& schedule, const isa::Config& config);

}  // namespace smelt::vdla::lower
