#include "vdla/lower/loops.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/ir/annotation.h"
#include "kernels/lower/pipeline_parts.h"
#include "vdla/lower/memories.h"
#include "vdla/lower/nest.h"

namespace smelt::vdla::lower {
namespace {

using ir::Stmt;
using ir::StmtKind;
using isa::Memory;
using te::Expr;

// Whether the node touches the buffer, and how often the tree below it does.
bool Touches(const Node& node, SramBuffer buffer) {
  if (const auto* loop = std::get_if<LoopNode>(&node.what))
    return std::any_of(loop->body.begin(), loop->body.end(), [&](const Node& child) { return Touches(child, buffer); });
  if (const auto* allocate = std::get_if<AllocateNode>(&node.what))
    return std::any_of(allocate->body.begin(), allocate->body.end(),
                       [&](const Node& child) { return Touches(child, buffer); });
  if (const auto* copy = std::get_if<Copy>(&node.what)) return copy->sram == buffer;
  if (const auto* gemm = std::get_if<Gemm>(&node.what)) return gemm->dst == buffer;
  const auto& alu = std::get<Alu>(node.what);
  return alu.dst == buffer || alu.src == buffer;
}

bool SameLinear(const Linear& a, const Linear& b) { return a.constant == b.constant && a.terms == b.terms; }

// The destinations of a nest, whatever the order and the sums.
std::vector<std::pair<int64_t, int64_t>> SpreadOf(const Gemm& gemm) {
  std::vector<std::pair<int64_t, int64_t>> spread;
  for (const WorkDim& dim : gemm.dims) {
    if (dim.dst != 0) spread.push_back({dim.dst, dim.extent});
  }
  std::sort(spread.begin(), spread.end());
  // Dimensions that continue each other count as one: the reset and the sum may split them differently.
  std::vector<std::pair<int64_t, int64_t>> joined;
  for (const auto& [dst, extent] : spread) {
    if (!joined.empty() && joined.back().first * joined.back().second == dst) {
      joined.back().second *= extent;
    } else {
      joined.push_back({dst, extent});
    }
  }
  return joined;
}

class Translator {
 public:
  Translator(const ir::Function& function, const isa::Config& config) : function_(function), config_(config) {
    operations_.name = function.name;
    scope_.config = &config;
    scope_.sram = [this](const ir::Buffer& buffer) { return Sram(buffer); };
    scope_.dram = [this](const ir::Buffer& buffer, Memory form) { return Dram(buffer, form); };
    scope_.take = [this](const ir::Buffer& tile, const ir::Buffer& alias) { return Take(tile, alias); };
  }

  absl::StatusOr<Operations> Run() {
    std::vector<Node> body;
    for (const ir::Phase& phase : function_.phases) {
      const Stmt stmt =
          phase.var ? ir::For(phase.var, Expr(0), Expr(phase.extent), ir::ForKind::kSerial, phase.body) : phase.body;
      statements_.push_back(stmt);
    }
    const Stmt all = ir::Seq(statements_);
    // What lasts for the whole call is around everything.
    for (const ir::Buffer& buffer : function_.shared) {
      if (MemoryOf(buffer->scope).has_value()) SMELT_RETURN_IF_ERROR(Declare(buffer, all));
    }
    SMELT_ASSIGN_OR_RETURN(body, Walk(all));
    for (const ir::Buffer& buffer : function_.shared) {
      if (MemoryOf(buffer->scope).has_value()) body = Enclose(buffer, std::move(body));
    }
    operations_.body = std::move(body);
    return std::move(operations_);
  }

 private:
  // A buffer on the chip while its allocation is walked.
  struct Tile {
    SramBuffer buffer{};
    int loops = 0;                       // around its allocation
    int64_t reads = 0;                   // nests below that read it and have not been walked
    const te::BufferNode* of = nullptr;  // the tile that it shares; null: its own
  };

  absl::StatusOr<std::vector<Node>> Walk(const Stmt& stmt) {
    switch (stmt->kind) {
      case StmtKind::kSeq: {
        std::vector<Node> nodes;
        for (const Stmt& child : stmt->stmts) {
          SMELT_ASSIGN_OR_RETURN(std::vector<Node> more, Walk(child));
          for (Node& node : more) nodes.push_back(std::move(node));
        }
        FuseResets(nodes);
        return nodes;
      }
      case StmtKind::kAllocate:
        return WalkAllocate(stmt);
      case StmtKind::kAttribute:
        SMELT_RETURN_IF_ERROR(CheckAnnotation(*stmt));
        return Walk(stmt->body());
      case StmtKind::kFor:
      case StmtKind::kIf:
      case StmtKind::kStore:
      case StmtKind::kEvaluate: {
        LoopNest nest;
        if (IsNest(stmt, nest)) return WalkNest(nest);
        return stmt->kind == StmtKind::kFor ? WalkFor(stmt) : WalkIf(stmt);
      }
    }
    return absl::InvalidArgumentError("an unknown statement");
  }

  // Loops and conditions around nothing but one store or call.
  static bool IsNest(const Stmt& stmt, LoopNest& nest) {
    const ir::StmtNode* at = stmt.get();
    while (at->kind != StmtKind::kStore && at->kind != StmtKind::kEvaluate) {
      if (at->kind == StmtKind::kIf && at->else_case == nullptr) {
        nest.guards.push_back(at->condition);
      } else if (int64_t extent, min; at->kind == StmtKind::kFor && te::IsConstInt(at->extent, &extent) &&
                                      te::IsConstInt(at->min, &min) && min == 0) {
        nest.loops.push_back({at->var, extent});
      } else {
        return false;
      }
      at = at->body().get();
    }
    if (at->kind == StmtKind::kEvaluate) {
      nest.call = at->value;
      return true;
    }
    if (at->predicate) nest.guards.push_back(at->predicate);
    nest.buffer = at->buffer;
    nest.indices = at->indices;
    nest.value = at->value;
    return true;
  }

  absl::StatusOr<std::vector<Node>> WalkNest(const LoopNest& nest) {
    // Each nest that reads a tile once more counts down; what it changes in place must have no later reader.
    te::Visit(nest.call ? nest.call : nest.value, [&](const Expr& e) {
      if (!Reads(e)) return;
      const auto tile = tiles_.find(e->buffer.get());
      if (tile != tiles_.end()) --tile->second.reads;
    });
    return RecogniseNest(nest, scope_);
  }

  // Annotations are for passes that the machine may lack: what it does by itself is passed over, the rest is refused.
  static absl::Status CheckAnnotation(const ir::StmtNode& stmt) {
    if (ir::IsAnnotation(stmt, ir::kPrefetchAhead))
      return absl::InvalidArgumentError(StrCat("VDLA has no cache to prefetch `", stmt.buffer->name,
                                               "` into; double_buffer on its copy loads ahead of the work"));
    if (ir::IsAnnotation(stmt, ir::kStorageAlign))
      return absl::InvalidArgumentError(StrCat("VDLA's memories have no banks or lines to align `", stmt.buffer->name,
                                               "` for; leave storage_align out"));
    return absl::OkStatus();
  }

  // Units run ahead of each other as far as their memories allow. A pipeline is therefore storage alone: what passes
  // from one step to a later one is there once more for each step between, and iterations take the copies in turn.
  absl::Status TakeTurns(const Stmt& loop, Variable variable) {
    const kernels::lower::PipelineParts parts = kernels::lower::PartsOf(*loop);
    if (parts.pieces.empty()) return absl::OkStatus();
    for (size_t i = 1; i < parts.pieces.size(); ++i) {
      if (parts.pieces[i].order < parts.pieces[i - 1].order)
        return absl::InvalidArgumentError(
            StrCat("the pipeline of loop `", loop->var->name,
                   "` has an order of its own; each unit of VDLA keeps the order of the loop's body"));
    }
    SMELT_ASSIGN_OR_RETURN(const kernels::lower::CopyCounts counts, kernels::lower::CopiesNeeded(*loop, parts));
    for (const auto& [buffer, copies] : counts) turns_[buffer] = {variable, copies};
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Node>> WalkFor(const Stmt& stmt) {
    int64_t extent, min;
    if (!te::IsConstInt(stmt->extent, &extent) || !te::IsConstInt(stmt->min, &min) || min != 0)
      return absl::InvalidArgumentError(
          StrCat("the loop over ", te::ToString(stmt->var), " does not run from 0 to a constant"));
    const Variable variable = operations_.AddVariable();
    SMELT_RETURN_IF_ERROR(TakeTurns(stmt, variable));
    const auto before = scope_.variables.find(stmt->var.get());
    const std::optional<Variable> outer =
        before == scope_.variables.end() ? std::nullopt : std::optional(before->second);
    scope_.variables[stmt->var.get()] = variable;
    ++loops_;
    SMELT_ASSIGN_OR_RETURN(std::vector<Node> body, Walk(stmt->body()));
    --loops_;
    scope_.variables.erase(stmt->var.get());
    if (outer.has_value()) scope_.variables[stmt->var.get()] = *outer;
    std::vector<Node> nodes;
    const bool threads = stmt->for_kind == ir::ForKind::kVirtualThread;
    nodes.push_back(threads ? VirtualThreads(variable, extent, std::move(body))
                            : Loop(variable, extent, std::move(body)));
    return nodes;
  }

  absl::StatusOr<std::vector<Node>> WalkIf(const Stmt& stmt) {
    if (stmt->else_case != nullptr)
      return absl::InvalidArgumentError(StrCat("the condition ", te::ToString(stmt->condition), " has an other case"));
    SMELT_ASSIGN_OR_RETURN(const std::vector<Linear> conditions, ConditionsOf(stmt->condition, scope_));
    SMELT_ASSIGN_OR_RETURN(std::vector<Node> nodes, Walk(stmt->body()));
    AddConditions(conditions, nodes);
    return nodes;
  }

  // Conditions go to the operations: virtual threads share the loops, and each has its own answer.
  static void AddConditions(const std::vector<Linear>& conditions, std::vector<Node>& nodes) {
    for (Node& node : nodes) {
      if (auto* loop = std::get_if<LoopNode>(&node.what)) {
        AddConditions(conditions, loop->body);
      } else if (auto* allocate = std::get_if<AllocateNode>(&node.what)) {
        AddConditions(conditions, allocate->body);
      } else {
        node.when.insert(node.when.end(), conditions.begin(), conditions.end());
      }
    }
  }

  absl::Status Declare(const ir::Buffer& buffer, const Stmt& body) {
    const std::optional<Memory> memory = MemoryOf(buffer->scope);
    if (!memory.has_value())
      return absl::InvalidArgumentError(StrCat("`", buffer->name, "` lies in ", std::string(buffer->scope.name),
                                               " inside a loop; inp, wgt and acc are the memories there"));
    const int64_t bytes = config_.SramElementBytes(*memory);
    Tile tile{.buffer = operations_.AddSram(buffer->name, *memory, (buffer->ByteSize() + bytes - 1) / bytes),
              .loops = loops_};
    if (const auto turns = turns_.find(buffer.get()); turns != turns_.end())
      operations_.sram.back().turns = turns->second;
    CountReads(body, buffer.get(), &tile.reads);
    tiles_[buffer.get()] = tile;
    return absl::OkStatus();
  }

  // What a call does with an address is not looked at: it counts as a reader.
  static bool Reads(const Expr& e) { return e->kind == te::ExprKind::kLoad || e->kind == te::ExprKind::kAddress; }

  static void CountReads(const Stmt& stmt, const te::BufferNode* buffer, int64_t* reads) {
    if (stmt == nullptr) return;
    if (stmt->kind == StmtKind::kStore || stmt->kind == StmtKind::kEvaluate)
      te::Visit(stmt->value, [&](const Expr& e) { *reads += Reads(e) && e->buffer.get() == buffer; });
    for (const Stmt& child : stmt->stmts) CountReads(child, buffer, reads);
    CountReads(stmt->then_case, buffer, reads);
    CountReads(stmt->else_case, buffer, reads);
  }

  std::vector<Node> Enclose(const ir::Buffer& buffer, std::vector<Node> body) {
    const Tile& tile = tiles_.at(buffer.get());
    if (tile.of != nullptr) return body;
    std::vector<Node> nodes;
    nodes.push_back(Allocate(tile.buffer, std::move(body)));
    return nodes;
  }

  absl::StatusOr<std::vector<Node>> WalkAllocate(const Stmt& stmt) {
    SMELT_RETURN_IF_ERROR(Declare(stmt->buffer, stmt->body()));
    SMELT_ASSIGN_OR_RETURN(std::vector<Node> body, Walk(stmt->body()));
    return Enclose(stmt->buffer, std::move(body));
  }

  absl::StatusOr<SramBuffer> Sram(const ir::Buffer& buffer) {
    const auto tile = tiles_.find(buffer.get());
    if (tile == tiles_.end())
      return absl::InvalidArgumentError(StrCat("`", buffer->name, "` is used where it is not allocated"));
    return tile->second.of == nullptr ? tile->second.buffer : Owner(*tile->second.of).buffer;
  }
  // The tile whose place it is.
  const Tile& Owner(const te::BufferNode& buffer) const {
    const Tile* tile = &tiles_.at(&buffer);
    while (tile->of != nullptr) tile = &tiles_.at(tile->of);
    return *tile;
  }

  absl::StatusOr<DramBuffer> Dram(const ir::Buffer& buffer, Memory form) {
    const auto known = dram_.find(buffer.get());
    if (known != dram_.end()) return known->second;
    const int64_t element = config_.DramElementBytes(form);
    if (buffer->ByteSize() % element != 0)
      return absl::InvalidArgumentError(StrCat("`", buffer->name, "` has ", buffer->ByteSize(),
                                               " bytes, no whole number of elements of ", isa::NameOf(form), " (",
                                               element, " bytes)"));
    isa::Role role = isa::Role::kScratch;
    if (buffer->argument >= 0) role = buffer->argument < function_.input_count ? isa::Role::kInput : isa::Role::kOutput;
    const DramBuffer dram = operations_.AddDram(buffer->name, form, buffer->ByteSize() / element, role);
    dram_[buffer.get()] = dram;
    return dram;
  }

  std::optional<SramDeclaration::Turns>& TurnsOf(SramBuffer buffer) {
    return operations_.sram[static_cast<size_t>(buffer)].turns;
  }

  bool Take(const ir::Buffer& buffer, const ir::Buffer& alias) {
    const auto tile = tiles_.find(buffer.get());
    // The next iteration of a loop inside its allocation would read what this one has changed.
    if (tile == tiles_.end() || tile->second.reads > 0 || tile->second.loops != loops_) return false;
    if (alias == nullptr) return true;
    Tile& other = tiles_.at(alias.get());
    if (other.loops != loops_ || other.of != nullptr) return false;
    other.of = buffer.get();
    // The place must do for whichever of the two is kept longer.
    std::optional<SramDeclaration::Turns>& turns = TurnsOf(Owner(*buffer).buffer);
    const auto& others = TurnsOf(other.buffer);
    if (others.has_value() && (!turns.has_value() || turns->copies < others->copies)) turns = others;
    return true;
  }

  // reset; loops { sum }: the first product of each destination takes the place of the reset.
  void FuseResets(std::vector<Node>& nodes) const {
    for (size_t i = 0; i < nodes.size();) {
      const auto* reset = std::get_if<Gemm>(&nodes[i].what);
      Gemm* sum = nullptr;
      std::vector<Variable> first;
      if (reset != nullptr && reset->start == Gemm::Start::kZero && nodes[i].when.empty()) {
        size_t next = i + 1;
        while (next < nodes.size() && !Touches(nodes[next], reset->dst)) ++next;
        if (next < nodes.size()) sum = SumIn(nodes[next], *reset, first);
      }
      if (sum == nullptr) {
        ++i;
        continue;
      }
      sum->start = Gemm::Start::kFirst;
      sum->first = std::move(first);
      nodes.erase(nodes.begin() + static_cast<int64_t>(i));
    }
  }

  // The one product in the tree that touches what is reset, and all of it in every iteration; null: it is not so.
  Gemm* SumIn(Node& node, const Gemm& reset, std::vector<Variable>& first) const {
    if (!node.when.empty()) return nullptr;
    std::vector<Node>* body = nullptr;
    if (auto* loop = std::get_if<LoopNode>(&node.what)) {
      first.push_back(loop->variable);
      body = &loop->body;
    } else if (auto* allocate = std::get_if<AllocateNode>(&node.what)) {
      body = &allocate->body;
    }
    if (body != nullptr) {
      Node* only = nullptr;
      for (Node& child : *body) {
        if (!Touches(child, reset.dst)) continue;
        if (only != nullptr) return nullptr;
        only = &child;
      }
      return only == nullptr ? nullptr : SumIn(*only, reset, first);
    }
    auto* gemm = std::get_if<Gemm>(&node.what);
    if (gemm == nullptr || gemm->start != Gemm::Start::kNever || !SameLinear(gemm->dst_index, reset.dst_index) ||
        SpreadOf(*gemm) != SpreadOf(reset))
      return nullptr;
    const auto is_cut = [](const WorkDim& dim) { return dim.remaining.has_value(); };
    if (std::any_of(gemm->dims.begin(), gemm->dims.end(), is_cut) ||
        std::any_of(reset.dims.begin(), reset.dims.end(), is_cut))
      return nullptr;
    return gemm;
  }

  const ir::Function& function_;
  const isa::Config& config_;
  Operations operations_;
  NestScope scope_;
  std::vector<Stmt> statements_;
  absl::flat_hash_map<const te::BufferNode*, Tile> tiles_;
  absl::flat_hash_map<const te::BufferNode*, DramBuffer> dram_;
  absl::flat_hash_map<const te::BufferNode*, SramDeclaration::Turns> turns_;  // of pipelines around the statement
  int loops_ = 0;                                                             // around the statement
};

}  // namespace

absl::StatusOr<Operations> OperationsOf(const ir::Function& function, const isa::Config& config) {
  return Translator(function, config).Run();
}

}  // namespace smelt::vdla::lower
