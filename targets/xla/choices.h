// What a program leaves open beside fusion, under XLA: how single kernels, loops and the program as a whole run.
//
//   Choices choices(xla_program, module, /*threads=*/2);
//   choices.kernels()                 // kernel hash to the tiles to time it with: library, call
//   for (const Tiles& way : choices.WholeProgram()) ...    // all loops called, nothing cut into parts, both
//
// A choice is an entry of `Tiles` (tiles.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hlo/module.h"
#include "targets/xla/calls.h"
#include "targets/xla/program.h"
#include "targets/xla/tiles.h"

namespace smelt::xla {

class Choices {
 public:
  // `module` is the unfused program.
  Choices(const XlaProgram& program, const hlo::Module& module, int threads);

  // The tiles that may stand at each key: of single kernels, and of all that is chosen.
  const std::map<std::string, std::vector<std::string>>& kernels() const { return kernels_; }
  const std::map<std::string, std::vector<std::string>>& all() const { return all_; }

  // Loops run step by step, and fusions are cut.
  bool IsPlain(const Tiles& tiles) const;
  // What costs of kernels timed alone do not tell: each is for all of a program. None where there is nothing of it.
  std::vector<Tiles> WholeProgram() const;
  // All contractions that XLA's library can run.
  Tiles Library() const;

  std::string Name(const std::string& key) const;  // of the instruction, or "all fusions"
  std::string Describe() const;                    // counts, for a log

 private:
  std::map<std::string, std::string> library_;  // hash to name
  Callable callable_;
  int threads_;
  std::map<std::string, std::vector<std::string>> kernels_, all_;
};

// Whether both run the same kernels, loops and program in their ordinary ways, or have them called or uncut; which
// contractions the library runs is left aside.
bool SameCalls(const Tiles& one, const Tiles& other);

}  // namespace smelt::xla
