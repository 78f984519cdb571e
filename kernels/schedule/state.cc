#include "kernels/schedule/state.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace smelt::kernels::schedule {
namespace {

using te::Expr;
using te::ExprKind;

// Traces are words, so a name is one word.
std::string OneWord(std::string name) {
  for (char& c : name) {
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) c = '_';
  }
  return name.empty() ? "stage" : name;
}

}  // namespace

int Stage::FindLeaf(std::string_view loop) const {
  for (int leaf : leaves) {
    if (loops[leaf].name == loop) return leaf;
  }
  return -1;
}

int Stage::LeafPosition(int loop) const {
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i] == loop) return static_cast<int>(i);
  }
  return -1;
}

void ResetLoops(Stage* stage) {
  stage->loops.clear();
  stage->relations.clear();
  stage->leaves.clear();
  for (size_t i = 0; i < stage->axes.size(); ++i) {
    stage->loops.push_back({.name = absl::StrCat("i", i), .extent = stage->axes[i].extent});
  }
  for (size_t i = 0; i < stage->reduce_axes.size(); ++i) {
    stage->loops.push_back({.name = absl::StrCat("r", i), .extent = stage->reduce_axes[i].extent, .reduce = true});
  }
  for (size_t i = 0; i < stage->loops.size(); ++i) stage->leaves.push_back(static_cast<int>(i));
}

Stage StageOf(const te::Operation& op, te::OperationRef identity, const te::ScopeTable& scopes) {
  Stage stage;
  stage.name = op.name;
  stage.identity = std::move(identity);
  stage.placeholder = op.kind == te::OperationKind::kPlaceholder;
  stage.shape = op.shape;
  stage.types = op.types;
  stage.axes = op.axes;
  stage.reduce_axes = op.reduce_axes;
  stage.bodies = op.bodies;
  stage.scope = stage.placeholder ? scopes.argument : scopes.root;
  ResetLoops(&stage);
  return stage;
}

te::OperationRef MakeIdentity(std::string name, std::vector<int64_t> shape, std::vector<PrimitiveType> types) {
  auto op = std::make_shared<te::Operation>();
  op->kind = te::OperationKind::kCompute;
  op->name = std::move(name);
  op->shape = std::move(shape);
  op->types = std::move(types);
  return op;
}

Expr ReadOf(const Stage& stage, int output, std::vector<Expr> indices) {
  return te::Tensor{stage.identity, output}(std::move(indices));
}

State::State(te::Graph g, te::ScopeTable memories, std::vector<TensorIntrinsicRef> instructions)
    : graph(std::move(g)), scopes(std::move(memories)), tensor_intrinsics(std::move(instructions)) {
  for (const te::OperationRef& op : graph.operations) {
    Insert(static_cast<int>(stages.size()), StageOf(*op, op, scopes));
  }
  // Every result is a stage of its own: a result that is an input, or that appears twice, is copied.
  absl::flat_hash_set<std::pair<const te::Operation*, int>> taken;
  for (const te::Tensor& output : graph.outputs) {
    Stage* stage = &stages[IndexOf(output.op.get())];
    if (stage->placeholder || !taken.insert({output.op.get(), output.output}).second) {
      const te::Tensor copy = te::Compute(absl::StrCat(stage->name, ".copy"), output.op->shape,
                                          [&](te::Indices i) { return output(std::vector<Expr>(i.begin(), i.end())); });
      stage = &Insert(static_cast<int>(stages.size()), StageOf(*copy.op, copy.op, scopes));
      stage->output = true;
      outputs.push_back({stage->name, 0});
      continue;
    }
    stage->output = true;
    outputs.push_back({stage->name, output.output});
  }
}

void State::Reindex() {
  by_name_.clear();
  by_identity_.clear();
  for (size_t i = 0; i < stages.size(); ++i) {
    by_name_[stages[i].name] = static_cast<int>(i);
    by_identity_[stages[i].identity.get()] = static_cast<int>(i);
  }
}

Stage& State::Insert(int at, Stage stage) {
  stage.name = OneWord(std::move(stage.name));
  const std::string base = stage.name;
  for (int n = 1; by_name_.contains(stage.name); ++n) stage.name = absl::StrCat(base, ".", n);
  const bool last = at == static_cast<int>(stages.size());
  if (last) {
    by_name_[stage.name] = at;
    by_identity_[stage.identity.get()] = at;
  }
  stages.insert(stages.begin() + at, std::move(stage));
  if (!last) Reindex();
  return stages[at];
}

int State::IndexOf(std::string_view name) const {
  auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? -1 : it->second;
}

int State::IndexOf(const te::Operation* identity) const {
  auto it = by_identity_.find(identity);
  return it == by_identity_.end() ? -1 : it->second;
}

absl::StatusOr<Stage*> State::Find(std::string_view name) {
  const int index = IndexOf(name);
  if (index >= 0) return &stages[index];
  std::string known;
  for (const Stage& stage : stages) {
    if (known.size() > 400) {
      known += " ...";
      break;
    }
    absl::StrAppend(&known, known.empty() ? "" : " ", stage.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("no stage `", std::string(name), "`; the stages are: ", known));
}

std::vector<int> State::Reads(const Stage& stage) const {
  std::vector<int> reads;
  absl::flat_hash_set<int> seen;
  std::vector<const Stage*> pending{&stage};
  while (!pending.empty()) {
    const Stage* next = pending.back();
    pending.pop_back();
    for (const Expr& body : next->bodies) {
      te::Visit(body, [&](const Expr& e) {
        if (e->kind != ExprKind::kTensorRead) return;
        const int index = IndexOf(e->tensor.get());
        Check(index >= 0, "read of a tensor that is no stage");
        if (!seen.insert(index).second) return;
        if (stages[index].attach == Attach::kInline) {
          pending.push_back(&stages[index]);
        } else {
          reads.push_back(index);
        }
      });
    }
  }
  std::sort(reads.begin(), reads.end());
  return reads;
}

std::vector<int> State::Readers(int stage) const {
  // Producers come first, so one sweep carries "reads it through inlined stages" forward.
  std::vector<char> carries(stages.size(), 0);
  carries[stage] = 1;
  std::vector<int> readers;
  for (size_t i = stage + 1; i < stages.size(); ++i) {
    bool reads = false;
    for (const Expr& body : stages[i].bodies) {
      te::Visit(body, [&](const Expr& e) {
        if (e->kind == ExprKind::kTensorRead) reads |= carries[IndexOf(e->tensor.get())] != 0;
      });
    }
    if (!reads) continue;
    if (stages[i].attach == Attach::kInline) {
      carries[i] = 1;
    } else {
      readers.push_back(static_cast<int>(i));
    }
  }
  return readers;
}

bool State::HasAttached(std::string_view stage) const {
  return std::any_of(stages.begin(), stages.end(),
                     [&](const Stage& other) { return other.attach == Attach::kAt && other.attach_stage == stage; });
}

std::vector<const Stage*> State::StagesAt(std::string_view stage, int loop) const {
  std::vector<const Stage*> found;
  for (const Stage& other : stages) {
    if (other.attach == Attach::kAt && other.attach_loop == loop && other.attach_stage == stage)
      found.push_back(&other);
  }
  return found;
}

std::string State::AttachedAt(std::string_view stage, int loop) const {
  for (const Stage& other : stages) {
    if (other.attach == Attach::kAt && other.attach_loop == loop && other.attach_stage == stage) return other.name;
  }
  return "";
}

absl::Status Illegal(std::string_view primitive, std::string_view stage, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(primitive), " of stage `", std::string(stage), "`: ", std::string(why)));
}

}  // namespace smelt::kernels::schedule
