#include "targets/cpu/deploy/deployed_plan.h"

#include <map>
#include <utility>

namespace smelt::cpu::deploy {
namespace {

using runtime::BufferId;
using runtime::ProgramBuffer;

constexpr int64_t kAlignment = 64;
constexpr int64_t kPage = 4096;
// Pieces of whole pages would all begin at the same place of a page, and so in the same few sets of the cache.
constexpr int64_t kGap = 17 * kAlignment;

class Planning {
 public:
  Planning(const CompiledProgram& compiled, const std::vector<const void*>& known, const char* kept)
      : compiled_(compiled), known_(known), kept_(kept) {}

  PlannedModule Run() {
    const runtime::Program& from = compiled_.program;
    runtime::Program& program = module_.plan.program;
    program.arena_bytes = from.arena_bytes;
    program.updates = from.updates;
    for (size_t i = 0; i < known_.size(); ++i) {
      input_numbers_.push_back(given_);
      given_ += known_[i] == nullptr ? 1 : 0;
    }
    program.steps = Copy(from.steps);
    module_.plan.weights.bytes = end_;
    return std::move(module_);
  }

 private:
  runtime::Sequence Copy(const runtime::Sequence& steps) {
    runtime::Sequence copies;
    for (const runtime::Step& step : steps) {
      runtime::Step copy = step;
      copy.info = -1;
      copy.continues = false;
      if (step.job >= 0) copy.job = Job(step.job);
      for (BufferId& id : copy.reads) id = Buffer(id);
      for (BufferId& id : copy.writes) id = Buffer(id);
      for (runtime::Sequence& sequence : copy.sequences) sequence = Copy(sequence);
      copies.push_back(std::move(copy));
    }
    return copies;
  }

  int32_t Job(int32_t job) {
    const auto [at, inserted] = jobs_.try_emplace(job, static_cast<int32_t>(module_.jobs.size()));
    if (inserted) module_.jobs.push_back(job);
    return at->second;
  }

  BufferId Buffer(BufferId id) {
    const auto [at, inserted] = buffers_.try_emplace(id, static_cast<BufferId>(module_.plan.program.buffers.size()));
    if (inserted) module_.plan.program.buffers.push_back(Placed(compiled_.program.buffers[id]));
    return at->second;
  }

  ProgramBuffer Placed(const ProgramBuffer& buffer) {
    ProgramBuffer placed = buffer;
    placed.known = false;
    placed.data = nullptr;
    switch (buffer.kind) {
      case ProgramBuffer::Kind::kInput:
        if (known_[buffer.number] != nullptr) return Constant(known_[buffer.number], buffer.bytes);
        placed.number = input_numbers_[buffer.number];
        break;
      case ProgramBuffer::Kind::kConstant:
        return Constant(buffer.data, buffer.bytes);
      case ProgramBuffer::Kind::kKept:
        return Constant(kept_ + buffer.offset, buffer.bytes);
      default:
        break;
    }
    return placed;
  }

  ProgramBuffer Constant(const void* data, int64_t bytes) {
    ProgramBuffer constant;
    constant.kind = ProgramBuffer::Kind::kConstant;
    constant.bytes = bytes;
    if (bytes == 0) return constant;
    const auto [at, inserted] = pieces_.try_emplace({data, bytes}, end_);
    constant.offset = at->second;
    if (!inserted) return constant;
    module_.weights.push_back({end_, {static_cast<const char*>(data), static_cast<size_t>(bytes)}});
    end_ +=
        bytes < kPage ? (bytes + kAlignment - 1) / kAlignment * kAlignment : (bytes + kPage - 1) / kPage * kPage + kGap;
    return constant;
  }

  const CompiledProgram& compiled_;
  const std::vector<const void*>& known_;
  const char* kept_;
  PlannedModule module_;
  std::vector<int64_t> input_numbers_;
  int64_t given_ = 0, end_ = 0;
  std::map<int32_t, int32_t> jobs_;
  std::map<BufferId, BufferId> buffers_;
  std::map<std::pair<const void*, int64_t>, int64_t> pieces_;
};

}  // namespace

PlannedModule PlanModule(const CompiledProgram& compiled, const std::vector<const void*>& known, const char* kept) {
  return Planning(compiled, known, kept).Run();
}

}  // namespace smelt::cpu::deploy
