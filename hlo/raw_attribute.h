// Attributes that are kept as they were written, and which of them change what is computed.
#pragma once

#include <string>
#include <string_view>

#include "hlo/opcode.h"

namespace smelt::hlo {

// An attribute that Smelt carries without interpreting it: `metadata={...}` is {"metadata", "{...}"}.
struct RawAttribute {
  std::string name;
  std::string value;
  bool operator==(const RawAttribute&) const = default;
};

// Fields of a proto that have no form in text, as their bytes: kept under a name that no text can have, never printed,
// and put back where the module is written as a proto.
inline constexpr std::string_view kProtoFields = "(proto)";

// The frontend attribute of parameters whose values are known before the program runs (hlo/known/).
inline constexpr std::string_view kKnownMark = "smelt_known";

// Whether an attribute that is kept as written changes what an instruction of this opcode computes. Metadata and its
// like do not. A parameter that is known counts as another: what follows from it need not be computed again.
bool ChangesMeaning(const RawAttribute& attribute, Opcode opcode);

}  // namespace smelt::hlo
