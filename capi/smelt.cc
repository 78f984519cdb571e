#include "capi/smelt.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "fusion/kernel.h"
#include "gnn/predictor.h"
#include "gnn/ranking.h"
#include "hlo/cost_analysis.h"
#include "hlo/fingerprint.h"
#include "hlo/proto/reader.h"
#include "hlo/proto/writer.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "kernels/tiles/tiles.h"
#include "targets/calibrated_model.h"
#include "targets/cpu/processor/detect.h"
#include "targets/program.h"

struct SmeltModule {
  std::unique_ptr<smelt::hlo::Module> module;
};

struct SmeltPredictor {
  std::unique_ptr<smelt::gnn::Predictor> predictor;
  smelt::cpu::Target target;
};

namespace {

using nlohmann::json;

// A copy for the caller; null where there is no memory for it.
char* Copy(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

char* TextOrError(const absl::StatusOr<std::string>& result, char** error) {
  if (result.ok()) return Copy(*result);
  if (error != nullptr) *error = Copy(std::string(result.status().message()));
  return nullptr;
}

template <typename T>
T* OrError(absl::StatusOr<std::unique_ptr<T>> result, char** error) {
  if (result.ok()) return result->release();
  if (error != nullptr) *error = Copy(std::string(result.status().message()));
  return nullptr;
}

absl::StatusOr<std::unique_ptr<SmeltModule>> Read(std::string_view bytes, int form, const std::string& name) {
  auto module = std::make_unique<SmeltModule>();
  if (form == SMELT_TEXT) {
    SMELT_ASSIGN_OR_RETURN(module->module, smelt::hlo::ParseModule(bytes, {.file_name = name}));
  } else if (form == SMELT_PROTO) {
    SMELT_ASSIGN_OR_RETURN(module->module, smelt::hlo::ReadProto(bytes, {.file_name = name}));
  } else {
    return absl::InvalidArgumentError(absl::StrCat(name, ": form ", form, " is neither SMELT_TEXT nor SMELT_PROTO"));
  }
  return module;
}

absl::StatusOr<std::string> Inspect(const smelt::hlo::Module& module) {
  std::map<std::string, int64_t> opcodes;
  for (const smelt::hlo::Computation* computation : module.Computations()) {
    for (const smelt::hlo::Instruction* instruction : computation->Instructions())
      ++opcodes[std::string(smelt::hlo::OpcodeName(instruction->opcode()))];
  }
  std::vector<smelt::fusion::KernelCount> counts;
  SMELT_ASSIGN_OR_RETURN(const std::vector<smelt::fusion::Kernel> kernels,
                         smelt::fusion::ExtractKernels(module, &counts));
  double flops = 0, bytes = 0;
  json list = json::array();
  for (size_t i = 0; i < kernels.size(); ++i) {
    const smelt::hlo::CostAnalysis cost = smelt::hlo::AnalyzeCost(kernels[i].computation());
    flops += cost.flops * counts[i].runs;
    bytes += cost.bytes() * counts[i].runs;
    list.push_back({{"name", kernels[i].name},
                    {"hash", kernels[i].hash.ToHex()},
                    {"count", counts[i].stands},
                    {"runs", counts[i].runs},
                    {"instructions", kernels[i].computation().instruction_count()},
                    {"flops", cost.flops},
                    {"bytes", cost.bytes()}});
  }
  const json result{{"name", module.name()},
                    {"fingerprint", smelt::hlo::Fingerprint(module).ToHex()},
                    {"instructions", module.instruction_count()},
                    {"computations", module.Computations().size()},
                    {"opcodes", opcodes},
                    {"flops", flops},
                    {"bytes", bytes},
                    {"kernels", std::move(list)}};
  return smelt::JsonText(result);
}

absl::StatusOr<std::unique_ptr<SmeltModule>> Fuse(const smelt::hlo::Module& module, const std::string& fusion,
                                                  const std::string& target_name, bool passes) {
  SMELT_ASSIGN_OR_RETURN(const smelt::cpu::Target target, smelt::cpu::ParseTarget(target_name));
  smelt::targets::FusedProgram fused;
  if (passes) {
    SMELT_ASSIGN_OR_RETURN(const smelt::targets::Program program,
                           smelt::targets::PrepareProgram(module.Clone(), module.name()));
    SMELT_ASSIGN_OR_RETURN(fused, smelt::targets::FuseProgram(program, fusion, target));
  } else {
    SMELT_ASSIGN_OR_RETURN(fused, smelt::targets::FuseModule(module, fusion, target));
  }
  return std::make_unique<SmeltModule>(SmeltModule{std::move(fused.module)});
}

absl::StatusOr<std::unique_ptr<SmeltPredictor>> Open(const char* model, const std::string& target) {
  auto predictor = std::make_unique<SmeltPredictor>();
  SMELT_ASSIGN_OR_RETURN(predictor->target, smelt::cpu::ParseTarget(target));
  const smelt::cpu::Target& machine = predictor->target;
  const smelt::machine::TargetId id{.kind = "cpu", .cpu = machine.name, .threads = machine.threads};
  const std::string path = model != nullptr ? model : smelt::targets::DefaultModelPath(id, machine);
  if (path.empty() || path == "analytical") {
    predictor->predictor = smelt::gnn::Predictor::Analytical(machine);
  } else {
    SMELT_ASSIGN_OR_RETURN(predictor->predictor, smelt::gnn::Predictor::Load(path, machine));
  }
  return predictor;
}

absl::StatusOr<std::string> Predict(SmeltPredictor& predictor, const smelt::hlo::Module& module) {
  std::vector<smelt::fusion::KernelCount> counts;
  SMELT_ASSIGN_OR_RETURN(const std::vector<smelt::fusion::Kernel> kernels,
                         smelt::fusion::ExtractKernels(module, &counts));
  std::vector<const smelt::fusion::Kernel*> pointers;
  for (const smelt::fusion::Kernel& kernel : kernels) pointers.push_back(&kernel);
  SMELT_ASSIGN_OR_RETURN(const std::vector<double> seconds, predictor.predictor->PredictSeconds(pointers));
  double total = 0;
  json list = json::array();
  for (size_t i = 0; i < kernels.size(); ++i) {
    total += seconds[i] * counts[i].runs;
    list.push_back({{"name", kernels[i].name},
                    {"hash", kernels[i].hash.ToHex()},
                    {"count", counts[i].stands},
                    {"runs", counts[i].runs},
                    {"seconds", seconds[i]}});
  }
  const json result{{"seconds", total}, {"kernels", std::move(list)}};
  return smelt::JsonText(result);
}

absl::StatusOr<std::string> Rank(SmeltPredictor& predictor, const smelt::hlo::Module& module, const char* only,
                                 int64_t top, int64_t limit) {
  SMELT_ASSIGN_OR_RETURN(std::vector<smelt::fusion::Kernel> kernels, smelt::fusion::ExtractKernels(module));
  const smelt::fusion::Kernel* const found = only == nullptr ? nullptr : smelt::fusion::FindKernel(kernels, only);
  if (only != nullptr && found == nullptr)
    return absl::NotFoundError(absl::StrCat(module.name(), " has no kernel `", only, "`"));
  json result = json::array();
  for (const smelt::fusion::Kernel& kernel : kernels) {
    if (found != nullptr && &kernel != found) continue;
    absl::StatusOr<smelt::gnn::TileRanking> ranking =
        smelt::gnn::RankTiles(*predictor.predictor, kernel, predictor.target, std::max<int64_t>(limit, 2));
    if (!ranking.ok() && !absl::IsUnimplemented(ranking.status())) return ranking.status();
    json rows = json::array();
    if (ranking.ok()) {
      ranking->best.resize(std::min(ranking->best.size(), static_cast<size_t>(std::max<int64_t>(top, 0))));
      for (const smelt::gnn::RankedTile& ranked : ranking->best)
        rows.push_back({{"tile", ranked.tile.ToString()}, {"score", ranked.score}});
    }
    result.push_back({{"name", kernel.name}, {"hash", kernel.hash.ToHex()}, {"tiles", std::move(rows)}});
  }
  return smelt::JsonText(result);
}

}  // namespace

void smelt_free(void* text) { std::free(text); }

SmeltModule* smelt_module_read(const char* bytes, size_t size, int form, const char* name, char** error) {
  return OrError(Read({bytes, size}, form, name), error);
}
void smelt_module_delete(SmeltModule* module) { delete module; }

char* smelt_module_text(const SmeltModule* module) { return Copy(smelt::hlo::ToText(*module->module, {})); }

char* smelt_module_proto(const SmeltModule* module, size_t* size, char** error) {
  const absl::StatusOr<std::string> bytes = smelt::hlo::WriteProto(*module->module, smelt::hlo::ProtoForm::kBinary);
  if (bytes.ok()) *size = bytes->size();
  return TextOrError(bytes, error);
}

char* smelt_module_inspect(const SmeltModule* module, char** error) {
  return TextOrError(Inspect(*module->module), error);
}

SmeltModule* smelt_module_fuse(const SmeltModule* module, const char* fusion, const char* target, int passes,
                               char** error) {
  return OrError(Fuse(*module->module, fusion, target, passes != 0), error);
}

SmeltPredictor* smelt_predictor_open(const char* model, const char* target, char** error) {
  return OrError(Open(model, target), error);
}
void smelt_predictor_delete(SmeltPredictor* predictor) { delete predictor; }

char* smelt_predictor_describe(const SmeltPredictor* predictor) { return Copy(predictor->predictor->Describe()); }

char* smelt_predict(SmeltPredictor* predictor, const SmeltModule* module, char** error) {
  return TextOrError(Predict(*predictor, *module->module), error);
}

char* smelt_rank(SmeltPredictor* predictor, const SmeltModule* module, const char* kernel, int64_t top, int64_t limit,
                 char** error) {
  return TextOrError(Rank(*predictor, *module->module, kernel, top, limit), error);
}
