// Layouts as text, after the dimensions of a shape: `{1,0:T(8,128)S(1)}`.
#pragma once

#include <string>

#include "hlo/shape.h"
#include "hlo/text/scanner.h"

namespace smelt::hlo::text {

// Reads the layout that stands here, if one does.
bool ParseLayout(Scanner& scanner, Shape* shape);

// Whether minor_to_major is an order of that many dimensions.
bool NamesEachDimensionOnce(const Layout& layout, int64_t rank);

// Appends a layout in the order in which XLA reads its parts; nothing where it says nothing.
void AppendLayout(std::string* out, const Layout& layout);

}  // namespace smelt::hlo::text
