// Reads layouts, which stand in a text after the dimensions of a shape: `{1,0:T(8,128)S(1)}`.
#pragma once

#include <string>

#include "hlo/scanner/scanner.h"
#include "hlo/shape.h"

namespace smelt::hlo::text {

// Reads the layout that stands here, if one does.
bool ParseLayout(Scanner& scanner, Shape* shape);

}  // namespace smelt::hlo::text
