// Where the models that come with Smelt lie on this machine.
#pragma once

#include <string>

#include "machine/machine.h"

namespace smelt::gnn {

// Path of models/cpu.smeltmodel (of `name`): $SMELT_MODEL (for `cpu`), or beside the running program (in its folder or
// up to three folders above it), or in share/smelt of its installation; empty when there is none.
std::string ShippedModelPath(const std::string& name = "cpu");

// Of that file and those beside it that are called NAME-....smeltmodel the one for this machine: trained on such a CPU,
// else on the one whose measured figures (machine::Machine::Figures) and vectors are nearest, by the logarithms of
// their ratios. $SMELT_MODEL counts as above; files that cannot be read are passed over.
std::string ShippedModelPath(const std::string& name, const machine::Machine& machine);

// The folder models/probe in the same places: the kernels that `smelt calibrate` times. Empty when there is none.
std::string ShippedProbesPath();

}  // namespace smelt::gnn
