// Pieces that the templates share.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "kernels/ir/interleaved_rows.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {

using schedule::Schedule;

int TransposedAxis(const Nest& nest, int64_t lanes) {
  const te::Operation& root = *nest.root;
  const int last = static_cast<int>(root.axes.size()) - 1;
  for (const Access& access : nest.accesses) {
    const std::optional<int64_t> along = StrideInVectors(access, root.axes[last], lanes);
    if (!along || *along == 0 || *along == 1) continue;
    for (int a = 0; a < last; ++a) {
      const std::optional<int64_t> stride = Stride(access, root.axes[a].var);
      if (stride && *stride == 1 && root.shape[a] >= 4) return a;
    }
  }
  return -1;
}

std::string AxisName(int axis) { return absl::StrCat("i", axis); }
std::string ReduceName(int axis) { return absl::StrCat("r", axis); }

int64_t LanesOf(const te::Operation& operation, const machine::Machine& target) {
  int64_t widest = 0;
  const auto consider = [&](hlo::PrimitiveType type) {
    // Short floats are computed in f32, truth values ride along with what they choose.
    int64_t bytes = hlo::StorageBytes(type);
    if (hlo::IsFloat(type)) bytes = std::max<int64_t>(bytes, 4);
    widest = std::max(widest, bytes);
  };
  for (hlo::PrimitiveType type : operation.types) consider(type);
  for (const te::OperationRef& input : operation.Inputs()) {
    // Scalars and positions do not decide how wide vectors are.
    if (Elements(*input) * 8 < Elements(operation)) continue;
    for (hlo::PrimitiveType type : input->types) consider(type);
  }
  return std::max<int64_t>(1, target.vector_bytes / std::max<int64_t>(widest, 1));
}

absl::Status ReorderLoops(Schedule& schedule, const std::string& stage, const std::vector<std::string>& loops) {
  return loops.size() < 2 ? absl::OkStatus() : schedule.Reorder(stage, loops);
}

absl::StatusOr<std::pair<std::string, std::string>> VectorizeLoop(Schedule& schedule, const std::string& stage,
                                                                  const std::string& loop, int64_t extent,
                                                                  int64_t lanes, schedule::TailStrategy tail) {
  if (extent <= lanes) {
    if (extent > 1) SMELT_RETURN_IF_ERROR(schedule.Vectorize(stage, loop));
    return std::pair<std::string, std::string>("", loop);
  }
  SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(stage, loop, lanes, tail));
  SMELT_RETURN_IF_ERROR(schedule.Vectorize(stage, split.second));
  return split;
}

std::vector<Access> AccessesOf(const Nest& nest, const te::Operation& operation) {
  std::vector<Access> accesses;
  for (const Access& access : nest.accesses) {
    if (access.reader.get() == &operation) accesses.push_back(access);
  }
  return accesses;
}

const Access* LargestAccess(const std::vector<Access>& accesses) {
  const auto largest = std::max_element(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
    return Elements(*a.tensor) < Elements(*b.tensor);
  });
  return largest == accesses.end() ? nullptr : &*largest;
}

namespace {

// The innermost loop over results; empty where there is none.
std::string InnermostResult(const Schedule& schedule, const std::string& stage) {
  std::string inside;
  for (const std::string& loop : schedule.Loops(stage)) {
    if (loop[0] == 'i') inside = loop;
  }
  return inside;
}

// Partial results of the stage in `width` lanes, one for each iteration of the loop, computed where the stage is.
absl::StatusOr<std::string> FactorLanes(Schedule& schedule, const std::string& stage, const std::string& loop,
                                        int64_t width, int64_t lanes) {
  const std::string inside = InnermostResult(schedule, stage);
  SMELT_ASSIGN_OR_RETURN(std::string partial, schedule.Rfactor(stage, loop));
  if (!inside.empty()) {
    SMELT_RETURN_IF_ERROR(schedule.SetScope(partial, ir::Scope::kLocal));
    SMELT_RETURN_IF_ERROR(schedule.ComputeAt(partial, stage, inside));
  }
  std::vector<std::string> order;
  std::string lane = AxisName(0);
  for (const std::string& l : schedule.Loops(partial)) {
    if (l != lane) order.push_back(l);
  }
  order.push_back(lane);
  SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, partial, order));
  SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule, partial, lane, width, lanes));
  if (!split.first.empty()) SMELT_RETURN_IF_ERROR(schedule.Unroll(partial, split.first));
  return partial;
}

}  // namespace

absl::Status SumLanes(Schedule& schedule, const std::string& stage, int64_t width, int64_t lanes) {
  for (int64_t left = width; left > 2 && left % 2 == 0;) {
    const int64_t next = left > lanes && left % lanes == 0 ? lanes : left / 2;
    SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(stage, ReduceName(0), next));
    SMELT_ASSIGN_OR_RETURN(std::string partial, FactorLanes(schedule, stage, split.second, next, lanes));
    for (const std::string& l : schedule.Loops(partial)) {
      if (l[0] == 'r') SMELT_RETURN_IF_ERROR(schedule.Unroll(partial, l));
    }
    left = next;
  }
  if (InnermostResult(schedule, stage).empty()) return absl::OkStatus();
  return schedule.Unroll(stage, ReduceName(0));
}

int ReduceAxisForVectors(const te::Operation& operation, const std::vector<Access>& accesses) {
  constexpr int64_t kLeast = 4, kLeastOfJumps = 16;
  for (int64_t jump = 1; jump <= kShortJump; ++jump) {
    for (size_t r = operation.reduce_axes.size(); r-- > 0;) {
      if (operation.reduce_axes[r].extent < (jump == 1 ? kLeast : kLeastOfJumps)) continue;
      for (const Access& access : accesses) {
        if (Stride(access, operation.reduce_axes[r].var) == jump) return static_cast<int>(r);
      }
    }
  }
  return -1;
}

absl::Status VectorizeReduction(Schedule& schedule, const te::Operation& operation, const std::vector<Access>& accesses,
                                const machine::Machine& target) {
  constexpr int64_t kFewSteps = 4;
  const std::string& stage = operation.name;
  if (operation.bodies[0]->combiner->identity.empty()) return absl::OkStatus();
  const int axis = ReduceAxisForVectors(operation, accesses);
  if (axis < 0) return absl::OkStatus();
  const int64_t extent = operation.reduce_axes[axis].extent;
  int64_t lanes = LanesOf(operation, target);
  while (lanes > 4 && lanes > extent) lanes /= 2;
  if (extent < lanes || lanes < 2) return absl::OkStatus();
  int64_t vectors = 1;
  while (vectors < 4 && extent % (lanes * vectors * 2) == 0) vectors *= 2;
  while (vectors < 4 && extent >= lanes * vectors * 16) vectors *= 2;  // a tail costs little beside a long run

  const int64_t width = lanes * vectors;
  std::string loop = ReduceName(axis);
  if (extent > width) {
    SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(stage, loop, width));
    loop = split.second;
  }
  SMELT_ASSIGN_OR_RETURN(const std::string partial, FactorLanes(schedule, stage, loop, std::min(extent, width), lanes));
  // So it is known where the row ends, and only its last vectors are cut off.
  const std::vector<std::string> loops = schedule.Loops(partial);
  const auto along = std::find_if(loops.rbegin(), loops.rend(), [](const std::string& l) { return l[0] == 'r'; });
  if (extent > width && along != loops.rend()) {
    SMELT_ASSIGN_OR_RETURN(const int64_t steps, schedule.Extent(partial, *along));
    if (steps <= kFewSteps) SMELT_RETURN_IF_ERROR(schedule.Unroll(partial, *along));
  }
  return SumLanes(schedule, stage, std::min(extent, width), lanes);
}

bool HasShortRows(const Nest& nest, int64_t rows, int64_t lanes) {
  const te::Operation& root = *nest.root;
  const size_t rank = root.axes.size();
  if (rank < 2 || rows < lanes) return false;
  const int64_t width = root.shape[rank - 1];
  if (width < 2 || width > kShortRow || width >= lanes) return false;
  const auto near = [&](const Access& access) {
    const std::optional<int64_t> along = Stride(access, root.axes[rank - 1].var);
    const std::optional<int64_t> down = Stride(access, root.axes[rank - 2].var);
    return along && *along >= 0 && *along <= 1 && down && *down >= 0 && *down <= width;
  };
  const std::vector<Access> accesses = AccessesOf(nest, root);
  return std::all_of(accesses.begin(), accesses.end(), near);
}

absl::StatusOr<std::vector<std::string>> VectorizeShortRows(Schedule& schedule, const te::Operation& root,
                                                            const std::string& row, int64_t rows,
                                                            const std::string& element, int64_t lanes) {
  std::vector<std::string> outside;
  std::string some = row;
  if (rows > lanes) {
    SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(root.name, row, lanes));
    outside.push_back(split.first);
    some = split.second;
  }
  SMELT_ASSIGN_OR_RETURN(const std::string fused, schedule.Fuse(root.name, some, element));
  SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule, root.name, fused, lanes * root.shape.back(), lanes));
  SMELT_RETURN_IF_ERROR(schedule.Unroll(root.name, split.first));
  outside.push_back(split.first);
  return outside;
}

absl::Status UnrollSum(Schedule& schedule, const te::Operation& operation) {
  for (size_t r = 0; r < operation.reduce_axes.size(); ++r)
    SMELT_RETURN_IF_ERROR(schedule.Unroll(operation.name, ReduceName(static_cast<int>(r))));
  return absl::OkStatus();
}

namespace {

// Whether two results are combined by one instruction. Extremes of floats take three, since NaN is the result of it.
bool CombinesInOne(const te::Operation& reduction) {
  const te::Combiner& combiner = *reduction.bodies[0]->combiner;
  const te::Expr& result = combiner.results[0];
  if (combiner.results.size() > 1 || result->kind != te::ExprKind::kBinary) return false;
  const auto op = static_cast<te::BinaryOp>(result->op);
  return !hlo::IsFloat(reduction.types[0]) || (op != te::BinaryOp::kMax && op != te::BinaryOp::kMin);
}

// Whether the terms of one result after the other are an input's elements in their order.
bool ReadsWholeRows(const Access& access, const te::Operation& sum, const te::Expr& result, int64_t terms) {
  if (access.tensor->kind != te::OperationKind::kPlaceholder || Stride(access, result) != terms) return false;
  return std::all_of(sum.reduce_axes.begin(), sum.reduce_axes.end(), [&](const te::IterVar& axis) {
    const std::optional<int64_t> stride = Stride(access, axis.var);
    return stride && *stride > 0 && *stride * axis.extent <= terms;
  });
}

}  // namespace

int ShortSumAxis(const te::Operation& operation, const std::vector<Access>& accesses, const machine::Machine& target) {
  // Shuffles that cost no more than adding the lanes of one row after the other.
  constexpr int64_t kMostShuffles = 7;
  const int axis = static_cast<int>(operation.axes.size()) - 1;
  const int64_t lanes = LanesOf(operation, target);
  if (axis < 0 || operation.axes[axis].extent < lanes) return -1;
  int64_t terms = 1;
  for (const te::IterVar& reduce : operation.reduce_axes) terms *= reduce.extent;
  // Sums over more than a vector are faster row by row, 38 us for 69 of 20 elements; maxima are not, 108 for 84.
  const bool are_long = terms > kShortRowSum;
  if (are_long && terms > (CombinesInOne(operation) ? lanes : ir::kLongestInterleavedRow)) return -1;
  const auto is_row = [&](const Access& access) {
    return ir::ShufflesApart(terms) <= kMostShuffles &&
           ReadsWholeRows(access, operation, operation.axes[axis].var, terms);
  };
  const auto near = [&](const Access& access) {
    const std::optional<int64_t> stride = StrideInVectors(access, operation.axes[axis], lanes);
    return (stride && *stride >= 0 && *stride <= kShortJump) || is_row(access);
  };
  if (!std::all_of(accesses.begin(), accesses.end(), near)) return -1;
  const int64_t rows = std::count_if(accesses.begin(), accesses.end(), is_row);
  if (are_long && rows == 0) return -1;
  // The whole rows of all of them are in registers at once.
  return terms <= kShortJump || rows * terms <= target.vector_registers * 3 / 4 ? axis : -1;
}

namespace {

// How many elements of an axis the loops of a stage inside one of them go through.
absl::StatusOr<int64_t> ElementsInside(const Schedule& schedule, const std::string& stage, const std::string& loop,
                                       int axis) {
  int64_t elements = 1;
  bool inside = false;
  for (const std::string& other : schedule.Loops(stage)) {
    const std::vector<std::string> parts = absl::StrSplit(other, '.');
    if (inside && absl::c_linear_search(parts, AxisName(axis))) {
      SMELT_ASSIGN_OR_RETURN(const int64_t extent, schedule.Extent(stage, other));
      elements *= extent;
    }
    inside = inside || other == loop;
  }
  return elements;
}

// Whether the loops of the reader around an attached stage leave neither a vector nor the whole of this axis of it.
absl::StatusOr<bool> IsCutShort(const Schedule& schedule, const Attached& attached, int axis, const std::string& reader,
                                const std::string& loop, int64_t lanes) {
  const int root_axis = attached.root_axes.empty() ? -1 : attached.root_axes[axis];
  if (root_axis < 0 || root_axis >= attached.depth) return false;
  SMELT_ASSIGN_OR_RETURN(const int64_t together, ElementsInside(schedule, reader, loop, root_axis));
  return together < std::min(lanes, attached.operation->axes[axis].extent);
}

}  // namespace

absl::Status ScheduleSmallStage(Schedule& schedule, const Attached& attached, const std::vector<Access>& accesses,
                                const machine::Machine& target, const std::string& reader, const std::string& loop) {
  const te::OperationRef& operation = attached.operation;
  const std::string& stage = operation->name;
  const int64_t lanes = LanesOf(*operation, target);
  const auto cut_short = [&](int axis) { return IsCutShort(schedule, attached, axis, reader, loop, lanes); };
  if (operation->axes.empty() && !operation->IsReduction()) return absl::OkStatus();
  int axis = static_cast<int>(operation->axes.size()) - 1;
  bool short_sum = false;
  if (operation->IsReduction()) {
    axis = VectorAxis(*operation, accesses);
    short_sum = axis < 0;
    if (short_sum) axis = ShortSumAxis(*operation, accesses, target);
    if (axis < 0) return VectorizeReduction(schedule, *operation, accesses, target);
    // Where one result is computed at a time, there are no vectors of results.
    SMELT_ASSIGN_OR_RETURN(const bool alone, cut_short(axis));
    if (!short_sum && alone && operation->axes[axis].extent >= lanes)
      return VectorizeReduction(schedule, *operation, accesses, target);
  } else {
    // The reader may see it transposed: vectors go along what it has whole here.
    for (int i = axis; i >= 0; --i) {
      SMELT_ASSIGN_OR_RETURN(const bool cut, cut_short(i));
      if (cut || operation->axes[i].extent == 1) continue;
      axis = i;
      break;
    }
  }
  while (axis > 0 && operation->axes[axis].extent == 1) --axis;
  if (axis < 0 || operation->axes[axis].extent == 1) return absl::OkStatus();
  // Kept elements in vectors; sums run outside of them, one vector at a time in a register.
  std::vector<std::string> order;
  for (size_t i = 0; i < operation->axes.size(); ++i) {
    if (static_cast<int>(i) != axis) order.push_back(AxisName(static_cast<int>(i)));
  }
  SMELT_ASSIGN_OR_RETURN(auto split,
                         VectorizeLoop(schedule, stage, AxisName(axis), operation->axes[axis].extent, lanes));
  if (!split.first.empty()) order.push_back(split.first);
  for (size_t r = 0; r < operation->reduce_axes.size(); ++r) order.push_back(ReduceName(static_cast<int>(r)));
  order.push_back(split.second);
  SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, stage, order));
  return short_sum ? UnrollSum(schedule, *operation) : absl::OkStatus();
}

absl::Status ParallelizeOutermost(Schedule& schedule, const std::string& stage,
                                  const std::vector<std::string>& outer_loops, double work) {
  // About what a fork and join of the threads costs.
  constexpr double kWorthAFork = 64 * 1024;
  if (work < kWorthAFork) return absl::OkStatus();
  for (size_t i = 0; i < outer_loops.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(const int64_t extent, schedule.Extent(stage, outer_loops[i]));
    if (extent < 2) continue;
    std::vector<std::string> order{outer_loops[i]};
    for (const std::string& loop : schedule.Loops(stage)) {
      if (loop == outer_loops[i]) break;
      order.push_back(loop);
    }
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, stage, order));
    return schedule.Parallel(stage, outer_loops[i]);
  }
  return absl::OkStatus();
}

}  // namespace smelt::kernels::nests
