// The public face of a schedule: calls the primitive, then records it.
#include "kernels/schedule/schedule.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "kernels/schedule/state.h"
#include "kernels/schedule/words.h"

namespace smelt::kernels::schedule {
namespace {

std::string Word(std::string_view text) { return std::string(text); }

}  // namespace

Schedule::Schedule(te::Graph graph, te::ScopeTable scopes, std::vector<TensorIntrinsicRef> instructions)
    : state_(std::make_unique<State>(std::move(graph), std::move(scopes), std::move(instructions))) {}
Schedule::Schedule(const Schedule& other) : state_(std::make_unique<State>(*other.state_)) {}
Schedule& Schedule::operator=(const Schedule& other) {
  state_ = std::make_unique<State>(*other.state_);
  return *this;
}
Schedule::Schedule(Schedule&&) noexcept = default;
Schedule& Schedule::operator=(Schedule&&) noexcept = default;
Schedule::~Schedule() = default;

const te::Graph& Schedule::graph() const { return state_->graph; }
const std::vector<Step>& Schedule::trace() const { return state_->trace; }

std::vector<std::string> Schedule::Stages() const {
  std::vector<std::string> names;
  for (const Stage& stage : state_->stages) names.push_back(stage.name);
  return names;
}

std::vector<std::string> Schedule::Loops(std::string_view stage) const {
  std::vector<std::string> names;
  const int index = state_->IndexOf(stage);
  if (index < 0 || state_->stages[index].placeholder || state_->stages[index].attach == Attach::kInline) return names;
  for (int leaf : state_->stages[index].leaves) names.push_back(state_->stages[index].loops[leaf].name);
  return names;
}

absl::StatusOr<int64_t> Schedule::Extent(std::string_view stage, std::string_view loop) const {
  SMELT_ASSIGN_OR_RETURN(const Stage* found, state_->Find(stage));
  for (const Loop& candidate : found->loops) {
    if (candidate.name == loop) return candidate.extent;
  }
  return Illegal("extent", stage, absl::StrCat("no loop `", std::string(loop), "`"));
}

absl::StatusOr<std::pair<std::string, std::string>> Schedule::Split(std::string_view stage, std::string_view loop,
                                                                    int64_t factor, TailStrategy tail) {
  auto result = SplitLoop(*state_, stage, loop, RelationKind::kSplit, factor, tail);
  if (result.ok()) state_->trace.push_back({"split", {Word(stage), Word(loop), absl::StrCat(factor), TailName(tail)}});
  return result;
}

absl::StatusOr<std::pair<std::string, std::string>> Schedule::SplitParts(std::string_view stage, std::string_view loop,
                                                                         int64_t parts, TailStrategy tail) {
  auto result = SplitLoop(*state_, stage, loop, RelationKind::kSplitParts, parts, tail);
  if (result.ok())
    state_->trace.push_back({"split_parts", {Word(stage), Word(loop), absl::StrCat(parts), TailName(tail)}});
  return result;
}

absl::StatusOr<std::vector<std::string>> Schedule::Tile(std::string_view stage, std::string_view x, std::string_view y,
                                                        int64_t x_factor, int64_t y_factor) {
  // Several primitives, recorded as they are; undone together.
  const State before = *state_;
  const auto attempt = [&]() -> absl::StatusOr<std::vector<std::string>> {
    SMELT_ASSIGN_OR_RETURN(const auto x_loops, Split(stage, x, x_factor));
    SMELT_ASSIGN_OR_RETURN(const auto y_loops, Split(stage, y, y_factor));
    std::vector<std::string> order{x_loops.first, y_loops.first, x_loops.second, y_loops.second};
    SMELT_RETURN_IF_ERROR(Reorder(stage, order));
    return order;
  };
  auto result = attempt();
  if (!result.ok()) *state_ = before;
  return result;
}

absl::StatusOr<std::string> Schedule::Fuse(std::string_view stage, std::string_view outer, std::string_view inner) {
  auto result = FuseLoops(*state_, stage, outer, inner);
  if (result.ok()) state_->trace.push_back({"fuse", {Word(stage), Word(outer), Word(inner)}});
  return result;
}

absl::Status Schedule::Reorder(std::string_view stage, const std::vector<std::string>& loops) {
  SMELT_RETURN_IF_ERROR(ReorderLoops(*state_, stage, loops));
  Step step{"reorder", {Word(stage)}};
  step.arguments.insert(step.arguments.end(), loops.begin(), loops.end());
  state_->trace.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Schedule::Vectorize(std::string_view stage, std::string_view loop) {
  SMELT_RETURN_IF_ERROR(AnnotateLoop(*state_, stage, loop, ir::ForKind::kVectorized));
  state_->trace.push_back({"vectorize", {Word(stage), Word(loop)}});
  return absl::OkStatus();
}

absl::Status Schedule::Unroll(std::string_view stage, std::string_view loop) {
  SMELT_RETURN_IF_ERROR(AnnotateLoop(*state_, stage, loop, ir::ForKind::kUnrolled));
  state_->trace.push_back({"unroll", {Word(stage), Word(loop)}});
  return absl::OkStatus();
}

absl::Status Schedule::Parallel(std::string_view stage, std::string_view loop) {
  SMELT_RETURN_IF_ERROR(AnnotateLoop(*state_, stage, loop, ir::ForKind::kParallel));
  state_->trace.push_back({"parallel", {Word(stage), Word(loop)}});
  return absl::OkStatus();
}

absl::Status Schedule::Bind(std::string_view stage, std::string_view loop, ir::ForKind binding) {
  if (binding < ir::ForKind::kBlock)
    return Illegal("bind", stage, absl::StrCat("`", Word(ir::ForKindName(binding)), "` has a primitive of its own"));
  SMELT_RETURN_IF_ERROR(AnnotateLoop(*state_, stage, loop, binding));
  state_->trace.push_back({"bind", {Word(stage), Word(loop), Word(ir::ForKindName(binding))}});
  return absl::OkStatus();
}

absl::Status Schedule::ComputeAt(std::string_view stage, std::string_view consumer, std::string_view loop) {
  SMELT_RETURN_IF_ERROR(AttachStage(*state_, stage, consumer, loop));
  state_->trace.push_back({"compute_at", {Word(stage), Word(consumer), Word(loop)}});
  return absl::OkStatus();
}

absl::Status Schedule::ComputeInline(std::string_view stage) {
  SMELT_RETURN_IF_ERROR(InlineStage(*state_, stage));
  state_->trace.push_back({"compute_inline", {Word(stage)}});
  return absl::OkStatus();
}

absl::Status Schedule::ComputeRoot(std::string_view stage) {
  SMELT_RETURN_IF_ERROR(RootStage(*state_, stage));
  state_->trace.push_back({"compute_root", {Word(stage)}});
  return absl::OkStatus();
}

absl::StatusOr<std::string> Schedule::CacheRead(std::string_view tensor, const ir::Scope& scope,
                                                const std::vector<std::string>& readers) {
  auto result = CacheReads(*state_, tensor, scope, readers);
  if (result.ok()) {
    Step step{"cache_read", {Word(tensor), Word(scope.name)}};
    step.arguments.insert(step.arguments.end(), readers.begin(), readers.end());
    state_->trace.push_back(std::move(step));
  }
  return result;
}

absl::StatusOr<std::string> Schedule::CacheWrite(std::string_view stage, const ir::Scope& scope) {
  auto result = CacheWrites(*state_, stage, scope);
  if (result.ok()) state_->trace.push_back({"cache_write", {Word(stage), Word(scope.name)}});
  return result;
}

absl::StatusOr<std::string> Schedule::Rfactor(std::string_view stage, std::string_view loop) {
  auto result = FactorReduction(*state_, stage, loop);
  if (result.ok()) state_->trace.push_back({"rfactor", {Word(stage), Word(loop)}});
  return result;
}

absl::Status Schedule::Tensorize(std::string_view stage, std::string_view loop, std::string_view intrinsic) {
  SMELT_RETURN_IF_ERROR(TensorizeLoop(*state_, stage, loop, intrinsic));
  state_->trace.push_back({"tensorize", {Word(stage), Word(loop), Word(intrinsic)}});
  return absl::OkStatus();
}

absl::Status Schedule::SetScope(std::string_view stage, const ir::Scope& scope) {
  SMELT_RETURN_IF_ERROR(ScopeStage(*state_, stage, scope));
  state_->trace.push_back({"set_scope", {Word(stage), Word(scope.name)}});
  return absl::OkStatus();
}

absl::Status Schedule::TransformLayout(std::string_view stage, const std::vector<std::pair<int, int64_t>>& layout) {
  SMELT_RETURN_IF_ERROR(LayoutStage(*state_, stage, layout));
  Step step{"transform_layout", {Word(stage)}};
  for (const auto& [axis, block] : layout) step.arguments.push_back(absl::StrCat(axis, ":", block));
  state_->trace.push_back(std::move(step));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Schedule::PadReduction(std::string_view stage, std::string_view loop,
                                                                int64_t multiple) {
  auto result = PadSum(*state_, stage, loop, multiple);
  if (result.ok()) state_->trace.push_back({"pad_reduction", {Word(stage), Word(loop), absl::StrCat(multiple)}});
  return result;
}

absl::StatusOr<std::string> Schedule::ShiftOperand(std::string_view stage, std::string_view tensor) {
  auto result = ShiftFactor(*state_, stage, tensor);
  if (result.ok()) state_->trace.push_back({"shift_operand", {Word(stage), Word(tensor)}});
  return result;
}

absl::Status Schedule::DoubleBuffer(std::string_view stage) {
  SMELT_RETURN_IF_ERROR(DoubleBufferStage(*state_, stage));
  state_->trace.push_back({"double_buffer", {Word(stage)}});
  return absl::OkStatus();
}

absl::Status Schedule::Pipeline(std::string_view stage, std::string_view loop, const std::vector<int>& steps,
                                const std::vector<int>& order) {
  SMELT_RETURN_IF_ERROR(PipelineLoop(*state_, stage, loop, steps, order));
  Step step{"pipeline", {Word(stage), Word(loop)}};
  for (size_t i = 0; i < steps.size(); ++i) step.arguments.push_back(absl::StrCat(steps[i], ":", order[i]));
  state_->trace.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Schedule::StorageAlign(std::string_view stage, int axis, int64_t factor, int64_t offset) {
  SMELT_RETURN_IF_ERROR(AlignStage(*state_, stage, axis, factor, offset));
  state_->trace.push_back(
      {"storage_align", {Word(stage), absl::StrCat(axis), absl::StrCat(factor), absl::StrCat(offset)}});
  return absl::OkStatus();
}

absl::Status Schedule::Prefetch(std::string_view tensor, std::string_view stage, std::string_view loop,
                                int64_t iterations, std::string_view axis) {
  SMELT_RETURN_IF_ERROR(PrefetchReads(*state_, tensor, stage, loop, iterations, axis));
  state_->trace.push_back({"prefetch", {Word(tensor), Word(stage), Word(loop), absl::StrCat(iterations)}});
  if (!axis.empty()) state_->trace.back().arguments.push_back(Word(axis));
  return absl::OkStatus();
}

absl::Status Schedule::Pragma(std::string_view stage, std::string_view loop, std::string_view key, int64_t value) {
  SMELT_RETURN_IF_ERROR(PragmaLoop(*state_, stage, loop, key, value));
  state_->trace.push_back({"pragma", {Word(stage), Word(loop), Word(key), absl::StrCat(value)}});
  return absl::OkStatus();
}

std::string Schedule::ToString() const {
  std::string text;
  for (const Step& step : state_->trace) {
    absl::StrAppend(&text, step.primitive, " ", absl::StrJoin(step.arguments, " "), "\n");
  }
  return text;
}

}  // namespace smelt::kernels::schedule
