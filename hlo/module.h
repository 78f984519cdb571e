// A program: computations, one of which is the entry.
//
//   Module module("add_one");
//   Computation* entry = module.AddComputation("main");
//   entry->set_root(entry->Add(Opcode::kParameter, shape, {}, ParameterAttributes{0}));
//   module.set_entry(entry);
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo/computation.h"
#include "hlo/name_hash.h"

namespace smelt::hlo {

class Module {
 public:
  explicit Module(std::string name) : name_(std::move(name)) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::string& name() const { return name_; }
  Computation* entry() const { return entry_; }
  void set_entry(Computation* entry) { entry_ = entry; }

  Computation* AddComputation(std::string_view name);
  // Removes a computation that nothing calls, with its instructions.
  void RemoveComputation(Computation* computation);
  // Callees before callers; the entry is last. Computations that nothing calls come too. Does not recurse.
  std::vector<Computation*> PostOrder() const;
  std::vector<Computation*> Computations() const;  // in order of creation
  // The computations that run kernels: the entry, and what while, conditional, call and async reach from it; not the
  // bodies of reduce, sort, map, scatter or fusions. Callees first.
  std::vector<Computation*> ExecutedComputations() const;
  int64_t instruction_count() const;

  // An equal module with equal names; `computation_map`, where given, receives old -> new.
  std::unique_ptr<Module> Clone(absl::flat_hash_map<const Computation*, Computation*>* computation_map = nullptr,
                                absl::flat_hash_map<const Instruction*, Instruction*>* instruction_map = nullptr) const;
  // Copies a computation and what it calls from another module (or this one) into this one.
  Computation* CloneComputation(const Computation& computation, std::string_view name = "");

  // Header attributes other than the name, as written: is_scheduled, entry_computation_layout, input_output_alias, ...
  std::vector<RawAttribute>& raw_attributes() { return raw_attributes_; }
  const std::vector<RawAttribute>& raw_attributes() const { return raw_attributes_; }
  // Tables after the header (FileNames, FunctionNames, FileLocations, StackFrames), as written.
  std::string& tables() { return tables_; }
  const std::string& tables() const { return tables_; }
  // What the proto said that was read and the text has no words for, serialized (see hlo/proto); else empty.
  std::string& proto_rest() { return proto_rest_; }
  const std::string& proto_rest() const { return proto_rest_; }

  // The instruction of this name, in whatever computation; null when there is none.
  Instruction* FindInstruction(std::string_view name) const;

  int64_t NextId() { return next_id_++; }
  // Makes room for this many names at once; a hint.
  void ReserveNames(int64_t count) { instructions_by_name_.reserve(count); }
  // Brings a name's place into the cache before an instruction of that name is made or looked for; a hint.
  void PrefetchName(std::string_view name) const { instructions_by_name_.prefetch(name); }

 private:
  friend class Computation;
  // Sets an instruction's name to what is wanted, or to that with a suffix where an instruction of the module has it.
  void NameInstruction(std::string_view wanted, Instruction* instruction);

  std::string name_;
  std::vector<std::unique_ptr<Computation>> computations_;
  Computation* entry_ = nullptr;
  std::vector<RawAttribute> raw_attributes_;
  std::string tables_;
  std::string proto_rest_;
  int64_t next_id_ = 0;
  absl::flat_hash_map<std::string_view, Instruction*, NameHash> instructions_by_name_;  // keys stand in instructions
  absl::flat_hash_set<std::string> computation_names_;
  absl::flat_hash_map<std::string, int64_t> name_counters_;  // next suffix to try, so that naming stays linear
};

}  // namespace smelt::hlo
