// Where the models that come with Smelt lie on this machine.
#pragma once

#include <string>

#include "machine/machine.h"

namespace smelt::gnn {

// Path of models/cpu.smeltmodel (of `name`): $SMELT_MODEL (for `cpu`), or beside the shared library that holds this
// code or the running program (in its folder or up to three folders above it), or in share/smelt of its installation;
// empty when there is none.
std::string ShippedModelPath(const std::string& name = "cpu");

// The model for this machine, of this file and those beside it whose names go on from its own with a hyphen: trained on
// such a CPU, else on the one whose measured figures (machine::Machine::Figures) and vectors are nearest, by the
// logarithms of their ratios. Files that cannot be read are passed over.
std::string NearestModel(const std::string& path, const machine::Machine& machine);

// NearestModel of ShippedModelPath(name); $SMELT_MODEL as it is.
std::string ShippedModelPath(const std::string& name, const machine::Machine& machine);

// The folder models/probe in the same places: the kernels that `smelt calibrate` times. Empty when there is none.
std::string ShippedProbesPath();

}  // namespace smelt::gnn
