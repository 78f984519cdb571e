// Inside the evaluator: one evaluation, its limits and memory, and how handlers of opcodes are found and called.
//
// A computation is planned once (plan.h): which instructions run, in which order, which operand dies where, and what
// each needs prepared. Running a plan calls one handler per step. Handlers get their operands by value, so an operand
// that nobody else holds may be overwritten.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/evaluator/value.h"

namespace smelt::hlo {

struct Plan;
struct Step;

class Evaluation {
 public:
  explicit Evaluation(const EvaluateOptions& options);
  ~Evaluation();

  // Runs a computation. Arguments are consumed: those that nobody else holds may be overwritten.
  absl::StatusOr<Value> Run(const Computation& computation, std::vector<Value> arguments);

  // An array of the shape (its layout is dropped) whose elements must all be written, or that starts with zeros.
  absl::StatusOr<std::shared_ptr<Literal>> NewArray(const Shape& shape);
  absl::StatusOr<std::shared_ptr<Literal>> NewZeroArray(const Shape& shape);
  // Charges scratch memory against the limit while the result lives; elements are uninitialised.
  absl::StatusOr<std::shared_ptr<Literal>> NewScratch(PrimitiveType type, int64_t count);
  // For results of the same type and dimensions as an operand: the operand itself where nobody else holds it.
  absl::StatusOr<std::shared_ptr<Literal>> ReuseOrNew(Value& operand, const Shape& shape);

  // An error once the time is over or the caller has cancelled. Cheap enough for every instruction and every block of a
  // long loop.
  absl::Status CheckLimits();

  int other_roundings() const { return options_.other_roundings; }

  // A number that no earlier call in this evaluation gave.
  uint64_t NextRandomStream() { return random_streams_++; }

  // Calls body(begin, end) over parts of 0..count on all threads. `seconds_per_item` is a rough guess that decides
  // whether threads are worth their start. The body must not fail; parts start on multiples of `granularity`.
  void ParallelFor(int64_t count, double seconds_per_item, const std::function<void(int64_t, int64_t)>& body,
                   int64_t granularity = 1);

 private:
  struct Tracked;
  absl::StatusOr<std::shared_ptr<Literal>> Track(absl::StatusOr<Literal> literal);
  absl::StatusOr<Plan*> PlanOf(const Computation& computation);
  // Keeps what a run has collected of fixed steps (plan.h), where there is room.
  void Remember(Plan* plan, std::vector<Value> collected);

  EvaluateOptions options_;
  std::chrono::steady_clock::time_point deadline_;
  int64_t limit_checks_ = 0;
  int64_t depth_ = 0;
  uint64_t random_streams_ = 0;
  int64_t remembered_bytes_ = 0;
  std::shared_ptr<std::atomic<int64_t>> live_bytes_ = std::make_shared<std::atomic<int64_t>>(0);
  absl::flat_hash_map<const Computation*, std::unique_ptr<Plan>> plans_;
};

// What a handler is called with.
struct Call {
  Evaluation& evaluation;
  const Step& step;
  const Instruction& instruction;
  absl::Span<Value> operands;

  const Shape& shape() const { return instruction.shape(); }
  Value& operand(int64_t i) const { return operands[i]; }
};

using Handler = absl::StatusOr<Value> (*)(const Call& call);

// nullptr when the opcode cannot run.
Handler FindHandler(Opcode opcode);

}  // namespace smelt::hlo
