#include "targets/xla/embed/embed.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/kernel.h"
#include "hlo/cost_analysis.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/xla/embed/hazards.h"

namespace smelt::embed {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

// A call takes about a tenth of a microsecond more than a kernel of XLA's.
constexpr double kLeastWork = 16 << 10;  // bytes moved and operations, together

bool IsContraction(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kDot || instruction.opcode() == Opcode::kConvolution;
}

template <typename Predicate>
bool AnyInside(const Instruction& instruction, Predicate predicate) {
  if (instruction.opcode() != Opcode::kFusion) return predicate(instruction);
  const std::vector<Instruction*> body = instruction.called(0)->Instructions();
  return std::any_of(body.begin(), body.end(), [&](const Instruction* i) { return predicate(*i); });
}

// Arrays in the default layout whose elements are whole bytes.
bool PlainArrays(const hlo::Shape& shape) {
  if (shape.IsTuple()) {
    return !shape.tuple_shapes.empty() &&
           std::all_of(shape.tuple_shapes.begin(), shape.tuple_shapes.end(),
                       [](const hlo::Shape& part) { return part.IsArray() && PlainArrays(part); });
  }
  return shape.IsArray() && shape.HasDefaultLayout() && !shape.IsDynamic() && shape.ElementCount() > 0 &&
         (shape.element_type == hlo::PrimitiveType::kPred || hlo::BitWidth(shape.element_type) >= 8);
}

std::string WhyNotACall(const Instruction& instruction, Which which, const InPlaceHazards& hazards) {
  if (which == Which::kContractions && !AnyInside(instruction, IsContraction)) return "no contraction";
  if (!PlainArrays(instruction.shape())) return "its result has a layout or elements that a call cannot write";
  for (const Instruction* operand : instruction.operands()) {
    if (!PlainArrays(operand->shape()) || !operand->shape().IsArray())
      return absl::StrCat("`", operand->name(), "` has a layout or elements that a call cannot read");
  }
  const bool updates = AnyInside(instruction, [](const Instruction& i) {
    return i.opcode() == Opcode::kDynamicUpdateSlice || i.opcode() == Opcode::kScatter;
  });
  if (updates) return "an update in place";
  if (hazards.Has(instruction)) return "it may write over what it reads";
  const hlo::CostAnalysis cost = hlo::AnalyzeCost(instruction);
  if (cost.bytes() + cost.flops + cost.transcendentals < kLeastWork) return "too small to be worth a call";
  return "";
}

class Embedding {
 public:
  Embedding(const EmbedOptions& options, hlo::Module* module)
      : options_(options), module_(*module), hazards_(*module) {}

  absl::StatusOr<Embedded> Run() {
    for (Computation* computation : module_.ExecutedComputations()) {
      for (Instruction* instruction : computation->Instructions()) {
        if (instruction->opcode() != Opcode::kFusion && !IsContraction(*instruction)) continue;
        std::string reason = WhyNotACall(*instruction, options_.which, hazards_);
        if (reason.empty()) reason = Replace(instruction);
        if (!reason.empty()) result_.left.push_back({instruction->name(), std::move(reason)});
      }
    }
    return std::move(result_);
  }

 private:
  // Empty: done. Else why not.
  std::string Replace(Instruction* instruction) {
    const absl::StatusOr<fusion::Kernel> kernel = fusion::ExtractKernel(*instruction);
    if (!kernel.ok()) return std::string(kernel.status().message());
    if (fusion::IsFree(kernel->computation())) return "it moves nothing";
    absl::StatusOr<kernels::config::ScheduleChoice> choice = kernels::config::ScheduleChoice();
    if (auto at = options_.tiles.find(kernel->hash.ToHex()); at != options_.tiles.end()) {
      choice = kernels::config::ParseChoice(at->second);
      if (!choice.ok()) return std::string(choice.status().message());
    }
    const absl::StatusOr<std::string> id = Compile(*kernel, *choice);
    if (!id.ok()) return std::string(id.status().message());
    std::vector<Instruction*> operands;
    for (int64_t operand : kernel->operands) operands.push_back(instruction->operand(operand));
    Instruction* call =
        instruction->parent()->Add(Opcode::kCustomCall, instruction->shape(), operands,
                                   hlo::CustomCallAttributes{kCallTarget}, absl::StrCat("smelt_", instruction->name()));
    call->raw_attributes() = {{"api_version", "API_VERSION_TYPED_FFI"},
                              {"backend_config", absl::StrCat("{kernel = \"", *id, "\"}")}};
    for (Instruction* before : instruction->control_predecessors()) call->AddControlPredecessor(before);
    for (Instruction* after : instruction->control_successors()) after->AddControlPredecessor(call);
    instruction->DropControlDependencies();
    result_.calls.push_back(instruction->name());
    instruction->ReplaceAllUsesWith(call);
    instruction->parent()->Remove(instruction);
    return "";
  }

  absl::StatusOr<std::string> Compile(const fusion::Kernel& kernel, const kernels::config::ScheduleChoice& choice) {
    Hasher hasher;
    hasher.Add("embedded").Add(kernel.hash).Add(options_.target.CodeHash()).Add(int64_t{options_.target.threads});
    hasher.Add(cpu::codegen::CompilerVersion()).Add(kernels::config::ToText(choice));
    std::string id = absl::StrCat("k", hasher.Finish().ToHex());
    if (compiled_.contains(id)) return id;
    SMELT_ASSIGN_OR_RETURN(cpu::KernelObject object, cpu::CompileObject(kernel.computation(), options_.target,
                                                                        {.schedule = choice, .known = {}}, id));
    compiled_.insert(id);
    result_.kernels.push_back({id, std::move(object)});
    return id;
  }

  const EmbedOptions& options_;
  hlo::Module& module_;
  const InPlaceHazards hazards_;
  std::set<std::string> compiled_;
  Embedded result_;
};

}  // namespace

absl::StatusOr<Embedded> EmbedKernels(const EmbedOptions& options, hlo::Module* module) {
  return Embedding(options, module).Run();
}

}  // namespace smelt::embed
