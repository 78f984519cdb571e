// Contractions of short numbers by the instructions that multiply them in groups: VNNI, BF16, DotProd, AMX, and where
// a CPU has none of these, multiplications of pairs of 16-bit integers.
//
//   std::vector<schedule::TensorIntrinsicRef> instructions = DotInstructions(machine);
//   schedule::Schedule s(graph, {}, instructions);        // knows what tensorize may ask for
//
// The right operand is packed once, in a phase of its own: [column block][other dimensions][k / depth][column][k %
// depth], so that a group of all lanes is one vector. A tile of rows and columns is summed up in registers at the loops
// of what follows, which is computed in the store. s8 by s8 on an instruction that wants u8 by s8 takes the left
// operand 128 higher and begins at -128 times the sums of the right one's columns.
//
// A matrix unit (AMX) multiplies tiles of rows and columns at a time. A block of up to four such tiles is summed up
// over the whole sum, which a target keeps in its registers; tiles have as many rows as divide the axis best, and where
// an image's lines are shorter than two tiles, the block takes several lines.
#pragma once

#include <optional>
#include <vector>

#include "kernels/schedule/tensor_intrinsic.h"
#include "kernels/te/dot_intrinsics.h"
#include "kernels/templates/templates.h"
#include "machine/machine.h"

namespace smelt::kernels::nests {

// One instruction, and what it takes.
struct DotInstruction {
  te::DotKind kind;
  std::string_view feature;  // of machine::Machine::instructions
  int rows;                  // of a call: 1, or up to 16 where it is of a matrix unit
  int lanes;
  int accumulators;  // registers for sums, beside two vectors of the right operand, a group of the left one and a
                     // constant, or these widened; tiles of a matrix unit
  hlo::PrimitiveType left, right, sum;  // left is what all lanes share
  bool shifts;                          // the left operand is taken 128 higher
  double filled = 0;                    // part of whole groups of the sum from which on padding them pays
};

// Terms of the sum that one call takes.
int64_t TermsOf(const DotInstruction& instruction);
// The name by which schedules ask for it with so many rows, for a right operand [k, column].
std::string NameOf(const DotInstruction& instruction, int64_t rows);

// Those of the machine, for schedules: each for operands [k, column] and `.transposed`, [column, k]; with them what
// packs operands and sums up columns.
std::vector<schedule::TensorIntrinsicRef> DotInstructions(const machine::Machine& target);

// How a nest's main sum fits an instruction.
struct DotForm {
  const DotInstruction* instruction;
  int row_axis;  // of the main operation, -1: one row; its last axis has the columns, its last reduce axis the groups
  te::OperationRef left, right;
  bool transposed;              // right is [column, k] in its last two dimensions
  std::vector<int> batch_axes;  // with a right operand of its own for each point
  // The rest is for a matrix unit.
  int64_t rows = 1;    // of a call
  int line_axis = -1;  // where one call has all rows: an axis before them, of which several share the right operand
};

// Nothing where no instruction of the machine fits, or too little is shared for packing to pay.
std::optional<DotForm> DotFormOf(const Nest& nest, const machine::Machine& target);
// Register tiles for the nest, best first.
std::vector<std::vector<int64_t>> DotTiles(const Nest& nest, const DotForm& form);
// Whether the sum, as the schedule has it, is of the two operands' elements themselves.
bool IsDirectProduct(const schedule::Schedule& schedule, const NestInput& input, const DotForm& form);
absl::Status ScheduleDotInstruction(schedule::Schedule& schedule, const NestInput& input, const DotForm& form);

}  // namespace smelt::kernels::nests
