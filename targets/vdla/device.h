// The device that runs a program on the accelerator and its host: results are exact, times are simulated.
//
// Layers run on a simulator; every other kernel runs as our own code on this CPU, bit for bit what the program asks
// for, and counts as long as the host's model says. So the same program takes the same time on every machine.
#pragma once

#include <string>

namespace smelt::vdla {

// The measuring child's side, what the hidden verb `measure-worker` runs: `target` is vdla:MACHINE or
// vdla:MACHINE,SIMULATOR, with the simulator that makes results. Returns the exit code.
int WorkerMain(const std::string& target, const std::string& cache_folder);

}  // namespace smelt::vdla
