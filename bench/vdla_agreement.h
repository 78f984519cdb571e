// One random program under both timings of the simulator: the check that bench/vdla_random and the tests run.
//
//   AgreementCount count;
//   std::string difference = FindDisagreement(/*seed=*/7, &count);   // empty: all is well
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "base/str_cat.h"
#include "bench/vdla_random_program.h"
#include "sim/simulate.h"
#include "vdla/isa/assembly.h"

namespace smelt::bench {

struct AgreementCount {
  int64_t instructions = 0, tokens = 0;
};

// What differs between the timings, or how a run ended where it should have finished; empty where nothing is wrong.
inline std::string FindDisagreement(uint64_t seed, AgreementCount* count) {
  RandomProgram random = MakeRandomProgram(seed);
  vdla::isa::Program& program = random.program;
  count->instructions += static_cast<int64_t>(program.instructions.size());
  if (const auto back = vdla::isa::Assemble(vdla::isa::Disassemble(program), "text"); !back.ok() || *back != program)
    return StrCat("the text is read back otherwise: ", std::string(back.status().message()));
  std::string images[2];
  sim::Report report;
  const auto run = [&](sim::Timing timing, std::string* image) -> std::string {
    absl::StatusOr<std::unique_ptr<sim::Machine>> machine = sim::Machine::Create(program.config);
    if (!machine.ok()) return std::string(machine.status().message());
    if (const absl::Status loaded = (*machine)->LoadSegments(program); !loaded.ok())
      return std::string(loaded.message());
    report = sim::Simulate(**machine, program.instructions, {.timing = timing});
    if (image != nullptr) *image = (*machine)->dram().Read(0, static_cast<uint64_t>(program.config.dram_bytes)).value();
    return std::string(report.ToStatus().message());
  };
  for (const sim::Timing timing : {sim::Timing::kFunctional, sim::Timing::kCycle}) {
    if (std::string wrong = run(timing, &images[static_cast<int>(timing)]); !wrong.empty()) return wrong;
  }
  if (images[0] != images[1]) {
    const auto at = std::mismatch(images[0].begin(), images[0].end(), images[1].begin()).first - images[0].begin();
    return StrCat("byte ", at, " of DRAM differs between the timings");
  }
  for (const sim::UnitReport& unit : report.units) {
    const double total = unit.busy + unit.token + unit.dma + unit.port + unit.queue;
    if (std::abs(total - static_cast<double>(report.cycles)) > 1)
      return StrCat("a unit's cycles sum to ", total, ", and the run took ", report.cycles);
  }
  if (random.required.empty()) return "";
  // Without the pair, the two instructions that it ordered race.
  const TokenPair& pair = random.required[seed % random.required.size()];
  vdla::isa::Instruction& push = program.instructions[static_cast<size_t>(pair.push)];
  vdla::isa::Instruction& pop = program.instructions[static_cast<size_t>(pair.pop)];
  (UnitOf(push) < UnitOf(pop) ? push.push_next : push.push_prev) = false;
  (UnitOf(push) < UnitOf(pop) ? pop.pop_prev : pop.pop_next) = false;
  ++count->tokens;
  for (const sim::Timing timing : {sim::Timing::kFunctional, sim::Timing::kCycle}) {
    run(timing, nullptr);
    if (report.races.empty())
      return StrCat("no race is found without the token from instruction ", pair.push, " to ", pair.pop, ": ",
                    report.message);
  }
  return "";
}

}  // namespace smelt::bench
