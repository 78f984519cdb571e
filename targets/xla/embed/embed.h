// Fusions and contractions of a module that XLA compiles, replaced by calls of kernels that Smelt compiles.
//
//   Embedded embedded = EmbedKernels({.target = target}, &fused).value();
//   // fused now has custom-call(...), custom_call_target="smelt_kernel", backend_config={kernel = "k3f..."}
//   // embedded.kernels has the code of k3f...
//
// A call reads and writes whole arrays in the default layout, and nothing in place. What cannot be one stays as it is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/module.h"
#include "targets/cpu/codegen/target.h"
#include "targets/cpu/compile/compile.h"

namespace smelt::embed {

// What the calls name; its handler has one string attribute, `kernel`.
inline constexpr const char* kCallTarget = "smelt_kernel";

enum class Which : uint8_t {
  kContractions,  // kernels with a dot or a convolution: where code generators differ most
  kAll,           // every kernel of some size
};

struct EmbedOptions {
  cpu::Target target;
  Which which = Which::kAll;
  // Tiles that differ from the default, by canonical kernel hash; other texts are not looked at.
  std::map<std::string, std::string> tiles;
};

struct EmbeddedKernel {
  std::string id;  // of its code: letter and hexadecimal digits
  cpu::KernelObject object;
};

struct LeftKernel {
  std::string name;  // of the instruction
  std::string reason;
};

struct Embedded {
  std::vector<EmbeddedKernel> kernels;  // each once
  std::vector<std::string> calls;       // names of the instructions that became calls
  std::vector<LeftKernel> left;         // fusions and contractions that did not
};

// Changes the module. Linear in it beside the compilations.
absl::StatusOr<Embedded> EmbedKernels(const EmbedOptions& options, hlo::Module* module);

}  // namespace smelt::embed
