// How many bytes a program reads and writes between an instruction's read of an operand and what touched that one
// before: what decides from which cache a kernel finds its operands inside of a program, where one that runs alone
// finds them where its last run left them (the reuse distance of Mattson et al. 1970, of whole arrays).
//
//   const ReuseDistances distances(module);
//   distances.Of(instruction, *instruction.operand(1));   // bytes; 0: it is near
//
// The program runs again and again, and so does the body of a loop: what a parameter's first reader finds was read last
// in the run before. As far as the text tells: elementwise results count for nothing, since most of them are computed
// inside of other kernels, so that much the same comes out before and after fusion.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo/module.h"

namespace smelt::hlo {

class ReuseDistances {
 public:
  // What is less is near: it fits into the nearest caches, and the distance is 0.
  static constexpr int64_t kLeast = int64_t{64} << 10;

  // `module` must outlive it, and stay as it is.
  explicit ReuseDistances(const Module& module);

  // Whether an instruction is another name of its operand, or of a part of it, as a reshape is: it reads nothing.
  static bool IsAlias(const Instruction& instruction);

  // The distance of an operand of an instruction that is no alias, of a computation that runs kernels.
  int64_t Of(const Instruction& user, const Instruction& value) const;
  // The same of the memory that an instruction writes an array of its result to: what the program's caller keeps is
  // written once in a run, other results where values lay that are no longer needed. `part`: which array of a tuple.
  // `own_bytes`: of the bytes of a run, those that its kernel touches itself.
  int64_t OfResult(const Instruction& instruction, int64_t part, int64_t own_bytes) const;
  // What an instruction adds to these.
  int64_t OwnBytes(const Instruction& instruction) const;

 private:
  // One run of a computation, in order.
  struct Place {
    int64_t before = 0, after = 0;  // bytes that have passed
  };
  struct Run {
    absl::flat_hash_map<const Instruction*, Place> places;
    absl::flat_hash_map<const Instruction*, std::vector<Place>> touches;  // of each value, in order
    int64_t passed = 0;
    int64_t distinct = 0;  // of these, counted once
  };
  // The while, conditional or call that a computation runs for, and which of its called ones it is.
  struct Caller {
    const Instruction* instruction = nullptr;
    int64_t number = 0;
  };

  // The one instruction for all that name these bytes.
  const Instruction& Named(const Instruction& value) const;
  // The arrays that an operand hands on: itself, or those that a tuple of values holds, each once.
  std::vector<const Instruction*> ArraysOf(const Instruction& operand) const;
  void RunThrough(const Computation& computation);
  int64_t Exact(const Instruction& user, const Instruction& value) const;

  const Computation* entry_;
  absl::flat_hash_map<const Computation*, Caller> callers_;
  absl::flat_hash_map<const Computation*, Run> runs_;
  absl::flat_hash_map<const Instruction*, const Instruction*> named_;                      // of aliases
  absl::flat_hash_map<std::pair<const Instruction*, int64_t>, const Instruction*> parts_;  // of tuples, by index
  absl::flat_hash_set<const Instruction*> results_;                                        // of the entry
};

}  // namespace smelt::hlo
