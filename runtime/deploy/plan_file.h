// The plan of a deployable module: everything but its code and its weights, as one file.
//
//   DeployedPlan plan;
//   Status status = ReadPlanFile(bytes, "plan.bin", &plan);
//
// The file: the magic "smeltrun", the version, the length and the hash of what follows (base/hash.h), then fields
// (byte_stream.h). Whatever is cut off or changed is refused. What it says is then believed: a plan comes with machine
// code, and whoever loads it trusts where it came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "runtime/execution.h"
#include "runtime/native/plan.h"
#include "runtime/program.h"
#include "runtime/status.h"

namespace smelt::runtime::deploy {

// Files of another version are refused.
inline constexpr int64_t kPlanVersion = 3;

inline constexpr char kPlanName[] = "plan.bin";
inline constexpr char kCodeName[] = "kernels.so";
inline constexpr char kWeightsName[] = "weights.bin";
inline constexpr char kManifestName[] = "manifest.json";  // for people: nothing here reads it

// An array that the caller gives or gets, row-major.
struct ArrayLeaf {
  std::string name;
  std::string type;  // "f32"
  std::vector<int64_t> dimensions;
  int64_t bytes = 0;
};

// A distinct kernel, with the symbols of its phases in the code, or a native operation.
struct DeployedJob {
  bool is_native = false;
  KernelDescriptor kernel;
  native::Plan native;
};

// How long a file beside the plan is, and what it holds.
struct FileMark {
  int64_t bytes = 0;
  Hash128 hash;
};

struct DeployedPlan {
  std::string module_name;
  std::string fingerprint;  // of the module before fusion
  std::string compiler;
  std::string processor;              // LLVM's name
  std::string architecture;           // "x86_64"
  std::vector<std::string> features;  // that the code may use (cpu_features.h)
  int64_t threads = 1;                // that its kernels were made for
  std::vector<ArrayLeaf> inputs, outputs;
  std::vector<DeployedJob> jobs;
  // Constants lie in the weights, at their `offset`. There is no setup: it was done when the module was built.
  Program program;
  FileMark code, weights;
};

std::string WritePlanFile(const DeployedPlan& plan);
// kDataLoss: torn or changed; kFailedPrecondition: of another version. Messages begin with `name`.
Status ReadPlanFile(std::string_view file, const std::string& name, DeployedPlan* plan);

}  // namespace smelt::runtime::deploy
