#include "targets/xla/calls.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/hash.h"
#include "base/str_cat.h"
#include "hlo/cost_analysis.h"
#include "hlo/passes/execution_counts.h"
#include "targets/xla/outline.h"
#include "targets/xla/tiles.h"

namespace smelt::xla {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

// Contractions in such a function are plain loops, about one operation a nanosecond: what may be tried at all.
constexpr double kMostOperations = 2e8;

// The order b01f_01io->b01f, for any number of windows.
bool IsLibraryOrder(const hlo::ConvolutionDimensions& d) {
  const auto windows = static_cast<int64_t>(d.input_spatial.size());
  for (int64_t i = 0; i < windows; ++i) {
    if (d.input_spatial[i] != i + 1 || d.kernel_spatial[i] != i || d.output_spatial[i] != i + 1) return false;
  }
  return d.input_batch == 0 && d.input_feature == windows + 1 && d.kernel_input_feature == windows &&
         d.kernel_output_feature == windows + 1 && d.output_batch == 0 && d.output_feature == windows + 1;
}

// Others become calls of a library that the function cannot reach.
bool IsPlainLoops(const Instruction& convolution) {
  const auto& attributes = convolution.attributes<hlo::ConvolutionAttributes>();
  const hlo::PrimitiveType type = convolution.shape().element_type;
  return attributes.feature_group_count > 1 || attributes.batch_group_count > 1 ||
         (type != hlo::PrimitiveType::kF32 && type != hlo::PrimitiveType::kF16) ||
         !IsLibraryOrder(attributes.dimensions) ||
         absl::c_any_of(attributes.window.dimensions,
                        [](const hlo::WindowDimension& d) { return d.base_dilation > 1 || d.reversal; });
}

bool CanBeEmitted(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kConvolution:
      return IsPlainLoops(instruction);
    case Opcode::kCustomCall:
    case Opcode::kFft:
    case Opcode::kSort:
    case Opcode::kTopK:
    case Opcode::kScatter:
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve:
    case Opcode::kRngBitGenerator:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
      return false;
    default:
      return true;
  }
}

bool IsContraction(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kDot || instruction.opcode() == Opcode::kConvolution;
}

constexpr std::string_view kMark = "xla_cpu_small_call";

bool IsCalled(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCall &&
         absl::c_any_of(instruction.raw_attributes(), [](const auto& attribute) {
           return attribute.name == "frontend_attributes" && attribute.value.find(kMark) != std::string::npos;
         });
}

// Adds up contractions below a loop; false where something there cannot be emitted.
bool AddLoop(const Instruction& loop, const absl::flat_hash_map<const Computation*, double>& counts,
             absl::flat_hash_set<const Computation*>* seen, double* operations) {
  for (const Computation* called : loop.called()) {
    if (!seen->insert(called).second) continue;
    const auto times = counts.find(called);
    for (const Instruction* instruction : called->Instructions()) {
      if (!CanBeEmitted(*instruction)) return false;
      if (IsContraction(*instruction))
        *operations += hlo::AnalyzeCost(*instruction).flops * (times == counts.end() ? 1 : times->second);
      if (!AddLoop(*instruction, counts, seen, operations)) return false;
    }
  }
  return true;
}

}  // namespace

Callable FindCallable(const hlo::Module& module) {
  const auto counts = hlo::ExecutionCounts(module);
  Callable callable;
  absl::flat_hash_set<const Computation*> seen;
  std::vector<const Computation*> open = {module.entry()};
  while (!open.empty()) {
    const Computation& computation = *open.back();
    open.pop_back();
    for (const Instruction* instruction : computation.Instructions()) {
      if (instruction->opcode() == Opcode::kWhile) {
        double operations = 0;
        absl::flat_hash_set<const Computation*> below;
        if (AddLoop(*instruction, counts, &below, &operations) && operations <= kMostOperations) {
          callable.loops.emplace(TileKey(*instruction), instruction->name());
          continue;  // what is in it goes with it
        }
      } else if (instruction->opcode() == Opcode::kConvolution && CanBeEmitted(*instruction) &&
                 hlo::AnalyzeCost(*instruction).flops <= kMostOperations) {
        const std::string key = TileKey(*instruction);
        if (!key.empty()) callable.convolutions.emplace(key, instruction->name());
      }
      if (IsCalled(*instruction)) continue;  // by XLA itself
      for (const Computation* called : instruction->called()) {
        if (seen.insert(called).second) open.push_back(called);
      }
    }
  }
  return callable;
}

void CallConvolutions(const Callable& callable, hlo::Module* module) {
  for (Computation* computation : module->ExecutedComputations()) {
    for (Instruction* instruction : computation->Instructions()) {
      if (instruction->opcode() == Opcode::kConvolution && callable.convolutions.contains(TileKey(*instruction)))
        MakeCall(instruction);
    }
  }
}

void MakeCall(Instruction* instruction) {
  Instruction* call = Outline(instruction, Opcode::kCall, {}, "called_");
  call->raw_attributes().push_back({"frontend_attributes", StrCat("{", kMark, "=\"true\"}")});
}

}  // namespace smelt::xla
