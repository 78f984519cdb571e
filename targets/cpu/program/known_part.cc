#include "targets/cpu/program/known_part.h"

#include <algorithm>
#include <map>
#include <utility>

namespace smelt::cpu {
namespace {

using runtime::BufferId;
using runtime::PhaseDescriptor;
using runtime::ProgramBuffer;
using runtime::Step;

constexpr int64_t kMostGrowth = 6;
constexpr int64_t kPhasesOfSet = 64;  // bits of runtime::PhaseSet

class KnownPart {
 public:
  KnownPart(const std::vector<runtime::ProgramJob>& jobs, runtime::Program* program)
      : jobs_(jobs), program_(*program), writers_(program->buffers.size()), follows_(program->buffers.size()) {
    for (size_t i = 0; i < program->buffers.size(); ++i)
      follows_[i] = program->buffers[i].kind == ProgramBuffer::Kind::kInput && program->buffers[i].known;
    CountWriters(program->steps);
  }

  void Run() { Visit(&program_.steps); }

 private:
  ProgramBuffer& buffer(BufferId id) { return program_.buffers[id]; }

  void CountWriters(const runtime::Sequence& steps) {
    for (const Step& step : steps) {
      for (BufferId id : step.writes) ++writers_[id];
      for (const runtime::Sequence& sequence : step.sequences) CountWriters(sequence);
    }
  }

  bool IsKnown(BufferId id) {
    return follows_[id] || buffer(id).kind == ProgramBuffer::Kind::kConstant || buffer(id).bytes == 0;
  }

  void Visit(runtime::Sequence* steps) {
    runtime::Sequence left;
    left.reserve(steps->size());
    for (Step& step : *steps) {
      for (runtime::Sequence& sequence : step.sequences) Visit(&sequence);
      if (TakeWhole(step)) continue;
      TakePhases(&step);
      left.push_back(std::move(step));
    }
    *steps = std::move(left);
  }

  // Results of the step, without the shared scratch of a kernel.
  size_t ResultsOf(const Step& step) const {
    if (step.kind != Step::Kind::kKernel) return step.writes.size();
    return static_cast<size_t>(jobs_[step.job].code->descriptor().output_count);
  }

  bool TakeWhole(const Step& step) {
    const bool has_code = step.kind == Step::Kind::kKernel || step.kind == Step::Kind::kNative;
    if (!has_code || step.in_place) return false;
    int64_t read = 0, written = 0;
    bool follows = false;
    for (BufferId id : step.reads) {
      if (!IsKnown(id)) return false;
      follows = follows || follows_[id];
      read += buffer(id).bytes;
    }
    const size_t results = ResultsOf(step);
    for (size_t i = 0; i < results; ++i) {
      const ProgramBuffer& result = buffer(step.writes[i]);
      // What has several writers is a loop's state, or a branch's.
      if (writers_[step.writes[i]] != 1 || result.kind != ProgramBuffer::Kind::kArena) return false;
      written += result.bytes;
    }
    if (!follows || written > kMostGrowth * read) return false;
    for (size_t i = 0; i < step.writes.size(); ++i) {
      buffer(step.writes[i]).kind = i < results ? ProgramBuffer::Kind::kKept : ProgramBuffer::Kind::kSetup;
      follows_[step.writes[i]] = i < results;
    }
    program_.setup.push_back(step);
    return true;
  }

  // Which phases read known values alone. A bit each, and what they write is whole before another phase looks at it.
  std::vector<bool> KnownPhases(const Step& step, const runtime::KernelDescriptor& kernel) {
    const auto inputs = kernel.input_count, scratch = kernel.input_count + kernel.output_count;
    const std::vector<PhaseDescriptor>& phases = kernel.phases;
    std::vector<bool> known;
    for (const PhaseDescriptor& phase : phases) {
      const bool reads = std::all_of(phase.reads.begin(), phase.reads.end(), [&](int64_t number) {
        return number >= scratch || (number < inputs && IsKnown(step.reads[number]));
      });
      const bool writes =
          std::all_of(phase.writes.begin(), phase.writes.end(), [&](int64_t number) { return number >= scratch; });
      known.push_back(reads && writes && !phase.reads.empty());
    }
    const auto contains = [](const std::vector<int64_t>& numbers, int64_t number) {
      return std::binary_search(numbers.begin(), numbers.end(), number);
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (int64_t number = scratch; number < scratch + static_cast<int64_t>(kernel.shared_bytes.size()); ++number) {
        // Scratch that a phase writes in every run, or that is looked at before it is whole, is not known.
        bool spoilt = false, looked_at = false;
        for (size_t i = 0; i < phases.size(); ++i) {
          const bool writes = contains(phases[i].writes, number);
          spoilt = spoilt || (writes && (!known[i] || looked_at));
          looked_at = looked_at || (!known[i] && contains(phases[i].reads, number));
        }
        if (!spoilt) continue;
        for (size_t i = 0; i < phases.size(); ++i) {
          if (!known[i] || !(contains(phases[i].writes, number) || contains(phases[i].reads, number))) continue;
          known[i] = false;
          changed = true;
        }
      }
    }
    return known;
  }

  // What the known phases of a step leave in scratch, by its number.
  struct Kept {
    std::vector<bool> known;
    std::vector<int64_t> inputs;     // that they read
    std::map<size_t, bool> scratch;  // number among the scratch -> whether other phases read it
    int64_t read_bytes = 0, kept_bytes = 0;
  };

  Kept KeptOf(const Step& step, const runtime::KernelDescriptor& kernel) {
    Kept kept{.known = KnownPhases(step, kernel)};
    const int64_t scratch = kernel.input_count + kernel.output_count;
    for (size_t i = 0; i < kernel.phases.size(); ++i) {
      if (!kept.known[i]) continue;
      for (const int64_t number : kernel.phases[i].reads) {
        if (number < kernel.input_count) kept.inputs.push_back(number);
      }
      for (const int64_t number : kernel.phases[i].writes) kept.scratch[static_cast<size_t>(number - scratch)] = false;
    }
    for (size_t i = 0; i < kernel.phases.size(); ++i) {
      if (kept.known[i]) continue;
      for (const int64_t number : kernel.phases[i].reads) {
        const auto at = kept.scratch.find(static_cast<size_t>(number - scratch));
        if (number >= scratch && at != kept.scratch.end()) at->second = true;
      }
    }
    std::sort(kept.inputs.begin(), kept.inputs.end());
    kept.inputs.erase(std::unique(kept.inputs.begin(), kept.inputs.end()), kept.inputs.end());
    for (const int64_t number : kept.inputs) kept.read_bytes += buffer(step.reads[number]).bytes;
    for (const auto& [number, stays] : kept.scratch) kept.kept_bytes += stays ? kernel.shared_bytes[number] : 0;
    return kept;
  }

  void TakePhases(Step* step) {
    if (step->kind != Step::Kind::kKernel) return;
    const runtime::KernelDescriptor& kernel = jobs_[step->job].code->descriptor();
    if (kernel.phases.size() > kPhasesOfSet) return;
    const Kept kept = KeptOf(*step, kernel);
    if (kept.inputs.empty() || kept.kept_bytes == 0 || kept.kept_bytes > kMostGrowth * kept.read_bytes) return;
    runtime::PhaseSet set = 0;
    for (size_t i = 0; i < kept.known.size(); ++i) set |= runtime::PhaseSet{kept.known[i]} << i;
    step->skipped = set;
    const size_t first = step->writes.size() - kernel.shared_bytes.size();
    std::vector<BufferId> key = {step->job};
    for (const int64_t number : kept.inputs) key.push_back(step->reads[number]);
    if (const auto same = kept_.find(key); same != kept_.end()) {
      for (const auto& [number, id] : same->second) step->writes[first + number] = id;
      return;
    }
    Step once = *step;
    once.skipped = ~set;
    for (size_t i = 0; i < once.reads.size(); ++i) {
      if (!std::binary_search(kept.inputs.begin(), kept.inputs.end(), static_cast<int64_t>(i)))
        once.reads[i] = Nothing();
    }
    for (size_t i = 0; i < once.writes.size(); ++i) {
      if (i < first || !kept.scratch.contains(i - first)) once.writes[i] = Nothing();
    }
    for (const auto& [number, stays] : kept.scratch) {
      const BufferId id = step->writes[first + number];
      buffer(id).kind = stays ? ProgramBuffer::Kind::kKept : ProgramBuffer::Kind::kSetup;
      if (!stays) step->writes[first + number] = Nothing();
      if (stays) kept_[key].push_back({number, id});
    }
    program_.setup.push_back(std::move(once));
  }

  // A buffer for what a step does not touch.
  BufferId Nothing() {
    if (nothing_ < 0) {
      nothing_ = static_cast<BufferId>(program_.buffers.size());
      program_.buffers.emplace_back();
      writers_.push_back(0);
      follows_.push_back(false);
    }
    return nothing_;
  }

  const std::vector<runtime::ProgramJob>& jobs_;
  runtime::Program& program_;
  std::vector<int> writers_;
  std::vector<bool> follows_;  // from known inputs
  // Job and known buffers that are read -> number among the scratch, and where it is kept.
  std::map<std::vector<BufferId>, std::vector<std::pair<size_t, BufferId>>> kept_;
  BufferId nothing_ = -1;
};

}  // namespace

void TakeOutKnownPart(const std::vector<runtime::ProgramJob>& jobs, runtime::Program* program) {
  KnownPart(jobs, program).Run();
}

}  // namespace smelt::cpu
