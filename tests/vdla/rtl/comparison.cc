#include "tests/vdla/rtl/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>

#include "base/str_cat.h"
#include "sim/machine.h"
#include "vdla/isa/encoding.h"

namespace smelt::vdla::rtl {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Unit;

std::unique_ptr<sim::Machine> MachineOf(const isa::Program& program) {
  std::unique_ptr<sim::Machine> machine = sim::Machine::Create(program.config).value();
  const absl::Status loaded = machine->LoadSegments(program);
  if (!loaded.ok()) std::abort();
  return machine;
}

// The first byte of a segment that differs.
std::string DramDifference(const isa::Program& program, const sim::Machine& core, const sim::Machine& simulator,
                           const char* timing) {
  for (const isa::Segment& segment : program.segments) {
    if (segment.role == isa::Role::kResult) continue;
    const uint8_t* a = core.dram().data() + segment.address;
    const uint8_t* b = simulator.dram().data() + segment.address;
    const auto [at, other] = std::mismatch(a, a + segment.size, b);
    if (at == a + segment.size) continue;
    return StrCat("segment ", segment.name, " differs at byte ", at - a, ": ", int{*at}, " by the core, ", int{*other},
                  " by the ", timing, " simulator");
  }
  return "";
}

// Instructions of each unit in the order in which they retired.
std::map<Unit, std::vector<int64_t>> OrderOf(const std::vector<sim::Retired>& retired) {
  std::map<Unit, std::vector<int64_t>> order;
  for (const sim::Retired& one : retired) order[one.unit].push_back(one.instruction);
  return order;
}

void AddDurations(const isa::Program& program, Comparison& run) {
  std::map<int64_t, int64_t> simulated;
  for (const sim::Retired& one : run.trace.retired) simulated[one.instruction] = one.end - one.start;
  for (const sim::Retired& one : run.core.retired) {
    const Instruction& instruction = program.instructions[static_cast<size_t>(one.instruction)];
    if (MicroOpsOf(instruction) == 0) continue;
    Durations& sum = instruction.opcode == Opcode::kGemm ? run.gemm : run.alu;
    const int64_t core = one.end - one.start, simulator = simulated[one.instruction];
    ++sum.instructions;
    sum.core += core;
    sum.simulator += simulator;
    sum.most_apart = std::max(sum.most_apart, std::abs(static_cast<double>(core - simulator)) /
                                                  static_cast<double>(std::max<int64_t>(simulator, 1)));
  }
}

// Whether the core stopped as the simulator did.
std::string EndDifference(const CoreRun& core, const sim::Report& report) {
  const bool stopped = report.end != sim::End::kFinished;
  if (stopped != core.trap.has_value()) {
    return StrCat("the core ", core.trap ? StrCat("trapped (", NameOf(core.trap->code), ")") : "finished",
                  ", the simulator says: ", stopped ? report.message : "finished");
  }
  if (stopped && report.end == sim::End::kTrap && report.instruction != core.trap->instruction) {
    return StrCat("the core stopped at instruction ", core.trap->instruction, ", the simulator at ",
                  report.instruction);
  }
  return "";
}

}  // namespace

Comparison RunEverywhere(const isa::Program& program) {
  Comparison run;
  const auto core = MachineOf(program), functional = MachineOf(program), cycle = MachineOf(program);
  const absl::StatusOr<CoreRun> ran = RunOnCore(program, core->dram(), 20'000'000);
  if (!ran.ok()) {
    run.difference = std::string(ran.status().message());
    return run;
  }
  run.core = *ran;
  const sim::Report at_once =
      sim::Simulate(*functional, program.instructions, {.timing = sim::Timing::kFunctional, .find_races = false});
  run.report = sim::Simulate(*cycle, program.instructions,
                             {.timing = sim::Timing::kCycle, .find_races = true, .trace = &run.trace});
  run.difference = EndDifference(run.core, run.report);
  // What the other units had done by the time of a trap depends on time, and an index that was moved may race.
  const bool trapped = run.report.end == sim::End::kTrap;
  if (run.difference.empty() && !trapped && run.report.race_count > 0)
    run.difference = run.report.races.front().message;
  if (run.difference.empty() && at_once.end != run.report.end) run.difference = at_once.message;
  if (run.difference.empty() && !trapped) run.difference = DramDifference(program, *core, *functional, "functional");
  if (run.difference.empty() && !trapped) run.difference = DramDifference(program, *core, *cycle, "cycle");
  if (run.difference.empty() && !run.core.trap && OrderOf(run.core.retired) != OrderOf(run.trace.retired))
    run.difference = "a unit retired its instructions in another order";
  if (const absl::Status results = core->CheckResults(program); run.difference.empty() && !results.ok())
    run.difference = std::string(results.message());
  AddDurations(program, run);
  return run;
}

isa::Program OrderedProgram(const isa::Config& config, std::vector<isa::Segment> segments,
                            std::vector<Instruction> instructions) {
  isa::Program program{.name = "ordered", .config = config, .segments = std::move(segments)};
  instructions.push_back({.opcode = Opcode::kFinish});
  const auto unit_number = [](const Instruction& i) { return static_cast<int>(UnitOf(i)); };
  for (Instruction next : instructions) {
    if (!program.instructions.empty()) {
      if (std::abs(unit_number(program.instructions.back()) - unit_number(next)) == 2) {
        const bool from_load = UnitOf(program.instructions.back()) == Unit::kLoad;
        (from_load ? program.instructions.back().push_next : program.instructions.back().push_prev) = true;
        program.instructions.push_back({.opcode = Opcode::kLoad, .memory = isa::Memory::kAcc});
        (from_load ? program.instructions.back().pop_prev : program.instructions.back().pop_next) = true;
      }
      const int step = unit_number(next) - unit_number(program.instructions.back());
      if (step > 0) program.instructions.back().push_next = next.pop_prev = true;
      if (step < 0) program.instructions.back().push_prev = next.pop_next = true;
    }
    program.instructions.push_back(next);
  }
  return program;
}

std::string RandomBytes(std::mt19937_64& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string BytesOf(const std::vector<int32_t>& values) {
  std::string bytes;
  for (const int32_t value : values) {
    for (int b = 0; b < 4; ++b) bytes.push_back(static_cast<char>(static_cast<uint32_t>(value) >> (8 * b)));
  }
  return bytes;
}

std::string BytesOf(const std::vector<isa::MicroOp>& micro_ops) {
  std::vector<int32_t> words;
  for (const isa::MicroOp& op : micro_ops) words.push_back(static_cast<int32_t>(isa::EncodeMicroOp(op)));
  return BytesOf(words);
}

}  // namespace smelt::vdla::rtl
