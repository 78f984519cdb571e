// The version of Smelt's own compiler: a hash of the sources of kernels/, made by cmake/source_version.cmake.
#pragma once

namespace smelt::cpu::codegen {

const char* SourceVersion();

}  // namespace smelt::cpu::codegen
