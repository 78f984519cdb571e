// How a configuration says what it chooses beside fusion, under XLA: keys of its `tiles`, and what may stand there.
//
//   Tiles tiles = {{TileKey(convolution), kCallTile}, {UncutKey(), kUncutTile}};
//   xla::LoopFusionProgram(space, config, tiles, /*threads=*/2)
//
// No entry is the ordinary way.
#pragma once

#include <map>
#include <string>

#include "hlo/instruction.h"

namespace smelt::xla {

using Tiles = std::map<std::string, std::string>;

inline constexpr const char* kLibraryTile = "library";  // a contraction or a reduction that XLA's library runs
inline constexpr const char* kCallTile = "call";        // a convolution or a loop that becomes a function (calls.h)
inline constexpr const char* kUncutTile = "uncut";  // of UncutKey(): no fusion is cut into parts for several threads

// The key of a loop is its name, which alone it keeps when the program is fused; that of others the hash of their
// kernel, so that equal ones share a choice. 32 hexadecimal digits; empty: the instruction is no kernel.
std::string TileKey(const hlo::Instruction& instruction);

// The key of what concerns the program as a whole.
std::string UncutKey();

}  // namespace smelt::xla
