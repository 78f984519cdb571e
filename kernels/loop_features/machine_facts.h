// What a machine makes of a kernel's loops, in numbers: the part of the features that is about registers, caches,
// threads and lanes.
//
//   const std::vector<float> facts = MachineFacts(tree, schedule, function, machine);
//   MachineFactNames()[3];   // what facts[3] is
#pragma once

#include <string>
#include <vector>

#include "kernels/loop_features/loop_tree.h"
#include "kernels/schedule/schedule.h"
#include "machine/machine.h"

namespace smelt::kernels::loop_features {

const std::vector<std::string>& MachineFactNames();
// The last ones of these count instructions by how lanes are loaded.
inline constexpr int kInstructionFacts = 10;
// One number a name. Linear in loops times accesses.
std::vector<float> MachineFacts(const LoopTree& tree, const schedule::Schedule& schedule, const ir::Function& function,
                                const machine::Machine& machine);

// Bytes that the loops move into a memory of so many bytes, if what the outermost loop that fits touches is read once
// each time that loop runs.
double BytesMoved(const LoopTree& tree, double capacity);

// log2(1 + |x|) with the sign of x.
float SignedLog(double x);

}  // namespace smelt::kernels::loop_features
