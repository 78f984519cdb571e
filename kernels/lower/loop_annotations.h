// What a schedule says of a loop as attributes of its statements (kernels/ir/annotation.h): loop building puts them,
// passes follow them.
//
//   const schedule::State& state = schedule.state();
//   const schedule::Stage& stage = state.stages[0];
//   const Stmt body = AsPiece(StepsAt(state, stage, 0), "", i, Stmt());
#pragma once

#include <string>
#include <vector>

#include "kernels/ir/stmt.h"
#include "kernels/schedule/state.h"

namespace smelt::kernels::lower {

using ir::Stmt;

// How the parts of the body of the stage's loop of that number overlap: a pipeline, or double buffers. Empty where they
// do not.
std::vector<schedule::PipelineStep> StepsAt(const schedule::State& state, const schedule::Stage& stage, int loop);
// The part of a stage, or of the rest (an empty name), marked with its step; as it is where it has none.
Stmt AsPiece(const std::vector<schedule::PipelineStep>& steps, const std::string& stage, const te::Expr& var,
             Stmt body);
Stmt WithPragmas(const schedule::Loop& loop, Stmt body);

}  // namespace smelt::kernels::lower
