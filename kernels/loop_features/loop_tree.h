// The loops and accesses of a lowered function, with what each access touches at each loop around it.
//
//   const LoopTree tree = BuildLoopTree(function);
//   tree.loops[0].extent;
//   tree.accesses[0].at[0].touched;
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ir/stmt.h"

namespace smelt::kernels::loop_features {

// Operations on values, by what they cost.
struct Arithmetic {
  double adds = 0;  // and comparisons, selections, conversions, logic
  double multiplies = 0;
  double divisions = 0;
  double calls = 0;     // exponentials and the like
  double integers = 0;  // of any kind, indices aside

  double total() const { return adds + multiplies + divisions + calls + integers; }
};

struct LoopNode {
  int parent = -1;
  int depth = 0;
  int phase = 0;
  double extent = 1;
  ir::ForKind kind = ir::ForKind::kSerial;
  double outside = 1;     // iterations of the loops around it, all together
  double inside = 1;      // most iterations of one path of loops within it, itself included
  double guards = 0;      // conditions directly in its body
  Arithmetic arithmetic;  // directly in its body, of one iteration
};

// An access as seen from one of the loops around it: while that loop runs once from start to end.
struct Touch {
  int loop = -1;
  double touched = 1;  // different elements
  double reuse = 1;    // accesses to each of them
  double stride = 0;   // elements of the storage by which one step of the loop moves; 0: none
  bool known = true;   // whether the stride is a constant
};

struct AccessNode {
  const ir::BufferNode* buffer = nullptr;
  bool store = false;
  int loop = -1;          // innermost around it; -1: none
  double count = 1;       // times that it is made
  bool guarded = false;   // under a condition on loop variables
  std::vector<Touch> at;  // of the loops around it, inner first
};

struct StatementNode {
  int loop = -1;
  double count = 1;
  bool guarded = false;
  Arithmetic arithmetic;
  std::vector<size_t> accesses;  // of LoopTree::accesses
};

struct LoopTree {
  std::vector<LoopNode> loops;  // a loop before those within it; those of a phase's parallel range too
  std::vector<AccessNode> accesses;
  std::vector<StatementNode> statements;
  std::vector<ir::Buffer> scratch;  // allocated within loops
};

// `function` as LowerToLoops gives it. Keeps its buffers alive by `scratch` and by the function only.
// `fused`: strides of loops that were fused of several are looked for in the storage, where they are known; else they
// count as unknown.
LoopTree BuildLoopTree(const ir::Function& function, bool fused = true);

}  // namespace smelt::kernels::loop_features
