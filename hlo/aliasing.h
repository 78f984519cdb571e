// Which results of a module lie in the memory of which parameters. The header says so in input_output_alias and
// buffer_donor, which a module keeps as text; here they are read.
//
//   for (const OutputAlias& alias : OutputAliases(module)) {   // { {0}: (1, {}, may-alias) }
//     const Instruction* donor = module.entry()->Parameters()[alias.parameter];
//   }
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

struct OutputAlias {
  std::vector<int64_t> output;  // path in the result; empty: the result itself
  int64_t parameter = 0;
  std::vector<int64_t> part;  // path in the parameter
};

// The entries of input_output_alias, of a module that verifies; empty where the header says nothing.
std::vector<OutputAlias> OutputAliases(const Module& module);

// The entries of `{ {0}: (1, {}, may-alias) }` or, of a buffer_donor, which has no outputs, of `{ (1, {}) }`. Whether
// a module has such results and parameters is the verifier's business. Fails where the text has another form.
absl::StatusOr<std::vector<OutputAlias>> ReadAliases(std::string_view value, bool has_outputs);

}  // namespace smelt::hlo
