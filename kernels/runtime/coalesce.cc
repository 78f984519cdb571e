#include "kernels/runtime/coalesce.h"

#include <algorithm>
#include <numeric>

#include "kernels/runtime/liveness.h"

namespace smelt::kernels::runtime {
namespace {

using Kind = ProgramBuffer::Kind;

struct CopySite {
  BufferId from;
  BufferId to;
  int depth;
};

void CollectCopies(const Sequence& steps, int depth, std::vector<CopySite>* copies) {
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::kCopy) copies->push_back({step.reads[0], step.writes[0], depth});
    const int inner = step.kind == Step::Kind::kWhile ? depth + 1 : depth;
    for (const Sequence& sequence : step.sequences) CollectCopies(sequence, inner, copies);
  }
}

class Coalescing {
 public:
  explicit Coalescing(Program* program)
      : program_(*program), ranges_(ComputeLiveRanges(*program)), parent_(program->buffers.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  int64_t Run() {
    std::vector<CopySite> copies;
    CollectCopies(program_.steps, 0, &copies);
    std::stable_sort(copies.begin(), copies.end(),
                     [](const CopySite& a, const CopySite& b) { return a.depth > b.depth; });
    for (const CopySite& copy : copies) Merge(Find(copy.from), Find(copy.to));
    int64_t removed = 0;
    Rename(&program_.steps, &removed);
    return removed;
  }

 private:
  BufferId Find(BufferId id) {
    while (parent_[id] != id) {
      parent_[id] = parent_[parent_[id]];
      id = parent_[id];
    }
    return id;
  }

  void Merge(BufferId from, BufferId to) {
    if (from == to) return;
    const ProgramBuffer& a = program_.buffers[from];
    const ProgramBuffer& b = program_.buffers[to];
    auto writable = [](const ProgramBuffer& buffer) {
      return buffer.kind == Kind::kArena || buffer.kind == Kind::kOutput;
    };
    if (!writable(a) || !writable(b) || a.bytes != b.bytes) return;
    if (a.kind == Kind::kOutput && b.kind == Kind::kOutput) return;
    if (Overlap(ranges_[from], ranges_[to])) return;
    // The caller's buffer absorbs the executable's own.
    const BufferId kept = a.kind == Kind::kOutput ? from : to;
    const BufferId gone = kept == from ? to : from;
    parent_[gone] = kept;
    ranges_[kept] = Union(ranges_[kept], ranges_[gone]);
    ranges_[gone].clear();
  }

  void Rename(Sequence* steps, int64_t* removed) {
    for (Step& step : *steps) {
      for (BufferId& id : step.reads) id = Find(id);
      for (BufferId& id : step.writes) id = Find(id);
      for (Sequence& sequence : step.sequences) Rename(&sequence, removed);
    }
    const size_t before = steps->size();
    std::erase_if(*steps,
                  [](const Step& step) { return step.kind == Step::Kind::kCopy && step.reads[0] == step.writes[0]; });
    *removed += static_cast<int64_t>(before - steps->size());
  }

  Program& program_;
  LiveRanges ranges_;
  std::vector<BufferId> parent_;
};

}  // namespace

int64_t CoalesceCopies(Program* program) { return Coalescing(program).Run(); }

}  // namespace smelt::kernels::runtime
