// Where the elements of an array stand after reshapes and transpositions: what packs a layer's arrays does these on the
// way, so that none of them has to run.
//
//   Rearrangement moved(hlo::Shape::Array(hlo::PrimitiveType::kS32, {6, 40}));   // the array that all is told of
//   bool split = moved.Reshape({2, 3, 40});                       // rows are two by three now
//   moved.Transpose({1, 0, 2});
//   lower::Places rows = moved.PlacesOf({0});                     // of the six rows: 0, 80, 160, 40, 120, 200
//
// A dimension is a list of factors, each a part of one dimension of the original: a reshape groups them anew, and
// splits some. What no such split can say (reshaping 4 x 6 to 3 x 8) is told, not guessed.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "hlo/instruction.h"
#include "hlo/shape.h"
#include "vdla/lower/layout.h"

namespace smelt::vdla {

class Rearrangement {
 public:
  explicit Rearrangement(const hlo::Shape& original);

  // Whether it is one that this class follows: a reshape, transposition, copy, or a bitcast that keeps the order.
  static bool Is(const hlo::Instruction& x);

  // The elements after `x`, which reads them. False: the reshape is none of whole factors; nothing is changed then.
  bool Apply(const hlo::Instruction& x);
  // The elements in the operand of `x`, which are told where they stand in its result. As Apply.
  bool Undo(const hlo::Instruction& x);
  // The elements in the operand of a broadcast, whose result they are told in: those that differ in what it repeats
  // stand at the same place.
  void UndoBroadcast(const hlo::Instruction& x);

  bool Reshape(absl::Span<const int64_t> dimensions);
  void Transpose(absl::Span<const int64_t> permutation);

  // Where each index of these dimensions of the original, the first slowest, stands in the array as it is now,
  // in elements. Elements stand where the places of all their dimensions sum to.
  lower::Places PlacesOf(absl::Span<const int64_t> original_dims) const;
  // Whether places differ along this dimension of the original.
  bool Depends(int64_t original_dim) const;

 private:
  struct Factor {
    int64_t size, dim, stride;  // `size` indices of dimension `dim` of the original, `stride` of them apart
  };
  std::vector<int64_t> original_;
  std::vector<std::vector<Factor>> dims_;  // of the array as it is, each from the slowest factor to the fastest
  std::vector<int64_t> sizes_;             // of the array as it is
};

}  // namespace smelt::vdla
