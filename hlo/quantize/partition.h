// Cuts a quantised program into what an accelerator runs and what stays on the CPU.
//
//   Partition cut = PartitionModule(module, Int8AcceleratorRule(module)).value();
//   std::cout << PartitionToText(cut);
//   for (const Region& region : cut.regions) std::cout << region.name << " " << region.multiply_adds;
//
// Each region of the accelerator becomes a computation, and a fusion instruction (kind=kCustom) in the entry that calls
// it: its operands are the region's inputs and its array constants (weights, multipliers), its result the values that
// something outside reads, in a tuple where there are several. The cut module is plain HLO that computes what the
// original did. A region is connected and convex: no value leaves it and comes back, so that regions run one after the
// other. Linear in the module.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo::quantize {

// Why the accelerator cannot run an instruction of the entry; empty: it can.
using AcceleratorRule = std::function<std::string(const Instruction&)>;

// What a machine for int8 contractions runs: convolutions and dots of s8 with sums of s32, biases and additions of s32,
// MULSHIFT rescalings (multiply_shift.h), clamps, conversions between s8 and s32, maxima and sums over windows of
// integers, and what rearranges integers. The rule is for instructions of this module.
AcceleratorRule Int8AcceleratorRule(const Module& module);

struct Region {
  bool accelerator = false;
  std::string name;
  Computation* computation = nullptr;         // accelerator: in the cut module; parameters are its operands
  Instruction* call = nullptr;                // accelerator: the fusion in the cut module's entry
  std::map<std::string, int64_t> operations;  // by opcode, without constants, broadcasts and parameters
  int64_t multiply_adds = 0;                  // of convolutions and dots
  int64_t bytes_in = 0, bytes_out = 0;        // of values that cross, each once a region
  int64_t constant_bytes = 0;                 // weights and the like, that need to cross once and for all
  std::map<std::string, int64_t> reasons;     // CPU: why, with how many operations
};

struct Partition {
  std::unique_ptr<Module> module;  // the cut one
  std::vector<Region> regions;     // in an order in which they may run
};

struct PartitionOptions {
  // Regions with less than this stay on the CPU: what only clamps or rearranges is not worth the way.
  int64_t least_multiply_adds = 1;
};

// Only the entry computation is cut; what it calls stays on the CPU. The module must verify; it is not changed.
absl::StatusOr<Partition> PartitionModule(const Module& module, const AcceleratorRule& rule,
                                          const PartitionOptions& options = {});

// A line a region: where it runs, its operations, multiply-adds, and the bytes that cross; then the sums.
std::string PartitionToText(const Partition& partition);

}  // namespace smelt::hlo::quantize
