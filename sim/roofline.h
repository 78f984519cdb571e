// The roofline of a machine with the point of each program (Williams, Waterman, Patterson, CACM 2009): operations a
// second over operations a byte of DRAM, in logarithms. Below the slope the bus is the bound, below the roof the
// multipliers.
//
//   std::string svg = RooflineSvg(program.config, {PointOf(report, program)});
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "sim/simulate.h"
#include "vdla/isa/config.h"
#include "vdla/isa/program.h"

namespace smelt::sim {

struct RooflinePoint {
  std::string name;
  double ops_per_byte = 0;  // two operations a multiplication; bytes read and written, instructions not counted
  double ops_per_second = 0;
};
RooflinePoint PointOf(const Report& report, const vdla::isa::Program& program);

// Points without operations or bytes are left out.
std::string RooflineSvg(const vdla::isa::Config& config, absl::Span<const RooflinePoint> points);

}  // namespace smelt::sim
