#include "targets/cpu/worker/worker_main.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "measure/program_device.h"
#include "nlohmann/json.hpp"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/program/executable.h"
#include "targets/cpu/worker/loaded_program.h"

namespace smelt::cpu {
namespace {

using nlohmann::json;

class Worker : public measure::ProgramDevice {
 public:
  Worker(Target target, const std::string& cache_folder) : target_(std::move(target)), cache_(cache_folder) {}

 protected:
  absl::StatusOr<std::unique_ptr<measure::DeviceProgram>> Build(const json& request) override {
    ExecutableOptions options = OptionsOf(request);
    if (request.contains("knobs")) {
      for (const auto& [hex, way] : request["knobs"].items()) {
        SMELT_RETURN_IF_ERROR(AddChoice(hex, way.get<std::string>(), &options));
      }
    }
    return LoadedProgram::Compile(request.value("module", ""), target_, options, inputs_);
  }

  absl::StatusOr<std::unique_ptr<measure::DeviceProgram>> BuildKernel(const json& request) override {
    ExecutableOptions options = OptionsOf(request);
    const std::string way = request.value("way", "");
    if (!way.empty()) SMELT_RETURN_IF_ERROR(AddChoice(request.value("hash", ""), way, &options));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> program,
                           LoadedProgram::Compile(request.value("module", ""), target_, options, inputs_));
    // Else the times would be of something else than the kernel.
    if (program->executable().kernels().size() != 1) {
      return absl::InternalError(
          absl::StrCat("the kernel compiles to ", program->executable().kernels().size(), " kernels instead of one"));
    }
    const KernelInfo& kernel = program->executable().kernels()[0];
    // Native operations and the evaluator have no schedules.
    if (!way.empty() && (kernel.opaque || kernel.native)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "kernel `", kernel.name,
          "` has no schedules to choose from: ", kernel.native ? "it is a native operation" : kernel.opaque_reason));
    }
    return program;
  }

 private:
  ExecutableOptions OptionsOf(const json& request) {
    return {.cache = &cache_, .distances = request.value("distances", std::vector<int64_t>())};
  }
  // The knob of a kernel of ours is its schedule.
  static absl::Status AddChoice(const std::string& hex, const std::string& text, ExecutableOptions* options) {
    const std::optional<Hash128> hash = Hash128::FromHex(hex);
    if (!hash) return absl::InvalidArgumentError(absl::StrCat("`", hex, "` is no kernel hash"));
    SMELT_ASSIGN_OR_RETURN(options->schedules[*hash], kernels::config::ParseChoice(text));
    return absl::OkStatus();
  }

  Target target_;
  KernelCache cache_;
  InputPool inputs_;
};

}  // namespace

int WorkerMain(const std::string& target_text, const std::string& cache_folder) {
  absl::StatusOr<Target> target = ParseTarget(target_text);
  if (!target.ok()) return 2;
  Worker worker(*std::move(target), cache_folder);
  return measure::Serve(worker);
}

}  // namespace smelt::cpu
