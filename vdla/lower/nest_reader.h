// The indices, guards and conditions of a nest as linear functions, and its loops as dimensions: what every kind of
// nest is read by.
//
//   NestReader reader(nest, scope);
//   absl::Status guarded = reader.ApplyGuards();                       // shortens dims_, fills when_
//   NestIndex index = reader.IndexOf(nest.buffer, nest.indices).value();
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vdla/lower/nest.h"

namespace smelt::vdla::lower {

// An index, or the left side of `... > 0`: a linear function of the variables around, and a stride for each loop.
struct NestIndex {
  Linear outer;
  std::vector<int64_t> strides;
};

// A loop while operations are made of it; strides by operand.
struct NestDim {
  int64_t extent = 1;
  std::optional<Linear> remaining;
  std::optional<CopyDim::Bounds> bounds;
  std::vector<int64_t> strides;
};

// Sums terms of one variable.
Linear Collected(const Linear& linear);
bool IsBinary(const te::Expr& e, te::BinaryOp op);
// An element of this memory.
bool IsLoadOf(const te::Expr& e, isa::Memory memory);

// All errors are InvalidArgument with the nest.
class NestReader {
 public:
  NestReader(const LoopNest& nest, const NestScope& scope);
  absl::Status ApplyGuards();
  // `e` > 0 for a conjunction of comparisons.
  absl::Status Conditions(const te::Expr& e, std::vector<NestIndex>& conditions) const;
  absl::StatusOr<NestIndex> LinearOf(const te::Expr& e) const;
  // Where the element lies in its buffer, in row-major order.
  absl::StatusOr<NestIndex> IndexOf(const ir::Buffer& buffer, const std::vector<te::Expr>& indices) const;
  std::vector<NestDim> DimsOf(const std::vector<const NestIndex*>& operands) const;
  // Takes the loops over `count` lanes out of the dimensions: those that move each operand by its unit.
  absl::Status TakeLanes(int64_t count, const std::vector<int64_t>& units, std::vector<NestDim>& dims) const;
  // From scalars to elements of so many of them.
  absl::Status Divide(int64_t lanes, size_t operand, NestIndex& index, std::vector<NestDim>& dims) const;
  int64_t LanesOf(isa::Memory memory) const;
  absl::Status Refuse(const std::string& why) const;

 protected:
  // A guard of outer variables is a condition of the operation; one of a loop shortens it.
  absl::Status ApplyGuard(const te::Expr& guard);

  const LoopNest& nest_;
  const NestScope& scope_;
  const isa::Config& config_;
  std::vector<NestDim> dims_;  // by loop, without strides
  std::vector<Linear> when_;
  std::vector<Node> nodes_;
};

}  // namespace smelt::vdla::lower
