#include "kernels/templates/ahead.h"

#include <optional>

#include "base/ceil_div.h"
#include "base/status_macros.h"

namespace smelt::kernels::nests {
namespace {

using schedule::Schedule;

// Rows ahead of the one that is copied, whose runs are asked for. On a Cascade Lake 128 x 3,072 times 3,072 x 768 takes
// 6.3 ms with it and 7.7 without.
constexpr int64_t kRowsAhead = 4;
// Rows whose arithmetic takes so little that the processor itself looks far enough ahead.
constexpr int64_t kMostRowsForeseen = 2;
// Bytes between lines that the processor does not see as one stream.
constexpr int64_t kLinesApart = 1024;
constexpr int64_t kTilesAhead = 4;
// What is read beside sums is read in pieces, so that less of it than of a matrix already comes from far.
constexpr double kShareBesideSums = 8;
// Strips of a matrix, and its lines, too. Each pass over a strip asks for the next one; where there are more passes
// they lose what the first one gains.
constexpr double kShareOfStrips = 8;
constexpr double kShareOfLines = 4;
constexpr int64_t kPassesOfStrip = 5;

bool IsInput(const Access& access) { return access.tensor->kind == te::OperationKind::kPlaceholder; }

// Whether the rows of some batch share a matrix of their own.
bool IsOfBatch(const te::Operation& main, const Access& matrix, int vector_axis) {
  for (size_t a = 0; a < main.axes.size(); ++a) {
    if (static_cast<int>(a) != vector_axis && DependsOn(matrix, main.axes[a].var)) return true;
  }
  return false;
}

}  // namespace

double MatrixBytes(const Access& access) {
  return Elements(*access.tensor) * static_cast<double>(hlo::StorageBytes(access.tensor->types[access.output]));
}

bool IsFar(const Access& access, const machine::Machine& target) {
  return MatrixBytes(access) > static_cast<double>(target.LevelBytes(1));
}

bool IsFromMemory(const Access& access, const machine::Machine& target) {
  return MatrixBytes(access) > static_cast<double>(target.LevelBytes(2)) / 3;
}

absl::Status AskForRows(Schedule& schedule, const Access& access, const std::string& stage, const std::string& rows,
                        const machine::Machine& target) {
  if (!IsInput(access) || !IsFar(access, target)) return absl::OkStatus();
  return schedule.Prefetch(access.tensor->name, stage, rows, kRowsAhead);
}

bool NextBlockIsFar(const te::Operation& sum, const Access& matrix, int vector_axis, const machine::Machine& target) {
  return IsInput(matrix) && IsFar(matrix, target) && Stride(matrix, sum.axes[vector_axis].var) == 1 &&
         Stride(matrix, sum.reduce_axes.back().var).has_value();
}

absl::Status AskForNextBlock(Schedule& schedule, const std::string& tensor, const std::string& partial,
                             const std::string& step) {
  // On a Zen 4 35 x 650 times 650 x 10,000 takes 6.2 ms without, 4.9 with it; 8 rows times 1,536 x 1,536, which comes
  // from memory where a program has others, 780 us and 490.
  return schedule.Prefetch(tensor, partial, step, 1, AxisName(0));
}

absl::Status AskForNextLines(Schedule& schedule, const NestInput& input, const DotBlock& block,
                             const std::string& partial, const std::string& step, const std::string& column) {
  // If the arithmetic of a line, by all blocks of rows, is more than it takes to come. From memory, 8 rows times 1,536
  // x 1,536 take 790 us on a Zen 4 without, 530 with it; from the last cache 350 in any case. 10 rows, in blocks of
  // two, times 256 x 8,000 take 920 and 630, 36 times 112 x 672 150 and 125; near lines cost up to 4 %.
  const te::Operation& main = *input.nest.main;
  const Access* matrix = LargestVectorAccess(input.nest, main, block.column_axis);
  const bool few = main.axes[block.row_axis].extent <= kMostRowsForeseen;
  const bool near = kShareOfLines * MatrixBytes(*matrix) < static_cast<double>(input.target.LevelBytes(1));
  if (!IsInput(*matrix) || few || near || IsOfBatch(main, *matrix, block.column_axis)) return absl::OkStatus();
  return schedule.Prefetch(matrix->tensor->name, partial, step, block.columns, column);
}

absl::Status AskForNextTilesRows(Schedule& schedule, const NestInput& input, const RegisterTile& registers,
                                 const std::string& sum, const std::string& step) {
  const te::Operation& main = *input.nest.main;
  if (!IsContraction(main) || registers.row_axis < 0 || main.reduce_axes.empty()) return absl::OkStatus();
  for (const Access& access : AccessesOf(input.nest, main)) {
    if (!IsInput(access) || !IsFar(access, input.target)) continue;
    const std::optional<int64_t> along = Stride(access, main.reduce_axes.back().var);
    if (!along || *along * hlo::StorageBytes(access.tensor->types[access.output]) < kLinesApart) continue;
    if (Stride(access, main.axes[registers.row_axis].var) != 1) continue;
    // The last row: the first ones lie in the line that this tile reads. From memory, eight times 512 x 256 transposed
    // times 256 x 64 take 2.1 ms on a Zen 4 without, 1.26 with it.
    const int64_t last_of_next = 2 * registers.rows - 1;
    SMELT_RETURN_IF_ERROR(
        schedule.Prefetch(access.tensor->name, sum, step, last_of_next, AxisName(registers.row_axis)));
  }
  return absl::OkStatus();
}

absl::Status AskForNextStrip(Schedule& schedule, const NestInput& input, const RegisterTile& registers,
                             const std::string& sum, const std::string& step) {
  const te::Operation& main = *input.nest.main;
  if (!IsContraction(main) || main.reduce_axes.empty() || registers.vector_axis < 0) return absl::OkStatus();
  const Access* matrix = LargestVectorAccess(input.nest, main, registers.vector_axis);
  if (matrix == nullptr || !IsInput(*matrix) || Stride(*matrix, main.axes[registers.vector_axis].var) != 1 ||
      !Stride(*matrix, main.reduce_axes.back().var))
    return absl::OkStatus();
  if (IsOfBatch(main, *matrix, registers.vector_axis)) return absl::OkStatus();
  int64_t rows = 1;
  for (size_t a = 0; a < main.axes.size(); ++a) {
    if (static_cast<int>(a) != registers.vector_axis) rows *= main.axes[a].extent;
  }
  const bool is_last = main.axes[registers.vector_axis].extent <= registers.width();
  if (is_last || CeilDiv(rows, registers.rows) > kPassesOfStrip) return absl::OkStatus();
  if (kShareOfStrips * MatrixBytes(*matrix) < static_cast<double>(input.target.LevelBytes(1))) return absl::OkStatus();
  // From memory, on a Zen 4, 8 rows times 256 x 1,024 take 40 us instead of 115, 16 rows times 512 x 512 80 instead of
  // 130, 49 rows times 256 x 512 118 instead of 185; from the second cache all take what they took.
  return schedule.Prefetch(matrix->tensor->name, sum, step, registers.width(), AxisName(registers.vector_axis));
}

absl::Status AskBesideSums(Schedule& schedule, const NestInput& input, const std::string& tile_loop) {
  const te::Operation& root = *input.nest.root;
  const te::Operation& main = *input.nest.main;
  // Nobody knows which part of an array some iterations of fused loops walk over.
  const bool is_fused = root.axes.size() != main.axes.size();
  if (!IsContraction(main) || is_fused || tile_loop.empty()) return absl::OkStatus();
  for (const Access& access : input.nest.accesses) {
    if (access.reader.get() == &main || !IsInput(access) || access.tensor->shape != root.shape) continue;
    if (kShareBesideSums * MatrixBytes(access) < static_cast<double>(input.target.LevelBytes(1))) continue;
    // 2,048 x 320 weights from memory and sums of 16 take 850 us on a Zen 4 without, 560 with it.
    SMELT_RETURN_IF_ERROR(schedule.Prefetch(access.tensor->name, root.name, tile_loop, kTilesAhead));
  }
  return absl::OkStatus();
}

}  // namespace smelt::kernels::nests
