// Where the model lies that `smelt calibrate` adapted to this machine.
//
//   std::string path = CalibratedModelPath(target);
#pragma once

#include <string>

#include "targets/target.h"

namespace smelt::targets {

// A path in the cache folder, by target and by the CPU's name, so that machines that share a folder do not share it;
// whether there is a file or not. Empty where no cache folder is known.
std::string CalibratedModelPath(const Target& target);

}  // namespace smelt::targets
