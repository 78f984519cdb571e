// Prints modules as HLO text.
//
//   std::string text = ToText(module, {});                          // all of it; reads back equal, here and in XLA
//   std::string brief = ToText(module, {PrintStyle::kShort});
//
// Reading the text and printing it again gives the same text. Linear in the size of the module and its constants.
#pragma once

#include <string>
#include <string_view>

#include "hlo/module.h"

namespace smelt::hlo {

enum class PrintStyle : uint8_t {
  kFull,   // everything that was read, to be read again
  kShort,  // to be looked at: no metadata, origin, statistics, sharding, frontend attributes and backend configuration
  kCanonical,  // to be compared: short, and names give way to positions, default layouts and header attributes are left
               // out
};

struct PrintOptions {
  PrintStyle style = PrintStyle::kFull;
  // Constants with more elements print as `{...}`, which loses their values.
  int64_t largest_constant = INT64_MAX;
  // A constant that a text left out prints as the values that stand in for it, and not as `{...}` again. They depend on
  // the constants before it in the text, which a pass or a fusion moves: whoever is to run the module needs them.
  bool stand_ins = false;
};

std::string ToText(const Module& module, const PrintOptions& options = {});
// The computation only, without what it calls.
std::string ToText(const Computation& computation, const PrintOptions& options = {});
// One line, without indentation.
std::string ToText(const Instruction& instruction, const PrintOptions& options = {});

// The value of the header's entry_computation_layout: as given where it fits the entry; otherwise, after a pass has
// changed what the entry takes or gives, the one that does.
std::string PrintedEntryLayout(const Module& module, const std::string& given);

}  // namespace smelt::hlo
