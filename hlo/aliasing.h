// Which results of a module lie in the memory of which parameters: the header's input_output_alias, read.
//
//   for (const OutputAlias& alias : OutputAliases(module)) ...   // {0}: (1, {}, may-alias)
#pragma once

#include <cstdint>
#include <vector>

#include "hlo/module.h"

namespace smelt::hlo {

struct OutputAlias {
  std::vector<int64_t> output;  // path in the result; empty: the result itself
  int64_t parameter = 0;
  std::vector<int64_t> part;  // path in the parameter
};

// Empty where the header says nothing. Of a verified module; what cannot be read ends the list.
std::vector<OutputAlias> OutputAliases(const Module& module);

}  // namespace smelt::hlo
