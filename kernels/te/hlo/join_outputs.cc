#include "kernels/te/hlo/join_outputs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/te/hlo/position.h"
#include "kernels/te/hlo/winograd.h"
#include "kernels/te/rewriter.h"

namespace smelt::kernels::te {
namespace {

constexpr size_t kMostMembers = 8;       // arrays that one loop writes: more would drive each other's lines out
constexpr size_t kMostExpansions = 128;  // bodies that go into a joined one

double Elements(const Operation& operation) {
  double elements = 1;
  for (const int64_t extent : operation.shape) elements *= static_cast<double>(extent);
  return elements;
}

class Joiner {
 public:
  explicit Joiner(Graph graph) : graph_(std::move(graph)) {
    for (const Tensor& output : graph_.outputs) outputs_.insert(output.op.get());
    for (const OperationRef& operation : graph_.operations) {
      for (const OperationRef& input : operation->Inputs()) readers_[input.get()].push_back(operation);
    }
  }

  Graph Run() {
    std::map<std::vector<int64_t>, std::vector<OperationRef>> groups;  // in the order of the graph
    for (const OperationRef& operation : graph_.operations) {
      if (outputs_.contains(operation.get()) && IsPlain(*operation)) groups[operation->shape].push_back(operation);
    }
    for (auto& [shape, members] : groups) Join(std::move(members));
    if (joined_.empty()) return std::move(graph_);
    for (Tensor& output : graph_.outputs) {
      if (const auto found = joined_.find(output.op.get()); found != joined_.end()) output = found->second;
    }
    return MakeGraph(std::move(graph_.inputs), std::move(graph_.outputs));
  }

 private:
  using Members = std::vector<OperationRef>;
  using OperationSet = absl::flat_hash_set<const Operation*>;

  // Stages of Winograd's algorithm have loops of their own, and what is read again is an array of its own.
  static bool IsPlain(const Operation& operation) {
    if (operation.tag == kWinogradResult || operation.tag == kReadAgain) return false;
    return operation.kind == OperationKind::kCompute && !operation.IsReduction() && operation.bodies.size() == 1 &&
           !operation.axes.empty() && !DependsOnPosition(operation);
  }

  void Join(Members members) {
    KeepRelated(&members);
    OperationSet between;
    while (members.size() >= 2 && !FindBetween(&members, &between)) {
    }
    if (members.size() < 2 || members.size() > kMostMembers) return;
    if (const OperationRef joined = Joined(members, between)) {
      for (size_t i = 0; i < members.size(); ++i) joined_[members[i].get()] = Tensor{joined, static_cast<int>(i)};
    }
  }

  // The large arrays that it is computed from, element by element; nothing where some lies across what it is stored as.
  std::optional<OperationSet> SourcesOf(const OperationRef& member) const {
    OperationSet sources, seen;
    std::vector<OperationRef> open{member};
    while (!open.empty()) {
      const OperationRef operation = open.back();
      open.pop_back();
      if (operation->tag == "transpose") return std::nullopt;
      for (const OperationRef& input : operation->Inputs()) {
        if (!seen.insert(input.get()).second || Elements(*input) * 8 < Elements(*member)) continue;
        if (input->kind == OperationKind::kPlaceholder || input->IsReduction()) {
          sources.insert(input.get());
        } else {
          open.push_back(input);
        }
      }
    }
    return sources;
  }

  // Those that share a source with another one.
  void KeepRelated(Members* members) const {
    absl::flat_hash_map<const Operation*, int> uses;
    std::vector<std::optional<OperationSet>> sources;
    for (const OperationRef& member : *members) {
      sources.push_back(SourcesOf(member));
      if (!sources.back()) continue;
      for (const Operation* source : *sources.back()) ++uses[source];
    }
    Members related;
    for (size_t i = 0; i < members->size(); ++i) {
      if (sources[i] && std::any_of(sources[i]->begin(), sources[i]->end(),
                                    [&](const Operation* source) { return uses[source] > 1; })) {
        related.push_back((*members)[i]);
      }
    }
    *members = std::move(related);
  }

  // What is computed from a member on the way to others. False: a member that something else follows from as well was
  // left out, and the search begins anew.
  bool FindBetween(Members* members, OperationSet* between) const {
    between->clear();
    OperationSet among;
    for (const OperationRef& member : *members) among.insert(member.get());
    for (size_t i = 0; i < members->size(); ++i) {
      std::vector<const Operation*> open{(*members)[i].get()};
      while (!open.empty()) {
        const auto readers = readers_.find(open.back());
        open.pop_back();
        if (readers == readers_.end()) continue;
        for (const OperationRef& reader : readers->second) {
          if (among.contains(reader.get())) continue;
          if (outputs_.contains(reader.get()) || !IsPlain(*reader)) {
            members->erase(members->begin() + static_cast<int64_t>(i));
            return false;
          }
          if (between->insert(reader.get()).second) open.push_back(reader.get());
        }
      }
    }
    return true;
  }

  // Null where a member is read elsewhere than at its reader's element, or where bodies grow too long.
  static OperationRef Joined(const Members& members, const OperationSet& between) {
    bool possible = true;
    size_t expansions = 0;
    OperationRef joined = ComputeMany(
        members.back()->name, members.back()->shape,
        [&](Indices axes) {
          absl::flat_hash_map<const Operation*, Expr> values;  // of the members so far
          std::function<Expr(const Operation&, const std::vector<Expr>&)> value_at;
          const auto read = [&](const Expr& e) -> Expr {
            if (e->kind != ExprKind::kTensorRead) return {};
            if (const auto found = values.find(e->tensor.get()); found != values.end()) {
              for (size_t d = 0; d < axes.size(); ++d) possible = possible && e->operands[d].Same(axes[d]);
              return found->second;
            }
            return between.contains(e->tensor.get()) ? value_at(*e->tensor, e->operands) : Expr();
          };
          value_at = [&](const Operation& operation, const std::vector<Expr>& indices) -> Expr {
            if (++expansions > kMostExpansions) possible = false;
            if (!possible) return operation.bodies[0];
            std::vector<std::pair<Expr, Expr>> replacements;
            for (size_t d = 0; d < indices.size(); ++d) replacements.emplace_back(operation.axes[d].var, indices[d]);
            return Rewriter(read)(Substitute(operation.bodies[0], replacements));
          };
          std::vector<Expr> bodies;
          for (const OperationRef& member : members) {
            bodies.push_back(value_at(*member, std::vector<Expr>(axes.begin(), axes.end())));
            values[member.get()] = bodies.back();
          }
          return bodies;
        },
        members.back()->tag);
    return possible ? joined : nullptr;
  }

  Graph graph_;
  OperationSet outputs_;
  absl::flat_hash_map<const Operation*, std::vector<OperationRef>> readers_;
  absl::flat_hash_map<const Operation*, Tensor> joined_;
};

}  // namespace

Graph JoinOutputs(Graph graph) {
  // An output that is the same operation's as another's has several bodies already, or is a copy of its own.
  if (graph.outputs.size() < 2) return graph;
  return Joiner(std::move(graph)).Run();
}

}  // namespace smelt::kernels::te
