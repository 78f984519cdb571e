// What the instructions of compiled code ask of a processor, by LLVM's names.
//
//   std::string missing = MissingFeatures({std::string("avx2"), std::string("fma")});   // "" on a Haswell
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tile_permission.h"

namespace smelt::runtime::deploy {

// Every feature of an architecture ("x86_64", "aarch64") that code can use and this library can ask the processor for.
// LLVM's names; none of another architecture.
std::span<const std::string_view> FeatureNames(std::string_view architecture);

// The architecture that this library was compiled for: "x86_64" or "aarch64".
std::string_view Architecture();

// The features of the list that this processor lacks, with commas between them; those that are not known count, and so
// do tiles that Linux does not let this process use. `may_use_tiles` is asked where the list has any.
std::string MissingFeatures(const std::vector<std::string>& features, bool (*may_use_tiles)() = AskForTiles);

}  // namespace smelt::runtime::deploy
