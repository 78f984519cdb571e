#include "targets/cpu/program/coalesce.h"

#include <algorithm>
#include <numeric>

#include "targets/cpu/program/liveness.h"

namespace smelt::cpu {
namespace {

using Kind = runtime::ProgramBuffer::Kind;

struct CopySite {
  runtime::BufferId from;
  runtime::BufferId to;
  int depth;
};

void CollectCopies(const runtime::Sequence& steps, int depth, std::vector<CopySite>* copies) {
  for (const runtime::Step& step : steps) {
    if (step.kind == runtime::Step::Kind::kCopy) copies->push_back({step.reads[0], step.writes[0], depth});
    const bool is_loop = step.kind == runtime::Step::Kind::kWhile || step.kind == runtime::Step::Kind::kRepeat;
    const int inner = is_loop ? depth + 1 : depth;
    for (const runtime::Sequence& sequence : step.sequences) CollectCopies(sequence, inner, copies);
  }
}

class Coalescing {
 public:
  explicit Coalescing(runtime::Program* program)
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
  runtime::BufferId Find(runtime::BufferId id) {
    while (parent_[id] != id) {
      parent_[id] = parent_[parent_[id]];
      id = parent_[id];
    }
    return id;
  }

  void Merge(runtime::BufferId from, runtime::BufferId to) {
    if (from == to) return;
    const runtime::ProgramBuffer& a = program_.buffers[from];
    const runtime::ProgramBuffer& b = program_.buffers[to];
    auto writable = [](const runtime::ProgramBuffer& buffer) {
      return buffer.kind == Kind::kArena || buffer.kind == Kind::kOutput;
    };
    if (!writable(a) || !writable(b) || a.bytes != b.bytes) return;
    if (a.kind == Kind::kOutput && b.kind == Kind::kOutput) return;
    if (Overlap(ranges_[from], ranges_[to])) return;
    // The caller's buffer absorbs the executable's own.
    const runtime::BufferId kept = a.kind == Kind::kOutput ? from : to;
    const runtime::BufferId gone = kept == from ? to : from;
    parent_[gone] = kept;
    ranges_[kept] = Union(ranges_[kept], ranges_[gone]);
    ranges_[gone].clear();
  }

  void Rename(runtime::Sequence* steps, int64_t* removed) {
    for (runtime::Step& step : *steps) {
      for (runtime::BufferId& id : step.reads) id = Find(id);
      for (runtime::BufferId& id : step.writes) id = Find(id);
      for (runtime::Sequence& sequence : step.sequences) Rename(&sequence, removed);
    }
    const size_t before = steps->size();
    std::erase_if(*steps, [](const runtime::Step& step) {
      return step.kind == runtime::Step::Kind::kCopy && step.reads[0] == step.writes[0];
    });
    *removed += static_cast<int64_t>(before - steps->size());
  }

  runtime::Program& program_;
  LiveRanges ranges_;
  std::vector<runtime::BufferId> parent_;
};

}  // namespace

int64_t CoalesceCopies(runtime::Program* program) { return Coalescing(program).Run(); }

}  // namespace smelt::cpu
