#include "targets/cpu/program/streamed_results.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/cost/default_schedule.h"
#include "targets/cpu/program/leaves_of_jobs.h"

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
  if (!distances.empty()) {
    std::vector<std::vector<int64_t>> streamed(built.jobs.size());
    if (built.jobs.size() == 1)
      streamed[0] = kernels::cost::StreamedResults(built.jobs[0].computation(), distances, target);
    return streamed;
  }
  const std::vector<ProgramBuffer>& buffers = built.program.buffers;
  Uses uses;
  absl::flat_hash_set<BufferId> seen;
  CountUses(buffers, built.program.steps, /*outermost=*/true, &seen, &uses);
  return LeavesOfJobs(built, [&](const Step& step, bool outermost) {
    std::vector<int64_t> streamed;
    const int64_t distance = uses.bytes - OwnBytes(buffers, step);
    for (size_t i = 0; outermost && i < step.writes.size(); ++i) {
      const BufferId written = step.writes[i];
      if (uses.given.contains(written) && uses.readers[written] == 1 &&
          kernels::cost::IsStreamed(buffers[written].bytes, distance, target))
        streamed.push_back(static_cast<int64_t>(i));
    }
    return streamed;
  });
}

}  // namespace smelt::cpu
