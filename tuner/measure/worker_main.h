// The measuring child's side: what the hidden verb `measure-worker` runs.
#pragma once

#include <string>

namespace smelt::tuner {

// Serves requests on standard input, replies on descriptor 3, until the input ends. Returns the exit code.
//
//   {"do": "load", "module": TEXT, "threads": N}         -> {"id", "compile_seconds", "kernels": [{name, hash, opaque,
//   flops, bytes, tile}]}
//   {"do": "time", "ids": [..], "rounds": R, "seconds": S}  -> {"seconds": [[..], ..]}: interleaved, one list an id
//   {"do": "time_kernel", "module": TEXT, "tile": "1x8", "repeats": R, "seconds": S} -> {"seconds": [..],
//   "compile_seconds", "trace", "tile"}
//   {"do": "outputs", "id": N, "file": PATH}             -> {}: results on the default inputs as a safetensors file
//   {"do": "unload", "id": N}                            -> {}
//   {"do": "inject", "fault": "crash" | "spin" | "memory"}: what tests use to break this process for real
// Every reply has "error" (text) and "build" (bool: while compiling) instead when the request failed.
int WorkerMain(const std::string& target, const std::string& cache_folder);

}  // namespace smelt::tuner
