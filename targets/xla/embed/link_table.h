// The table of embedded kernels as C: what is compiled and linked with their objects into one shared library.
#pragma once

#include <string>
#include <vector>

#include "targets/xla/embed/embed.h"

namespace smelt::embed {

// It begins with the text of python/smelt/jax/kernel_table.h, so that whoever reads the library has the same
// structures.
std::string LinkTable(const std::vector<EmbeddedKernel>& kernels);

}  // namespace smelt::embed
