// What runs the code: what costs, features of models, structures of kernels and tiles may ask of it. No word of a CPU
// or of a GPU stands in it, so that all of them serve every target.
//
//   machine::Machine machine;                     // an ordinary machine, until a target fills it
//   double rate = machine.BandwidthOf(1 << 20);   // bytes/s of a working set of 1 MiB
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace smelt::machine {

// One level of the memory, as one core or one processing element sees it.
struct MemoryLevel {
  std::string scope;        // "l1", "l2", "l3", "memory" of a CPU; "shared" of a GPU; "inp", "wgt", "acc" of VDLA
  int64_t bytes;            // that it holds
  double bytes_per_second;  // reads of a working set that fits; of the last level: of a copy, read plus written bytes
};

// A line of a cache: what moves between the levels at a time, on every processor that there is code for.
inline constexpr int64_t kLineBytes = 64;

struct Machine {
  std::string name;           // of the processor, e.g. znver4; part of TargetId
  int vector_bytes = 64;      // widest vector
  int vector_registers = 32;  // of that width
  int threads = 1;            // workers of one kernel
  // Extensions of its instruction set by LLVM's names, such as avx512vnni, that templates of kernels may ask for.
  std::vector<std::string> instructions;
  // From the nearest to the furthest; the last one holds everything. Never fewer than two.
  std::vector<MemoryLevel> levels = {
      {"l1", 32 << 10, 2e11}, {"l2", 1 << 20, 1e11}, {"l3", 32 << 20, 5e10}, {"memory", INT64_MAX, 2e10}};
  double peak_flops_f32 = 1e11;  // flop/s of one core, fused multiply-add counted as two
  // flop/s of one core that begins one multiply-add of a whole vector a cycle, however many units there are for them:
  // only products of matrices fill a second one, everything else goes by loads, stores and steps. At most the peak.
  double vector_flops_f32 = 1e11;
  double launch_seconds = 2e-7;  // calling one kernel serially
  double fork_seconds = 4e-6;    // extra when it runs on several threads

  // Bytes of the `level`-th nearest memory that is not the last one; where there are fewer, of the furthest of these.
  int64_t LevelBytes(int level) const;
  // Bytes per second at which one core reads a working set of so many bytes again and again: those of the nearest level
  // that holds it easily, and between two levels as much of each as is found there.
  double BandwidthOf(double bytes) const;

  // The measured figures (flop/s, bytes/s, seconds) by name. Features of kernels follow them, so a trained model
  // carries those that it was trained under: they differ a little from one measurement to the next.
  std::map<std::string, double> Figures() const;
  // Figures from before `vector_flops_f32` was one of them lack it: it is the peak then. InvalidArgument: a name that
  // is no figure, or a value that is not above 0.
  absl::Status SetFigures(const std::map<std::string, double>& figures);
  // The same of the figures of another machine: bandwidths of levels that are not here are left out.
  absl::Status TakeFigures(std::map<std::string, double> figures);

 private:
  double* FigureOf(std::string_view name);
};

}  // namespace smelt::machine
