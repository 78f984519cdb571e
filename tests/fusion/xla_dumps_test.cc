// XLA's own fusions against those of the xla-cpu heuristic, where the corpus of dumps is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "fusion/apply.h"
#include "fusion/heuristics/heuristics.h"
#include "hlo/file/read.h"
#include "tests/fusion/programs.h"

namespace smelt::fusion {
namespace {

// How many fusions hold the same opcodes, equally often; parameters, constants and bitcasts left out.
using Fusions = std::map<std::vector<hlo::Opcode>, int>;

Fusions FusionsOf(const hlo::Module& module) {
  Fusions fusions;
  for (const hlo::Computation* computation : module.Computations()) {
    for (const hlo::Instruction* instruction : computation->Instructions()) {
      if (instruction->opcode() != hlo::Opcode::kFusion) continue;
      std::vector<hlo::Opcode> opcodes;
      for (const hlo::Instruction* inside : instruction->called(0)->Instructions()) {
        const hlo::Opcode opcode = inside->opcode();
        if (opcode != hlo::Opcode::kParameter && opcode != hlo::Opcode::kConstant && opcode != hlo::Opcode::kBitcast) {
          opcodes.push_back(opcode);
        }
      }
      if (opcodes.size() < 2) continue;
      std::sort(opcodes.begin(), opcodes.end());
      ++fusions[opcodes];
    }
  }
  return fusions;
}

TEST(XlaDumps, MostOfXlasFusionsAreFound) {
  const std::string folder = CorpusFolder();
  if (folder.empty()) GTEST_SKIP() << "no corpus beside the repository";
  constexpr std::string_view kAfter = ".after_optimizations.hlo";
  int wanted = 0, found = 0;
  for (const std::string& path : FilesIn(folder + "/programs", kAfter)) {
    if (std::filesystem::file_size(path) > (1 << 20)) continue;  // three programs; time
    const std::string before = path.substr(0, path.size() - kAfter.size()) + ".before_fusion.hlo";
    const auto xla = hlo::ReadModuleFile(path);
    const auto module = hlo::ReadModuleFile(before);
    ASSERT_TRUE(xla.ok() && module.ok()) << path;
    const Space space = BuildSpace(**module);
    const Fusions ours = FusionsOf(*Apply(space, XlaCpuFusion(space)));
    for (const auto& [opcodes, count] : FusionsOf(**xla)) {
      wanted += count;
      const auto it = ours.find(opcodes);
      found += it == ours.end() ? 0 : std::min(count, it->second);
    }
  }
  if (wanted == 0) GTEST_SKIP() << "no dumps in " << folder << "/programs";
  EXPECT_GE(found, 0.95 * wanted) << found << " of " << wanted;
}

}  // namespace
}  // namespace smelt::fusion
