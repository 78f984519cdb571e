// The measuring child's side: what the hidden verb `measure-worker` runs.
#pragma once

#include <string>

namespace smelt::cpu {

// Serves requests on standard input, replies on descriptor 3, until the input ends. Returns the exit code. `cpu` is the
// core to stay on, -1 for any.
//
//   {"do": "hello"}                                        -> {"pid"}
//   {"do": "load", "module": TEXT, "tiles": {HASH: TILE}, "inputs": "unit" | "scaled" | "positive",
//    "inputs_file": PATH}: of a safetensors file with in.0, in.1, ..., one for each array leaf of the parameters
//     -> {"id", "compile_seconds", "arena_bytes", "kernels": [{name, hash, opaque, tile, flops, bytes}]}
//   {"do": "time", "ids": [..], "rounds": R, "seconds": S, "least_seconds": L}
//     -> {"seconds": [[..], ..]}: interleaved, one list an id
//   {"do": "kernel_seconds", "id": N, "rounds": R}
//     -> {"seconds": [..], "median": [..], "executions": [..]}: one an entry of "kernels": seconds of all its
//        executions in a run of the program (the least of the rounds), the median of one execution, how many in a run
//   {"do": "time_kernel", "module": TEXT, "hash": HASH, "tile": TILE, "repeats": R, "seconds": S}
//     -> {"seconds": [..], "compile_seconds", "trace", "tile", "opaque"}
//   {"do": "compile", "module": TEXT, "hash": HASH, "tile": TILE}
//     -> {"compile_seconds"}: the code goes to the kernel cache's folder
//   {"do": "outputs", "id": N, "file": PATH}               -> {}: results on the inputs, as a safetensors file
//   {"do": "unload", "id": N}                              -> {}
//   {"do": "inject", "fault": "crash" | "spin" | "memory"}: what tests use to break this process for real
//
// A request that fails is answered with {"error": text, "build": whether it failed while compiling, "code": of
// absl::StatusCode}: ResourceExhausted and Unavailable say nothing of the program. Any reply may have "cache_trouble",
// a line for the user.
int WorkerMain(const std::string& target, const std::string& cache_folder, int cpu);

}  // namespace smelt::cpu
