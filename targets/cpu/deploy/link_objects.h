// Relocatable objects as one shared object, by the linker of this system: at build time, never where a module runs.
//
//   absl::Status linked = LinkObjects({"a.o", "b.o"}, "x86_64", "kernels.so", "links.txt");
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace smelt::cpu::deploy {

// Runs $SMELT_LD, or the first of ld, ld.lld, mold and ld.gold that PATH has; for another architecture than this
// machine's, of ARCHITECTURE-linux-gnu-ld, ld.lld and mold. `scratch`: a file for what it says, which stays. Calls of
// the C library stay open: whoever loads the object has it. FailedPrecondition: there is no linker; Internal: it
// failed, with its first words.
absl::Status LinkObjects(const std::vector<std::string>& objects, const std::string& architecture,
                         const std::string& output, const std::string& scratch);

}  // namespace smelt::cpu::deploy
