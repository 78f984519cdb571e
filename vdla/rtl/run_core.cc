// Runs a program file on the Verilog core: run_core PROGRAM [--trace=FILE] [--dram=FILE]
//
// Prints the cycles, or the trap; the exit status is 0 where the program finished and its expected results are there.
// The trace has a line an instruction, `UNIT NUMBER START END`; the image has the bytes of DRAM up to the end of the
// last segment.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/write_file.h"
#include "sim/machine.h"
#include "vdla/isa/program_file.h"
#include "vdla/rtl/test_bench.h"

namespace smelt::vdla::rtl {
namespace {

struct Arguments {
  std::string program, trace, dram;
};

bool ReadArguments(int argc, char** argv, Arguments* arguments) {
  for (int n = 1; n < argc; ++n) {
    const std::string_view argument = argv[n];
    if (argument.starts_with("--trace=")) {
      arguments->trace = argument.substr(8);
    } else if (argument.starts_with("--dram=")) {
      arguments->dram = argument.substr(7);
    } else if (arguments->program.empty() && !argument.starts_with("-")) {
      arguments->program = argument;
    } else {
      return false;
    }
  }
  return !arguments->program.empty();
}

absl::Status Run(const Arguments& arguments) {
  SMELT_ASSIGN_OR_RETURN(const isa::Program program, isa::ReadProgramFile(arguments.program));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<sim::Machine> machine, sim::Machine::Create(program.config));
  SMELT_RETURN_IF_ERROR(machine->LoadSegments(program));
  SMELT_ASSIGN_OR_RETURN(const CoreRun run, RunOnCore(program, machine->dram()));
  if (!arguments.trace.empty()) SMELT_RETURN_IF_ERROR(WriteFile(arguments.trace, RetireTrace(run)));
  if (!arguments.dram.empty()) {
    uint64_t end = 0;
    for (const isa::Segment& segment : program.segments) end = std::max(end, segment.address + segment.size);
    SMELT_ASSIGN_OR_RETURN(const std::string image, machine->dram().Read(0, end));
    SMELT_RETURN_IF_ERROR(WriteFile(arguments.dram, image));
  }
  if (run.trap) {
    return absl::AbortedError(StrCat("instruction ", run.trap->instruction, " trapped: ", NameOf(run.trap->code)));
  }
  std::printf("%lld cycles, %zu instructions\n", static_cast<long long>(run.cycles), run.retired.size());
  return machine->CheckResults(program);
}

}  // namespace
}  // namespace smelt::vdla::rtl

int main(int argc, char** argv) {
  smelt::vdla::rtl::Arguments arguments;
  if (!smelt::vdla::rtl::ReadArguments(argc, argv, &arguments)) {
    std::fprintf(stderr, "usage: %s PROGRAM [--trace=FILE] [--dram=FILE]\n", argv[0]);
    return 2;
  }
  const absl::Status status = smelt::vdla::rtl::Run(arguments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
