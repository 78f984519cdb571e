// How a tensor is read: what an index expression depends on, and by how much a step of a loop moves the address.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/te/tensor.h"

namespace smelt::kernels::nests {

// One read of a tensor, with its indices over the axes of the operation that reads.
struct Access {
  te::OperationRef reader;
  te::OperationRef tensor;
  int output = 0;
  std::vector<te::Expr> indices;
};

// Whether the variable decides which element is read.
bool DependsOn(const Access& access, const te::Expr& variable);

// Whether data decides which element is read.
bool IsPositionData(const Access& access);

// Coefficient of the variable where the expression is linear in it; nothing where it is not (a division, a position
// that is data).
std::optional<int64_t> Coefficient(const te::Expr& expression, const te::Expr& variable);

// Elements by which the address moves for one step of the variable, in row-major storage of the tensor; nothing where
// it depends on the position.
std::optional<int64_t> Stride(const Access& access, const te::Expr& variable);

// The same for the first step from the variable's zero, which says what most steps do where rows of a picture, some of
// them perhaps left out, are one dimension; nothing where that depends on other variables, or on data.
std::optional<int64_t> FirstStride(const Access& access, const te::Expr& variable);

// The same from lane to lane of each vector along an axis of the reader, where vectors begin at multiples of their
// lanes: known also where positions are quotients and remainders by such multiples, as those of a reshaped array are.
std::optional<int64_t> StrideInVectors(const Access& access, const te::IterVar& axis, int64_t lanes);

// The reads of an operation's bodies as they stand, each distinct one once.
std::vector<Access> DirectReads(const te::OperationRef& operation);

// Elements of an operation's domain, and of its domain times its reduction.
double Elements(const te::Operation& operation);
double Steps(const te::Operation& operation);

}  // namespace smelt::kernels::nests
