#include "targets/cpu/program/liveness.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace smelt::cpu {
namespace {

using BufferSet = absl::flat_hash_set<runtime::BufferId>;

void Exposed(const runtime::Sequence& steps, BufferSet* written, BufferSet* exposed) {
  for (const runtime::Step& step : steps) {
    for (runtime::BufferId id : step.reads) {
      if (step.kind != runtime::Step::Kind::kWhile && !written->contains(id)) exposed->insert(id);
    }
    for (runtime::BufferId id : step.writes) {
      if (step.in_place && !written->contains(id)) exposed->insert(id);
    }
    if (step.kind == runtime::Step::Kind::kRepeat) {
      Exposed(step.sequences[0], written, exposed);  // it runs at least once
      continue;
    }
    std::vector<BufferSet> inner(step.sequences.size(), *written);
    for (size_t i = 0; i < step.sequences.size(); ++i) Exposed(step.sequences[i], &inner[i], exposed);
    if (step.kind == runtime::Step::Kind::kWhile && !inner[0].contains(step.reads[0])) exposed->insert(step.reads[0]);
    // Branches that all write a buffer have written it; a loop may not have run.
    if (step.kind == runtime::Step::Kind::kConditional) {
      for (runtime::BufferId id : inner[0]) {
        if (std::all_of(inner.begin(), inner.end(), [&](const BufferSet& set) { return set.contains(id); })) {
          written->insert(id);
        }
      }
    }
    for (runtime::BufferId id : step.writes) written->insert(id);
  }
}

// Positions of control flow take a step of their own: begin, end, and the test of a while.
class Liveness {
 public:
  explicit Liveness(const runtime::Program& program) : program_(program), ranges_(program.buffers.size()) {}

  LiveRanges Run() {
    position_ = CountPositions(program_.steps);
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      if (program_.buffers[i].kind == runtime::ProgramBuffer::Kind::kOutput)
        Open(static_cast<runtime::BufferId>(i), 2 * position_ + 1);
    }
    Process(program_.steps);
    CloseAll(0);
    for (std::vector<LiveSegment>& segments : ranges_) {
      std::sort(segments.begin(), segments.end(),
                [](const LiveSegment& a, const LiveSegment& b) { return a.begin < b.begin; });
      segments = Union(segments, {});
    }
    return std::move(ranges_);
  }

 private:
  static int64_t CountPositions(const runtime::Sequence& steps) {
    int64_t count = 0;
    for (const runtime::Step& step : steps) {
      ++count;
      if (step.sequences.empty()) continue;
      ++count;  // its end
      for (const runtime::Sequence& sequence : step.sequences) count += CountPositions(sequence) + 1;
    }
    return count;
  }

  void Open(runtime::BufferId id, int64_t end) { live_.try_emplace(id, end); }
  void Close(runtime::BufferId id, int64_t begin) {
    auto at = live_.find(id);
    const int64_t end = at == live_.end() ? begin : at->second;
    ranges_[id].push_back({begin, end});
    if (at != live_.end()) live_.erase(at);
  }
  void CloseAll(int64_t begin) {
    for (const auto& [id, end] : live_) ranges_[id].push_back({begin, end});
    live_.clear();
  }
  BufferSet LiveSet() const {
    BufferSet set;
    for (const auto& [id, end] : live_) set.insert(id);
    return set;
  }
  void OpenSet(const BufferSet& set) {
    for (runtime::BufferId id : set) Open(id, 2 * position_ + 1);
  }

  // Backwards: live_ goes from what is live after the sequence to what is live before it.
  void Process(const runtime::Sequence& steps) {
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      switch (step->kind) {
        case runtime::Step::Kind::kWhile:
          ProcessWhile(*step);
          break;
        case runtime::Step::Kind::kConditional:
          ProcessConditional(*step);
          break;
        case runtime::Step::Kind::kRepeat:
          ProcessRepeat(*step);
          break;
        case runtime::Step::Kind::kUpdateSlice:
        case runtime::Step::Kind::kCopy:
        case runtime::Step::Kind::kKernel:
        case runtime::Step::Kind::kNative:
        case runtime::Step::Kind::kOpaque: {
          --position_;
          for (runtime::BufferId id : step->writes) {
            // Not overwritten as a whole: what it held lives on.
            if (step->in_place) {
              Open(id, 2 * position_ + 1);
            } else {
              Close(id, 2 * position_ + 1);
            }
          }
          const bool reads_late = step->kind != runtime::Step::Kind::kCopy;
          for (runtime::BufferId id : step->reads) Open(id, 2 * position_ + (reads_late ? 1 : 0));
          break;
        }
      }
    }
  }

  void BeginLoop() {
    position_ -= 2;  // the end of the sequence that runs first has no step; the beginning of the loop
    const BufferSet before = LiveSet();
    CloseAll(2 * position_ + 1);
    OpenSet(before);
  }

  void ProcessWhile(const runtime::Step& step) {
    const runtime::Sequence& condition = step.sequences[0];
    const runtime::Sequence& body = step.sequences[1];
    const BufferSet after = LiveSet();
    CloseAll(2 * position_ - 1);
    --position_;  // the end of the loop
    BufferSet header = after;
    {
      BufferSet written, exposed;
      Exposed(condition, &written, &exposed);
      if (!written.contains(step.reads[0])) exposed.insert(step.reads[0]);
      header.insert(exposed.begin(), exposed.end());
      written.clear();
      exposed.clear();
      Exposed(body, &written, &exposed);
      header.insert(exposed.begin(), exposed.end());
    }
    OpenSet(header);
    Process(body);
    --position_;  // the test
    BufferSet tested = LiveSet();
    CloseAll(2 * position_ + 1);
    tested.insert(after.begin(), after.end());
    tested.insert(step.reads[0]);
    OpenSet(tested);
    Process(condition);
    BeginLoop();
  }

  void ProcessRepeat(const runtime::Step& step) {
    const runtime::Sequence& body = step.sequences[0];
    BufferSet header = LiveSet();
    CloseAll(2 * position_ - 1);
    --position_;  // the end of the loop
    BufferSet written;
    Exposed(body, &written, &header);
    OpenSet(header);
    Process(body);
    BeginLoop();
  }

  void ProcessConditional(const runtime::Step& step) {
    const BufferSet after = LiveSet();
    CloseAll(2 * position_ - 1);
    --position_;
    BufferSet before;
    for (auto branch = step.sequences.rbegin(); branch != step.sequences.rend(); ++branch) {
      OpenSet(after);
      Process(*branch);
      const BufferSet needed = LiveSet();
      before.insert(needed.begin(), needed.end());
      --position_;
      CloseAll(2 * position_ + 1);
    }
    --position_;
    before.insert(step.reads[0]);
    OpenSet(before);
  }

  const runtime::Program& program_;
  LiveRanges ranges_;
  int64_t position_ = 0;                                  // of the last step that was processed
  absl::flat_hash_map<runtime::BufferId, int64_t> live_;  // live buffers, and until when
};

}  // namespace

absl::flat_hash_set<runtime::BufferId> ReadBeforeWritten(const runtime::Sequence& steps) {
  BufferSet written, exposed;
  Exposed(steps, &written, &exposed);
  return exposed;
}

LiveRanges ComputeLiveRanges(const runtime::Program& program) { return Liveness(program).Run(); }

bool Overlap(const std::vector<LiveSegment>& a, const std::vector<LiveSegment>& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].end < b[j].begin) {
      ++i;
    } else if (b[j].end < a[i].begin) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

std::vector<LiveSegment> Union(const std::vector<LiveSegment>& a, const std::vector<LiveSegment>& b) {
  std::vector<LiveSegment> all;
  all.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
             [](const LiveSegment& x, const LiveSegment& y) { return x.begin < y.begin; });
  std::vector<LiveSegment> joined;
  for (const LiveSegment& segment : all) {
    if (!joined.empty() && segment.begin <= joined.back().end + 1) {
      joined.back().end = std::max(joined.back().end, segment.end);
    } else {
      joined.push_back(segment);
    }
  }
  return joined;
}

}  // namespace smelt::cpu
