// The cores that what a process times keeps to: where little else runs, and no other process of this tool has its own.
//
//   std::shared_ptr<const CoreClaim> claim = CoreClaim::Take(1);  // null: there is no choice; run anywhere
//   if (claim != nullptr) RunOn(claim->cores());
//
// Ten tunings that are started at once on a machine of 64 cores have ten cores so, and not all of them the last one.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace smelt::measure {

class CoreClaim {
 public:
  // `count` cores that follow each other. A process has one such claim for each count, which all its devices share that
  // live at a time, since what is compared must run on the same cores. It is kept, so that others stay away between two
  // devices, and chosen anew where the last device is gone and the choice is old. Thread-safe; takes a moment where it
  // chooses.
  static std::shared_ptr<const CoreClaim> Take(int count);
  CoreClaim(const CoreClaim&) = delete;
  CoreClaim& operator=(const CoreClaim&) = delete;
  ~CoreClaim();

  const std::vector<int>& cores() const { return cores_; }

 private:
  CoreClaim(std::vector<int> cores, std::vector<int> sockets)
      : cores_(std::move(cores)), sockets_(std::move(sockets)) {}
  static std::shared_ptr<const CoreClaim> Choose(int count);

  std::vector<int> cores_, sockets_;
};

// The calling thread, or a process between fork and exec, stays on these cores; where that is not allowed, its times
// are noisier and that is all. Without allocation.
void RunOn(const std::vector<int>& cores);
// The calling thread, and what it starts, leaves these cores to others, if it may use any other.
void StayOff(const std::vector<int>& cores);

}  // namespace smelt::measure
