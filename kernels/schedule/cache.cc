// Primitives that add a copy: cache_read and cache_write.
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/schedule/state.h"

namespace smelt::kernels::schedule {
namespace {

using te::Expr;
using te::ExprKind;

// A stage whose outputs are those of `from`, element by element.
Stage CopyOf(const State& state, const Stage& from, std::string name) {
  const te::OperationRef op = te::ComputeMany(
      name, from.shape,
      [&](te::Indices i) {
        std::vector<Expr> reads;
        for (size_t output = 0; output < from.types.size(); ++output) {
          reads.push_back(ReadOf(from, static_cast<int>(output), std::vector<Expr>(i.begin(), i.end())));
        }
        return reads;
      },
      "copy");
  return StageOf(*op, op, state.scopes);
}

bool ReadsTensor(const Stage& stage, const te::Operation* tensor) {
  return std::any_of(stage.bodies.begin(), stage.bodies.end(), [&](const Expr& body) {
    return te::Contains(body,
                        [&](const Expr& e) { return e->kind == ExprKind::kTensorRead && e->tensor.get() == tensor; });
  });
}

}  // namespace

bool IsRead(const State& state, std::string_view reader, std::string_view tensor) {
  Stage resolved = state.stages[state.IndexOf(reader)];
  ResolveInlined(state, &resolved);
  return ReadsTensor(resolved, state.stages[state.IndexOf(tensor)].identity.get());
}

bool IsCopy(const Stage& stage, const te::Operation& tensor) {
  if (stage.placeholder || !stage.reduce_axes.empty()) return false;
  for (size_t output = 0; output < stage.bodies.size(); ++output) {
    const Expr& body = stage.bodies[output];
    if (body->kind != ExprKind::kTensorRead || body->tensor.get() != &tensor ||
        body->int_value != static_cast<int64_t>(output) || body->operands.size() != stage.axes.size())
      return false;
    for (size_t d = 0; d < stage.axes.size(); ++d) {
      if (!body->operands[d].Same(stage.axes[d].var)) return false;
    }
  }
  return true;
}

absl::StatusOr<std::string> CacheReads(State& state, std::string_view tensor, const ir::Scope& scope,
                                       const std::vector<std::string>& readers) {
  SMELT_ASSIGN_OR_RETURN(Stage * source, state.Find(tensor));
  SMELT_RETURN_IF_ERROR(CheckScratch(state, "cache_read", tensor, scope));
  if (source->attach == Attach::kInline) return Illegal("cache_read", tensor, "it is inlined and not stored");
  if (readers.empty()) return Illegal("cache_read", tensor, "no reader is named");
  const te::OperationRef identity = source->identity;
  absl::flat_hash_set<std::string> seen;
  std::vector<Stage> resolved;
  for (const std::string& name : readers) {
    if (!seen.insert(name).second)
      return Illegal("cache_read", tensor, absl::StrCat("reader `", name, "` is named twice"));
    SMELT_ASSIGN_OR_RETURN(Stage * reader, state.Find(name));
    if (reader->attach == Attach::kInline)
      return Illegal("cache_read", tensor,
                     absl::StrCat("reader `", name,
                                  "` is inlined; name the stage that it is "
                                  "inlined into"));
    resolved.push_back(*reader);
    ResolveInlined(state, &resolved.back());
    if (!ReadsTensor(resolved.back(), identity.get()))
      return Illegal("cache_read", tensor, absl::StrCat("stage `", name, "` does not read it"));
  }
  Stage copy = CopyOf(state, *source, absl::StrCat(source->name, ".", std::string(scope.name)));
  copy.scope = scope;
  const te::OperationRef copied = copy.identity;
  for (size_t i = 0; i < readers.size(); ++i) {
    for (Expr& body : resolved[i].bodies) {
      // Innermost reads first: an index may itself hold a read.
      std::vector<Expr> reads;
      te::Visit(body, [&](const Expr& e) {
        if (e->kind == ExprKind::kTensorRead && e->tensor == identity) reads.push_back(e);
      });
      for (const Expr& read : reads) {
        body = te::Rewrite(body, [&](const Expr& e) {
          if (!e.Same(read)) return Expr();
          return te::Tensor{copied, static_cast<int>(e->int_value)}(e->operands);
        });
      }
    }
    state.stages[state.IndexOf(readers[i])].bodies = std::move(resolved[i].bodies);
  }
  return state.Insert(state.IndexOf(tensor) + 1, std::move(copy)).name;
}

absl::StatusOr<std::string> CacheWrites(State& state, std::string_view name, const ir::Scope& scope) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  if (stage->placeholder) return Illegal("cache_write", name, "it is an input of the kernel");
  SMELT_RETURN_IF_ERROR(CheckScratch(state, "cache_write", name, scope));
  if (stage->attach == Attach::kInline) return Illegal("cache_write", name, "it is inlined and not stored");
  SMELT_RETURN_IF_ERROR(CheckLoops(*stage, "cache_write"));
  if (!stage->relations.empty() || state.HasAttached(name))
    return Illegal("cache_write", name, "its loops have been changed or hold other stages; cache before that");
  for (const Loop& loop : stage->loops) {
    if (loop.kind != ir::ForKind::kSerial || loop.IsAnnotated())
      return Illegal("cache_write", name, absl::StrCat("its loop `", loop.name, "` is annotated; cache before that"));
  }
  // The computation goes to a stage of its own, the old one keeps the identity that readers know and becomes the copy.
  Stage computation = *stage;
  computation.name = absl::StrCat(stage->name, ".", std::string(scope.name));
  computation.identity = MakeIdentity(computation.name, stage->shape, stage->types);
  computation.output = false;
  computation.scope = scope;
  computation.layout.clear();
  computation.alignments.clear();
  computation.double_buffered = false;
  computation.attach = Attach::kRoot;
  computation.attach_stage.clear();
  computation.attach_loop = -1;
  ResetLoops(&computation);
  Stage copy = CopyOf(state, computation, stage->name);
  stage->axes = copy.axes;
  stage->reduce_axes.clear();
  stage->bodies = copy.bodies;
  ResetLoops(stage);
  return state.Insert(state.IndexOf(name), std::move(computation)).name;
}

}  // namespace smelt::kernels::schedule
