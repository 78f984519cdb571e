// Primitives that tell lowering more about a stage's storage and loops: storage_align, prefetch and pragma.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/schedule/state.h"

namespace smelt::kernels::schedule {
namespace {

constexpr int64_t kLargestFactor = 1 << 16;      // elements
constexpr int64_t kFurthest = int64_t{1} << 20;  // iterations

struct PragmaRow {
  std::string_view key;
  int64_t least, most;
  bool of_results;  // of loops of a stage that is a result of the kernel
};

constexpr PragmaRow kPragmas[] = {
    {"auto_unroll_max_step", 0, 1 << 16, false},
    {"unroll_explicit", 0, 1, false},
    {"nontemporal", 0, 1, true},
};

absl::StatusOr<int> FindLoop(const Stage& stage, std::string_view primitive, std::string_view loop) {
  if (stage.placeholder || stage.attach == Attach::kInline)
    return Illegal(primitive, stage.name, "it is an input or inlined and has no loops");
  const int leaf = stage.FindLeaf(loop);
  if (leaf < 0) return Illegal(primitive, stage.name, absl::StrCat("no loop `", std::string(loop), "`"));
  if (stage.tensor_intrinsic != nullptr && stage.LeafPosition(leaf) >= stage.LeafPosition(stage.tensorized))
    return Illegal(primitive, stage.name,
                   absl::StrCat("loop `", std::string(loop), "` lies within the instruction `",
                                stage.tensor_intrinsic->name, "`"));
  return leaf;
}

}  // namespace

absl::Status AlignStage(State& state, std::string_view name, int axis, int64_t factor, int64_t offset) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  const auto illegal = [&](const std::string& why) {
    return Illegal("storage_align", name, absl::StrCat("axis ", axis, ": ", why));
  };
  if (stage->placeholder || stage->output)
    return illegal("it is of an argument of the kernel, which is row-major; cache it first");
  if (stage->attach == Attach::kInline) return illegal("the stage is inlined and not stored");
  if (!stage->layout.empty()) return illegal("the stage has a layout of its own");
  if (axis < 0 || axis >= stage->AxisCount()) return illegal(absl::StrCat("there are ", stage->AxisCount()));
  if (axis + 1 == stage->AxisCount()) return illegal("its elements lie side by side; align an axis outside of it");
  if (factor < 1 || factor > kLargestFactor || offset < 0 || offset >= factor)
    return illegal(absl::StrCat("factor ", factor, " must lie between 1 and ", kLargestFactor, ", offset ", offset,
                                " between 0 and below it"));
  for (const StorageAlignment& other : stage->alignments) {
    if (other.axis == axis) return illegal("it is aligned already");
  }
  stage->alignments.push_back({axis, factor, offset});
  return absl::OkStatus();
}

absl::Status PrefetchReads(State& state, std::string_view tensor_name, std::string_view name,
                           std::string_view loop_name, int64_t iterations, std::string_view axis_name) {
  SMELT_ASSIGN_OR_RETURN(Stage * tensor, state.Find(tensor_name));
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  SMELT_ASSIGN_OR_RETURN(const int leaf, FindLoop(*stage, "prefetch", loop_name));
  Loop& loop = stage->loops[leaf];
  const auto illegal = [&](const std::string& why) {
    return Illegal("prefetch", name,
                   absl::StrCat("of `", std::string(tensor_name), "` at loop `", loop.name, "`: ", why));
  };
  if (loop.kind == ir::ForKind::kVectorized) return illegal("it is vectorized, and lanes have no next iteration");
  if (iterations < 1 || iterations > kFurthest)
    return illegal(absl::StrCat(iterations, " iterations must lie between 1 and ", kFurthest));
  if (!tensor->placeholder && tensor->attach != Attach::kRoot)
    return illegal("it is computed inside a loop or inlined, so that it is near when it is read");
  const std::vector<int> reads = state.Reads(*stage);
  const auto is_read = [&](int read) {
    return read == state.IndexOf(tensor_name) || (!axis_name.empty() && IsCopy(state.stages[read], *tensor->identity));
  };
  if (std::none_of(reads.begin(), reads.end(), is_read)) return illegal("the stage does not read it");
  int axis = -1;
  for (size_t a = 0; !axis_name.empty() && a < stage->axes.size() + stage->reduce_axes.size(); ++a) {
    if (stage->loops[a].name == axis_name) axis = static_cast<int>(a);
  }
  if (axis < 0 && !axis_name.empty())
    return illegal(absl::StrCat("the stage has no axis `", std::string(axis_name),
                                "`; its axes are i0 and so on, those "
                                "of its sum r0 and so on"));
  for (const PrefetchAhead& other : loop.prefetches) {
    if (other.tensor == tensor_name) return illegal("it is prefetched there already");
  }
  loop.prefetches.push_back({std::string(tensor_name), iterations, axis});
  return absl::OkStatus();
}

absl::Status PragmaLoop(State& state, std::string_view name, std::string_view loop_name, std::string_view key,
                        int64_t value) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  SMELT_ASSIGN_OR_RETURN(const int leaf, FindLoop(*stage, "pragma", loop_name));
  Loop& loop = stage->loops[leaf];
  const auto illegal = [&](const std::string& why) {
    return Illegal("pragma", name, absl::StrCat("`", std::string(key), "` at loop `", loop.name, "`: ", why));
  };
  const PragmaRow* row = nullptr;
  std::string known;
  for (const PragmaRow& candidate : kPragmas) {
    if (candidate.key == key) row = &candidate;
    absl::StrAppend(&known, " ", std::string(candidate.key));
  }
  if (row == nullptr) return illegal(absl::StrCat("there is no such pragma; there are:", known));
  if (value < row->least || value > row->most)
    return illegal(absl::StrCat("value ", value, " must lie between ", row->least, " and ", row->most));
  if (row->of_results && !stage->output) return illegal("the stage is scratch, which is read soon");
  for (const LoopPragma& other : loop.pragmas) {
    if (other.key == key) return illegal("the loop has it already");
  }
  loop.pragmas.push_back({std::string(key), value});
  return absl::OkStatus();
}

}  // namespace smelt::kernels::schedule
