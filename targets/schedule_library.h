// Tuned schedules of kernels, found again by the kernel's hash in every later program on the same machine.
//
//   const ScheduleLibrary library(target, "cache");
//   library.Keep({.kernel = kernel.hash, .way = "i0=4x1x8 r0=1x64x1", .gain = 1.2}).ok();
//   std::optional<TunedSchedule> tuned = library.Find(kernel.hash);
//
// A file of text for each, in the cache folder's `schedules/` (docs/formats.md). What was tuned on another machine, for
// another target or under another compiler version is not found: its gain is not known here. Thread-safe; several
// processes may keep and find.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/hash.h"
#include "hlo/module.h"
#include "targets/target.h"
#include "targets/tunable.h"

namespace smelt::targets {

struct TunedSchedule {
  Hash128 kernel;
  std::string way;  // what stands at the kernel's knob
  double gain = 1;  // times as fast as the default, as it was decided
};

class ScheduleLibrary {
 public:
  // An empty folder: nothing is kept or found.
  ScheduleLibrary(const Target& target, std::string cache_folder);

  // Replaces what is kept of the kernel. InvalidArgument: a way of several lines. Unavailable: the file cannot be
  // written.
  absl::Status Keep(const TunedSchedule& tuned) const;
  // A damaged file is none.
  std::optional<TunedSchedule> Find(const Hash128& kernel) const;
  // Ways for those kernels of a fused module that `chosen` says nothing of; what was found is added there. Returns how
  // many.
  int AddTo(const hlo::Module& fused, Knobs* chosen) const;

 private:
  std::string PathOf(const Hash128& kernel) const;
  const std::string folder_, target_, device_, compiler_;
};

}  // namespace smelt::targets
