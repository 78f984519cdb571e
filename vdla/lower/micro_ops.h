// Nests of products and elementwise work as instructions: a list of micro-ops that the instruction repeats along at
// most two dimensions, and the lists as they lie in DRAM and in the memory of micro-ops.
//
//   WorkNest nest;
//   nest.dims = {{.count = 9, .wgt = 1}, {.count = 14, .dst = 14, .src = 16}, {.count = 14, .dst = 1, .src = 1}};
//   FoldedNest folded = FoldGemm(nest, config).value();
//   size_t list = folded.micro_ops.size();   // 126: one dimension stays, so that sums into one accumulator are apart
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::lower {

// Work whose position is known: indices of elements in the memories, and by how much each dimension moves them.
struct WorkNest {
  struct Dim {
    int64_t count = 1;
    int64_t dst = 0, src = 0, wgt = 0;
  };
  int64_t dst = 0, src = 0, wgt = 0;
  std::vector<Dim> dims;  // from the slowest to the fastest
};

struct FoldedNest {
  isa::Instruction instruction;         // iterations and factors alone; none where the nest is empty (iter_out is 0)
  std::vector<isa::MicroOp> micro_ops;  // the list that they repeat
  uint32_t first = 0;                   // so many at its front are the first products of their destinations, one each
};

// A GEMM may run in any order, as int32 sums wrap around. Dimensions of the destination are folded, never those of the
// sum, so that the first products are the front of the list. Of the foldings whose lists fit, the one is chosen that
// costs least: micro-ops to load, and cycles that the unit waits where one accumulator is written again too soon
// (gemm_raw_distance). ResourceExhausted: no list fits the memory of micro-ops and the encoding (8191).
absl::StatusOr<FoldedNest> FoldGemm(const WorkNest& nest, const isa::Config& config);

// Elementwise work keeps its order where an element depends on another one of the nest (`any_order` is false): then the
// two slowest dimensions are folded, else the two longest. ResourceExhausted as above.
absl::StatusOr<FoldedNest> FoldAlu(const WorkNest& nest, bool any_order, const isa::Config& config);

// The lists of a program, each of them once.
class MicroOpLists {
 public:
  // The number of the list; equal lists have one.
  int Add(std::vector<isa::MicroOp> list);
  // Where it begins in `image`.
  int64_t OffsetOf(int list) const { return offsets_[list]; }
  int64_t SizeOf(int list) const { return sizes_[list]; }
  int64_t count() const { return static_cast<int64_t>(sizes_.size()); }
  const std::vector<isa::MicroOp>& image() const { return image_; }

 private:
  std::vector<isa::MicroOp> image_;
  std::vector<int64_t> offsets_, sizes_;
  absl::flat_hash_map<std::vector<uint64_t>, int> known_;
};

// Which lists lie in the memory of micro-ops. Where all fit, one load brings them all; else a list is loaded when it is
// needed and missing, and what lay there goes: first in, first out, around the memory.
class MicroOpMemory {
 public:
  // `dram_base` is where the image begins, in micro-ops. Both are borrowed.
  MicroOpMemory(const MicroOpLists& lists, int64_t dram_base, const isa::Config& config);
  // Where the list begins in the memory; appends the LOADs of what is missing. ResourceExhausted: a list that is larger
  // than the memory.
  absl::StatusOr<int64_t> Need(int list, std::vector<isa::Instruction>* out);

 private:
  void Load(int64_t offset, int64_t count, int64_t to, std::vector<isa::Instruction>* out) const;

  const MicroOpLists& lists_;
  const int64_t dram_base_, depth_;
  bool all_fit_, loaded_ = false;
  int64_t next_ = 0;                 // where the next list goes
  std::map<int64_t, int> resident_;  // by its begin
  std::vector<int64_t> begins_;      // by list; -1: not there
};

}  // namespace smelt::vdla::lower
