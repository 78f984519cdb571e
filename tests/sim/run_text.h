// Programs as text, run on a machine of their own.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/simulate.h"
#include "vdla/isa/assembly.h"

namespace smelt::sim {

struct TextRun {
  vdla::isa::Program program;
  std::unique_ptr<Machine> machine;
  Report report;

  // Segment `name` after the run, as numbers of that type.
  template <typename Value>
  std::vector<Value> Values(const std::string& name) const {
    const vdla::isa::Segment* segment = program.Find(name);
    std::vector<Value> values(segment->size / sizeof(Value));
    std::memcpy(values.data(), machine->dram().data() + segment->address, segment->size);
    return values;
  }
};

inline TextRun RunProgram(vdla::isa::Program program, Options options = {}) {
  TextRun run{std::move(program), nullptr, {}};
  absl::StatusOr<std::unique_ptr<Machine>> machine = Machine::Create(run.program.config);
  EXPECT_TRUE(machine.ok()) << machine.status();
  run.machine = *std::move(machine);
  EXPECT_TRUE(run.machine->LoadSegments(run.program).ok());
  run.report = Simulate(*run.machine, run.program.instructions, options);
  return run;
}

// The lines that follow `.vdla 1` and `.machine`.
inline TextRun RunText(const std::string& text, Options options = {}, const std::string& machine = "pynq") {
  absl::StatusOr<vdla::isa::Program> program =
      vdla::isa::Assemble(".vdla 1\n.machine " + machine + "\n" + text, "text");
  EXPECT_TRUE(program.ok()) << program.status();
  return RunProgram(program.value_or(vdla::isa::Program{}), options);
}

}  // namespace smelt::sim
