// Whether the parts of a plan fit each other.
#pragma once

#include <string>

#include "runtime/deploy/plan_file.h"

namespace smelt::runtime::deploy {

// What is wrong with it, in words; empty: every number names something that is there, buffers lie inside their memory,
// and kernels get as many buffers as they take.
std::string WhatIsWrong(const DeployedPlan& plan);

}  // namespace smelt::runtime::deploy
