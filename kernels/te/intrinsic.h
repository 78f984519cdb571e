// Intrinsics: what an instruction of some machine does, under a name. One entry says all that passes, the interpreter
// and printers ask; a target attaches its code (LLVM, C text, instructions) by the same name in a folder of its own.
//
//   IntrinsicRef twice = MakeIntrinsic({.name = "twice", .operands = {OperandRole::kValue}, .type = SameAsFirst,
//       .interpret = [](Arguments x, absl::Span<Scalar> result) {
//         for (size_t lane = 0; lane < result.size(); ++lane) result[lane].f = 2 * x[0].lanes[lane].f;
//         return absl::OkStatus();
//       }});
//   Expr y = Call(twice, std::vector<Expr>{x});
//
// A call that only computes (all operands are values, not ordered) may be repeated, moved and left out. Any other
// stands in a statement of its own (ir::Evaluate) and happens exactly there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/te/buffer.h"
#include "kernels/te/expr.h"
#include "kernels/te/scalar.h"

namespace smelt::kernels::te {

// What a call does with an operand. All but values are addresses (te::AddressOf): of an element, from which on the
// call works on as much of the buffer as its meaning says.
enum class OperandRole : uint8_t {
  kValue,
  kHint,    // an address that is neither read nor written, as prefetching does
  kRead,    // memory that is read
  kWrite,   // written, whatever it held
  kUpdate,  // read and written
};

// An element in memory while a call is interpreted.
struct Place {
  const BufferNode* buffer = nullptr;
  void* memory = nullptr;  // of the whole buffer
  int64_t element = 0;     // row-major

  // The element `offset` further on. OutOfRange outside of the buffer.
  absl::Status Load(int64_t offset, Scalar* value) const;
  absl::Status Store(int64_t offset, const Scalar& value) const;
};

// An operand as the interpreter hands it over: the lanes of a value, or a place.
struct Argument {
  absl::Span<const Scalar> lanes;
  Place place;
};
using Arguments = absl::Span<const Argument>;

struct Intrinsic {
  std::string name;  // of an identifier's form; equal names mean the same
  std::vector<OperandRole> operands;
  // The type of the result, or what is wrong with the operands, which are as many as there are roles. Unset: the call
  // has no value.
  std::function<absl::StatusOr<DataType>(absl::Span<const Expr> operands)> type;
  // Does it, in the order of the program; `result` has the lanes of the type, none where there is no value.
  std::function<absl::Status(Arguments arguments, absl::Span<Scalar> result)> interpret;
  // Has an effect beyond the memory of its operands (a token, a barrier), so that it may not be left out or moved.
  bool ordered = false;

  bool IsPure() const;
  // OK, or an error that names the intrinsic and the operand that does not fit it.
  absl::StatusOr<DataType> TypeOf(absl::Span<const Expr> operands) const;
};
using IntrinsicRef = std::shared_ptr<const Intrinsic>;

IntrinsicRef MakeIntrinsic(Intrinsic entry);
absl::StatusOr<DataType> SameAsFirst(absl::Span<const Expr> operands);

// prefetch(address, write, locality): the cache line of the element is wanted soon. `write` (0 or 1) and `locality` (0:
// used once, 3: often) are constants. Means nothing to the result.
const IntrinsicRef& Prefetch();

}  // namespace smelt::kernels::te
