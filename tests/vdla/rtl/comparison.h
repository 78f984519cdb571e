// Runs a program on the Verilog core and on both timings of the simulator, and compares what they leave behind.
//
//   Comparison run = RunEverywhere(OrderedProgram(config, segments, instructions));
//   EXPECT_EQ(run.difference, "");
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sim/simulate.h"
#include "sim/trace.h"
#include "vdla/isa/program.h"
#include "vdla/rtl/test_bench.h"

namespace smelt::vdla::rtl {

// Cycles that the instructions of one kind took.
struct Durations {
  int64_t core = 0, simulator = 0;
  int64_t instructions = 0;
  double most_apart = 0;  // of one instruction, as a share of the simulator's
};

struct Comparison {
  std::string difference;  // in DRAM, results, the order of retirement or the end; empty: none
  CoreRun core;
  sim::Report report;  // of the cycle timing
  sim::Trace trace;
  // GEMM and ALU instructions.
  Durations gemm, alu;
};
Comparison RunEverywhere(const isa::Program& program);

// The instructions one after the other, whatever they touch: each pops a token that the one before it pushes, where
// they are of different units, with an instruction of the compute unit that moves nothing between a load and a store. A
// FINISH is added. Flags are set by this function.
isa::Program OrderedProgram(const isa::Config& config, std::vector<isa::Segment> segments,
                            std::vector<isa::Instruction> instructions);

// Bytes of a segment.
std::string RandomBytes(std::mt19937_64& random, size_t size);
std::string BytesOf(const std::vector<int32_t>& values);
std::string BytesOf(const std::vector<isa::MicroOp>& micro_ops);

}  // namespace smelt::vdla::rtl
