// The measuring child's side: what the hidden verb `measure-worker` runs.
#pragma once

#include <string>

namespace smelt::cpu {

// Serves the requests of measure/protocol.h on standard input, replies on descriptor 3, until the input ends. Returns
// the exit code. `cpu` is the core to stay on, -1 for any.
int WorkerMain(const std::string& target, const std::string& cache_folder);

}  // namespace smelt::cpu
