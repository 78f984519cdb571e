// A computation: parameters, instructions and a root. Owned by a Module.
//
//   Instruction* x = computation.Parameters()[0];
//   Instruction* y = computation.Add(Opcode::kExp, x->shape(), {x});
//   computation.set_root(y);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hlo/instruction.h"

namespace smelt::hlo {

class Module;

class Computation {
 public:
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

  Module* parent() const { return parent_; }
  const std::string& name() const { return name_; }
  int64_t id() const { return id_; }

  Instruction* root() const { return root_; }
  void set_root(Instruction* root) { root_ = root; }

  // Adds an instruction; an empty name gives `opcode.N`. A name that is taken gets a suffix. The shape is the caller's
  // to get right (see hlo/shape_inference.h).
  Instruction* Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands = {}, Attributes attributes = {},
                   std::string_view name = "", std::vector<Computation*> called = {});
  // Copies opcode, shape, attributes, called computations and raw attributes, with new operands; the instruction may be
  // of another computation.
  Instruction* AddClone(const Instruction& instruction, absl::Span<Instruction* const> operands,
                        std::string_view name = "");
  // Removes an instruction that has no users and is not the root. Parameters go too: renumber them yourself.
  void Remove(Instruction* instruction);
  // Renames; a taken name gets a suffix.
  void Rename(Instruction* instruction, std::string_view name);

  // Parameters by number. Missing or doubled numbers are the verifier's business: a missing one is nullptr.
  std::vector<Instruction*> Parameters() const;
  // All instructions, operands and control predecessors before users; dead ones and unused parameters included. Linear;
  // does not recurse. Deterministic: follows the order of creation where dependencies leave a choice.
  std::vector<Instruction*> PostOrder() const;
  // Instructions in order of creation.
  std::vector<Instruction*> Instructions() const;
  int64_t instruction_count() const { return count_; }

  // The order of execution from a text with is_scheduled=true; empty otherwise.
  std::vector<RawAttribute>& raw_attributes() { return raw_attributes_; }
  const std::vector<RawAttribute>& raw_attributes() const { return raw_attributes_; }

 private:
  friend class Module;
  Computation(Module* parent, int64_t id, std::string name) : parent_(parent), id_(id), name_(std::move(name)) {}

  Module* parent_;
  int64_t id_;
  std::string name_;
  std::vector<std::unique_ptr<Instruction>> slots_;  // null where an instruction was removed
  int64_t count_ = 0;
  Instruction* root_ = nullptr;
  std::vector<RawAttribute> raw_attributes_;  // execution_thread
};

}  // namespace smelt::hlo
