// The table of passes, and what runs lists of them.
//
//   absl::StatusOr<bool> changed = RunPasses(module, {"default"});
//   changed = RunPasses(module, {"call-inliner", "dead-code"});
//
// `default` brings a module as a front end emitted it to where fusion starts: to what XLA would hand to its fusion
// pass. A module that was dumped there goes through nearly unchanged. `simplify` is the part of it that is repeated
// until nothing changes any more.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/module.h"

namespace smelt::hlo {

struct Pass {
  std::string_view name;
  absl::StatusOr<bool> (*run)(Module&);  // whether the module changed
  std::string_view why;
};

// Every pass, in the order in which the default pipeline first uses it.
absl::Span<const Pass> Passes();

// The names that `default` stands for, `simplify` among them.
std::vector<std::string> DefaultPasses();

struct PassOptions {
  // Called after every pass that changed the module (and once before the first, with an empty name): prints, verifies,
  // ... An error that it returns ends the run.
  std::function<absl::Status(std::string_view pass, const Module& module)> dump;
};

// Runs the named passes in order and returns whether the module changed. An unknown name is an InvalidArgumentError
// that lists the names, before anything has run; an error of a pass comes back with the pass's name. The module must
// verify, and verifies afterwards.
absl::StatusOr<bool> RunPasses(Module& module, absl::Span<const std::string> names, const PassOptions& options = {});

}  // namespace smelt::hlo
