#include "targets/xla/loop_fusions.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/str_cat.h"
#include "hlo/cost_analysis.h"
#include "targets/xla/calls.h"
#include "targets/xla/default_layouts.h"
#include "targets/xla/library_fusions.h"
#include "targets/xla/loop_rules.h"
#include "targets/xla/loop_states.h"
#include "targets/xla/outline.h"

namespace smelt::xla {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

Instruction* Wrap(Instruction* instruction) {
  return Outline(instruction, Opcode::kFusion, hlo::FusionAttributes{hlo::FusionKind::kLoop}, "wrapped_");
}

// XLA's cost model for parallel tasks has it so: by bytes where these decide, else by operations.
int64_t WantedParts(const Instruction& fusion, int threads) {
  constexpr double kLeastBytes = 256 << 10, kLeastOperations = 100000;  // that pay for a further thread
  const hlo::CostAnalysis cost = hlo::AnalyzeCost(fusion);
  const double bytes = std::max(cost.bytes(), 1.0);
  const double work = cost.flops <= bytes ? bytes / kLeastBytes
                                          : (cost.flops + 2 * cost.transcendentals + 10 * bytes) / kLeastOperations;
  return static_cast<int64_t>(std::clamp(work, 1.0, static_cast<double>(threads)));
}

// Parts of the outer dimensions, from the outermost on, that together are at most the wanted ones.
std::vector<int64_t> Partitions(const Instruction& fusion, int threads) {
  if (!fusion.shape().IsArray() || fusion.called(0)->root()->opcode() == Opcode::kDynamicUpdateSlice) return {};
  int64_t wanted = WantedParts(fusion, threads);
  std::vector<int64_t> parts;
  for (int64_t d : MajorToMinor(fusion.shape())) {
    if (wanted <= 1) break;
    parts.push_back(std::min(wanted, fusion.shape().dimensions[d]));
    wanted /= std::max<int64_t>(parts.back(), 1);
  }
  while (!parts.empty() && parts.back() == 1) parts.pop_back();
  return parts;
}

// How the instruction is to run, or nothing.
std::string TileOf(const Instruction& instruction, const Tiles& tiles) {
  if (tiles.empty()) return "";
  if (instruction.opcode() != Opcode::kWhile && !IsLibraryOpcode(instruction.opcode())) return "";
  const auto tile = tiles.find(TileKey(instruction));
  return tile == tiles.end() ? "" : tile->second;
}

void HandToLibrary(Instruction* instruction) {
  Instruction* fusion = Wrap(instruction);
  fusion->mutable_attributes<hlo::FusionAttributes>().kind = hlo::FusionKind::kCustom;
  fusion->raw_attributes().push_back(
      {"backend_config",
       StrCat("{\"outer_dimension_partitions\":[],\"fusion_config\":{\"kind\":\"", kLibraryFusion, "\"}}")});
}

void SetPartitions(const std::vector<int64_t>& parts, Instruction* fusion) {
  std::erase_if(fusion->raw_attributes(), [](const hlo::RawAttribute& a) { return a.name == "backend_config"; });
  if (parts.empty()) return;
  std::string text = "{\"outer_dimension_partitions\":[";
  for (size_t i = 0; i < parts.size(); ++i) StrAppend(&text, i > 0 ? "," : "", "\"", parts[i], "\"");
  fusion->raw_attributes().push_back({"backend_config", StrCat(text, "]}")});
}

}  // namespace

bool IsLibraryOpcode(Opcode opcode) {
  return opcode == Opcode::kDot || opcode == Opcode::kConvolution || opcode == Opcode::kReduce;
}

void ToLoopFusions(const LoopFusionOptions& options, hlo::Module* module) {
  const int threads = options.tiles.contains(UncutKey()) ? 1 : options.threads;
  ReleaseLibraryFusions(module);
  SettleOverwriting(module);
  for (Computation* computation : module->ExecutedComputations()) {
    for (Instruction* instruction : computation->Instructions()) {
      if (const std::string tile = TileOf(*instruction, options.tiles); !tile.empty()) {
        if (tile == kLibraryTile && IsLibraryOpcode(instruction->opcode())) HandToLibrary(instruction);
        if (tile == kCallTile) MakeCall(instruction);
        continue;
      }
      Instruction* fusion = instruction;
      if (instruction->opcode() == Opcode::kFusion) {
        if (instruction->attributes<hlo::FusionAttributes>().kind == hlo::FusionKind::kCustom) continue;
        instruction->mutable_attributes<hlo::FusionAttributes>().kind = hlo::FusionKind::kLoop;
      } else if (RunsAsLoopFusion(*instruction)) {
        fusion = Wrap(instruction);
      } else {
        continue;
      }
      SetPartitions(threads > 1 ? Partitions(*fusion, threads) : std::vector<int64_t>(), fusion);
    }
  }
}

}  // namespace smelt::xla
