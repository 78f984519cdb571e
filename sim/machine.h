// A simulated machine: its DRAM and the memories on its chip, which keep their contents from one run to the next as
// hardware does. What instructions do to it is executor.h's; when, simulate.h's.
//
//   std::unique_ptr<Machine> machine = Machine::Create(vdla::isa::Config::Named("pynq").value()).value();
//   absl::Status loaded = machine->LoadSegments(program);
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sim/dram.h"
#include "vdla/isa/config.h"
#include "vdla/isa/program.h"

namespace smelt::sim {

class Machine {
 public:
  // InvalidArgument: Config::Check. ResourceExhausted: DRAM is too large for this process.
  static absl::StatusOr<std::unique_ptr<Machine>> Create(const vdla::isa::Config& config);

  const vdla::isa::Config& config() const { return config_; }
  Dram& dram() { return *dram_; }
  const Dram& dram() const { return *dram_; }

  // Writes the bytes of constants, inputs, outputs and scratch into DRAM, zeros where a segment has none; not those of
  // results. FailedPrecondition: the program is for another machine. OutOfRange: outside DRAM.
  absl::Status LoadSegments(const vdla::isa::Program& program);
  // DataLoss names the first byte in which DRAM differs from a segment of role kResult.
  absl::Status CheckResults(const vdla::isa::Program& program) const;
  // The memories on the chip are zero again; DRAM is as it is.
  void ClearSram();

  // The contents of one element as it would lie in DRAM (acc: int32). OutOfRange: there is none.
  absl::StatusOr<std::string> ReadElement(vdla::isa::Memory memory, int64_t element) const;

 private:
  friend class Executor;
  explicit Machine(const vdla::isa::Config& config);

  const vdla::isa::Config config_;
  std::unique_ptr<Dram> dram_;
  // Inputs and weights are kept as the products want them (gemm_kernel.h): 16 bits a lane; a weight is [block_in / 2]
  // pairs of [block_out][2], with a zero at the end where block_in is odd.
  const int64_t inp_lanes_, wgt_lanes_, acc_lanes_;
  std::vector<int16_t> inp_, wgt_;
  std::vector<int32_t> acc_;
  std::vector<uint32_t> uop_;
};

}  // namespace smelt::sim
