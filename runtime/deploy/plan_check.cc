#include "runtime/deploy/plan_check.h"

#include <algorithm>

namespace smelt::runtime::deploy {
namespace {

class PlanCheck {
 public:
  explicit PlanCheck(const DeployedPlan& plan) : plan_(plan) {}

  std::string Run() {
    for (const ProgramBuffer& buffer : plan_.program.buffers) {
      if (!Fits(buffer)) return "a buffer lies outside its memory";
    }
    for (const DeployedJob& job : plan_.jobs) {
      if (!job.is_native && !FitsKernel(job.kernel)) return "kernel " + job.kernel.name + " has impossible phases";
    }
    for (const SliceUpdate& update : plan_.program.updates) {
      if (update.dimensions.size() != update.sizes.size()) return "an update of a slice has two ranks";
    }
    if (plan_.threads < 1 || plan_.program.arena_bytes < 0) return "a size is negative";
    return Check(plan_.program.steps);
  }

 private:
  static bool Inside(int64_t offset, int64_t bytes, int64_t all) {
    return bytes >= 0 && offset >= 0 && bytes <= all && offset <= all - bytes;
  }

  bool Fits(const ProgramBuffer& buffer) const {
    const auto leaf_fits = [&](const std::vector<ArrayLeaf>& leaves) {
      return Inside(buffer.number, 1, static_cast<int64_t>(leaves.size())) &&
             leaves[static_cast<size_t>(buffer.number)].bytes == buffer.bytes;
    };
    switch (buffer.kind) {
      case ProgramBuffer::Kind::kArena:
        return buffer.bytes == 0 || Inside(buffer.offset, buffer.bytes, plan_.program.arena_bytes);
      case ProgramBuffer::Kind::kConstant:
        return buffer.bytes == 0 || Inside(buffer.offset, buffer.bytes, plan_.weights.bytes);
      case ProgramBuffer::Kind::kInput:
        return leaf_fits(plan_.inputs);
      case ProgramBuffer::Kind::kOutput:
        return leaf_fits(plan_.outputs);
      default:
        return false;
    }
  }

  static bool FitsKernel(const KernelDescriptor& kernel) {
    return kernel.input_count >= 0 && kernel.output_count >= 0 && kernel.thread_scratch_bytes >= 0 &&
           kernel.thread_scratch_bytes < int64_t{1} << 40 &&
           std::all_of(kernel.phases.begin(), kernel.phases.end(),
                       [](const PhaseDescriptor& phase) { return phase.extent >= 0 && !phase.symbol.empty(); });
  }

  bool AreBuffers(const std::vector<BufferId>& ids) const {
    return std::all_of(ids.begin(), ids.end(),
                       [&](BufferId id) { return Inside(id, 1, static_cast<int64_t>(plan_.program.buffers.size())); });
  }

  std::string Check(const Sequence& steps) const {
    for (const Step& step : steps) {
      if (!AreBuffers(step.reads) || !AreBuffers(step.writes)) return "a step names a buffer that is not there";
      if (!HasItsBuffers(step)) return "a step has too few buffers";
      for (const Sequence& sequence : step.sequences) {
        if (std::string wrong = Check(sequence); !wrong.empty()) return wrong;
      }
    }
    return "";
  }

  bool HasItsBuffers(const Step& step) const {
    const auto jobs = static_cast<int64_t>(plan_.jobs.size());
    switch (step.kind) {
      case Step::Kind::kKernel: {
        if (!Inside(step.job, 1, jobs)) return false;
        const DeployedJob& job = plan_.jobs[static_cast<size_t>(step.job)];
        return !job.is_native && static_cast<int64_t>(step.reads.size()) == job.kernel.input_count &&
               step.writes.size() == static_cast<size_t>(job.kernel.output_count) + job.kernel.shared_bytes.size();
      }
      case Step::Kind::kNative:
        return Inside(step.job, 1, jobs) && plan_.jobs[static_cast<size_t>(step.job)].is_native;
      case Step::Kind::kCopy:
        return step.reads.size() == 1 && step.writes.size() == 1 &&
               plan_.program.buffers[step.reads[0]].bytes >= plan_.program.buffers[step.writes[0]].bytes;
      case Step::Kind::kUpdateSlice: {
        if (!Inside(step.update, 1, static_cast<int64_t>(plan_.program.updates.size()))) return false;
        const SliceUpdate& update = plan_.program.updates[static_cast<size_t>(step.update)];
        const size_t starts = update.one_vector ? 1 : update.dimensions.size();
        return step.writes.size() == 1 && step.reads.size() == 1 + starts;
      }
      case Step::Kind::kWhile:
        return step.reads.size() == 1 && step.sequences.size() == 2;
      case Step::Kind::kConditional:
        return step.reads.size() == 1 && !step.sequences.empty();
      case Step::Kind::kRepeat:
        return step.trips >= 1 && step.sequences.size() == 1;
      case Step::Kind::kOpaque:
        break;
    }
    return false;  // only the evaluator runs it, which is not here
  }

  const DeployedPlan& plan_;
};

}  // namespace

std::string WhatIsWrong(const DeployedPlan& plan) { return PlanCheck(plan).Run(); }

}  // namespace smelt::runtime::deploy
