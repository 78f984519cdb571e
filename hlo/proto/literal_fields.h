// Constant values as protos. A proto's elements follow the layout of its shape, a Literal's are row-major.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "hlo/proto/hlo.pb.h"

namespace smelt::hlo::proto {

// `shape` is the literal's with the layout in which to write; absent layouts are row-major.
void WriteLiteral(const Literal& literal, const Shape& shape, LiteralProto* to);

// The value in the given shape. InvalidArgument: the proto is of another shape, or has fewer or more values than that
// has elements; nothing is allocated before that is known.
absl::StatusOr<Literal> ReadLiteral(const LiteralProto& from, const Shape& shape);

}  // namespace smelt::hlo::proto
