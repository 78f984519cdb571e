#include "vdla/lower/storage.h"

#include <array>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "base/str_cat.h"

namespace smelt::vdla::lower {
namespace {

using isa::Memory;

class StoragePlanner {
 public:
  StoragePlanner(const Operations& operations, const isa::Config& config) : operations_(operations), config_(config) {
    storage_.base.assign(operations.sram.size(), -1);
    storage_.threads.resize(operations.sram.size());
    open_.assign(operations.sram.size(), false);
  }

  absl::Status Visit(const std::vector<Node>& nodes) {
    for (const Node& node : nodes)
      SMELT_RETURN_IF_ERROR(std::visit([&](const auto& what) { return One(what); }, node.what));
    return absl::OkStatus();
  }
  Storage storage_;

 private:
  absl::Status One(const LoopNode& loop) {
    if (loop.virtual_threads) threads_.push_back({loop.variable, loop.extent});
    SMELT_RETURN_IF_ERROR(Visit(loop.body));
    if (loop.virtual_threads) threads_.pop_back();
    return absl::OkStatus();
  }

  absl::Status One(const AllocateNode& allocate) {
    const auto index = static_cast<size_t>(allocate.buffer);
    const SramDeclaration& buffer = operations_[allocate.buffer];
    if (storage_.base[index] >= 0) return absl::InvalidArgumentError(StrCat("`", buffer.name, "` is allocated twice"));
    int64_t elements = buffer.elements * (buffer.turns.has_value() ? buffer.turns->copies : 1);
    for (auto thread = threads_.rbegin(); thread != threads_.rend(); ++thread) {
      storage_.threads[index].push_back({thread->first, elements});
      elements *= thread->second;
    }
    int64_t& used = used_[static_cast<int>(buffer.memory)];
    const int64_t depth = config_.DepthOf(buffer.memory);
    if (used + elements > depth) {
      const int64_t bytes = config_.SramElementBytes(buffer.memory);
      return absl::ResourceExhaustedError(
          StrCat("`", buffer.name, "` takes ", elements, " elements (", elements * bytes, " bytes) of ",
                 isa::NameOf(buffer.memory), ", of whose ", depth, " (", depth * bytes, " bytes) ", depth - used,
                 " are free; a smaller tile, fewer virtual threads or fewer copies fit"));
    }
    storage_.base[index] = used;
    used += elements;
    open_[index] = true;
    SMELT_RETURN_IF_ERROR(Visit(allocate.body));
    open_[index] = false;
    used_[static_cast<int>(buffer.memory)] -= elements;
    return absl::OkStatus();
  }

  absl::Status One(const Copy& copy) { return Use(copy.sram); }
  absl::Status One(const Gemm& gemm) {
    SMELT_RETURN_IF_ERROR(Use(gemm.dst));
    if (gemm.start == Gemm::Start::kZero) return absl::OkStatus();
    SMELT_RETURN_IF_ERROR(Use(gemm.src));
    return Use(gemm.wgt);
  }
  absl::Status One(const Alu& alu) {
    SMELT_RETURN_IF_ERROR(Use(alu.dst));
    return alu.src.has_value() ? Use(*alu.src) : absl::OkStatus();
  }
  absl::Status Use(SramBuffer buffer) const {
    if (open_[static_cast<size_t>(buffer)]) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat("`", operations_[buffer].name, "` is used where it is not allocated"));
  }

  const Operations& operations_;
  const isa::Config& config_;
  std::array<int64_t, isa::kMemories> used_ = {};
  std::vector<std::pair<Variable, int64_t>> threads_;
  std::vector<bool> open_;
};

}  // namespace

absl::StatusOr<Storage> PlanStorage(const Operations& operations, const isa::Config& config) {
  StoragePlanner planner(operations, config);
  SMELT_RETURN_IF_ERROR(planner.Visit(operations.body));
  return std::move(planner.storage_);
}

}  // namespace smelt::vdla::lower
