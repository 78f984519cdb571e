// The primitive tensorize: whether a nest may be asked to be an instruction. Whether it is one, lowering finds, when it
// knows the regions (lower/tensorize.h).
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/schedule/state.h"

namespace smelt::kernels::schedule {

absl::Status TensorizeLoop(State& state, std::string_view name, std::string_view loop_name,
                           std::string_view intrinsic_name) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  const auto illegal = [&](const std::string& why) {
    return Illegal("tensorize", name, absl::StrCat("loop `", std::string(loop_name), "`: ", why));
  };
  if (stage->placeholder || stage->attach == Attach::kInline)
    return illegal("the stage is an input or inlined and has no loops");
  if (stage->tensor_intrinsic != nullptr) return illegal("the stage is tensorized already");
  const int leaf = stage->FindLeaf(loop_name);
  if (leaf < 0) return illegal("there is no such loop");
  TensorIntrinsicRef intrinsic;
  std::string known;
  for (const TensorIntrinsicRef& entry : state.tensor_intrinsics) {
    if (entry->name == intrinsic_name) intrinsic = entry;
    absl::StrAppend(&known, " ", entry->name);
  }
  if (intrinsic == nullptr)
    return illegal(absl::StrCat("no tensor intrinsic `", std::string(intrinsic_name),
                                "` here; there are:", known.empty() ? " none" : known));
  for (size_t i = stage->LeafPosition(leaf); i < stage->leaves.size(); ++i) {
    const Loop& loop = stage->loops[stage->leaves[i]];
    if (loop.kind != ir::ForKind::kSerial || loop.IsAnnotated())
      return illegal(absl::StrCat("`", loop.name, "`, which the instruction takes in, is annotated"));
    if (const std::string attached = state.AttachedAt(stage->name, stage->leaves[i]); !attached.empty())
      return illegal(absl::StrCat("stage `", attached, "` is computed at `", loop.name, "`, within the instruction"));
  }
  stage->tensor_intrinsic = std::move(intrinsic);
  stage->tensorized = leaf;
  return absl::OkStatus();
}

absl::Status CheckLoops(const Stage& stage, std::string_view primitive) {
  if (stage.tensor_intrinsic == nullptr) return absl::OkStatus();
  return Illegal(
      primitive, stage.name,
      absl::StrCat("its loops from `", stage.loops[stage.tensorized].name, "` on are tensorized; do it before"));
}

}  // namespace smelt::kernels::schedule
