// A module as XLA's front end takes one: without a say on layouts, which XLA then chooses itself.
//
//   std::unique_ptr<hlo::Module> plain = WithDefaultLayouts(module).value();
//
// Dumps from the middle of XLA's passes have layouts, and bitcasts that mean something only under them; on the way
// through StableHLO layouts are lost and such bitcasts refused. Here a bitcast becomes the transposes and the reshape
// that it stands for, every array gets the default layout but the results of custom calls that name their layouts, and
// what belongs to a later stage (schedule, aliasing of arguments and results) goes. Values are the same.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::xla {

// Unimplemented: a bitcast between types of different width.
absl::StatusOr<std::unique_ptr<hlo::Module>> WithDefaultLayouts(const hlo::Module& module);

// Dimensions of an array from major to minor as they lie in memory.
std::vector<int64_t> MajorToMinor(const hlo::Shape& shape);

}  // namespace smelt::xla
