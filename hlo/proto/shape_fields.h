// Shapes and layouts as protos.
#pragma once

#include "absl/status/status.h"
#include "hlo/proto/hlo.pb.h"
#include "hlo/shape.h"

namespace smelt::hlo::proto {

void WriteShape(const Shape& shape, ShapeProto* to);
// InvalidArgument: an element type, a size or a nesting that no text could give.
absl::Status ReadShape(const ShapeProto& from, Shape* shape, int depth = 0);

}  // namespace smelt::hlo::proto
