// When each buffer of a program holds a value that somebody will still read.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "runtime/program.h"

namespace smelt::cpu {

// Both ends included, in units of half steps: a step reads at its first half and writes at its second. Kernels read in
// both halves, because they may write before they have read everything.
struct LiveSegment {
  int64_t begin;
  int64_t end;
};

// Each buffer has disjoint segments in ascending order. A loop's state has a hole between its last use and its next
// value. A buffer that is written and never read has a segment of one half step there: the write still needs a place.
using LiveRanges = std::vector<std::vector<LiveSegment>>;

LiveRanges ComputeLiveRanges(const runtime::Program& program);

// What a sequence reads before it has written all of it: what it needs from outside.
absl::flat_hash_set<runtime::BufferId> ReadBeforeWritten(const runtime::Sequence& steps);

bool Overlap(const std::vector<LiveSegment>& a, const std::vector<LiveSegment>& b);
std::vector<LiveSegment> Union(const std::vector<LiveSegment>& a, const std::vector<LiveSegment>& b);

}  // namespace smelt::cpu
