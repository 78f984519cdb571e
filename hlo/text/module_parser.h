// The parser's state and its functions by file: modules and computations in parser.cc, instructions in
// instruction_parser.cc, the asynchronous spellings `dot-start` and their like in async_parser.cc.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "hlo/module.h"
#include "hlo/name_hash.h"
#include "hlo/scanner/scanner.h"
#include "hlo/text/attribute_codec.h"
#include "hlo/text/literal_text.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"

namespace smelt::hlo::text {

// Counts a level of nesting while it lives.
struct Nesting {
  explicit Nesting(int* depth) : depth(depth) { ++*depth; }
  ~Nesting() { --*depth; }
  int* depth;
};

class ModuleParser : public AttributeHost {
 public:
  ModuleParser(std::string_view text, const ParseOptions& options)
      : scanner_(text, options.file_name), options_(options) {
    scanner_.set_verifies(options.verify);
  }

  absl::StatusOr<std::unique_ptr<Module>> Parse();

  bool ReadComputation(std::string_view role, Computation** computation) override;
  bool ReadInstructionName(Instruction** instruction) override;

 private:
  // Reads the name of something defined here: no word of the language, unless a `%` stands before it.
  bool ReadNewName(std::string_view* name, std::string_view expected);
  // The parts of an asynchronous operation that has the name of what it runs.
  enum class AsyncPart : uint8_t { kNone, kStart, kUpdate, kDone };
  struct AsyncChain {
    InstructionDraft wrapped;  // what runs
    Computation* computation;  // with a parameter for each operand that is bound so far
    Shape result;
    const char* at;
    bool closed;
  };

  // Names are looked up in the computation that is being read only. Most are those that the module has given the
  // instructions; the rest stand here.
  struct Scope {
    Computation* computation = nullptr;
    bool unknown_operands_are_parameters = false;
    int64_t next_parameter = 0;
    Instruction* last = nullptr;
    // Computations by their name in the text: those whose name another computation had already taken.
    absl::flat_hash_map<std::string_view, Instruction*, NameHash> renamed;
    // Instructions whose name is not from the text.
    absl::flat_hash_set<const Instruction*> named_by_us;
    // Elements that compact tuple access (`%x#0`) has already taken out.
    absl::flat_hash_map<std::pair<const Instruction*, int64_t>, Instruction*> elements;
    // Asynchronous operations under way, in order, and the instructions that continue them.
    std::vector<AsyncChain> chains;
    absl::flat_hash_map<const Instruction*, size_t> chain_of;
  };

  // The instruction of this name in the text; null when the computation has none above.
  Instruction* Find(std::string_view name) const;
  // Makes an instruction known by its name in the text. False when the computation has that name already.
  bool Define(std::string_view name, Instruction* instruction);

  using Operands = absl::InlinedVector<Instruction*, 4>;

  bool ReadModule();
  absl::Status Verify();
  bool ReadHeader();
  bool ReadTables();
  bool ReadHeaderlessInstruction();
  bool AtComputation();
  bool ReadTopLevelComputation();
  bool ReadSignature(bool* has_result, Shape* result);
  bool ReadBody(Computation* computation, bool unknown_operands_are_parameters);
  bool ReadInstruction();
  // After `name =`: shape, opcode, operands and, unless it is nested in an operand list, attributes.
  bool ReadOperation(const char* start, std::string_view name, bool nested, Instruction** made);
  bool ReadOperands(const char* opcode_at, InstructionDraft& draft, const Shape* shape, AsyncPart part);
  bool ReadOperand(Instruction** operand);
  bool MakeConversionExplicit(const char* start, const Shape& shape, InstructionDraft& draft);
  bool ReadTupleElements(Instruction** operand);
  bool ReadAttributes(InstructionDraft& draft, const char* opcode_at, AsyncPart part);
  bool CheckReplication(const Instruction& parameter, const InstructionDraft& draft, const char* opcode_at);
  bool CheckConstraints(const std::string& constraints, const char* opcode_at);
  bool CheckAgreement(const InstructionDraft& draft, const char* opcode_at);
  bool CheckThread(const Instruction& before, const std::vector<RawAttribute>& attributes, const char* opcode_at);
  bool ReadOpcode(Opcode* opcode, AsyncPart* async_part);

  // `dot-start`, `dot-update` and `dot-done` become asynchronous instructions that call a computation of our making
  // with a dot in it.
  bool ReadAsync(const char* start, const char* opcode_at, std::string_view name, const Shape* shape, AsyncPart part,
                 InstructionDraft& wrapped, Instruction** made);
  void BindOperand(AsyncChain& chain, const Shape& shape);
  void CloseAsyncChain(AsyncChain& chain);
  void CloseAsyncChains(Scope& scope);
  Instruction* Make(const char* at, Opcode opcode, Shape&& shape, absl::Span<Instruction* const> operands,
                    Attributes&& attributes, std::string_view name, std::vector<Computation*>&& called = {});

  // The problem with its place in the text.
  absl::Status Locate(const Problem& problem) const;

  void SetPosition(int64_t id, const char* at);

  Scanner scanner_;
  const ParseOptions& options_;
  std::unique_ptr<Module> module_;
  absl::flat_hash_map<std::string_view, Computation*, NameHash> computations_;
  Computation* last_computation_ = nullptr;  // of those that the text names
  Scope* scope_ = nullptr;
  ConstantFill constant_fill_;
  Operands operands_;  // of the instruction that is being read
  std::string_view instruction_name_;
  int depth_ = 0;
  std::vector<const char*> positions_;  // by id
};

}  // namespace smelt::hlo::text
