// The version of what decides a simulated time: a hash of the sources of the accelerator's instructions and lowering,
// of its simulator, of the host's costs and of this folder, made by cmake/source_version.cmake.
#pragma once

namespace smelt::vdla {

const char* SourceVersion();

}  // namespace smelt::vdla
