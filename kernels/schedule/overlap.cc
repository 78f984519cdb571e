// Primitives by which the iterations of a loop overlap: double_buffer and pipeline.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/schedule/state.h"

namespace smelt::kernels::schedule {
namespace {

constexpr int kMostSteps = 16;  // copies of what is stored grow with them

// Iterations run one after the other.
bool HasOrder(const Loop& loop) { return loop.kind == ir::ForKind::kSerial || loop.kind == ir::ForKind::kUnrolled; }

std::string Named(const Stage& stage, int loop) {
  return absl::StrCat("loop `", stage.loops[loop].name, "` of stage `", stage.name, "`");
}

}  // namespace

absl::Status DoubleBufferStage(State& state, std::string_view name) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  if (stage->placeholder || stage->output)
    return Illegal("double_buffer", name, "it is an argument of the kernel, whose memory is the caller's");
  if (stage->attach != Attach::kAt)
    return Illegal("double_buffer", name, "it is not computed at a loop of another stage; compute_at comes first");
  if (stage->double_buffered) return Illegal("double_buffer", name, "it is double-buffered already");
  const Stage& consumer = state.stages[state.IndexOf(stage->attach_stage)];
  const Loop& loop = consumer.loops[stage->attach_loop];
  if (!HasOrder(loop))
    return Illegal("double_buffer", name,
                   absl::StrCat("the iterations of ", Named(consumer, stage->attach_loop), ", where it is computed, ",
                                "have no order"));
  if (!loop.pipeline.empty())
    return Illegal("double_buffer", name, absl::StrCat(Named(consumer, stage->attach_loop), " is pipelined already"));
  for (const int read : state.Reads(*stage)) {
    const Stage& producer = state.stages[read];
    if (producer.attach == Attach::kAt && producer.attach_stage == consumer.name &&
        producer.attach_loop == stage->attach_loop && !producer.double_buffered)
      return Illegal("double_buffer", name,
                     absl::StrCat("it reads stage `", producer.name, "`, which is computed at ",
                                  Named(consumer, stage->attach_loop), " too and not an iteration ahead"));
  }
  stage->double_buffered = true;
  return absl::OkStatus();
}

absl::Status PipelineLoop(State& state, std::string_view name, std::string_view loop_name,
                          const std::vector<int>& steps, const std::vector<int>& order) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  const auto illegal = [&](const std::string& why) {
    return Illegal("pipeline", name, absl::StrCat("loop `", std::string(loop_name), "`: ", why));
  };
  if (stage->placeholder || stage->attach == Attach::kInline)
    return illegal("the stage is an input or inlined and has no loops");
  const int leaf = stage->FindLeaf(loop_name);
  if (leaf < 0) return illegal("there is no such loop");
  Loop& loop = stage->loops[leaf];
  if (!loop.pipeline.empty()) return illegal("it is pipelined already");
  if (!HasOrder(loop)) return illegal("its iterations have no order");
  const std::vector<const Stage*> parts = state.StagesAt(name, leaf);
  if (parts.empty()) return illegal("no stage is computed at it; compute_at comes first");
  const size_t count = parts.size() + 1;
  if (steps.size() != count || order.size() != count)
    return illegal(absl::StrCat("it has ", count, " parts, the stages computed at it and the rest: as many steps and ",
                                "places in the order are needed, given ", steps.size(), " and ", order.size()));
  for (size_t i = 0; i < count; ++i) {
    if (steps[i] < 0 || steps[i] > kMostSteps)
      return illegal(absl::StrCat("step ", steps[i], " must lie between 0 and ", kMostSteps));
    if (order[i] < 0 || order[i] >= static_cast<int>(count) || std::count(order.begin(), order.end(), order[i]) != 1)
      return illegal(absl::StrCat("the order must have each number from 0 to ", count - 1, " once"));
  }
  const auto comes_after = [&](size_t reader, size_t producer) {
    return steps[reader] > steps[producer] || (steps[reader] == steps[producer] && order[reader] > order[producer]);
  };
  for (size_t producer = 0; producer + 1 < count; ++producer) {
    if (parts[producer]->double_buffered)
      return illegal(absl::StrCat("stage `", parts[producer]->name, "` is double-buffered, a pipeline of its own"));
    for (size_t reader = 0; reader < count; ++reader) {
      const Stage& other = reader + 1 < count ? *parts[reader] : *stage;
      const std::vector<int> reads = state.Reads(other);
      const int index = state.IndexOf(parts[producer]->name);
      if (std::find(reads.begin(), reads.end(), index) == reads.end() || comes_after(reader, producer)) continue;
      return illegal(absl::StrCat("stage `", other.name, "` would run before stage `", parts[producer]->name,
                                  "`, which it reads"));
    }
  }
  for (size_t i = 0; i < count; ++i) loop.pipeline.push_back({i + 1 < count ? parts[i]->name : "", steps[i], order[i]});
  return absl::OkStatus();
}

absl::Status CheckMayMove(const State& state, const Stage& stage, std::string_view primitive) {
  if (stage.attach != Attach::kAt) return absl::OkStatus();
  if (stage.double_buffered)
    return Illegal(primitive, stage.name, "it is double-buffered where it is computed; place it before");
  const Stage& consumer = state.stages[state.IndexOf(stage.attach_stage)];
  if (consumer.loops[stage.attach_loop].pipeline.empty()) return absl::OkStatus();
  return Illegal(
      primitive, stage.name,
      absl::StrCat(Named(consumer, stage.attach_loop), ", where it is computed, is pipelined; place it before"));
}

}  // namespace smelt::kernels::schedule
