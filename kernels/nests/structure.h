// How a kernel's graph falls into loop nests: which operations are computed where they are read, which are kept in
// memory, and at whose loops. Templates then schedule one nest each.
#pragma once

#include <optional>
#include <vector>

#include "kernels/nests/access.h"
#include "kernels/nests/axis_match.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::nests {

enum class NestKind : uint8_t {
  kInjective,     // elementwise and data movement: nothing is computed at the root's loops
  kRows,          // softmax, layer norm: reductions and what they share, computed once for each outer iteration
  kRowReduction,  // the root sums along contiguous memory
  kTiled,         // the root, or what is computed at its tiles, reduces with vectors over kept elements: contractions,
                  // convolutions, pooling, sums over columns
};

// An operation computed at the loops of a nest's root.
struct Attached {
  te::OperationRef operation;
  int depth = 0;  // root axes outside it; 0: computed at the root's tiles, see `match`
  AxisMatch match;
  std::vector<int> root_axes;  // of each axis: the root's axis that it equals, -1: none
};

// The stages of a convolution by minimal filtering (te/hlo/winograd.h). They belong to the nest whose tiles their
// output is attached to, and its template places each of them.
struct WinogradStages {
  te::OperationRef border, input_half, input, weights_half, weights, product, output_half, output;
  std::vector<int64_t> extents;  // what a tile divides: images, rows and columns of tiles, output features
  int64_t output_tile() const { return output->shape[3]; }
};

struct Nest {
  te::OperationRef root;
  NestKind kind = NestKind::kInjective;
  std::vector<Attached> attached;  // producers first
  te::OperationRef main;           // what takes the time: the root or an attached operation
  // What the root and the attached operations read once the rest is inlined, each distinct read once.
  std::vector<Access> accesses;
  std::optional<WinogradStages> winograd;
  double inlined_cost = 0;  // BodyCost of what one step of `main` computes in place

  double Work() const;  // steps of its operations, contractions counted as what they are
};

struct Structure {
  te::Graph graph;
  std::vector<te::OperationRef> inlined;
  std::vector<Nest> nests;  // producers first
  size_t main = 0;          // the nest that dominates: the one that a tile divides

  const Nest& main_nest() const { return nests[main]; }
};

// Elements of rows that are so short that several share a vector.
inline constexpr int64_t kShortRow = 8;
// Terms of sums along rows that are so short that vectors go over the results.
inline constexpr int64_t kShortRowSum = 8;
// Elements from one lane of a vector to the next that shuffles bring together.
inline constexpr int64_t kShortJump = 4;
// Most taps of a window over each channel apart that reads its picture without a bordered copy: its code is unrolled
// whole, so that what lies beyond the border is known when it is compiled.
inline constexpr int64_t kUnborderedTaps = 25;

// Decides by arithmetic saved against memory moved. Deterministic; never fails. The same for every CPU: what counts as
// near is a constant in structure.cc, and the target's vectors and caches first matter to the tiles.
Structure AnalyseStructure(te::Graph graph);

// Whether an operation puts arrays beside each other in rows of a few elements, as `stack` does along the last
// dimension: vectors go over many such rows, and each element of a row is computed in a way of its own.
bool StacksShortRows(const te::Operation& operation);
// Whether an operation is a dot or convolution, or the products of one, or reduces pairs as a dot does.
bool IsContraction(const te::Operation& operation);
// The kept axis along which all reads of a reduction are contiguous or constant, so that vectors run over it; where
// there is none, one along which they jump a little, as over the channels of a group or the coordinates of a point,
// unless the sum itself runs along memory. -1 when there is neither.
int VectorAxis(const te::Operation& reduction, const std::vector<Access>& accesses);

}  // namespace smelt::kernels::nests
