#include "vdla/lower/copies.h"

#include <algorithm>

#include "base/status_macros.h"
#include "base/str_cat.h"

namespace smelt::vdla::lower {
namespace {

using isa::Instruction;
using Dim = CopyBox::Dim;

constexpr int64_t kMostPadding = 15;            // of one side: four bits
constexpr int64_t kMostStride = (1 << 20) - 1;  // of rows in DRAM
constexpr int64_t kMostRows = (1 << 13) - 1;    // and elements of a row

int64_t TotalOf(const Dim& dim) { return dim.before + dim.size + dim.after; }
bool IsPadded(const Dim& dim) { return dim.before > 0 || dim.after > 0; }

// Without dimensions of one element and with neighbours that continue each other as one.
std::vector<Dim> Fold(const std::vector<Dim>& dims) {
  std::vector<Dim> folded;
  for (const Dim& dim : dims) {
    if (dim.size == 1 && !IsPadded(dim)) continue;
    if (!folded.empty()) {
      Dim& outer = folded.back();
      if (!IsPadded(outer) && !IsPadded(dim) && outer.sram_stride == dim.size * dim.sram_stride &&
          outer.dram_stride == dim.size * dim.dram_stride) {
        outer = {.before = 0,
                 .size = outer.size * dim.size,
                 .after = 0,
                 .sram_stride = dim.sram_stride,
                 .dram_stride = dim.dram_stride};
        continue;
      }
    }
    folded.push_back(dim);
  }
  return folded;
}

class CopyEmitter {
 public:
  CopyEmitter(const CopyBox& box, std::vector<Instruction>* out) : box_(box), out_(out), outer_(Fold(box.dims)) {
    if (!outer_.empty() && outer_.back().sram_stride == 1 && outer_.back().dram_stride == 1) {
      x_ = outer_.back();
      outer_.pop_back();
    }
    if (!outer_.empty() && outer_.back().sram_stride == TotalOf(x_)) {
      y_ = outer_.back();
      outer_.pop_back();
    }
  }

  absl::Status Emit() {
    if (x_.before > kMostPadding || x_.after > kMostPadding)
      return absl::InvalidArgumentError(StrCat("a row with ", std::max(x_.before, x_.after),
                                               " elements of padding on one side; the encoding has room for ",
                                               kMostPadding));
    if (y_.size > 1 && (y_.dram_stride < 0 || y_.dram_stride > kMostStride))
      return absl::InvalidArgumentError(StrCat(
          "rows that lie ", y_.dram_stride, " elements apart in DRAM; the encoding has room for 0 to ", kMostStride));
    if (std::max({x_.size, y_.size, TotalOf(x_) * TotalOf(y_)}) > kMostRows)
      return absl::InvalidArgumentError(
          StrCat("a copy of ", TotalOf(x_) * TotalOf(y_), " elements; the encoding has room for ", kMostRows));
    EmitFrom(0, box_.sram, box_.dram, false);
    return absl::OkStatus();
  }

 private:
  // The instructions of dimensions `depth` and on; in padding of an outer one there is nothing of DRAM.
  void EmitFrom(size_t depth, int64_t sram, int64_t dram, bool padding) {
    if (depth == outer_.size()) return EmitRows(sram, dram, padding);
    const Dim& dim = outer_[depth];
    for (int64_t i = 0; i < TotalOf(dim); ++i) {
      const int64_t inside = i - dim.before;
      EmitFrom(depth + 1, sram + i * dim.sram_stride, dram + inside * dim.dram_stride,
               padding || inside < 0 || inside >= dim.size);
    }
  }

  void EmitRows(int64_t sram, int64_t dram, bool padding) {
    const int64_t row = TotalOf(x_);
    if (padding || x_.size == 0 || y_.size == 0) return EmitPadding(sram, row * TotalOf(y_));
    // More rows of padding than an instruction has are instructions of their own.
    const int64_t above = y_.before > kMostPadding ? y_.before : 0, below = y_.after > kMostPadding ? y_.after : 0;
    EmitPadding(sram, above * row);
    Instruction move = Start(sram + above * row);
    move.dram_base = static_cast<uint32_t>(dram);
    move.y_size = static_cast<uint32_t>(y_.size);
    move.x_size = static_cast<uint32_t>(x_.size);
    move.x_stride = static_cast<uint32_t>(y_.size > 1 ? y_.dram_stride : x_.size);
    move.y_pad_before = static_cast<uint32_t>(y_.before - above);
    move.y_pad_after = static_cast<uint32_t>(y_.after - below);
    move.x_pad_before = static_cast<uint32_t>(x_.before);
    move.x_pad_after = static_cast<uint32_t>(x_.after);
    out_->push_back(move);
    EmitPadding(sram + (TotalOf(y_) - below) * row, below * row);
  }

  // One row of padding that is `count` long and has nothing above or below.
  void EmitPadding(int64_t sram, int64_t count) {
    if (count == 0) return;
    Instruction pad = Start(sram);
    pad.x_size = static_cast<uint32_t>(count);
    pad.x_stride = pad.x_size;
    pad.y_pad_before = 1;
    out_->push_back(pad);
  }

  Instruction Start(int64_t sram) const {
    return {.opcode = box_.store ? isa::Opcode::kStore : isa::Opcode::kLoad,
            .memory = box_.memory,
            .sram_base = static_cast<uint32_t>(sram),
            .pad_value = box_.pad_value};
  }

  const CopyBox& box_;
  std::vector<Instruction>* const out_;
  std::vector<Dim> outer_;  // each step is an instruction
  Dim y_, x_;               // those of an instruction
};

}  // namespace

absl::Status AppendCopies(const CopyBox& box, std::vector<Instruction>* out) {
  for (const Dim& dim : box.dims) {
    if (TotalOf(dim) == 0 || (box.store && dim.size == 0)) return absl::OkStatus();
    if (box.store && IsPadded(dim)) return absl::InvalidArgumentError("a store with padding");
  }
  return CopyEmitter(box, out).Emit();
}

}  // namespace smelt::vdla::lower
