#include "tuner/xla/tiles.h"

#include "fusion/kernel.h"
#include "hlo/hash.h"

namespace smelt::tuner::xla {

std::string TileKey(const hlo::Instruction& instruction) {
  if (instruction.opcode() == hlo::Opcode::kWhile)
    return hlo::Hasher().Add("loop").Add(instruction.name()).Finish().ToHex();
  const absl::StatusOr<fusion::Kernel> kernel = fusion::ExtractKernel(instruction, /*layouts=*/true);
  return kernel.ok() ? kernel->hash.ToHex() : "";
}

std::string UncutKey() { return hlo::HashOf("uncut").ToHex(); }

}  // namespace smelt::tuner::xla
