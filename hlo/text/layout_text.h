// Layouts as text, after the dimensions of a shape: `{1,0:T(8,128)S(1)}`.
#pragma once

#include <string>

#include "hlo/shape.h"
#include "hlo/text/scanner.h"

namespace smelt::hlo::text {

// Reads the layout that stands here, if one does. `depth`: of the shape that it belongs to, as for ParseShape.
bool ParseLayout(Scanner& scanner, Shape* shape, int depth);

// Appends a layout in the order in which XLA reads its parts; nothing where it says nothing.
void AppendLayout(std::string* out, const Layout& layout);

}  // namespace smelt::hlo::text
