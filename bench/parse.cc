// How fast HLO text is read and verified, and how much memory a module takes beside its text.
//
//   build/release/bench/parse models/*.hlo [--seconds=2] [--json]
//
// One core. Every module is read from memory again and again; the times are minima. Memory is what the allocator has
// given out for the module, without the text itself.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "bench/run_program.h"
#include "hlo/module.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"

namespace smelt::hlo {
namespace {

struct Flags {
  std::vector<std::string> modules;
  double seconds = 2;
  bool json = false;
};

struct Row {
  std::string path;
  double bytes = 0;      // of text
  double parse = 1e30;   // seconds
  double verify = 1e30;  // seconds
  double allocated = 0;  // bytes
  int64_t instructions = 0;
};

absl::StatusOr<Row> Measure(const std::string& path, double seconds) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) return absl::NotFoundError(path + ": cannot be read");
  const std::string text = content.str();
  Row row{.path = path, .bytes = static_cast<double>(text.size())};
  const Clock::time_point start = Clock::now();
  do {
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    Clock::time_point at = Clock::now();
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module,
                           ParseModule(text, {.file_name = path, .verify = false}));
    row.parse = std::min(row.parse, Since(at));
    row.allocated = static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd - before);
    row.instructions = module->instruction_count();
    at = Clock::now();
    SMELT_RETURN_IF_ERROR(VerifyModule(*module));
    row.verify = std::min(row.verify, Since(at));
  } while (Since(start) < seconds);
  return row;
}

absl::Status MeasureAll(const Flags& flags) {
  nlohmann::json json = nlohmann::json::array();
  if (!flags.json)
    std::printf("%9s %9s %12s %12s %12s  %s\n", "MB", "insts", "parse MB/s", "both MB/s", "memory/text", "module");
  for (const std::string& path : flags.modules) {
    SMELT_ASSIGN_OR_RETURN(const Row row, Measure(path, flags.seconds));
    json.push_back({{"module", path},
                    {"bytes", row.bytes},
                    {"instructions", row.instructions},
                    {"parse_seconds", row.parse},
                    {"verify_seconds", row.verify},
                    {"allocated_bytes", row.allocated}});
    if (!flags.json) {
      std::printf("%9.3f %9ld %12.1f %12.1f %12.1f  %s\n", 1e-6 * row.bytes, row.instructions,
                  1e-6 * row.bytes / row.parse, 1e-6 * row.bytes / (row.parse + row.verify), row.allocated / row.bytes,
                  path.c_str());
    }
  }
  if (flags.json) std::printf("%s\n", JsonText(json, 2).c_str());
  return absl::OkStatus();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("MODULES", flags->modules, "HLO text").Required();
  arguments.Add("--seconds", flags->seconds, "Of each module").Positive().ShowsDefault();
  arguments.AddFlag("--json", flags->json, "Machine-readable result");
  return [flags] { return MeasureAll(*flags); };
}

}  // namespace
}  // namespace smelt::hlo

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("parse", "Reads and verifies HLO text", smelt::hlo::Declare, argc, argv);
}
