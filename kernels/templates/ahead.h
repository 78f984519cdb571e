// What a schedule asks for before its arithmetic needs it: lines of operands that are too large to be near, beside the
// work that comes before them instead of behind it. One rule for each form of loops; all but AskForNextBlock, which
// also asks for what was packed, ask for inputs alone.
//
// AskForRows is for what is packed, AskForNextBlock and AskForNextLines for sums in blocks, AskForNextTilesRows,
// AskForNextStrip and AskBesideSums for register tiles.
//
// A kernel does not know how far away its program leaves an operand (hlo/passes/reuse_distance.h): its size tells.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "kernels/nests/access.h"
#include "kernels/schedule/schedule.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"
#include "machine/machine.h"

namespace smelt::kernels::nests {

// Bytes of the tensor that is read.
double MatrixBytes(const Access& access);
// Whether the second cache cannot hold that tensor, and whether the last one is not likely to keep it for the next
// call: it holds what else a program reads, too.
bool IsFar(const Access& access, const machine::Machine& target);
bool IsFromMemory(const Access& access, const machine::Machine& target);

// Lines that a packing stage copies, some iterations of its loop over rows ahead: rows lie far apart, each perhaps on
// another page, and would come one miss at a time.
absl::Status AskForRows(schedule::Schedule& schedule, const Access& access, const std::string& stage,
                        const std::string& rows, const machine::Machine& target);

// Whether a sum in blocks may ask for what its next block reads of an input: it is far, it is known which part that is,
// and it lies along the vectors, as other lines would each be asked for many times.
bool NextBlockIsFar(const te::Operation& sum, const Access& matrix, int vector_axis, const machine::Machine& target);
// What the next block reads of `tensor`, in the loop `step` of the stage that holds a block's sums.
absl::Status AskForNextBlock(schedule::Schedule& schedule, const std::string& tensor, const std::string& partial,
                             const std::string& step);

// The matrix's lines of the next block, where a few rows are summed along them (templates/dots.cc): at the loop `step`
// of the stage `partial`, a block further along its axis `column`.
absl::Status AskForNextLines(schedule::Schedule& schedule, const NestInput& input, const DotBlock& block,
                             const std::string& partial, const std::string& step, const std::string& column);

// Rows beside each other in lines that are far apart from step to step, as where the left operand is stored transposed:
// a register tile's rows are a piece of every line. At the loop `step` of `sum`, the main operation's stage.
absl::Status AskForNextTilesRows(schedule::Schedule& schedule, const NestInput& input, const RegisterTile& registers,
                                 const std::string& sum, const std::string& step);

// The matrix that few rows share, read where it lies, strip after strip of a register tile's columns: what this step of
// the sum reads a strip further. At the loop `step` of `sum`, the main operation's stage.
absl::Status AskForNextStrip(schedule::Schedule& schedule, const NestInput& input, const RegisterTile& registers,
                             const std::string& sum, const std::string& step);

// What the root reads beside a contraction's sums, some of its tiles ahead: an update of weights by their gradient
// reads a piece of a line of them for each row of a tile.
absl::Status AskBesideSums(schedule::Schedule& schedule, const NestInput& input, const std::string& tile_loop);

}  // namespace smelt::kernels::nests
