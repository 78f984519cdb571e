#include "sim/machine.h"

#include <algorithm>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "sim/gemm_kernel.h"

namespace smelt::sim {

using vdla::isa::Config;
using vdla::isa::Memory;
using vdla::isa::Program;
using vdla::isa::Role;
using vdla::isa::Segment;

Machine::Machine(const Config& config)
    : config_(config),
      inp_lanes_(config.batch * PairedLanes(config.block_in)),
      wgt_lanes_(config.block_out * PairedLanes(config.block_in)),
      acc_lanes_(config.batch * config.block_out),
      inp_(static_cast<size_t>(config.DepthOf(Memory::kInp) * inp_lanes_)),
      wgt_(static_cast<size_t>(config.DepthOf(Memory::kWgt) * wgt_lanes_)),
      acc_(static_cast<size_t>(config.DepthOf(Memory::kAcc) * acc_lanes_)),
      uop_(static_cast<size_t>(config.DepthOf(Memory::kUop))) {}

absl::StatusOr<std::unique_ptr<Machine>> Machine::Create(const Config& config) {
  SMELT_RETURN_IF_ERROR(config.Check());
  std::unique_ptr<Machine> machine(new Machine(config));
  SMELT_ASSIGN_OR_RETURN(machine->dram_, Dram::Create(config.dram_bytes));
  return machine;
}

absl::Status Machine::LoadSegments(const Program& program) {
  if (program.config != config_) {
    return absl::FailedPreconditionError(StrCat("program `", program.name, "` was made for the machine `",
                                                program.config.name, "`, and this one is `", config_.name,
                                                "` or differs from it in a field"));
  }
  for (const Segment& segment : program.segments) {
    if (segment.role == Role::kResult) continue;
    SMELT_RETURN_IF_ERROR(dram_->Zero(segment.address, segment.size));
    SMELT_RETURN_IF_ERROR(dram_->Write(segment.address, segment.bytes));
  }
  return absl::OkStatus();
}

absl::Status Machine::CheckResults(const Program& program) const {
  for (const Segment& segment : program.segments) {
    if (segment.role != Role::kResult) continue;
    if (!dram_->Holds(segment.address, segment.size))
      return absl::OutOfRangeError(StrCat("result `", segment.name, "` is outside DRAM"));
    const uint8_t* have = dram_->data() + segment.address;
    for (uint64_t at = 0; at < segment.size; ++at) {
      const uint8_t want = at < segment.bytes.size() ? static_cast<uint8_t>(segment.bytes[at]) : 0;
      if (have[at] == want) continue;
      return absl::DataLossError(
          StrCat("result `", segment.name, "` differs at byte ", at, ": it is ", have[at], " and should be ", want));
    }
  }
  return absl::OkStatus();
}

void Machine::ClearSram() {
  std::fill(inp_.begin(), inp_.end(), int16_t{0});
  std::fill(wgt_.begin(), wgt_.end(), int16_t{0});
  std::fill(acc_.begin(), acc_.end(), 0);
  std::fill(uop_.begin(), uop_.end(), 0u);
}

absl::StatusOr<std::string> Machine::ReadElement(Memory memory, int64_t element) const {
  if (element < 0 || element >= config_.DepthOf(memory))
    return absl::OutOfRangeError(StrCat("element ", element, " is outside ", NameOf(memory)));
  std::string bytes;
  const auto put = [&](int64_t value, int64_t size) {
    for (int64_t b = 0; b < size; ++b) bytes.push_back(static_cast<char>(value >> (8 * b)));
  };
  const int64_t paired = PairedLanes(config_.block_in);
  if (memory == Memory::kUop) put(uop_[static_cast<size_t>(element)], 4);
  if (memory == Memory::kInp) {
    for (int64_t b = 0; b < config_.batch; ++b) {
      for (int64_t k = 0; k < config_.block_in; ++k)
        put(inp_[static_cast<size_t>(element * inp_lanes_ + b * paired + k)], 1);
    }
  }
  if (memory == Memory::kWgt) {
    for (int64_t n = 0; n < config_.block_out; ++n) {
      for (int64_t k = 0; k < config_.block_in; ++k)
        put(wgt_[static_cast<size_t>(element * wgt_lanes_ + PairedWeight(n, k, config_.block_out))], 1);
    }
  }
  if (memory == Memory::kAcc || memory == Memory::kAcc8) {
    for (int64_t lane = 0; lane < acc_lanes_; ++lane) put(acc_[static_cast<size_t>(element * acc_lanes_ + lane)], 4);
  }
  return bytes;
}

}  // namespace smelt::sim
