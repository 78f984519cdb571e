// Shapes as text: `f32[2,<=8,?]{1,0:T(8,128)S(1)}`, `(s32[], token[])`, `b(f32[8]{0})`.
#pragma once

#include <string>

#include "hlo/scanner/scanner.h"
#include "hlo/shape.h"

namespace smelt::hlo::text {

// Reads one shape. Refuses sizes that do not fit 63 bits of bytes and tuples nested deeper than kNestingLimit.
bool ParseShape(Scanner& scanner, Shape* shape, int depth = 0);

// Whether a shape starts here, as opposed to a name or an opcode: `(`, or a type followed by `[` (or by `(` for a
// buffer).
bool AtShape(Scanner& scanner);

// Appends a shape with its layout, where it has one, in the order in which XLA reads the parts of a layout.
void AppendShape(std::string* out, const Shape& shape, bool with_layout = true);

}  // namespace smelt::hlo::text
