// What Smelt compiles for: the machine's vector width, caches, and measured peaks.
//
//   Target target = Target::Host();             // detected, peaks measured once and kept in the cache folder
//   Target::Parse("cpu:znver4,threads=2")
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hlo/hash.h"

namespace smelt::kernels {

struct Target {
  std::string cpu;        // LLVM's name of the CPU, e.g. znver4
  std::string features;   // LLVM's feature string; empty: what the CPU name implies
  int vector_bytes = 64;  // widest vector
  int vector_registers = 32;
  int threads = 1;               // workers of one kernel
  int64_t l1_bytes = 32 << 10;   // per core
  int64_t l2_bytes = 1 << 20;    // per core
  int64_t l3_bytes = 32 << 20;   // shared
  double peak_flops_f32 = 1e11;  // flop/s of one core, fused multiply-add counted as two
  double l1_bandwidth = 2e11;    // bytes/s of one core, each level: reads of a working set that fits
  double l2_bandwidth = 1e11;
  double l3_bandwidth = 5e10;
  double memory_bandwidth = 2e10;  // copy, read plus written bytes
  double launch_seconds = 2e-7;    // calling one kernel serially
  double fork_seconds = 4e-6;      // extra when it runs on several threads

  static absl::StatusOr<Target> Parse(std::string_view text);
  // Detects the CPU; `measure` runs micro-benchmarks (about a second) unless the cache folder has this machine's.
  static Target Host(bool measure = true);
  std::string ToString() const;  // parses back (names, not peaks)
  // The measured figures (flop/s, bytes/s, seconds) by name. Features of kernels follow them, so a trained model
  // carries those that it was trained under: they differ a little from one measurement to the next.
  std::map<std::string, double> Figures() const;
  // InvalidArgument: a name that is no figure, or a value that is not above 0.
  absl::Status SetFigures(const std::map<std::string, double>& figures);
  // Covers what changes generated code: cpu, features, vector width. It is part of every cache key.
  hlo::Hash128 CodeHash() const;
};

}  // namespace smelt::kernels
