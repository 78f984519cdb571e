// Reading and printing of one attribute of an instruction, and the table that says which opcode takes which.
//
// A row of the table is a name, the opcodes that take it, whether it must be there, and a codec: a function that reads
// the value after `name=` into a draft of the instruction, and one that prints it again. attribute_table.cc holds the
// rows, attribute_codecs.h the codecs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "hlo/instruction.h"
#include "hlo/scanner/scanner.h"

namespace smelt::hlo::text {

// What is known of an instruction while its line is read.
struct InstructionDraft {
  Opcode opcode = Opcode::kParameter;
  Attributes attributes;
  std::vector<RawAttribute> raw;
  std::vector<Computation*> called;  // in the order of Instruction::called; null where the text has not named one yet
  std::vector<Instruction*> control_predecessors;
};

// What a codec asks the parser for.
class AttributeHost {
 public:
  virtual ~AttributeHost() = default;
  // A computation by name, or a body in braces that stands here. `role` names it in messages and names an inline body.
  virtual bool ReadComputation(std::string_view role, Computation** computation) = 0;
  virtual bool ReadInstructionName(Instruction** instruction) = 0;
};

struct AttributeReader {
  Scanner& scanner;
  InstructionDraft& draft;
  AttributeHost& host;
  std::string_view name;  // of the attribute
};

// How names are printed: as they are, or as `v` and `c` with a position, so that canonical texts do not depend on them.
class PrintedNames {
 public:
  void Number(const Instruction& instruction) { instructions_.emplace(&instruction, instructions_.size()); }
  void Number(const Computation& computation) { computations_.emplace(&computation, computations_.size()); }
  // Appends `%` and the name.
  void Append(std::string* out, const Instruction& instruction) const;
  void Append(std::string* out, const Computation& computation) const;

 private:
  absl::flat_hash_map<const Instruction*, int64_t> instructions_;  // empty: own names
  absl::flat_hash_map<const Computation*, int64_t> computations_;
};

struct AttributePrinter {
  std::string& out;
  const PrintedNames& names;
};

enum class Presence : uint8_t {
  kRequired,       // the text must have it
  kAlwaysPrinted,  // the text may leave it out, the printer does not
  kOptional,       // printed only where it differs from what its absence means
};

struct AttributeRule {
  std::string_view name;
  Presence presence;
  bool (*read)(AttributeReader&);
  // Appends the value; false, with nothing appended, where the attribute has the value that its absence means.
  bool (*print)(const AttributePrinter&, const Instruction&, Presence);
};

// The attributes of an opcode, in the order in which they are printed.
absl::Span<const AttributeRule> AttributeRules(Opcode opcode);
// The attributes that every opcode takes: metadata, sharding, ...
absl::Span<const AttributeRule> CommonAttributeRules();
// Whether some opcode takes this attribute. An instruction with a known attribute of another opcode is an error;
// unknown ones are kept.
bool IsKnownAttribute(std::string_view name);

}  // namespace smelt::hlo::text
