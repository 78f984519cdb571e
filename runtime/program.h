// A program as the executor runs it: steps over numbered buffers, with loops and branches as nested sequences.
//
// Made by program_builder from the instructions of a module, where every value that a step computes has a buffer of its
// own and every transfer between buffers is an explicit copy; then coalesce removes copies and plan_arena places the
// buffers that remain. What need not be done in every run is taken out before (known_part).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/run_kernel.h"

namespace smelt::runtime {

using BufferId = int32_t;

struct ProgramBuffer {
  enum class Kind : uint8_t {
    kArena,     // a slice of the executable's own memory
    kInput,     // the caller's; never written
    kOutput,    // the caller's
    kConstant,  // a literal of the module
    kKept,      // a slice of memory that `setup` writes and that stays
    kSetup,     // a slice of memory that one step of `setup` needs while it runs
  };
  Kind kind = Kind::kArena;
  int64_t bytes = 0;
  int64_t number = 0;          // of the input or output leaf
  bool known = false;          // kInput: its values stay the same from run to run
  const void* data = nullptr;  // kConstant
  int64_t offset = 0;          // kArena, kKept, kSetup
};

struct Step;
using Sequence = std::vector<Step>;

struct Step {
  enum class Kind : uint8_t {
    kKernel,       // reads: kernel inputs; writes: outputs, then shared scratch
    kNative,       // reads: inputs of the operation; writes: its outputs
    kOpaque,       // reads: leaves of the operands; writes: leaves of the result
    kCopy,         // writes[0] = reads[0]
    kUpdateSlice,  // writes reads[0] into writes[0] at the indices reads[1..]
    kWhile,        // while (condition; reads[0]) body; reads[0] is written by the condition or before
    kConditional,  // branches[reads[0]]
    kRepeat,       // the body, `trips` times
  };
  Kind kind = Kind::kCopy;
  int32_t info = -1;       // of the program's list of kernels, for kernels, opaque operations and updates
  bool continues = false;  // its time belongs to the last run of the same entry
  bool in_place = false;   // what `writes` held before is read, too
  int32_t job = -1;        // kKernel, kNative, kOpaque: which distinct kernel
  std::vector<BufferId> reads;
  std::vector<BufferId> writes;
  int32_t update = -1;              // kUpdateSlice: which of Program::updates
  bool predicate_form = false;      // kConditional: reads[0] is a pred, and true is branch 0
  std::vector<Sequence> sequences;  // kWhile: condition, body; kConditional: branches; kRepeat: body
  int64_t trips = 0;                // kRepeat: at least 1
  PhaseSet skipped = 0;             // kKernel: phases that do not run in this step
};

// A slice that is overwritten in place.
struct SliceUpdate {
  std::vector<int64_t> dimensions;  // of the array
  std::vector<int64_t> sizes;       // of the slice
  int64_t element_bytes = 4;
  int64_t index_bytes = 4;  // of one start: 1, 2, 4 or 8
  bool index_is_signed = true;
  bool one_vector = false;  // the starts are the elements of one buffer, not a buffer a dimension
};

struct Program {
  std::vector<ProgramBuffer> buffers;
  // What depends on known inputs and constants alone: kernels, native operations, and single phases of kernels. Runs
  // before `steps` the first time, and again where a known input has moved.
  Sequence setup;
  Sequence steps;
  std::vector<SliceUpdate> updates;
  std::vector<std::shared_ptr<const void>> constants;  // keeps kConstant data alive
  int64_t arena_bytes = 0;
  int64_t kept_bytes = 0;
  int64_t setup_bytes = 0;
};

}  // namespace smelt::runtime
