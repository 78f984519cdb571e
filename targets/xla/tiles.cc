#include "targets/xla/tiles.h"

#include "base/hash.h"
#include "fusion/kernel.h"

namespace smelt::xla {

std::string TileKey(const hlo::Instruction& instruction) {
  if (instruction.opcode() == hlo::Opcode::kWhile) return Hasher().Add("loop").Add(instruction.name()).Finish().ToHex();
  const absl::StatusOr<fusion::Kernel> kernel = fusion::ExtractKernel(instruction, /*layouts=*/true);
  return kernel.ok() ? kernel->hash.ToHex() : "";
}

std::string UncutKey() { return HashOf("uncut").ToHex(); }

}  // namespace smelt::xla
