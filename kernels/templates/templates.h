// Schedule templates: one file a kind of loop nest. A template schedules the root of one nest and what is computed at
// its loops.
//
// Tiles are extents over the axes of the nest's main operation for kTiled nests, over the root's axes otherwise.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "kernels/nests/structure.h"
#include "kernels/schedule/schedule.h"
#include "machine/machine.h"

namespace smelt::kernels::nests {

// Inputs of a kernel whose values are known before it is called, so that what depends on them alone may run before.
using KnownInputs = absl::flat_hash_set<const te::Operation*>;

struct NestInput {
  const Structure& structure;
  const Nest& nest;
  const machine::Machine& target;
  std::vector<int64_t> tile;
  int64_t accumulators = 0;  // see ChooseRegisterTile
  const KnownInputs& known;
  // Roots of other nests that a template has computed at its own loops instead: their nests are done. Nests are
  // scheduled consumers first.
  absl::flat_hash_set<const te::Operation*>* placed;
};

absl::Status ScheduleInjective(schedule::Schedule& schedule, const NestInput& input);     // injective.cc
absl::Status ScheduleRows(schedule::Schedule& schedule, const NestInput& input);          // rows.cc
absl::Status ScheduleRowReduction(schedule::Schedule& schedule, const NestInput& input);  // row_reduction.cc
absl::Status ScheduleTiled(schedule::Schedule& schedule, const NestInput& input);         // tiled.cc
// A product of few rows with a large matrix, which is read once: the matrix streams by.
absl::Status ScheduleStreamed(schedule::Schedule& schedule, const NestInput& input);  // streamed.cc

// Few rows against a matrix whose rows are contiguous along the sum. dots.cc
absl::Status ScheduleDots(schedule::Schedule& schedule, const NestInput& input);

// A sum that is cut into blocks because its shared operand is large. blocked.cc
absl::Status ScheduleBlocked(schedule::Schedule& schedule, const NestInput& input);

// Every operation that is not inlined in a nest of its own, with plain loops: correct for every graph. fallback.cc
absl::StatusOr<schedule::Schedule> FallbackSchedule(const Structure& structure, const machine::Machine& target);

// Tiles that suit the nest, best first; at least one. preferred_tiles.cc
std::vector<std::vector<int64_t>> PreferredTiles(const Nest& nest, const machine::Machine& target);
// The extents that a tile of the nest divides.
const std::vector<int64_t>& TiledExtents(const Nest& nest);
// Bytes of operands and results that one tile touches.
double TileFootprint(const Nest& nest, const std::vector<int64_t>& tile);

// Pieces that templates share; loops.cc.

// Lanes of a vector for the values that the operation computes with.
int64_t LanesOf(const te::Operation& operation, const machine::Machine& target);
// An axis of the root other than the last one along which some operand that jumps along vectors of the last one is
// contiguous: the operand is read as a transposed block. -1: there is none.
int TransposedAxis(const Nest& nest, int64_t lanes);
std::string AxisName(int axis);    // "i2"
std::string ReduceName(int axis);  // "r0"
// Schedule::Reorder, also of fewer than two loops.
absl::Status ReorderLoops(schedule::Schedule& schedule, const std::string& stage,
                          const std::vector<std::string>& loops);
// Splits the loop by the lanes where it is longer and vectorises the inner part. Returns {rest, vector loop}; rest is
// empty where the loop became the vector.
absl::StatusOr<std::pair<std::string, std::string>> VectorizeLoop(
    schedule::Schedule& schedule, const std::string& stage, const std::string& loop, int64_t extent, int64_t lanes,
    schedule::TailStrategy tail = schedule::TailStrategy::kGuard);
// Sums the stage over `width` lanes, which are what is left of its sum in `r0`, of vectors of `lanes`: vectors to one,
// that to a half of it, and so on; each computed at the stage's innermost loop over results.
absl::Status SumLanes(schedule::Schedule& schedule, const std::string& stage, int64_t width, int64_t lanes);
// The innermost reduce axis along which something is contiguous, or else jumps a little, and that is long enough for
// vectors; -1: there is none.
int ReduceAxisForVectors(const te::Operation& operation, const std::vector<Access>& accesses);
// Reduces with vectors over contiguous memory: partial sums in several vectors, then a tree over lanes. The stage must
// be untouched. Leaves it alone when its combiner has no identity or its contiguous axis is short.
absl::Status VectorizeReduction(schedule::Schedule& schedule, const te::Operation& operation,
                                const std::vector<Access>& accesses, const machine::Machine& target);
// Whether rows of the root fill no vector, and `rows` of them do, of which all that is read lies near.
bool HasShortRows(const Nest& nest, int64_t rows, int64_t lanes);
// Vectorises such rows: whole vectors of several rows' elements, one behind the other. `row`: the loop over `rows`
// rows; `element`: the loop right inside, over the elements of one. Returns the loops outside the vector, outermost
// first.
absl::StatusOr<std::vector<std::string>> VectorizeShortRows(schedule::Schedule& schedule, const te::Operation& root,
                                                            const std::string& row, int64_t rows,
                                                            const std::string& element, int64_t lanes);
// The kept axis for the vectors of a sum of so few elements that they fill none, as of the coordinates of a point: the
// last one, whose results lie beside each other. What they read may jump a little, or be whole rows of an input, which
// are read as vectors and taken apart. -1: there is none.
int ShortSumAxis(const te::Operation& operation, const std::vector<Access>& accesses, const machine::Machine& target);
// All of a sum in a row.
absl::Status UnrollSum(schedule::Schedule& schedule, const te::Operation& operation);
// Vectorises one attached stage over its axes as its accesses suggest, for stages that are small: those that are
// computed inside this loop of their reader.
absl::Status ScheduleSmallStage(schedule::Schedule& schedule, const Attached& attached,
                                const std::vector<Access>& accesses, const machine::Machine& target,
                                const std::string& reader, const std::string& loop);
// The accesses of a nest that one operation makes.
std::vector<Access> AccessesOf(const Nest& nest, const te::Operation& operation);
// That of the largest tensor, the first of equal ones; null where there is none.
const Access* LargestAccess(const std::vector<Access>& accesses);
// Marks the first loop with several iterations parallel, moving it out, where the nest is worth a fork.
absl::Status ParallelizeOutermost(schedule::Schedule& schedule, const std::string& stage,
                                  const std::vector<std::string>& outer_loops, double work);

}  // namespace smelt::kernels::nests
