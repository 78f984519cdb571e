// Programs of VDLA: files, text and the machines in them; one that is legal then runs for a while on a simulated
// machine.
#include <string_view>

#include "sim/simulate.h"
#include "tests/fuzz/targets/target.h"
#include "vdla/isa/assembly.h"
#include "vdla/isa/encoding.h"
#include "vdla/isa/program_file.h"

namespace {

void Run(const smelt::vdla::isa::Program& program) {
  if (program.config.dram_bytes > int64_t{1} << 32) return;  // the fuzzer's own limit of memory
  auto machine = smelt::sim::Machine::Create(program.config);
  if (!machine.ok() || !(*machine)->LoadSegments(program).ok()) return;
  smelt::sim::Simulate(**machine, program.instructions, {.max_cycles = 100000, .max_seconds = 1});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt::vdla::isa;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  DecodeAll(bytes).status().IgnoreError();
  Config::Parse(bytes, "input").status().IgnoreError();
  if (const auto program = ParseProgram(bytes, "input"); program.ok()) Run(*program);
  if (const auto program = Assemble(bytes, "input"); program.ok()) Run(*program);
  return 0;
}
