// The version of what decides a simulated time: a hash of the sources of the accelerator, its simulator and this
// folder, made by cmake/source_version.cmake.
#pragma once

namespace smelt::vdla {

const char* SourceVersion();

}  // namespace smelt::vdla
