// Memory that a kernel reads and writes, by name: what a load of a lowered expression points at.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/te/expr.h"
#include "kernels/te/scope.h"

namespace smelt::kernels::te {

struct BufferNode {
  std::string name;
  PrimitiveType type;
  std::vector<int64_t> shape;  // extents before flattening; one element count after
  Scope scope = Scope::kArgument;
  int64_t argument = -1;  // of an argument: its position, inputs first, then outputs
  int alignment = 64;     // bytes

  int64_t ElementCount() const;
  int64_t ByteSize() const;
};
using Buffer = std::shared_ptr<const BufferNode>;

}  // namespace smelt::kernels::te
