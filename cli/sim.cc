// smelt sim: programs of VDLA on a simulated machine.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "cli/interrupt.h"
#include "cli/print_json.h"
#include "cli/verb.h"
#include "nlohmann/json.hpp"
#include "sim/estimate.h"
#include "sim/report.h"
#include "sim/roofline.h"
#include "sim/simulate.h"
#include "sim/trace.h"
#include "vdla/isa/assembly.h"
#include "vdla/isa/program_file.h"

namespace smelt::cli {
namespace {

using vdla::isa::Config;
using vdla::isa::Program;

struct SimFlags {
  std::vector<std::string> programs;
  std::string target, trace, roofline, binary, dram;
  bool functional = false, text = false, no_races = false, json = false;
  int64_t max_cycles = 0;
};

// Another machine for the program: its sizes, clock and timing may differ, the form of its data may not.
absl::Status ChangeMachine(const std::string& words, Program* program) {
  constexpr char kKind[] = "vdla:";
  if (!words.starts_with(kKind))
    return UsageError(absl::StrCat("--target=", words, ": `smelt sim` simulates vdla:pynq, vdla:big and vdla:FILE"));
  absl::StatusOr<Config> config = Config::Open(words.substr(sizeof(kKind) - 1));
  if (!config.ok()) return UsageError(std::string(config.status().message()));
  const Config& old = program->config;
  if (config->batch != old.batch || config->block_in != old.block_in || config->block_out != old.block_out) {
    return absl::FailedPreconditionError(absl::StrCat(program->name, " was made for blocks of ", old.batch, " x ",
                                                      old.block_in, " x ", old.block_out, ", and ", config->name,
                                                      " has ", config->batch, " x ", config->block_in, " x ",
                                                      config->block_out, ": it must be compiled again"));
  }
  program->config = *std::move(config);
  return vdla::isa::CheckProgram(*program);
}

// What DRAM holds after a run, in the files of --dram: PREFIX.NAME for each output.
absl::Status WriteOutputs(const std::string& prefix, const Program& program, const sim::Machine& machine) {
  for (const vdla::isa::Segment& segment : program.segments) {
    if (segment.role != vdla::isa::Role::kOutput) continue;
    SMELT_ASSIGN_OR_RETURN(const std::string bytes, machine.dram().Read(segment.address, segment.size));
    SMELT_RETURN_IF_ERROR(WriteFile(absl::StrCat(prefix, ".", segment.name), bytes));
  }
  return absl::OkStatus();
}

// One program; its report is printed, or added to `results`.
absl::Status Simulate(const SimFlags& flags, const Program& program, nlohmann::json* results,
                      std::vector<sim::RooflinePoint>* points) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<sim::Machine> machine, sim::Machine::Create(program.config));
  SMELT_RETURN_IF_ERROR(machine->LoadSegments(program));
  Interrupt interrupt;
  sim::Trace trace;
  sim::Options options;
  options.timing = flags.functional ? sim::Timing::kFunctional : sim::Timing::kCycle;
  options.find_races = !flags.no_races;
  options.cancel = interrupt.flag();
  if (flags.max_cycles > 0) options.max_cycles = flags.max_cycles;
  if (!flags.trace.empty()) options.trace = &trace;
  const sim::Report report = sim::Simulate(*machine, program.instructions, options);
  if (interrupt.Requested()) return Interrupt::End("nothing was kept");
  nlohmann::json result = nlohmann::json::parse(sim::ToJson(report, program));
  if (const absl::StatusOr<sim::Estimate> estimate = sim::EstimateCycles(program); estimate.ok())
    result["estimated_cycles"] = estimate->cycles;
  if (!flags.json) std::fputs(sim::ToTable(report, program).c_str(), stdout);
  if (!flags.trace.empty()) SMELT_RETURN_IF_ERROR(WriteFile(flags.trace, sim::ToChromeTrace(trace, program)));
  points->push_back(sim::PointOf(report, program));
  absl::Status status = report.ToStatus();
  if (status.ok()) status = machine->CheckResults(program);
  if (status.ok() && !flags.dram.empty()) status = WriteOutputs(flags.dram, program, *machine);
  result["ok"] = status.ok();
  results->push_back(std::move(result));
  return status;
}

absl::Status Sim(const SimFlags& flags) {
  if (!flags.trace.empty() && flags.programs.size() > 1) return UsageError("--trace takes one program");
  if (!flags.trace.empty() && flags.functional) return UsageError("--trace needs time, and --functional has none");
  if (!flags.binary.empty() && flags.programs.size() > 1) return UsageError("--out takes one program");
  nlohmann::json results = nlohmann::json::array();
  std::vector<sim::RooflinePoint> points;
  Config config;
  absl::Status failed;
  for (const std::string& path : flags.programs) {
    SMELT_ASSIGN_OR_RETURN(Program program, vdla::isa::ReadProgramFile(path));
    if (!flags.target.empty()) SMELT_RETURN_IF_ERROR(ChangeMachine(flags.target, &program));
    config = program.config;
    if (!flags.binary.empty()) SMELT_RETURN_IF_ERROR(vdla::isa::WriteProgramFile(flags.binary, program));
    if (flags.text) {
      std::fputs(vdla::isa::Disassemble(program).c_str(), stdout);
      continue;
    }
    failed = Simulate(flags, program, &results, &points);
    if (!failed.ok()) break;
  }
  if (flags.text) return absl::OkStatus();
  if (!flags.roofline.empty() && !points.empty())
    SMELT_RETURN_IF_ERROR(WriteFile(flags.roofline, sim::RooflineSvg(config, points)));
  if (flags.json) PrintJson(results);
  return failed;
}

}  // namespace

Action AddSim(Arguments& arguments) {
  auto flags = std::make_shared<SimFlags>();
  arguments.Add("PROGRAM", flags->programs, "Programs of VDLA, binary or text (docs/vdla.md)").Required();
  arguments.Add("--target", flags->target,
                "Simulate another machine than the program's own: vdla:pynq, vdla:big or vdla:FILE.json");
  arguments.AddFlag("--functional", flags->functional, "Results alone, without time");
  arguments.Add("--trace", flags->trace, "Write what each unit did when, for chrome://tracing or Perfetto");
  arguments.Add("--roofline", flags->roofline, "Write a roofline with a point for each program, as SVG");
  arguments.Add("--dram", flags->dram, "Write each output of the program to the file PREFIX.NAME");
  arguments.AddFlag("--no-races", flags->no_races, "Do not look for accesses that no token orders");
  arguments.Add("--max-cycles", flags->max_cycles, "End with an error after so many cycles").Positive();
  arguments.AddFlag("--text", flags->text, "Print the programs as text instead of running them");
  arguments.Add(kOutputFlag, flags->binary, "Write the program in its binary form");
  arguments.AddFlag("--json", flags->json, "Machine-readable result on standard output");
  return [flags] { return Sim(*flags); };
}

}  // namespace smelt::cli
