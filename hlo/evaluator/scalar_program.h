// A computation on scalars (the body of a reduce, the comparator of a sort) compiled into a list of elementwise loops.
//
// A program runs on many lanes at once: every scalar becomes an array of lanes, so the cost of dispatch is shared by
// them.
//
//   std::unique_ptr<ScalarProgram> program = ScalarProgram::Compile(computation);   // null: not all is elementwise
//   ScalarProgram::Lanes lanes(*program);                                           // registers; one a thread
//   lanes.Run(std::vector<const void*>{accumulators, elements}, std::vector{accumulators}, 100);
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlo/computation.h"
#include "hlo/evaluator/elementwise_kernel.h"
#include "hlo/literal.h"

namespace smelt::hlo {

class ScalarProgram {
 public:
  static constexpr int64_t kLanes = 256;  // most lanes in one run

  // Parameters must be scalars; calls and fusions are inlined; the root is a scalar or a tuple of scalars.
  static std::unique_ptr<ScalarProgram> Compile(const Computation& computation);

  int64_t parameter_count() const { return static_cast<int64_t>(parameters_.size()); }
  const std::vector<PrimitiveType>& result_types() const { return result_types_; }

  // The opcode when the program is that one binary operation on its two parameters, in either order if the operation
  // commutes.
  std::optional<Opcode> SingleBinary() const { return single_binary_; }
  // For comparators, whose parameters are pairs of elements (2k: first element, 2k + 1: second): the root compares
  // something of the one element with something of the other. Those two values can then be computed once per element,
  // and compared directly. `first` and `second` are registers.
  struct KeyComparison {
    CompareAttributes attributes;
    PrimitiveType key_type;
    int32_t first;
    int32_t second;
  };
  const KeyComparison* AsKeyComparison() const { return key_comparison_ ? &*key_comparison_ : nullptr; }

  class Lanes {
   public:
    explicit Lanes(const ScalarProgram& program);
    // One pointer per parameter and result, to `count` <= kLanes elements. A result may lie where a parameter lies.
    void Run(absl::Span<const void* const> parameters, absl::Span<void* const> results, int64_t count);
    // After a run: what a register holds.
    const void* Register(int32_t index) const { return registers_[index]; }

   private:
    const ScalarProgram& program_;
    std::vector<Literal> storage_;
    std::vector<const void*> registers_;
    std::vector<void*> targets_;
  };

 private:
  struct Operation {
    ElementwiseKernel kernel;
    int32_t operands[3];
    int32_t result;
  };
  struct Constant {
    int32_t target;
    Literal value;
  };
  class Compiler;

  std::optional<KeyComparison> FindKeyComparison(const Instruction& root) const;

  std::vector<PrimitiveType> register_types_;
  std::vector<int32_t> parameters_;  // register of each
  std::vector<Constant> constants_;
  std::vector<Operation> operations_;
  std::vector<int32_t> results_;
  std::vector<PrimitiveType> result_types_;
  std::optional<Opcode> single_binary_;
  std::optional<KeyComparison> key_comparison_;
};

}  // namespace smelt::hlo
