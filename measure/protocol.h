// The measuring protocol: what a device (device.h) is asked and what it answers. Its one description, for every child
// that speaks it, in whatever language.
//
//   SMELT_RETURN_IF_ERROR(CheckVersion(hello));
//   if (absl::Status failed = ErrorOf(reply); !failed.ok()) return failed;
//
// A request is a JSON object that names what to do, a reply is another; to a child process they go as channel.h has it,
// requests on its standard input and replies on its descriptor 3. A field in brackets may be missing. Modules are text
// as the target's own candidates have it: that of hlo/file/message.h, or base64 of a proto. Times are seconds.
//
//   {"do": "hello"}                         -> {"protocol": kProtocolVersion, "pid": N}
//   {"do": "load", "module": TEXT, ["inputs": "unit" | "scaled" | "positive"], ["limits": [[LEAF, N]..]],
//    ["inputs_file": PATH], ["knobs": {KEY: WAY}], ["compiler": WAY], ["distances": [B..]]}
//     -> {"id": N, "compile_seconds": S, ["arena_bytes": B],
//         "kernels": [{"name", "hash", "tile", "opaque": BOOL, "flops", "bytes"}]}
//        compiled, and run so often that it can be timed. Inputs are those of test_inputs.h, integers of some leaves
//        below their limits, or come from a safetensors file with in.0, in.1, ..., one for each array leaf of the
//        parameters, as hlo::ToStorable makes them. A target that does not tell of kernels gives none. `distances`: as
//        of "time_kernel"; what the results are is then not said.
//   {"do": "time", "ids": [N..], "rounds": R, "seconds": S, ["least_seconds": L], ["hopeless": F]}
//     -> {"seconds": [[S..]..]}: one list an id, of the samples of timing.h
//   {"do": "kernel_seconds", "id": N, "rounds": R}
//     -> {"seconds": [S..], "median": [S..], "executions": [N..]}: one an entry of "kernels", or none at all: of all
//        its executions in a run of the program (the least of R runs), of one execution, and how many there are in a
//        run
//   {"do": "time_kernel", "module": TEXT, ["hash": HASH, "way": WAY], ["distances": [B..]], "repeats": R, "seconds": S,
//    ["reference": {"module", ["hash", "distances"]}]}
//     -> {"seconds": [S..], "compile_seconds": S, ["trace", "tile", "opaque"], ["reference_seconds": [BEFORE, AFTER]]}:
//        a kernel alone. Its arrays lie as far away as `distances` has it (fusion/kernel.h): bytes, one an array leaf
//        of the parameters, then of the results. The child keeps the reference kernel from one request to the next
//   {"do": "compile", "module": TEXT, ["hash": HASH, "way": WAY]}
//     -> {"compile_seconds": S}: a kernel into the cache that children share, of targets that keep code
//   {"do": "outputs", "id": N, "file": PATH} -> {}: the array leaves of its results, as a safetensors file: out.0, ...
//   {"do": "unload", "id": N}                -> {}: also where it is not loaded
//   {"do": "inject", "fault": "crash" | "spin" | "memory"}: breaks the child for real, for tests
//
// A target's child may answer more, which its folder alone asks and describes. A request that fails is answered with
// {"error": TEXT, "build": whether it failed while compiling, "code": of absl::StatusCode}: what is Unavailable or
// ResourceExhausted says nothing of the program. Any reply may have "cache_trouble", a line for the user.
#pragma once

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

namespace smelt::measure {

// Goes up with every change after which an older child, or an older parent, would be misunderstood.
inline constexpr int kProtocolVersion = 2;

// Whether the reply to "hello" is of this version: FailedPrecondition, in a line, where it is of another.
absl::Status CheckVersion(const nlohmann::json& hello);

// A failure as a reply, and back: OK where the reply is no failure. `building`: it failed while compiling.
nlohmann::json ErrorReply(const absl::Status& error, bool building);
absl::Status ErrorOf(const nlohmann::json& reply);

}  // namespace smelt::measure
