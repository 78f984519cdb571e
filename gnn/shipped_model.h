// Where the models that come with Smelt lie on this machine.
#pragma once

#include <string>

namespace smelt::gnn {

// Path of models/cpu.smeltmodel (of `name`): $SMELT_MODEL (for `cpu`), or beside the running program (in its folder or
// up to three folders above it), or in share/smelt of its installation; empty when there is none.
std::string ShippedModelPath(const std::string& name = "cpu");

// The folder models/probe in the same places: the kernels that `smelt calibrate` times. Empty when there is none.
std::string ShippedProbesPath();

}  // namespace smelt::gnn
