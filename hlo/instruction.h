// One operation of a computation: opcode, operands, shape, typed attributes.
//
// Instructions are owned by their Computation and made through it (Computation::Add). Operand and user lists are kept
// in step by the functions here; fields without an invariant (name, shape, attributes) are plain.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "hlo/attributes.h"
#include "hlo/opcode.h"
#include "hlo/raw_attribute.h"
#include "hlo/shape.h"

namespace smelt::hlo {

class Computation;

class Instruction {
 public:
  Instruction(const Instruction&) = delete;
  Instruction& operator=(const Instruction&) = delete;

  Opcode opcode() const { return opcode_; }
  Computation* parent() const { return parent_; }
  // Unique within the module, given in order of creation; the printer numbers afresh.
  int64_t id() const { return id_; }
  const std::string& name() const { return name_; }

  Shape& shape() { return shape_; }
  const Shape& shape() const { return shape_; }

  absl::Span<Instruction* const> operands() const { return operands_; }
  Instruction* operand(int64_t i) const { return operands_[i]; }
  int64_t operand_count() const { return static_cast<int64_t>(operands_.size()); }
  // Each user once, in the order in which they came, however many operands they take from here.
  absl::Span<Instruction* const> users() const { return users_; }
  int64_t user_count() const { return static_cast<int64_t>(users_.size()); }

  // Called computations. while: body, then condition (as in the proto); conditional: branches in order (true first);
  // select-and-scatter: select, then scatter; fusion, call, reduce, ...: one.
  absl::Span<Computation* const> called() const { return rare().called; }
  Computation* called(int64_t i) const { return rare().called[i]; }
  void set_called(std::vector<Computation*> called);

  absl::Span<Instruction* const> control_predecessors() const { return rare().control_predecessors; }
  absl::Span<Instruction* const> control_successors() const { return rare().control_successors; }
  // Whether something must run before or after it for more than its operands' and users' sake.
  bool HasControlEdges() const { return !control_predecessors().empty() || !control_successors().empty(); }
  void AddControlPredecessor(Instruction* predecessor);
  void DropControlDependencies();

  // The attributes of this opcode's family. Asking for another family is a bug of the caller.
  template <typename T>
  const T& attributes() const {
    return std::get<T>(attributes_);
  }
  template <typename T>
  T& mutable_attributes() {
    return std::get<T>(attributes_);
  }
  const Attributes& all_attributes() const { return attributes_; }
  void set_attributes(Attributes attributes) { attributes_ = std::move(attributes); }

  std::vector<RawAttribute>& raw_attributes() { return raw_attributes_; }
  const std::vector<RawAttribute>& raw_attributes() const { return raw_attributes_; }

  bool IsRoot() const;
  bool HasSideEffect() const;  // by opcode, custom-call flag, or anything called (while, call, conditional, fusion)
  // The literal of a constant.
  const Literal& literal() const { return *attributes<ConstantAttributes>().literal; }

  void ReplaceOperand(int64_t i, Instruction* operand);
  // All users, the computation's root included, take `replacement` instead. Does not remove this instruction.
  void ReplaceAllUsesWith(Instruction* replacement);
  void ReplaceUsesIn(Instruction* user, Instruction* replacement);

 private:
  friend class Computation;
  friend class Module;
  Instruction(Computation* parent, int64_t id, Opcode opcode, Shape&& shape, Attributes&& attributes)
      : opcode_(opcode), parent_(parent), id_(id), shape_(std::move(shape)), attributes_(std::move(attributes)) {}

  // What few instructions have. A program has tens of thousands of instructions: the memory of all of them counts.
  struct Rare {
    std::vector<Computation*> called;
    std::vector<Instruction*> control_predecessors;
    std::vector<Instruction*> control_successors;
  };
  const Rare& rare() const { return rare_ == nullptr ? NoRare() : *rare_; }
  Rare& mutable_rare();
  static const Rare& NoRare();

  void AddUser(Instruction* user);
  void DropUser(Instruction* user);  // when no operand of `user` is this any more

  // What walks over a computation asks stands together: a large module's walks wait for memory.
  Opcode opcode_;
  Computation* parent_;
  int64_t id_;
  int64_t slot_ = 0;  // index in the parent's list
  std::unique_ptr<Rare> rare_;
  absl::InlinedVector<Instruction*, 2> operands_;
  absl::InlinedVector<Instruction*, 2> users_;
  std::string name_;
  Shape shape_;
  Attributes attributes_;
  std::vector<RawAttribute> raw_attributes_;
};

}  // namespace smelt::hlo
