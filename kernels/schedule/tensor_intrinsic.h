// Tensor intrinsics: an instruction that computes a small tensor at once, declared in the language of tensor
// expressions, so that the primitive tensorize can put it in the place of the loops that mean the same.
//
//   const te::DataType s32{te::PrimitiveType::kS32, 1};
//   TensorIntrinsic dot{.name = "dot"};
//   const te::Tensor a = te::Placeholder("a", {4}, te::PrimitiveType::kS8);
//   const te::ReduceAxis k(4, "k");
//   dot.inputs = {a};
//   dot.output = te::Compute("sum", {}, [&](te::Indices) { return te::Sum(te::Cast(s32, a(k)), {k}); });
//   dot.update = [&](TensorRegions r) { return ir::Evaluate(te::Call(add_dot, {r[1].Address(), r[0].Address()})); };
//
// After TVM (Chen et al., OSDI 2018, Section 4.3).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "kernels/ir/stmt.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::schedule {

// The part of a buffer that stands for an operand of the declaration.
struct TensorRegion {
  ir::Buffer buffer;
  std::vector<te::Expr> first;   // indices of its first element, by the dimensions of the buffer
  std::vector<int64_t> strides;  // elements from one to the next along each dimension of the declaration
  // Where a layout cuts a dimension into blocks and the tile spans several: elements from block to block; else 0.
  std::vector<int64_t> block_strides;

  te::Expr Address() const { return te::AddressOf(buffer, first); }
};
// Inputs in their order, then the output.
using TensorRegions = absl::Span<const TensorRegion>;
// Makes the call, or several.
using TensorBody = std::function<ir::Stmt(TensorRegions)>;

struct TensorIntrinsic {
  std::string name;                // one word; traces say it
  std::vector<te::Tensor> inputs;  // placeholders
  te::Tensor output;               // one result, over all its axes
  // Where the operands must lie, inputs first; none: anywhere. Empty: all anywhere.
  std::vector<std::optional<te::Scope>> scopes;
  // Elements from one to the next along each dimension of an operand's declaration, inputs first, where the call needs
  // certain ones; empty: any.
  std::vector<std::vector<int64_t>> strides;
  // Where the whole reduction lies within the tile, `full` computes it, or, where that is unset, `reset` and then
  // `update`. Where loops of the reduction lie outside, `reset` stores its initial value once, `update` adds. Where
  // there is no `reset`, ordinary stores give the accumulators what the reduction begins with, whatever that is.
  TensorBody reset, update, full;
};
using TensorIntrinsicRef = std::shared_ptr<const TensorIntrinsic>;

}  // namespace smelt::kernels::schedule
