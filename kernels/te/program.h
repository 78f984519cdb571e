// Expressions prepared for repeated evaluation: what the reference interpreters of tensor expressions and loop IR run.
//
// Demand-driven, so that kIf and predicated loads touch only what they choose; shared nodes are evaluated once a round;
// nothing recurses. Not fast, but every node means what te/scalar.h says it means, and nothing else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/te/expr.h"
#include "kernels/te/intrinsic.h"
#include "kernels/te/scalar.h"

namespace smelt::kernels::te {

class Program {
 public:
  // Reads one element: `node` is a kTensorRead or kLoad, `indices` one value a dimension.
  using Reader = std::function<absl::Status(const ExprNode& node, absl::Span<const int64_t> indices, Scalar* value)>;

  // Finds where the element of a kAddress lies.
  using Locator = std::function<absl::Status(const ExprNode& node, absl::Span<const int64_t> indices, Place* place)>;

  // Without a locator, addresses are errors.
  explicit Program(Reader reader, Locator locator = nullptr)
      : reader_(std::move(reader)), locator_(std::move(locator)) {}

  // Adds an expression; returns its number. Everything in it that is shared with earlier ones is shared.
  int Add(const Expr& e);
  // Sets a variable for the rounds that follow. Unknown variables are ignored: no expression mentions them.
  void Set(const Expr& var, Scalar value);
  // Forgets all values: after variables or memory changed.
  void NextRound() { ++round_; }
  // The lanes of an expression in this round; valid until the next round.
  absl::Status Evaluate(int number, absl::Span<const Scalar>* lanes);
  // The same for an expression of one lane.
  absl::Status Evaluate(int number, Scalar* value);

 private:
  struct Node {
    Expr e;
    std::vector<int> operands;
    int predicate = -1;
    int first = 0;       // of its lanes in values_
    Place place;         // kAddress
    int64_t round = -1;  // in which it was evaluated last; kAlways for constants and variables
  };
  static constexpr int64_t kAlways = INT64_MAX;

  bool Fresh(int number) const { return nodes_[number].round == round_ || nodes_[number].round == kAlways; }
  absl::Status Compute(Node& node);
  const Scalar& Lane(int number, int lane) const {
    const Node& node = nodes_[number];
    return values_[node.first + (node.e.type().lanes == 1 ? 0 : lane)];
  }

  absl::Status ComputeCall(Node& node);

  Reader reader_;
  Locator locator_;
  std::vector<Node> nodes_;
  std::vector<Scalar> values_;
  std::vector<int> stack_;
  absl::flat_hash_map<const ExprNode*, int> numbers_;
  int64_t round_ = 0;
};

}  // namespace smelt::kernels::te
