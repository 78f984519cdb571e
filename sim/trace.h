// What each unit did when: filled by Simulate, shown by chrome://tracing or Perfetto, compared with hardware.
//
//   Trace trace;
//   Report report = Simulate(*machine, program.instructions, {.trace = &trace});
//   std::string json = ToChromeTrace(trace, program);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vdla/isa/instruction.h"
#include "vdla/isa/program.h"

namespace smelt::sim {

// Cycles of one instruction: from `ready` (it is at the head of its unit) it waits for tokens until `start`, works
// until `end`, and waits for room for its tokens until `retired`.
struct Retired {
  vdla::isa::Unit unit = vdla::isa::Unit::kLoad;
  int64_t instruction = 0;
  int64_t ready = 0, start = 0, end = 0, retired = 0;
};

class Trace {
 public:
  // The order in which instructions retire; of one unit, that of the program.
  std::vector<Retired> retired;
  // Times at which a transfer held the bus, in thousandths of a cycle, and whose it was (an index of a unit, or kUnits
  // for fetch).
  struct Transfer {
    int64_t begin = 0, end = 0;
    int owner = 0;
  };
  std::vector<Transfer> transfers;
};

// JSON in the Trace Event Format: a row a unit and one for the bus; times in microseconds of the machine's clock.
std::string ToChromeTrace(const Trace& trace, const vdla::isa::Program& program);

}  // namespace smelt::sim
