// What the program smelt-train does.
#pragma once

#include "cli/verb.h"

namespace smelt::cli {

Action AddTraining(Arguments& arguments);

}  // namespace smelt::cli
