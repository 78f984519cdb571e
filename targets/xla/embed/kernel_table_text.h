// python/smelt/jax/kernel_table.h, which the build puts into the binary: the structures of a table of kernels.
#pragma once

namespace smelt::embed {

const char* KernelTableText();

}  // namespace smelt::embed
