#include "targets/cpu/deploy/build_module.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "hlo/known/known_parameters.h"
#include "runtime/deploy/cpu_features.h"
#include "runtime/deploy/mapped_file.h"
#include "runtime/deploy/plan_file.h"
#include "runtime/execution.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/deploy/deployed_plan.h"
#include "targets/cpu/deploy/link_objects.h"
#include "targets/cpu/deploy/staging_folder.h"
#include "targets/cpu/program/run_status.h"
#include "targets/cpu/program/runs_here.h"

namespace smelt::cpu::deploy {
namespace {

namespace files = runtime::deploy;
using nlohmann::json;

void AppendLeaves(const hlo::Literal& literal, std::vector<const hlo::Literal*>* leaves) {
  if (literal.shape().IsTuple()) {
    for (const hlo::Literal& element : literal.elements()) AppendLeaves(element, leaves);
  } else if (literal.IsArray()) {
    leaves->push_back(&literal);
  }
}

std::vector<const hlo::Shape*> ArrayLeaves(const hlo::Shape& shape) {
  std::vector<const hlo::Shape*> leaves;
  shape.AppendLeaves(&leaves);
  std::erase_if(leaves, [](const hlo::Shape* leaf) { return !leaf->IsArray(); });
  return leaves;
}

files::ArrayLeaf LeafOf(const hlo::Shape& shape, std::string name) {
  return {std::move(name), std::string(hlo::PrimitiveTypeName(shape.element_type)), shape.dimensions, shape.ByteSize()};
}

// What the caller gives and gets, and where the values of the other inputs lie.
struct Signature {
  std::vector<files::ArrayLeaf> inputs, outputs;
  std::vector<const void*> known;  // one an array leaf of the parameters
};

absl::StatusOr<Signature> SignatureOf(const ModuleRequest& request) {
  Signature signature;
  const std::vector<hlo::Instruction*> parameters = request.fused->entry()->Parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const hlo::Instruction& parameter = *parameters[i];
    const std::vector<const hlo::Shape*> shapes = ArrayLeaves(parameter.shape());
    if (!hlo::IsKnownParameter(parameter)) {
      for (size_t k = 0; k < shapes.size(); ++k) {
        signature.inputs.push_back(
            LeafOf(*shapes[k], shapes.size() == 1 ? parameter.name() : absl::StrCat(parameter.name(), ".", k)));
        signature.known.push_back(nullptr);
      }
      continue;
    }
    std::vector<const hlo::Literal*> leaves;
    if (i < request.inputs.size()) AppendLeaves(request.inputs[i], &leaves);
    if (leaves.size() != shapes.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter `", parameter.name(), "` is to be part of the module, and its values are not given"));
    }
    for (const hlo::Literal* leaf : leaves) {
      static constexpr char kNothing[64] = {};
      signature.known.push_back(leaf->byte_size() > 0 ? leaf->raw() : kNothing);
    }
  }
  const std::vector<const hlo::Shape*> outputs = ArrayLeaves(request.fused->entry()->root()->shape());
  for (size_t k = 0; k < outputs.size(); ++k) signature.outputs.push_back(LeafOf(*outputs[k], absl::StrCat("out.", k)));
  return signature;
}

absl::Status RefuseOpaque(const CompiledProgram& compiled) {
  for (const KernelInfo& kernel : compiled.kernels) {
    if (!kernel.opaque) continue;
    return absl::UnimplementedError(absl::StrCat("`", kernel.name, "` of computation `", kernel.computation,
                                                 "` runs in the evaluator alone, which a deployable module does not "
                                                 "have: ",
                                                 kernel.opaque_reason));
  }
  return absl::OkStatus();
}

// Runs the setup; known inputs are all that it reads.
absl::Status SetUp(const ModuleRequest& request, const CompiledProgram& compiled, const Signature& signature,
                   std::unique_ptr<runtime::Execution>* execution) {
  if (compiled.program.setup.empty()) return absl::OkStatus();
  if (const absl::Status here = RunsHere(request.target, UsesTiles(compiled)); !here.ok()) {
    return absl::Status(here.code(), absl::StrCat("weights are packed by the kernels' own code, and ", here.message(),
                                                  " (without --weights, or where it can run)"));
  }
  SMELT_RETURN_IF_ERROR(ToAbsl(
      runtime::Execution::Create(compiled.program, compiled.jobs, std::max(request.target.threads, 1), execution)));
  return ToAbsl((*execution)->SetUp(signature.known, {}));
}

// The objects of the plan's kernels, each with symbols of its own, in the staging folder.
absl::Status CompileObjects(const ModuleRequest& request, const CompiledProgram& compiled, PlannedModule* module,
                            const StagingFolder& staging, std::vector<std::string>* objects) {
  module->plan.jobs.resize(module->jobs.size());
  std::vector<absl::Status> statuses(module->jobs.size());
  std::vector<std::string> paths(module->jobs.size());
  const auto compile = [&](size_t i) -> absl::Status {
    if (request.options.cancel != nullptr && *request.options.cancel) return absl::CancelledError("interrupted");
    const CompiledJob& job = compiled.compiled[static_cast<size_t>(module->jobs[i])];
    files::DeployedJob& deployed = module->plan.jobs[i];
    if (job.native) {
      deployed.is_native = true;
      deployed.native = *job.native;
      return absl::OkStatus();
    }
    // The schedule that it was planned with: what it takes is known.
    SMELT_ASSIGN_OR_RETURN(KernelObject object, CompileObject(job.source->computation(), request.target, job.options,
                                                              absl::StrCat("k", static_cast<int64_t>(i))));
    const runtime::KernelDescriptor& planned = job.code->code->descriptor();
    Check(object.descriptor.shared_bytes == planned.shared_bytes &&
              object.descriptor.phases.size() == planned.phases.size(),
          "a kernel that is compiled again has the phases that it was planned with");
    deployed.kernel = std::move(object.descriptor);
    paths[i] = staging.Path(absl::StrCat("k", static_cast<int64_t>(i), ".o"));
    return WriteFile(paths[i], object.elf);
  };
  runtime::ThreadPool pool(std::clamp<int>(request.target.threads, 1, static_cast<int>(module->jobs.size()) + 1));
  std::atomic<size_t> next = 0;
  pool.ParallelFor(pool.threads(), [&](int, int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; ++worker) {
      for (size_t i = next++; i < statuses.size(); i = next++) statuses[i] = compile(i);
    }
  });
  for (const absl::Status& status : statuses) SMELT_RETURN_IF_ERROR(status);
  for (std::string& path : paths) {
    if (!path.empty()) objects->push_back(std::move(path));
  }
  return absl::OkStatus();
}

absl::StatusOr<files::FileMark> MarkOf(const std::string& path) {
  files::MappedFile file;
  SMELT_RETURN_IF_ERROR(ToAbsl(files::MappedFile::Open(path, &file)));
  return files::FileMark{static_cast<int64_t>(file.bytes().size()), HashOf(file.bytes())};
}

absl::Status WriteWeights(const PlannedModule& module, const std::string& path) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Create(path));
  int64_t at = 0;
  const auto pad = [&](int64_t to) { return file->Write(std::string(static_cast<size_t>(to - at), '\0')); };
  for (const WeightPiece& piece : module.weights) {
    SMELT_RETURN_IF_ERROR(pad(piece.offset));
    SMELT_RETURN_IF_ERROR(file->Write(piece.bytes));
    at = piece.offset + static_cast<int64_t>(piece.bytes.size());
  }
  SMELT_RETURN_IF_ERROR(pad(module.plan.weights.bytes));
  return file->Finish();
}

json ToJson(const std::vector<files::ArrayLeaf>& leaves) {
  json list = json::array();
  for (const files::ArrayLeaf& leaf : leaves)
    list.push_back({{"name", leaf.name}, {"type", leaf.type}, {"dimensions", leaf.dimensions}, {"bytes", leaf.bytes}});
  return list;
}

json Manifest(const ModuleRequest& request, const files::DeployedPlan& plan) {
  const auto file = [](const files::FileMark& mark) {
    return json{{"bytes", mark.bytes}, {"hash", mark.hash.ToHex()}};
  };
  return {{"format", "smelt deployable module"},
          {"version", files::kPlanVersion},
          {"module", plan.module_name},
          {"fingerprint", plan.fingerprint},
          {"fusion", request.fusion},
          {"target", request.target.ToString()},
          {"architecture", plan.architecture},
          {"features", plan.features},
          {"threads", plan.threads},
          {"compiler", plan.compiler},
          {"inputs", ToJson(plan.inputs)},
          {"outputs", ToJson(plan.outputs)},
          {"kernels", plan.jobs.size()},
          {"arena_bytes", plan.program.arena_bytes},
          {"files", {{files::kCodeName, file(plan.code)}, {files::kWeightsName, file(plan.weights)}}}};
}

// The code, the weights, the plan that names both, and the manifest.
absl::Status WriteFiles(const ModuleRequest& request, const std::vector<std::string>& objects,
                        const StagingFolder& staging, PlannedModule* module) {
  files::DeployedPlan& plan = module->plan;
  if (!objects.empty()) {
    const std::string code = staging.Path(files::kCodeName), scratch = staging.Path("linker.txt");
    SMELT_RETURN_IF_ERROR(LinkObjects(objects, plan.architecture, code, scratch));
    for (const std::string& object : objects) ::unlink(object.c_str());
    ::unlink(scratch.c_str());
    SMELT_ASSIGN_OR_RETURN(plan.code, MarkOf(code));
  }
  const std::string weights = staging.Path(files::kWeightsName);
  SMELT_RETURN_IF_ERROR(WriteWeights(*module, weights));
  SMELT_ASSIGN_OR_RETURN(plan.weights, MarkOf(weights));
  SMELT_RETURN_IF_ERROR(WriteFile(staging.Path(files::kManifestName), JsonText(Manifest(request, plan), 2) + "\n"));
  return WriteFile(staging.Path(files::kPlanName), files::WritePlanFile(plan));
}

}  // namespace

absl::StatusOr<BuiltModule> BuildModule(const ModuleRequest& request, const std::string& folder) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<StagingFolder> staging, StagingFolder::Create(folder, files::kPlanName));
  SMELT_ASSIGN_OR_RETURN(Signature signature, SignatureOf(request));
  SMELT_ASSIGN_OR_RETURN(const CompiledProgram compiled,
                         CompileProgram(*request.fused, request.target, request.options));
  SMELT_RETURN_IF_ERROR(RefuseOpaque(compiled));
  SMELT_ASSIGN_OR_RETURN(const std::string architecture, codegen::ArchitectureOf(request.target));
  const auto names = files::FeatureNames(architecture);
  SMELT_ASSIGN_OR_RETURN(std::vector<std::string> features,
                         codegen::UsedFeatures(request.target, {names.begin(), names.end()}));
  // A process must ask for tiles: who loads a module that uses none need not.
  if (!UsesTiles(compiled))
    std::erase_if(features, [](const std::string& feature) { return feature.starts_with("amx-"); });
  std::unique_ptr<runtime::Execution> execution;
  SMELT_RETURN_IF_ERROR(SetUp(request, compiled, signature, &execution));

  PlannedModule module = PlanModule(compiled, signature.known, execution == nullptr ? nullptr : execution->kept_data());
  files::DeployedPlan& plan = module.plan;
  plan.module_name = request.fused->name();
  plan.fingerprint = request.fingerprint;
  plan.compiler = codegen::CompilerVersion();
  plan.processor = request.target.name;
  plan.architecture = architecture;
  plan.features = std::move(features);
  plan.threads = std::max(request.target.threads, 1);
  plan.inputs = std::move(signature.inputs);
  plan.outputs = std::move(signature.outputs);
  std::vector<std::string> objects;
  SMELT_RETURN_IF_ERROR(CompileObjects(request, compiled, &module, *staging, &objects));
  SMELT_RETURN_IF_ERROR(WriteFiles(request, objects, *staging, &module));
  SMELT_RETURN_IF_ERROR(staging->Commit());
  return BuiltModule{static_cast<int64_t>(plan.jobs.size()), plan.code.bytes, plan.weights.bytes,
                     plan.program.arena_bytes};
}

}  // namespace smelt::cpu::deploy
