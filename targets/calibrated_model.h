// The model that predicts a target's kernels where the user names none, and where the one lies that `smelt calibrate`
// adapted to this machine.
//
//   std::string path = DefaultModelPath(target.id(), target.machine());
#pragma once

#include <string>

#include "machine/machine.h"
#include "machine/target_id.h"

namespace smelt::targets {

// A path in the cache folder, by target and by the CPU's name, so that machines that share a folder do not share it;
// whether there is a file or not. Empty where no cache folder is known.
std::string CalibratedModelPath(const machine::TargetId& id);

// What was adapted to this machine, or else the nearest of those that come with Smelt (gnn/shipped_model.h); empty
// where there is none.
std::string DefaultModelPath(const machine::TargetId& id, const machine::Machine& machine);

}  // namespace smelt::targets
