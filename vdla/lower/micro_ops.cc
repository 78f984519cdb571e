#include "vdla/lower/micro_ops.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "base/str_cat.h"

namespace smelt::vdla::lower {
namespace {

using isa::Instruction;
using isa::MicroOp;

constexpr int64_t kMostIterations = (1 << 12) - 1, kMostFactor = (1 << 12) - 1, kMostWeightFactor = (1 << 8) - 1;
constexpr int64_t kTooLong = int64_t{1} << 40;    // what no list costs that fits
constexpr int64_t kMostMicroOps = (1 << 13) - 1;  // of one instruction

int64_t MostMicroOps(const isa::Config& config) { return std::min(kMostMicroOps, config.DepthOf(isa::Memory::kUop)); }

// Without dimensions of one step and with neighbours that continue each other as one.
std::vector<WorkNest::Dim> Merge(const std::vector<WorkNest::Dim>& dims) {
  std::vector<WorkNest::Dim> merged;
  for (const WorkNest::Dim& dim : dims) {
    if (dim.count == 1) continue;
    if (!merged.empty()) {
      WorkNest::Dim& outer = merged.back();
      if (outer.dst == dim.count * dim.dst && outer.src == dim.count * dim.src && outer.wgt == dim.count * dim.wgt) {
        outer = {.count = outer.count * dim.count, .dst = dim.dst, .src = dim.src, .wgt = dim.wgt};
        continue;
      }
    }
    merged.push_back(dim);
  }
  return merged;
}

bool IsEmpty(const WorkNest& nest) {
  return std::any_of(nest.dims.begin(), nest.dims.end(), [](const WorkNest::Dim& dim) { return dim.count <= 0; });
}

bool CanFold(const WorkNest::Dim& dim) {
  return dim.count <= kMostIterations && dim.dst >= 0 && dim.src >= 0 && dim.wgt >= 0 && dim.dst <= kMostFactor &&
         dim.src <= kMostFactor && dim.wgt <= kMostWeightFactor;
}

int64_t CountOf(const std::vector<WorkNest::Dim>& dims) {
  int64_t count = 1;
  for (const WorkNest::Dim& dim : dims) count *= dim.count;
  return count;
}

void SetOuter(Instruction& instruction, const WorkNest::Dim& dim) {
  instruction.iter_out = static_cast<uint32_t>(dim.count);
  instruction.dst_out = static_cast<uint32_t>(dim.dst);
  instruction.src_out = static_cast<uint32_t>(dim.src);
  instruction.wgt_out = static_cast<uint32_t>(dim.wgt);
}
void SetInner(Instruction& instruction, const WorkNest::Dim& dim) {
  instruction.iter_in = static_cast<uint32_t>(dim.count);
  instruction.dst_in = static_cast<uint32_t>(dim.dst);
  instruction.src_in = static_cast<uint32_t>(dim.src);
  instruction.wgt_in = static_cast<uint32_t>(dim.wgt);
}

absl::StatusOr<FoldedNest> Folded(const WorkNest& nest, const std::vector<WorkNest::Dim>& folded,
                                  const std::vector<WorkNest::Dim>& listed, const isa::Config& config) {
  FoldedNest result;
  SetOuter(result.instruction, folded.size() > 1 ? folded[0] : WorkNest::Dim());
  SetInner(result.instruction, folded.empty() ? WorkNest::Dim() : folded.back());
  if (CountOf(listed) > MostMicroOps(config))
    return absl::ResourceExhaustedError(StrCat("an instruction would repeat ", CountOf(listed),
                                               " micro-ops, and there is room for ", MostMicroOps(config),
                                               "; a smaller tile needs fewer"));
  result.micro_ops.push_back(
      {static_cast<uint32_t>(nest.dst), static_cast<uint32_t>(nest.src), static_cast<uint32_t>(nest.wgt)});
  for (const WorkNest::Dim& dim : listed) {
    std::vector<MicroOp> longer;
    longer.reserve(result.micro_ops.size() * static_cast<size_t>(dim.count));
    for (const MicroOp& micro_op : result.micro_ops) {
      for (int64_t i = 0; i < dim.count; ++i) {
        longer.push_back({static_cast<uint32_t>(micro_op.dst + i * dim.dst),
                          static_cast<uint32_t>(micro_op.src + i * dim.src),
                          static_cast<uint32_t>(micro_op.wgt + i * dim.wgt)});
      }
    }
    result.micro_ops = std::move(longer);
  }
  return result;
}

}  // namespace

absl::StatusOr<FoldedNest> FoldGemm(const WorkNest& nest, const isa::Config& config) {
  if (IsEmpty(nest)) return FoldedNest();
  std::vector<WorkNest::Dim> sums, spread;  // by whether the destination stays
  for (const WorkNest::Dim& dim : Merge(nest.dims)) (dim.dst == 0 ? sums : spread).push_back(dim);
  const int64_t terms = CountOf(sums), all = terms * CountOf(spread);

  std::vector<WorkNest::Dim> best_folded, best_listed;
  int64_t least = std::numeric_limits<int64_t>::max();
  const int count = static_cast<int>(spread.size());
  // a and b are folded; -1 is none.
  for (int a = -1; a < count; ++a) {
    for (int b = a < 0 ? -1 : a; b < count; ++b) {
      if (b == a && a >= 0) continue;
      std::vector<WorkNest::Dim> folded, listed = sums;
      int64_t apart = 1;  // micro-ops between two of one destination
      bool possible = true;
      for (int i = 0; i < count; ++i) {
        if (i == a || i == b) {
          possible &= CanFold(spread[i]);
          folded.push_back(spread[i]);
        } else {
          apart *= spread[i].count;
          listed.push_back(spread[i]);
        }
      }
      if (!possible) continue;
      const int64_t waits = terms > 1 ? all / apart * std::max<int64_t>(0, config.timing.gemm_raw_distance - apart) : 0;
      const int64_t size = CountOf(listed), cost = size <= MostMicroOps(config) ? size + waits : kTooLong + size;
      if (cost >= least) continue;
      least = cost;
      best_folded = std::move(folded);
      best_listed = std::move(listed);
    }
  }
  absl::StatusOr<FoldedNest> result = Folded(nest, best_folded, best_listed, config);
  if (result.ok()) result->first = static_cast<uint32_t>(static_cast<int64_t>(result->micro_ops.size()) / terms);
  return result;
}

absl::StatusOr<FoldedNest> FoldAlu(const WorkNest& nest, bool any_order, const isa::Config& config) {
  if (IsEmpty(nest)) return FoldedNest();
  std::vector<WorkNest::Dim> listed = Merge(nest.dims), folded;
  if (any_order)
    std::stable_sort(listed.begin(), listed.end(),
                     [](const WorkNest::Dim& a, const WorkNest::Dim& b) { return a.count > b.count; });
  while (folded.size() < 2 && !listed.empty() && CanFold(listed.front())) {
    folded.push_back(listed.front());
    listed.erase(listed.begin());
  }
  absl::StatusOr<FoldedNest> result = Folded(nest, folded, listed, config);
  if (result.ok()) result->first = static_cast<uint32_t>(result->micro_ops.size());
  return result;
}

int MicroOpLists::Add(std::vector<MicroOp> list) {
  std::vector<uint64_t> key;
  key.reserve(list.size());
  for (const MicroOp& micro_op : list)
    key.push_back(uint64_t{micro_op.dst} | uint64_t{micro_op.src} << 16 | uint64_t{micro_op.wgt} << 32);
  const auto [known, is_new] = known_.try_emplace(std::move(key), static_cast<int>(sizes_.size()));
  if (is_new) {
    offsets_.push_back(static_cast<int64_t>(image_.size()));
    sizes_.push_back(static_cast<int64_t>(list.size()));
    image_.insert(image_.end(), list.begin(), list.end());
  }
  return known->second;
}

MicroOpMemory::MicroOpMemory(const MicroOpLists& lists, int64_t dram_base, const isa::Config& config)
    : lists_(lists),
      dram_base_(dram_base),
      depth_(config.DepthOf(isa::Memory::kUop)),
      all_fit_(static_cast<int64_t>(lists.image().size()) <= depth_),
      begins_(static_cast<size_t>(lists.count()), -1) {}

absl::StatusOr<int64_t> MicroOpMemory::Need(int list, std::vector<Instruction>* out) {
  if (all_fit_) {
    if (!loaded_) Load(0, static_cast<int64_t>(lists_.image().size()), 0, out);
    loaded_ = true;
    return lists_.OffsetOf(list);
  }
  if (begins_[list] >= 0) return begins_[list];
  const int64_t size = lists_.SizeOf(list);
  if (size > depth_)
    return absl::ResourceExhaustedError(
        StrCat("an instruction repeats ", size, " micro-ops, and the memory holds ", depth_));
  if (next_ + size > depth_) next_ = 0;
  for (auto old = resident_.lower_bound(next_); old != resident_.end() && old->first < next_ + size;) {
    begins_[old->second] = -1;
    old = resident_.erase(old);
  }
  // A list that begins before and reaches into it cannot be: lists are placed one after the other, and what follows the
  // last one that was placed is cut off list by list.
  resident_[next_] = list;
  begins_[list] = next_;
  Load(lists_.OffsetOf(list), size, next_, out);
  next_ += size;
  return begins_[list];
}

void MicroOpMemory::Load(int64_t offset, int64_t count, int64_t to, std::vector<Instruction>* out) const {
  while (count > 0) {
    const int64_t size = std::min(count, kMostMicroOps);
    out->push_back({.opcode = isa::Opcode::kLoad,
                    .memory = isa::Memory::kUop,
                    .sram_base = static_cast<uint32_t>(to),
                    .dram_base = static_cast<uint32_t>(dram_base_ + offset),
                    .y_size = 1,
                    .x_size = static_cast<uint32_t>(size),
                    .x_stride = static_cast<uint32_t>(size)});
    offset += size;
    to += size;
    count -= size;
  }
}

}  // namespace smelt::vdla::lower
