// Small programs that together hold the patterns that fusion decides about.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/config.h"
#include "fusion/kernel.h"
#include "fusion/space.h"
#include "hlo/module.h"

namespace smelt::fusion {

struct Program {
  std::string_view name;
  std::string_view text;
  friend void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }
};

const std::vector<Program>& Programs();
std::string_view ProgramText(std::string_view name);

// Fail the process on a text that does not parse or a space that is not built.
std::unique_ptr<hlo::Module> Parse(std::string_view text);
Space BuildSpace(const hlo::Module& module, const Rules& target = Rules::OwnKernels());

// The decision of this name (Space::Name), or -1.
int32_t FindDecision(const Space& space, std::string_view name);
Config ConfigOf(const Space& space, const std::vector<std::string_view>& names);
const hlo::Instruction* FindInstruction(const hlo::Module& module, std::string_view name);

// ExtractKernels by value; fails the process on an error.
std::vector<Kernel> KernelsOf(const hlo::Module& fused);

// The smelt corpora beside the repository, or an empty string.
std::string CorpusFolder();
// HLO texts in a folder whose names end so, sorted.
std::vector<std::string> FilesIn(const std::string& folder, std::string_view ending);

}  // namespace smelt::fusion
