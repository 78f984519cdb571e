#include "kernels/lower/loop_annotations.h"

#include "kernels/ir/annotation.h"

namespace smelt::kernels::lower {

std::vector<schedule::PipelineStep> StepsAt(const schedule::State& state, const schedule::Stage& stage, int loop) {
  if (!stage.loops[loop].pipeline.empty()) return stage.loops[loop].pipeline;
  std::vector<schedule::PipelineStep> steps;
  bool overlap = false;
  for (const schedule::Stage* attached : state.StagesAt(stage.name, loop)) {
    overlap |= attached->double_buffered;
    steps.push_back({attached->name, attached->double_buffered ? 0 : 1, static_cast<int>(steps.size())});
  }
  steps.push_back({"", 1, static_cast<int>(steps.size())});
  if (!overlap) steps.clear();
  return steps;
}

Stmt AsPiece(const std::vector<schedule::PipelineStep>& steps, const std::string& stage, const te::Expr& var,
             Stmt body) {
  for (const schedule::PipelineStep& step : steps) {
    if (step.stage == stage)
      return ir::Annotate(ir::kPipelinePiece, nullptr, ir::Facts(var, step.step, step.order), std::move(body));
  }
  return body;
}

Stmt WithPragmas(const schedule::Loop& loop, Stmt body) {
  int64_t most = 0, in_loops = 1;
  for (const schedule::LoopPragma& pragma : loop.pragmas) {
    if (pragma.key == "auto_unroll_max_step") most = pragma.value;
    if (pragma.key == "unroll_explicit") in_loops = pragma.value;
    if (pragma.key == "nontemporal" && pragma.value != 0)
      body = ir::Annotate(ir::kNontemporal, nullptr, te::Expr(), std::move(body));
  }
  if (most > 0) body = ir::Annotate(ir::kAutoUnroll, nullptr, ir::Facts(most, in_loops, 0), std::move(body));
  return body;
}

}  // namespace smelt::kernels::lower
