// A report for people and for machines.
//
//   std::fputs(ToTable(report, program).c_str(), stdout);
//   std::string json = ToJson(report, program);
#pragma once

#include <array>
#include <string>

#include "sim/simulate.h"
#include "vdla/isa/program.h"

namespace smelt::sim {

// Tenths of a per cent of a unit's cycles: busy, token, dma, port, queue. They sum to 1000 (the largest remainders are
// rounded up); all are 0 where the unit has no cycles.
std::array<int, 5> Shares(const UnitReport& unit);

// A line on the whole, a table of the units, and what went wrong.
std::string ToTable(const Report& report, const vdla::isa::Program& program);
// One object, indented.
std::string ToJson(const Report& report, const vdla::isa::Program& program);

}  // namespace smelt::sim
