#include "vdla/lower/convolution.h"

#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "base/ceil_div.h"
#include "base/str_cat.h"

namespace smelt::vdla::lower {
namespace {

using isa::AluOp;
using isa::Memory;
using isa::Role;
using Order = ConvolutionSchedule::Order;
using Axis = ConvolutionSchedule::Axis;

// Builds the tree of one schedule: the buffers, the indices of the tile, the operations on it, the loops around them.
class ConvolutionBuilder {
 public:
  ConvolutionBuilder(const Convolution& c, const ConvolutionSchedule& s) : c_(c), s_(s) {
    operations_.name = c.name;
    // A kernel that skips whole rows or columns leaves holes in the tile unless they are not loaded at all.
    skip_rows_ = c.kernel_height == 1 && c.stride_height > 1;
    in_rows_ = skip_rows_ ? s.rows : (s.rows - 1) * c.stride_height + c.kernel_height;
    in_columns_ = s.gather_columns ? s.columns : (s.columns - 1) * c.stride_width + c.kernel_width;
    kernel_ = c.kernel_height * c.kernel_width;
    tile_ = s.rows * s.columns;
  }

  Operations Build() {
    DeclareBuffers();
    DeclareLoops();
    const bool sums_at_once = in_tiles_ == 1;

    std::vector<Node> tile;  // one tile of the output
    std::vector<Node> sum;   // a part of the sum
    const bool input_outside = sums_at_once && !c_.by_channel() && s_.order == Order::kInputStationary;
    const bool weights_outside = sums_at_once && c_.has_weights() && s_.order == Order::kWeightStationary;
    if (!input_outside) sum.push_back(LoadInput(false));
    if (c_.has_weights()) {
      if (!weights_outside) sum.push_back(LoadWeights(false));
      sum.push_back(Multiply());
    } else {
      AppendMaximum(sum);
    }
    tile.push_back(Loop(in_tile_, in_tiles_, std::move(sum)));
    AppendEpilogue(tile);
    tile.push_back(StoreOutput());

    std::vector<Node> body;
    if (s_.order == Order::kInputStationary) {
      body.push_back(Loop(out_tile_, out_tiles_, std::move(tile)));
      if (input_outside) body.insert(body.begin(), LoadInput(true));
      body = AroundPixels(std::move(body));
    } else {
      body = AroundPixels(std::move(tile));
      if (weights_outside) body.insert(body.begin(), LoadWeights(true));
      body = {Loop(out_tile_, out_tiles_, std::move(body))};
    }
    body = {Loop(image_, c_.images, std::move(body))};
    for (const std::optional<SramBuffer>& tile_buffer : {residual_, weight_tile_, input_tile_}) {
      if (tile_buffer.has_value()) body = {Allocate(*tile_buffer, std::move(body))};
    }
    body = {Allocate(sums_, std::move(body))};
    if (s_.threads > 1) body = {VirtualThreads(thread_, s_.threads, std::move(body))};
    operations_.body = WithConstants(std::move(body));
    return std::move(operations_);
  }

 private:
  void DeclareBuffers() {
    const int64_t pixels = c_.out_height() * c_.out_width();
    // The ALU reads accumulators alone: what it takes the maximum of is loaded there, and widened on the way.
    const Memory in_dram = c_.has_weights() ? Memory::kInp : Memory::kAcc8;
    input_ = operations_.AddDram("input", in_dram, c_.images * c_.in_blocks * c_.height * c_.width, Role::kInput);
    if (c_.has_weights()) {
      const int64_t images = c_.weights_by_image ? c_.images : 1;
      weights_ = operations_.AddDram("weights", Memory::kWgt, images * c_.out_blocks * c_.sum_blocks() * kernel_,
                                     Role::kConstant);
      weight_tile_ = operations_.AddSram("weight_tile", Memory::kWgt, s_.out_blocks * s_.in_blocks * kernel_);
    }
    if (!c_.is_elementwise()) {
      input_tile_ = operations_.AddSram("input_tile", c_.has_weights() ? Memory::kInp : Memory::kAcc,
                                        InputTileBlocks() * in_rows_ * in_columns_);
    }
    sums_ = operations_.AddSram("sums", Memory::kAcc, s_.out_blocks * tile_);
    for (const EpilogueStep& step : c_.epilogue) {
      if (!step.tensor_scale.empty()) AddChannelValues(step.tensor_scale);
      if (step.operand == EpilogueOperand::kPerChannel) {
        operands_.push_back(DramBuffer{});
        AddChannelValues(step.name);
      } else if (step.operand == EpilogueOperand::kTensor) {
        operands_.push_back(
            operations_.AddDram(step.name, Memory::kAcc8, c_.images * c_.out_blocks * pixels, Role::kInput));
        if (!residual_.has_value()) residual_ = operations_.AddSram("tensor_tile", Memory::kAcc, s_.out_blocks * tile_);
      } else {
        operands_.push_back(DramBuffer{});
      }
    }
    if (!channel_values_.empty()) {
      constants_ = operations_.AddSram("channel_values", Memory::kAcc,
                                       static_cast<int64_t>(channel_values_.size()) * c_.out_blocks);
    }
    output_ = operations_.AddDram("output", c_.int8_output ? Memory::kAcc8 : Memory::kAcc,
                                  c_.images * c_.out_blocks * pixels, Role::kOutput);
  }

  void AddChannelValues(const std::string& name) {
    channel_values_.push_back(operations_.AddDram(name, Memory::kAcc, c_.out_blocks, Role::kConstant));
  }

  void DeclareLoops() {
    for (Variable* variable : {&image_, &row_tile_, &column_tile_, &out_tile_, &in_tile_, &thread_})
      *variable = operations_.AddVariable();
    row_tiles_ = CeilDiv(c_.out_height(), s_.rows);
    in_tiles_ = CeilDiv(c_.sum_blocks(), s_.in_blocks);
    out_tiles_ = CeilDiv(c_.out_blocks, s_.out_blocks);
    Linear row_tile = Linear::Of(row_tile_), out_tile = Linear::Of(out_tile_);
    // The threads take tiles in turn, so that they are at neighbouring places of the tensors.
    if (s_.threads > 1) {
      Linear& shared = s_.axis == Axis::kRows ? row_tile : out_tile;
      int64_t& tiles = s_.axis == Axis::kRows ? row_tiles_ : out_tiles_;
      shared = s_.threads * shared + Linear::Of(thread_);
      tiles = CeilDiv(tiles, s_.threads);
    }
    row_ = s_.rows * row_tile;
    column_ = s_.columns * Linear::Of(column_tile_);
    out_block_ = s_.out_blocks * out_tile;
    in_block_ = s_.in_blocks * Linear::Of(in_tile_);
    rows_left_ = Linear(c_.out_height()) - row_;
    columns_left_ = Linear(c_.out_width()) - column_;
    out_left_ = Linear(c_.out_blocks) - out_block_;
    in_left_ = Linear(c_.sum_blocks()) - in_block_;
  }
  // Blocks of input channels in a tile: those that are summed, or those of the output itself.
  int64_t InputTileBlocks() const { return c_.by_channel() ? s_.out_blocks : s_.in_blocks; }

  // A thread whose share has no tile left does nothing. `outside` are loads that stand before the loop over the
  // threads' tiles where they do not depend on them.
  Node Guarded(Node node, bool outside = false) const {
    if (s_.threads > 1 && !outside) node.when.push_back(s_.axis == Axis::kRows ? rows_left_ : out_left_);
    return node;
  }
  std::vector<Node> AroundPixels(std::vector<Node> body) {
    return {Loop(row_tile_, row_tiles_, {Loop(column_tile_, CeilDiv(c_.out_width(), s_.columns), std::move(body))})};
  }

  Node LoadInput(bool outside) const {
    const Linear y = c_.stride_height * row_ - c_.padding.top, x = c_.stride_width * column_ - c_.padding.left;
    Copy copy{
        .memory = c_.has_weights() ? Memory::kInp : Memory::kAcc8, .sram = input_tile_.value_or(sums_), .dram = input_};
    if (!c_.has_weights()) copy.pad_value = std::numeric_limits<int8_t>::min();
    const Linear& first = c_.by_channel() ? out_block_ : in_block_;
    copy.dram_index = c_.width * (c_.height * (c_.in_blocks * Linear::Of(image_) + first) + y) + x;
    CopyDim blocks{.extent = InputTileBlocks(),
                   .remaining = c_.by_channel() ? out_left_ : in_left_,
                   .sram_stride = in_rows_ * in_columns_,
                   .dram_stride = c_.height * c_.width};
    const int64_t row_step = skip_rows_ ? c_.stride_height : 1, column_step = s_.gather_columns ? c_.stride_width : 1;
    CopyDim rows{.extent = in_rows_, .sram_stride = in_columns_, .dram_stride = row_step * c_.width};
    rows.remaining = skip_rows_ ? rows_left_ : c_.stride_height * rows_left_ + (c_.kernel_height - c_.stride_height);
    rows.bounds = CopyDim::Bounds{.origin = y, .step = row_step, .limit = c_.height};
    CopyDim columns{.extent = in_columns_, .sram_stride = 1, .dram_stride = column_step};
    columns.remaining =
        s_.gather_columns ? columns_left_ : c_.stride_width * columns_left_ + (c_.kernel_width - c_.stride_width);
    columns.bounds = CopyDim::Bounds{.origin = x, .step = column_step, .limit = c_.width};
    copy.dims = {blocks, rows, columns};
    return Guarded(copy, outside && s_.axis == Axis::kChannels);
  }

  Node LoadWeights(bool outside) const {
    Copy copy{.memory = Memory::kWgt, .sram = *weight_tile_, .dram = weights_};
    copy.dram_index = kernel_ * (c_.sum_blocks() * out_block_ + in_block_);
    if (c_.weights_by_image)
      copy.dram_index = copy.dram_index + kernel_ * c_.sum_blocks() * c_.out_blocks * Linear::Of(image_);
    copy.dims = {{.extent = s_.out_blocks,
                  .remaining = out_left_,
                  .sram_stride = s_.in_blocks * kernel_,
                  .dram_stride = c_.sum_blocks() * kernel_},
                 {.extent = s_.in_blocks * kernel_, .remaining = kernel_ * in_left_}};
    return Guarded(copy, outside && s_.axis == Axis::kRows);
  }

  Node Multiply() const {
    Gemm gemm{.dst = sums_, .src = *input_tile_, .wgt = *weight_tile_};
    gemm.start = Gemm::Start::kFirst;
    gemm.first = {in_tile_};
    const int64_t row_step = skip_rows_ ? 1 : c_.stride_height, column_step = s_.gather_columns ? 1 : c_.stride_width;
    gemm.dims = {
        {.extent = s_.in_blocks, .remaining = in_left_, .src = in_rows_ * in_columns_, .wgt = kernel_},
        {.extent = c_.kernel_height, .remaining = {}, .src = in_columns_, .wgt = c_.kernel_width},
        {.extent = c_.kernel_width, .remaining = {}, .src = 1, .wgt = 1},
        {.extent = s_.out_blocks,
         .remaining = out_left_,
         .dst = tile_,
         .src = c_.by_channel() ? in_rows_ * in_columns_ : 0,
         .wgt = s_.in_blocks * kernel_},
        {.extent = s_.rows, .remaining = rows_left_, .dst = s_.columns, .src = row_step * in_columns_},
        {.extent = s_.columns, .remaining = columns_left_, .dst = 1, .src = column_step},
    };
    return Guarded(gemm);
  }

  // The largest under the window: the first place is moved, the others are compared with it one by one. A window of one
  // value was loaded where the sums stand.
  void AppendMaximum(std::vector<Node>& sum) const {
    if (c_.is_elementwise()) return;
    const int64_t row_step = skip_rows_ ? 1 : c_.stride_height, column_step = s_.gather_columns ? 1 : c_.stride_width;
    for (int64_t place = 0; place < kernel_; ++place) {
      Alu alu{.op = place == 0 ? AluOp::kMov : AluOp::kMax, .dst = sums_, .dst_index = {}, .src = input_tile_};
      alu.src_index = Linear(place / c_.kernel_width * in_columns_ + place % c_.kernel_width);
      alu.dims = {
          {.extent = s_.out_blocks, .remaining = out_left_, .dst = tile_, .src = in_rows_ * in_columns_},
          {.extent = s_.rows, .remaining = rows_left_, .dst = s_.columns, .src = row_step * in_columns_},
          {.extent = s_.columns, .remaining = columns_left_, .dst = 1, .src = column_step},
      };
      sum.push_back(Guarded(alu));
    }
  }

  // The output's tile in DRAM and in accumulators.
  Copy MoveTile(bool store, Memory memory, SramBuffer sram, DramBuffer dram) const {
    Copy copy{.store = store, .memory = memory, .sram = sram, .dram = dram};
    copy.dram_index =
        c_.out_width() * (c_.out_height() * (c_.out_blocks * Linear::Of(image_) + out_block_) + row_) + column_;
    copy.dims = {{.extent = s_.out_blocks,
                  .remaining = out_left_,
                  .sram_stride = tile_,
                  .dram_stride = c_.out_height() * c_.out_width()},
                 {.extent = s_.rows, .remaining = rows_left_, .sram_stride = s_.columns, .dram_stride = c_.out_width()},
                 {.extent = s_.columns, .remaining = columns_left_}};
    return copy;
  }
  Node StoreOutput() const {
    return Guarded(MoveTile(true, c_.int8_output ? Memory::kAcc8 : Memory::kAcc, sums_, output_));
  }

  // op on the accumulators of the tile, with those of `src`: an equal tile, or one element for each block of channels.
  Node Work(AluOp op, SramBuffer dst, std::optional<SramBuffer> src, bool channel, Linear src_index,
            int32_t imm) const {
    Alu alu{
        .op = op, .dst = dst, .dst_index = {}, .src = src, .src_index = std::move(src_index), .imm = imm, .dims = {}};
    alu.dims = {{.extent = s_.out_blocks, .remaining = out_left_, .dst = tile_, .src = channel ? 1 : tile_},
                {.extent = s_.rows, .remaining = rows_left_, .dst = s_.columns, .src = channel ? 0 : s_.columns},
                {.extent = s_.columns, .remaining = columns_left_, .dst = 1, .src = channel ? 0 : 1}};
    return Guarded(alu);
  }

  void AppendEpilogue(std::vector<Node>& tile) const {
    int64_t constant = 0;  // in the order of the declarations
    const auto next_channel_values = [&] { return Linear(constant++ * c_.out_blocks) + out_block_; };
    for (size_t i = 0; i < c_.epilogue.size(); ++i) {
      const EpilogueStep& step = c_.epilogue[i];
      switch (step.operand) {
        case EpilogueOperand::kImmediate:
          tile.push_back(Work(step.op, sums_, std::nullopt, false, 0, step.imm));
          break;
        case EpilogueOperand::kPerChannel:
          tile.push_back(Work(step.op, sums_, constants_, true, next_channel_values(), 0));
          break;
        case EpilogueOperand::kTensor:
          tile.push_back(Guarded(MoveTile(false, Memory::kAcc8, *residual_, operands_[i])));
          if (!step.tensor_scale.empty())
            tile.push_back(Work(AluOp::kMulShift, *residual_, constants_, true, next_channel_values(), 0));
          tile.push_back(Work(step.op, sums_, residual_, false, 0, 0));
          break;
      }
    }
  }

  // The values per channel are few: all of them stay on the chip, for all threads.
  std::vector<Node> WithConstants(std::vector<Node> body) const {
    if (!constants_.has_value()) return body;
    std::vector<Node> inside;
    for (size_t i = 0; i < channel_values_.size(); ++i) {
      inside.push_back(Copy{.memory = Memory::kAcc,
                            .sram = *constants_,
                            .sram_index = static_cast<int64_t>(i) * c_.out_blocks,
                            .dram = channel_values_[i],
                            .dram_index = {},
                            .dims = {{.extent = c_.out_blocks}}});
    }
    for (Node& node : body) inside.push_back(std::move(node));
    return {Allocate(*constants_, std::move(inside))};
  }

  const Convolution& c_;
  const ConvolutionSchedule& s_;
  Operations operations_;
  bool skip_rows_;
  int64_t in_rows_, in_columns_, kernel_, tile_;
  int64_t row_tiles_ = 0, out_tiles_ = 0;  // of one thread
  int64_t in_tiles_ = 0;
  DramBuffer input_{}, weights_{}, output_{};
  std::vector<DramBuffer> operands_;        // by step of the epilogue: its tensor
  std::vector<DramBuffer> channel_values_;  // one after the other in constants_
  SramBuffer sums_{};
  std::optional<SramBuffer> input_tile_, weight_tile_, residual_, constants_;
  Variable image_ = 0, row_tile_ = 0, column_tile_ = 0, out_tile_ = 0, in_tile_ = 0, thread_ = 0;
  Linear row_, column_, out_block_, in_block_;            // where the tile begins
  Linear rows_left_, columns_left_, out_left_, in_left_;  // of the tensor, from there
};

}  // namespace

Convolution MatrixProduct(std::string name, int64_t rows, int64_t depth_blocks, int64_t column_blocks) {
  Convolution product;
  product.name = std::move(name);
  product.in_blocks = depth_blocks;
  product.out_blocks = column_blocks;
  product.width = rows;
  return product;
}

std::vector<EpilogueStep> RequantizeEpilogue(bool residual, bool relu) {
  std::vector<EpilogueStep> steps = {{AluOp::kAdd, EpilogueOperand::kPerChannel, 0, "bias"},
                                     {AluOp::kMulShift, EpilogueOperand::kPerChannel, 0, "scale"}};
  if (residual) steps.push_back({AluOp::kAdd, EpilogueOperand::kTensor, 0, "residual"});
  if (relu) steps.push_back({AluOp::kMax, EpilogueOperand::kImmediate, 0, ""});
  return steps;
}

std::string ConvolutionSchedule::ToString() const {
  return StrCat(out_blocks, "x", rows, "x", columns, " of ", in_blocks,
                order == Order::kInputStationary ? " input" : " weight", "-stationary, ", threads,
                threads == 1 ? " thread" : " threads",
                threads == 1          ? ""
                : axis == Axis::kRows ? " by rows"
                                      : " by channels",
                gather_columns ? ", gathered" : "");
}

absl::StatusOr<Operations> ScheduleConvolution(const Convolution& convolution, const ConvolutionSchedule& schedule) {
  const struct {
    const char* name;
    int64_t tile, whole;
  } kTiles[] = {{"out_blocks", schedule.out_blocks, convolution.out_blocks},
                {"rows", schedule.rows, convolution.out_height()},
                {"columns", schedule.columns, convolution.out_width()},
                {"in_blocks", schedule.in_blocks, convolution.sum_blocks()}};
  for (const auto& [name, tile, whole] : kTiles) {
    if (tile < 1 || tile > whole)
      return absl::InvalidArgumentError(
          StrCat(convolution.name, ": ", name, " is ", tile, "; from 1 to ", whole, " are possible"));
  }
  if (convolution.by_channel() && convolution.in_blocks != convolution.out_blocks)
    return absl::InvalidArgumentError(StrCat(convolution.name, ": works by channel, from ", convolution.in_blocks,
                                             " blocks of channels to ", convolution.out_blocks));
  if (schedule.threads < 1)
    return absl::InvalidArgumentError(StrCat(convolution.name, ": ", schedule.threads, " virtual threads"));
  if (schedule.gather_columns && (convolution.kernel_width != 1 || convolution.stride_width == 1))
    return absl::InvalidArgumentError(StrCat(convolution.name, ": gather_columns, and no column is skipped"));
  return ConvolutionBuilder(convolution, schedule).Build();
}

}  // namespace smelt::vdla::lower
