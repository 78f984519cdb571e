// The gradient of pooling: each value of the source is added where its window selects an element.
#pragma once

#include <memory>
#include <vector>

#include "runtime/native/element_type.h"
#include "runtime/native_operation.h"

namespace smelt::runtime::native {

// An element stays selected where `selected <comparison> next` holds, in row-major order of the window.
enum class Comparison : uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual };

struct SelectAndScatterPlan {
  struct Dimension {
    int64_t operand = 1;  // sizes
    int64_t source = 1;
    int64_t window = 1, stride = 1, dilation = 1, padding_low = 0;
  };
  ElementType type = ElementType::kF32;  // any but complex and pred
  std::vector<Dimension> dimensions;
  Comparison comparison = Comparison::kGreaterEqual;
};

// inputs: operand, source, initial value (one element); outputs: as the operand. Sums go in row-major order of the
// source, each rounded. Null for windows of more than 1024 elements or arrays of more than 16 dimensions.
std::unique_ptr<NativeOperation> MakeSelectAndScatter(const SelectAndScatterPlan& plan);

}  // namespace smelt::runtime::native
