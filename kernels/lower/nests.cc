#include "kernels/lower/nests.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/ir/annotation.h"
#include "kernels/ir/mutate.h"
#include "kernels/lower/border.h"
#include "kernels/lower/loop_annotations.h"
#include "kernels/lower/storage_position.h"
#include "kernels/lower/tensorize.h"

namespace smelt::kernels::lower {
namespace {

using ir::Stmt;
using schedule::Attach;
using schedule::Stage;
using te::DataType;
using te::ExprKind;

Expr ZeroOf(DataType type) { return hlo::IsFloat(type.element) ? te::FloatConst(type, 0) : te::IntConst(type, 0); }

class Builder {
 public:
  Builder(const schedule::State& state, std::vector<Nest> nests, std::string name, te::Simplifier& simplifier)
      : state_(state), nests_(std::move(nests)), simplifier_(simplifier) {
    function_.name = std::move(name);
  }

  absl::StatusOr<ir::Function> Run() {
    SMELT_RETURN_IF_ERROR(MakeBuffers());
    for (size_t s = 0; s < state_.stages.size(); ++s) {
      if (nests_[s].live && state_.stages[s].attach == Attach::kRoot) AddPhase(static_cast<int>(s));
    }
    if (!status_.ok()) return status_;
    return std::move(function_);
  }

 private:
  absl::Status MakeBuffers() {
    ir::Function& function = function_;
    function.input_count = static_cast<int64_t>(state_.graph.inputs.size());
    const auto argument = [&](const std::string& name, PrimitiveType type, const std::vector<int64_t>& shape) {
      ir::BufferNode node{.name = name, .type = type, .shape = shape, .scope = state_.scopes.argument};
      node.alignment = node.scope.alignment;
      node.argument = static_cast<int64_t>(function.arguments.size());
      function.arguments.push_back(std::make_shared<const ir::BufferNode>(std::move(node)));
      return function.arguments.back();
    };
    for (const te::Tensor& input : state_.graph.inputs) {
      const Stage& stage = state_.stages[state_.IndexOf(input.op.get())];
      const ir::Buffer buffer = argument(stage.name, stage.types[0], ArrayShape(stage.shape));
      inputs_.try_emplace(input.op.get(), buffer);
    }
    for (size_t s = 0; s < state_.stages.size(); ++s) {
      if (nests_[s].live) nests_[s].buffers.resize(state_.stages[s].types.size());
    }
    for (size_t i = 0; i < state_.outputs.size(); ++i) {
      const auto& [name, output] = state_.outputs[i];
      const int s = state_.IndexOf(name);
      const Stage& stage = state_.stages[s];
      nests_[s].buffers[output] = argument(absl::StrCat("out", i), stage.types[output], ArrayShape(stage.shape));
    }
    for (size_t s = 0; s < state_.stages.size(); ++s) {
      Nest& nest = nests_[s];
      const Stage& stage = state_.stages[s];
      for (size_t o = 0; o < nest.buffers.size(); ++o) {
        if (nest.buffers[o] != nullptr) continue;
        ir::BufferNode node{.name = nest.buffers.size() > 1 ? absl::StrCat(stage.name, ".", o) : stage.name,
                            .type = stage.types[o]};
        constexpr int64_t kLargest = int64_t{1} << 36;
        if (const int64_t count = StorageCount(stage, nest); count > kLargest)
          return absl::InvalidArgumentError(
              absl::StrCat("stage `", stage.name, "` would store ", count, " elements of scratch"));
        for (const StorageDimension& dimension : StorageOf(stage, nest)) node.shape.push_back(dimension.extent);
        node.shape = ArrayShape(std::move(node.shape));
        node.scope = stage.scope;
        // Inside a loop of another stage the memory of one iteration is its own.
        if (stage.attach == Attach::kAt && stage.scope == state_.scopes.root) node.scope = state_.scopes.attached;
        node.alignment = node.scope.alignment;
        const int64_t unit = node.scope.granularity_bytes;
        const int64_t bytes = (node.ByteSize() + unit - 1) / unit * unit;
        if (bytes > node.scope.capacity_bytes) {
          return absl::InvalidArgumentError(absl::StrCat(
              "stage `", stage.name, "` takes ", bytes, " bytes of ", std::string(node.scope.name),
              " memory where it is computed, at most ", node.scope.capacity_bytes,
              " are allowed: compute it deeper inside, or use scope ", std::string(state_.scopes.attached.name)));
        }
        nest.buffers[o] = std::make_shared<const ir::BufferNode>(std::move(node));
        if (stage.attach == Attach::kRoot) function_.shared.push_back(nest.buffers[o]);
      }
    }
    return absl::OkStatus();
  }

  using PrimitiveType = te::PrimitiveType;

  // A scalar is an array of one element: every access has an index.
  static std::vector<int64_t> ArrayShape(std::vector<int64_t> shape) {
    if (shape.empty()) shape.push_back(1);
    return shape;
  }

  // What reads of tensors have become: a read that is an index of several others, which are indices in turn, is looked
  // at once.
  using Loads = absl::flat_hash_map<const te::ExprNode*, Expr>;

  // Reads of tensors become loads of buffers.
  Expr ToLoads(const Nest& reader, const Expr& value) {
    Loads loads;
    return ToLoads(reader, value, &loads);
  }
  Expr ToLoads(const Nest& reader, const Expr& value, Loads* loads) {
    const Expr result = te::Rewrite(value, [&](const Expr& e) {
      if (e->kind != ExprKind::kTensorRead) return Expr();
      if (const auto known = loads->find(e.get()); known != loads->end()) return known->second;
      const Expr load = LoadOf(reader, e, loads);
      loads->emplace(e.get(), load);
      return load;
    });
    return simplifier_.Simplify(result);
  }
  // Where the reading nest overshoots, a load that may then leave its buffer is conditional.
  Expr LoadOf(const Nest& reader, const Expr& read, Loads* loads) {
    const int s = state_.IndexOf(read->tensor.get());
    const Stage& stage = state_.stages[s];
    std::vector<Expr> indices;
    for (const Expr& index : read->operands) indices.push_back(ToLoads(reader, index, loads));
    const Nest* nest = stage.placeholder ? nullptr : &nests_[s];
    const ir::Buffer& buffer = stage.placeholder ? inputs_.at(read->tensor.get()) : nest->buffers[read->int_value];
    const Expr load = te::Load(buffer, StorageIndices(simplifier_, stage, nest, indices));
    if (!reader.load_condition || StaysInside(simplifier_, stage, nest, indices)) return load;
    const Expr condition = ConcernedBy(reader.load_condition, indices);
    return condition ? te::If(condition, load, ZeroOf(load.type())) : load;
  }

  // The parts of a condition that speak of a variable which the indices speak of too; null where there are none. Where
  // another part does not hold, what is loaded is loaded at other points as well: a row's value, wanted beyond the last
  // column, needs no mask.
  Expr ConcernedBy(const Expr& condition, absl::Span<const Expr> indices) {
    Expr all;
    for (const Expr& part : te::Conjuncts(condition)) {
      const bool concerns = te::Contains(part, [&](const Expr& e) {
        return e->kind == ExprKind::kVar &&
               std::any_of(indices.begin(), indices.end(), [&](const Expr& index) { return te::Mentions(index, e); });
      });
      if (concerns) all = all ? te::And(all, part) : part;
    }
    return all;
  }

  void AddPhase(int s) {
    const Nest& nest = nests_[s];
    const bool parallel =
        !nest.loops.empty() && nest.loops[0].kind == ir::ForKind::kParallel && nest.loops[0].extent > 1;
    Stmt body = BuildStage(s, parallel);
    std::vector<ir::Phase>& phases = function_.phases;
    if (body == nullptr) return;
    body = WithAlignments(s, std::move(body));
    if (parallel) {
      phases.push_back({nest.loops[0].var, nest.loops[0].extent, std::move(body)});
    } else if (!phases.empty() && !phases.back().var) {
      phases.back().body = ir::Seq({phases.back().body, std::move(body)});
    } else {
      phases.push_back({Expr(), 1, std::move(body)});
    }
  }

  // The whole nest of a stage with what is attached to it; without its outermost loop when the phase runs that.
  Stmt BuildStage(int s, bool skip_outermost) {
    const Stage& stage = state_.stages[s];
    Nest& nest = nests_[s];
    const bool tensorized = stage.tensor_intrinsic != nullptr;
    // Loops within an instruction are no loops.
    const int depth = tensorized ? stage.LeafPosition(stage.tensorized) : static_cast<int>(nest.loops.size());
    int first_reduce = depth;
    for (int i = depth; i-- > 0;) {
      if (nest.loops[i].reduce) first_reduce = i;
    }
    // Guards by the innermost loop that they mention; -1: none of this nest's.
    std::vector<std::vector<Guard>> guards(depth + 1);
    for (const Guard& guard : nest.guards) {
      int innermost = -1;
      for (int i = 0; i < depth; ++i) {
        if (te::Mentions(guard.condition, nest.loops[i].var)) innermost = i;
      }
      guards[innermost + 1].push_back(guard);
    }
    // The same for conditions of the update alone, which lie within the outermost reduce loop or just around it.
    std::vector<std::vector<Guard>> update_guards(depth + 1);
    for (Guard& guard : tensorized ? std::vector<Guard>() : UpdateGuards(stage, &nest)) {
      int innermost = first_reduce - 1;
      for (int i = first_reduce; i < depth; ++i) {
        if (te::Mentions(guard.condition, nest.loops[i].var)) innermost = i;
      }
      update_guards[innermost + 1].push_back(std::move(guard));
    }
    Stmt body, init;
    if (tensorized) {
      if (absl::Status status = CallInstruction(s, &init, &body); !status.ok()) status_.Update(status);
    } else {
      body = WithMasks(nest, stage.reduce_axes.empty() ? StoreValues(s, nest.values) : StoreUpdate(s), false);
      init = InitialValues(s);
    }
    for (int i = depth; i-- > 0;) {
      const NestLoop& loop = nest.loops[i];
      const schedule::Loop& scheduled = stage.loops[stage.leaves[i]];
      body = WithPrefetches(stage, scheduled, loop.var, std::move(body));
      body = WithReadsAhead(nest, i, std::move(body));
      body = WithAttached(stage, stage.leaves[i], loop.var, std::move(body));
      if (i >= first_reduce) body = WithGuards(update_guards[i + 1], std::move(body));
      body = WithGuards(guards[i + 1], std::move(body));
      if (i > 0 || !skip_outermost) body = MakeFor(loop, std::move(body));
      body = WithPragmas(scheduled, std::move(body));
      if (i == first_reduce) {
        body = WithGuards(update_guards[i], std::move(body));
        body = ir::Seq({BuildInit(nest, init, first_reduce, depth, guards), std::move(body)});
      }
    }
    return WithGuards(guards[0], std::move(body));
  }

  std::vector<Guard> UpdateGuards(const Stage& stage, Nest* nest) {
    std::vector<Guard> guards;
    for (Expr& condition : TakeUpdateConditions(stage, nest)) guards.push_back({std::move(condition)});
    for (Guard& guard : BorderConditions(state_, stage, *nest, simplifier_)) guards.push_back(std::move(guard));
    return guards;
  }

  // Where all sources of a reduction are the identity unless some condition holds (padding, taps that do not exist),
  // the update need not happen: removes the conditions from the sources and returns them. Conditions that differ by
  // lane stay: masked updates are slower than selecting.
  std::vector<Expr> TakeUpdateConditions(const Stage& stage, Nest* nest) {
    if (stage.reduce_axes.empty()) return {};
    const std::vector<Expr>& identity = stage.bodies[0]->combiner->identity;
    if (identity.size() != nest->values.size()) return {};
    for (size_t r = 0; r < identity.size(); ++r) {
      const Expr& value = nest->values[r];
      if (value->kind != ExprKind::kIf || !value->operands[2].Same(identity[r]) ||
          !value->operands[0].Same(nest->values[0]->operands[0]))
        return {};
    }
    std::vector<Expr> uniform;
    Expr rest = te::Bool(true);
    for (const Expr& e : te::Conjuncts(nest->values[0]->operands[0])) {
      const bool reads = te::Contains(e, [](const Expr& node) { return node->kind == ExprKind::kTensorRead; });
      const bool varies = std::any_of(nest->loops.begin(), nest->loops.end(), [&](const NestLoop& loop) {
        return loop.kind == ir::ForKind::kVectorized && te::Mentions(e, loop.var);
      });
      if (reads || varies) {
        rest = And(rest, e);
      } else {
        uniform.push_back(e);
      }
    }
    if (uniform.empty()) return uniform;
    for (Expr& value : nest->values) value = te::If(rest, value->operands[1], value->operands[2]);
    return uniform;
  }

  static Stmt MakeFor(const NestLoop& loop, Stmt body) {
    const ir::ForKind kind = loop.kind == ir::ForKind::kParallel ? ir::ForKind::kSerial : loop.kind;
    return ir::For(loop.var, Expr(0), Expr(loop.extent), kind, std::move(body));
  }

  static Stmt WithGuards(const std::vector<Guard>& guards, Stmt body) {
    for (size_t i = guards.size(); i-- > 0;) {
      if (guards[i].mask) continue;
      body = ir::IfThen(guards[i].condition, std::move(body));
      if (guards[i].rare) body = ir::Annotate(ir::kRareBranch, nullptr, Expr(), std::move(body));
    }
    return body;
  }

  bool MentionsReduceLoop(const Nest& nest, const Guard& guard) {
    return std::any_of(nest.loops.begin(), nest.loops.end(),
                       [&](const NestLoop& loop) { return loop.reduce && te::Mentions(guard.condition, loop.var); });
  }

  // Masks stand on the stores themselves, and on the loads of what they store.
  Stmt WithMasks(const Nest& nest, const Stmt& stmt, bool spatial_only) {
    Expr mask = te::Bool(true);
    for (const Guard& guard : nest.guards) {
      if (guard.mask && !(spatial_only && MentionsReduceLoop(nest, guard))) mask = And(mask, guard.condition);
    }
    return Masked(stmt, mask);
  }

  static Stmt Masked(const Stmt& stmt, const Expr& mask) {
    if (stmt == nullptr || te::IsConstInt(mask)) return stmt;
    if (stmt->kind == ir::StmtKind::kSeq) {
      std::vector<Stmt> stmts;
      for (const Stmt& child : stmt->stmts) stmts.push_back(Masked(child, mask));
      return ir::Seq(std::move(stmts));
    }
    if (stmt->kind == ir::StmtKind::kAllocate) return ir::Allocate(stmt->buffer, Masked(stmt->body(), mask));
    const Expr value = te::If(mask, stmt->value, ZeroOf(stmt->value.type()));
    return ir::Store(stmt->buffer, stmt->indices, value, mask);
  }

  // Producers that are computed at this loop come before the rest of its body.
  Stmt WithAttached(const Stage& stage, int loop, const Expr& var, Stmt body) {
    const std::vector<schedule::PipelineStep> steps = StepsAt(state_, stage, loop);
    body = AsPiece(steps, "", var, std::move(body));
    for (size_t p = state_.stages.size(); p-- > 0;) {
      const Stage& producer = state_.stages[p];
      if (!nests_[p].live || producer.attach != Attach::kAt || producer.attach_loop != loop ||
          producer.attach_stage != stage.name)
        continue;
      Stmt own = AsPiece(steps, producer.name, var, BuildStage(static_cast<int>(p), false));
      body = WithAlignments(static_cast<int>(p), ir::Seq({std::move(own), std::move(body)}));
      for (const ir::Buffer& buffer : nests_[p].buffers) body = ir::Allocate(buffer, std::move(body));
    }
    return body;
  }

  Stmt WithAlignments(int s, Stmt body) {
    const Stage& stage = state_.stages[s];
    for (const schedule::StorageAlignment& alignment : stage.alignments) {
      for (const ir::Buffer& buffer : nests_[s].buffers) {
        const ir::Expr facts = ir::Facts(stage.AxisCount() - 1 - alignment.axis, alignment.factor, alignment.offset);
        body = ir::Annotate(ir::kStorageAlign, buffer, facts, std::move(body));
      }
    }
    return body;
  }

  Stmt WithPrefetches(const Stage& stage, const schedule::Loop& loop, const Expr& var, Stmt body) {
    for (const schedule::PrefetchAhead& prefetch : loop.prefetches) {
      const int s = state_.IndexOf(prefetch.tensor);
      const Stage& tensor = state_.stages[s];
      if (!tensor.placeholder && (tensor.attach != Attach::kRoot || !nests_[s].live))
        status_.Update(absl::InvalidArgumentError(
            absl::StrCat("stage `", stage.name, "` prefetches stage `", tensor.name, "` at loop `", loop.name,
                         "`, which has been placed inside a loop since: it is near when it is read")));
      if (prefetch.axis >= 0) continue;  // WithReadsAhead
      const std::vector<ir::Buffer> buffers =
          tensor.placeholder ? std::vector<ir::Buffer>{inputs_.at(tensor.identity.get())} : nests_[s].buffers;
      for (const ir::Buffer& buffer : buffers)
        body = ir::Annotate(ir::kPrefetchAhead, buffer, ir::Facts(var, prefetch.iterations, 0), std::move(body));
    }
    return body;
  }

  // What is wanted along axes at the loop, named by loads that the pass takes away. After WithPrefetches, which refuses
  // what has no memory to read ahead of.
  Stmt WithReadsAhead(const Nest& nest, int loop, Stmt body) {
    if (!status_.ok()) return body;
    for (const ReadAhead& read : nest.ahead) {
      if (read.loop != loop) continue;
      const int s = state_.IndexOf(read.tensor);
      const Stage& tensor = state_.stages[s];
      const ir::Buffer& buffer = tensor.placeholder ? inputs_.at(read.tensor) : nests_[s].buffers[read.output];
      std::vector<Expr> indices;
      for (const Expr& index : read.indices) indices.push_back(ToLoads(nest, index));
      Stmt wanted = ir::Evaluate(
          te::Load(buffer, StorageIndices(simplifier_, tensor, tensor.placeholder ? nullptr : &nests_[s], indices)));
      for (size_t i = nest.loops.size(); i-- > static_cast<size_t>(loop) + 1;)
        wanted = ir::For(nest.loops[i].var, Expr(0), Expr(nest.loops[i].extent), ir::ForKind::kSerial, wanted);
      body = ir::Seq({ir::Annotate(ir::kPrefetchAhead, buffer, ir::Facts(0, 0, 1), wanted), body});
    }
    return body;
  }

  // One store an output.
  Stmt StoreValues(int s, const std::vector<Expr>& values) {
    const Stage& stage = state_.stages[s];
    const Nest& nest = nests_[s];
    const std::vector<Expr> indices = StorageIndices(simplifier_, stage, &nest, nest.indices);
    std::vector<Stmt> stores;
    for (size_t o = 0; o < values.size(); ++o)
      stores.push_back(ir::Store(nest.buffers[o], indices, ToLoads(nest, values[o])));
    return ir::Seq(std::move(stores));
  }

  // What accumulators begin with; null when nothing is reduced.
  Stmt InitialValues(int s) {
    const Stage& stage = state_.stages[s];
    if (stage.reduce_axes.empty()) return nullptr;
    std::vector<Expr> values;
    for (const Expr& body : stage.bodies) values.push_back(nests_[s].init[body->int_value]);
    return WithMasks(nests_[s], StoreValues(s, values), true);
  }

  // The calls of the instruction that the stage is within its loops: what begins the reduction, null where no loop of
  // it stands outside, and the rest.
  absl::Status CallInstruction(int s, Stmt* init, Stmt* body) {
    const Stage& stage = state_.stages[s];
    const schedule::TensorIntrinsic& intrinsic = *stage.tensor_intrinsic;
    SMELT_ASSIGN_OR_RETURN(const TensorMatch match, MatchTensorIntrinsic(state_, stage, nests_[s], simplifier_));
    const auto illegal = [&](const std::string& why) {
      return absl::InvalidArgumentError(absl::StrCat("stage `", stage.name, "`: loop `",
                                                     stage.loops[stage.tensorized].name, "` as `", intrinsic.name,
                                                     "`: ", why));
    };
    std::vector<schedule::TensorRegion> regions;
    for (size_t i = 0; i <= match.inputs.size(); ++i) {
      const bool output = i == match.inputs.size();
      const int t = output ? s : state_.IndexOf(match.inputs[i].tensor);
      if (t < 0) return illegal(absl::StrCat("operand `", intrinsic.inputs[i].op->name, "` is not read"));
      const Stage& tensor = state_.stages[t];
      const Nest* nest = tensor.placeholder ? nullptr : &nests_[t];
      schedule::TensorRegion region;
      region.buffer = tensor.placeholder ? inputs_.at(tensor.identity.get()) : nest->buffers[0];
      region.first = StorageIndices(simplifier_, tensor, nest, output ? match.output : match.inputs[i].indices);
      if (!tensor.alignments.empty())
        return illegal(
            absl::StrCat("the strides of stage `", tensor.name, "` are aligned, which the call does not know"));
      const std::optional<te::Scope> scope = i < intrinsic.scopes.size() ? intrinsic.scopes[i] : std::nullopt;
      if (scope && region.buffer->scope != *scope)
        return illegal(absl::StrCat("`", tensor.name, "` lies in ", std::string(region.buffer->scope.name),
                                    ", it should in ", std::string(scope->name)));
      const te::Tensor& declared = output ? intrinsic.output : intrinsic.inputs[i];
      SMELT_ASSIGN_OR_RETURN(TileStrides strides, StridesOf(simplifier_, tensor, nest,
                                                            output ? match.output : match.inputs[i].indices, declared));
      region.strides = std::move(strides.elements);
      region.block_strides = std::move(strides.blocks);
      const auto wanted = i < intrinsic.strides.size() ? intrinsic.strides[i] : std::vector<int64_t>();
      if (!wanted.empty() && wanted != region.strides)
        return illegal(absl::StrCat("the tile of `", tensor.name, "` has strides ", absl::StrJoin(region.strides, ", "),
                                    ", they should be ", absl::StrJoin(wanted, ", ")));
      regions.push_back(std::move(region));
    }
    const bool update = match.reduces_outside || intrinsic.full == nullptr;
    if (update ? intrinsic.update == nullptr : intrinsic.full == nullptr)
      return illegal(update ? "it has no update" : "it has no body that computes the whole");
    SMELT_ASSIGN_OR_RETURN(const std::vector<Guard> guards, LoadGuards(stage, nests_[s]));
    *body = WithGuards(guards, update ? intrinsic.update(regions) : intrinsic.full(regions));
    if (!update) return absl::OkStatus();
    *init = intrinsic.reset != nullptr ? intrinsic.reset(regions) : InitialTile(s);
    if (!match.reduces_outside) *body = ir::Seq({std::move(*init), std::move(*body)});
    return absl::OkStatus();
  }

  // Initial accumulators of one tile, in loops over the points of it.
  Stmt InitialTile(int s) {
    const Stage& stage = state_.stages[s];
    const Nest& nest = nests_[s];
    Stmt body = InitialValues(s);
    bool innermost = true;
    std::vector<std::pair<Expr, Expr>> fresh;
    for (size_t i = nest.loops.size(); i-- > static_cast<size_t>(stage.LeafPosition(stage.tensorized));) {
      NestLoop loop = nest.loops[i];
      if (loop.reduce) continue;
      loop.var = te::Var(loop.var->name);
      simplifier_.Bind(loop.var, {0, std::max<int64_t>(0, loop.extent - 1)});
      fresh.emplace_back(nest.loops[i].var, loop.var);
      if (innermost) loop.kind = ir::ForKind::kVectorized;
      innermost = false;
      body = MakeFor(loop, std::move(body));
    }
    return ir::Substitute(body, fresh);
  }

  // Where a nest overshoots, conditions beyond which its loads are not performed: an instruction that may leave an
  // operand is called under those, which must not depend on the point in its tile.
  absl::StatusOr<std::vector<Guard>> LoadGuards(const Stage& stage, const Nest& nest) {
    std::vector<Guard> guards;
    if (!nest.load_condition) return guards;
    std::vector<const Read*> leaving;
    for (const Read& read : nest.reads) {
      const int t = state_.IndexOf(read.tensor);
      const Stage& tensor = state_.stages[t];
      if (!StaysInside(simplifier_, tensor, tensor.placeholder ? nullptr : &nests_[t], read.indices))
        leaving.push_back(&read);
    }
    if (leaving.empty()) return guards;
    for (const Expr& e : te::Conjuncts(nest.load_condition)) {
      bool within = false, concerns = false;
      for (size_t i = stage.LeafPosition(stage.tensorized); i < nest.loops.size(); ++i) {
        const Expr& var = nest.loops[i].var;
        if (!te::Mentions(e, var)) continue;
        within = true;
        for (const Read* read : leaving) {
          for (const Expr& index : read->indices) concerns |= te::Mentions(index, var);
        }
      }
      if (concerns)
        return absl::InvalidArgumentError(absl::StrCat(
            "stage `", stage.name, "`: loop `", stage.loops[stage.tensorized].name, "` is not the intrinsic `",
            stage.tensor_intrinsic->name, "`: the tile exists in part only, where ", te::ToString(e),
            "; split so that it divides the extent, or pad"));
      if (!within) guards.push_back({e});
    }
    return guards;
  }

  // The initial accumulators, over copies of the spatial loops inside the outermost reduce loop.
  Stmt BuildInit(const Nest& nest, Stmt body, int first_reduce, int depth,
                 const std::vector<std::vector<Guard>>& guards) {
    std::vector<std::pair<Expr, Expr>> fresh;
    for (int i = depth; i-- > first_reduce;) {
      const NestLoop& loop = nest.loops[i];
      std::vector<Guard> spatial;
      for (const Guard& guard : guards[i + 1]) {
        if (!MentionsReduceLoop(nest, guard)) spatial.push_back(guard);
      }
      body = WithGuards(spatial, std::move(body));
      if (loop.reduce) continue;
      const te::Var var(loop.var->name);
      simplifier_.Bind(var, {0, std::max<int64_t>(0, loop.extent - 1)});
      NestLoop copy = loop;
      copy.var = var;
      fresh.emplace_back(loop.var, var);
      body = MakeFor(copy, std::move(body));
    }
    return ir::Substitute(body, fresh);
  }

  // accumulator = combine(accumulator, source). Results that read an accumulator which an earlier store of the same
  // point has replaced go through a scratch element first.
  Stmt StoreUpdate(int s) {
    const Stage& stage = state_.stages[s];
    const Nest& nest = nests_[s];
    const te::Combiner& combiner = *stage.bodies[0]->combiner;
    const std::vector<Expr> indices = StorageIndices(simplifier_, stage, &nest, nest.indices);
    // Output o holds combiner result `which[o]`.
    std::vector<std::pair<Expr, Expr>> replacements;
    const size_t count = combiner.results.size();
    std::vector<int> output_of(count, -1);
    for (size_t o = 0; o < stage.bodies.size(); ++o) output_of[stage.bodies[o]->int_value] = static_cast<int>(o);
    for (size_t r = 0; r < count; ++r) {
      Check(output_of[r] >= 0, "a reduction that does not keep all results of its combiner");
      replacements.emplace_back(combiner.lhs[r], te::Load(nest.buffers[output_of[r]], indices));
      replacements.emplace_back(combiner.rhs[r], ToLoads(nest, nest.values[r]));
    }
    std::vector<Stmt> stores, late;
    std::vector<ir::Buffer> temporaries;
    for (size_t r = 0; r < count; ++r) {
      const ir::Buffer& buffer = nest.buffers[output_of[r]];
      const Expr value = simplifier_.Simplify(te::Substitute(combiner.results[r], replacements));
      bool needed_later = false;
      for (size_t later = r + 1; later < count; ++later)
        needed_later |= te::Mentions(combiner.results[later], combiner.lhs[r]);
      if (!needed_later) {
        stores.push_back(ir::Store(buffer, indices, value));
        continue;
      }
      ir::BufferNode node{.name = absl::StrCat(buffer->name, ".next"), .type = buffer->type, .shape = {1}};
      node.scope = ir::Scope::kLocal;
      temporaries.push_back(std::make_shared<const ir::BufferNode>(std::move(node)));
      stores.push_back(ir::Store(temporaries.back(), {Expr(0)}, value));
      late.push_back(ir::Store(buffer, indices, te::Load(temporaries.back(), {Expr(0)})));
    }
    stores.insert(stores.end(), late.begin(), late.end());
    Stmt body = ir::Seq(std::move(stores));
    for (const ir::Buffer& buffer : temporaries) body = ir::Allocate(buffer, std::move(body));
    return body;
  }

  const schedule::State& state_;
  std::vector<Nest> nests_;
  te::Simplifier& simplifier_;
  ir::Function function_;
  absl::Status status_;  // first error of a nest
  absl::flat_hash_map<const te::Operation*, ir::Buffer> inputs_;
};

}  // namespace

absl::StatusOr<ir::Function> BuildLoopNests(const schedule::State& state, std::vector<Nest> nests, std::string name,
                                            te::Simplifier& simplifier) {
  return Builder(state, std::move(nests), std::move(name), simplifier).Run();
}

}  // namespace smelt::kernels::lower
