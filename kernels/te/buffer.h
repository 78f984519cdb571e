// Memory that a kernel reads and writes, by name: what a load of a lowered expression points at.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/te/expr.h"

namespace smelt::kernels::te {

// Where a buffer lives.
enum class Scope : uint8_t {
  kArgument,  // input or output of the kernel, passed by the caller
  kShared,  // scratch that all threads of a kernel see, between phases; allocated by the runtime before the kernel runs
  kThread,  // scratch of one iteration of the parallel loop; a slice of the thread's scratch memory
  kLocal,   // small, indices constant after unrolling: becomes registers (an alloca that LLVM's SROA dissolves)
};

struct BufferNode {
  std::string name;
  PrimitiveType type;
  std::vector<int64_t> shape;  // extents before flattening; one element count after
  Scope scope = Scope::kArgument;
  int64_t argument = -1;  // kArgument: position, inputs first, then outputs
  int alignment = 64;     // bytes

  int64_t ElementCount() const;
  int64_t ByteSize() const;
};
using Buffer = std::shared_ptr<const BufferNode>;

}  // namespace smelt::kernels::te
