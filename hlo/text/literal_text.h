// Constant values as text: `{ {1, 2}, {3, 4} }`, `(1, {true, false})`, `{(1, -2), (inf, nan(0x12))}`, and the elided
// `{...}`.
#pragma once

#include <cstdint>
#include <string>

#include "hlo/literal.h"
#include "hlo/scanner/scanner.h"

namespace smelt::hlo::text {

// Dumps leave out the values of large constants. XLA then fills in 0, 1, 2, ... as 32-bit words, counting on through
// the whole text, so that equal shapes do not become equal constants; results stay comparable with XLA's only if we do
// the same.
struct ConstantFill {
  uint32_t next_word = 0;
  uint8_t next_byte = 0;
  // A short text may not ask for any amount of memory: all constants that are elided or given
  // by one value stay below this together.
  int64_t bytes_left = int64_t{1} << 29;
};

// Reads the value of a constant of this shape; one value without braces fills the whole array. `elided` tells whether
// it was `{...}`.
bool ParseLiteral(Scanner& scanner, const Shape& shape, ConstantFill& fill, Literal* literal, bool* elided,
                  int depth = 0);

// Appends the value without its shape. Floats are printed with the fewest digits that read back to the same bits.
void AppendLiteral(std::string* out, const Literal& literal);

}  // namespace smelt::hlo::text
