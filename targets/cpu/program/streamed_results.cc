#include "targets/cpu/program/streamed_results.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/cost/default_schedule.h"

namespace smelt::cpu {
namespace {

using runtime::BufferId;
using runtime::ProgramBuffer;
using runtime::Sequence;
using runtime::Step;

// What the steps of a program do with its buffers.
struct Uses {
  absl::flat_hash_map<BufferId, int> readers;
  absl::flat_hash_set<BufferId> given;  // copied to a result of the program
  int64_t bytes = 0;                    // of all buffers, each once
};

void CountUses(const std::vector<ProgramBuffer>& buffers, const Sequence& steps, bool outermost,
               absl::flat_hash_set<BufferId>* seen, Uses* uses) {
  for (const Step& step : steps) {
    for (const Sequence& sequence : step.sequences) CountUses(buffers, sequence, false, seen, uses);
    for (const BufferId read : step.reads) ++uses->readers[read];
    if (step.in_place || step.kind == Step::Kind::kUpdateSlice) {
      for (const BufferId written : step.writes) ++uses->readers[written];
    }
    const bool gives = step.kind == Step::Kind::kCopy && buffers[step.writes[0]].kind == ProgramBuffer::Kind::kOutput;
    if (gives && outermost) uses->given.insert(step.reads[0]);
    if (gives) continue;  // which coalescing will take away
    for (const std::vector<BufferId>* touched : {&step.reads, &step.writes}) {
      for (const BufferId buffer : *touched) {
        if (seen->insert(buffer).second) uses->bytes += buffers[buffer].bytes;
      }
    }
  }
}

int64_t OwnBytes(const std::vector<ProgramBuffer>& buffers, const Step& step) {
  int64_t bytes = 0;
  for (const BufferId read : step.reads) bytes += buffers[read].bytes;
  for (const BufferId written : step.writes) bytes += buffers[written].bytes;
  return bytes;
}

}  // namespace

std::vector<std::vector<int64_t>> StreamedResults(const BuiltProgram& built, absl::Span<const int64_t> distances,
                                                  const machine::Machine& target) {
  std::vector<std::vector<int64_t>> streamed(built.jobs.size());
  if (!distances.empty()) {
    if (built.jobs.size() == 1)
      streamed[0] = kernels::cost::StreamedResults(built.jobs[0].computation(), distances, target);
    return streamed;
  }
  const std::vector<ProgramBuffer>& buffers = built.program.buffers;
  Uses uses;
  absl::flat_hash_set<BufferId> seen;
  CountUses(buffers, built.program.steps, /*outermost=*/true, &seen, &uses);
  std::vector<std::optional<std::vector<int64_t>>> of_job(built.jobs.size());
  const auto visit = [&](const auto& self, const Sequence& steps, bool outermost) -> void {
    for (const Step& step : steps) {
      for (const Sequence& sequence : step.sequences) self(self, sequence, false);
      if (step.kind != Step::Kind::kKernel) continue;
      std::vector<int64_t> here;
      const int64_t distance = uses.bytes - OwnBytes(buffers, step);
      for (size_t i = 0; outermost && i < step.writes.size(); ++i) {
        const BufferId written = step.writes[i];
        if (uses.given.contains(written) && uses.readers[written] == 1 &&
            kernels::cost::IsStreamed(buffers[written].bytes, distance, target))
          here.push_back(static_cast<int64_t>(i));
      }
      std::optional<std::vector<int64_t>>& all = of_job[step.job];
      if (all) std::erase_if(*all, [&](int64_t i) { return std::find(here.begin(), here.end(), i) == here.end(); });
      if (!all) all = std::move(here);
    }
  };
  visit(visit, built.program.steps, true);
  for (size_t job = 0; job < of_job.size(); ++job) streamed[job] = of_job[job].value_or(std::vector<int64_t>());
  return streamed;
}

}  // namespace smelt::cpu
