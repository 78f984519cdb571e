// A custom call that JAX makes on a CPU for a decomposition: `lapack_spotrf_ffi` and its like, as jaxlib 0.10 declares
// them.
//
//   std::optional<LapackCall> call = ReadLapackCall(instruction);   // none: it calls something else
//   call->routine;                                                  // "spotrf", LAPACK's name
//   call->Option("uplo", 'L');                                      // of backend_config={uplo = 76 : ui8}
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"
#include "hlo/instruction.h"

namespace smelt::hlo {

struct LapackCall {
  std::string routine;  // the letter of the type and the name of the family
  std::string options;

  char type() const { return routine[0]; }  // s, d, c, z
  std::string_view family() const { return std::string_view(routine).substr(1); }
  // A number of the options, 1 and 0 for true and false; `otherwise` where it is not there.
  int Option(absl::string_view name, int otherwise) const;
};

// Any routine's name will do; whether there is such a routine is for others to know.
std::optional<LapackCall> ReadLapackCall(const Instruction& instruction);

}  // namespace smelt::hlo
