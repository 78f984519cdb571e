// The table of embedded kernels as C: what is compiled and linked with their objects into one shared library.
#pragma once

#include <string>
#include <vector>

#include "tuner/embed/embed.h"

namespace smelt::tuner::embed {

// The structures are those of python/smelt/jax/kernel_table.h; a library says which version of them it has.
inline constexpr int kTableVersion = 1;
std::string LinkTable(const std::vector<EmbeddedKernel>& kernels);

}  // namespace smelt::tuner::embed
