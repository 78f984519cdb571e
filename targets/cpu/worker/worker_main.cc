#include "targets/cpu/worker/worker_main.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/child_process.h"
#include "base/status_macros.h"
#include "hlo/golden/safetensors.h"
#include "measure/channel.h"
#include "measure/protocol.h"
#include "measure/timing.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/detect.h"
#include "targets/cpu/program/executable.h"
#include "targets/cpu/worker/loaded_program.h"

namespace smelt::cpu {
namespace {

using cpu::ExecutableOptions;
using cpu::KernelCache;
using cpu::Target;
using nlohmann::json;

class Worker {
 public:
  Worker(Target target, const std::string& cache_folder) : target_(std::move(target)), cache_(cache_folder) {}

  json Handle(const json& request) {
    building_ = false;
    const absl::StatusOr<json> result = Dispatch(request);
    json reply = result.ok() ? *result : measure::ErrorReply(result.status(), building_);
    if (const std::string trouble = TakeCacheTrouble(); !trouble.empty()) reply["cache_trouble"] = trouble;
    return reply;
  }

 private:
  absl::StatusOr<json> Dispatch(const json& request) {
    using Handler = absl::StatusOr<json> (Worker::*)(const json&);
    static constexpr std::pair<std::string_view, Handler> kHandlers[] = {
        {"hello", &Worker::Hello},
        {"load", &Worker::Load},
        {"time", &Worker::Time},
        {"kernel_seconds", &Worker::KernelSeconds},
        {"time_kernel", &Worker::TimeKernel},
        {"compile", &Worker::Compile},
        {"outputs", &Worker::Outputs},
        {"unload", &Worker::Unload},
        {"inject", &Worker::Inject},
    };
    const std::string what = request.value("do", "");
    for (const auto& [name, handler] : kHandlers) {
      if (name == what) return (this->*handler)(request);
    }
    return absl::InvalidArgumentError(absl::StrCat("unknown request `", what, "`"));
  }

  absl::StatusOr<LoadedProgram*> Find(int id) {
    auto it = programs_.find(id);
    if (it == programs_.end()) return absl::NotFoundError(absl::StrCat("no program ", id, " is loaded"));
    return it->second.get();
  }

  absl::StatusOr<json> Hello(const json&) { return json{{"protocol", measure::kProtocolVersion}, {"pid", ::getpid()}}; }

  absl::StatusOr<json> Load(const json& request) {
    building_ = true;
    ExecutableOptions options{.cache = &cache_};
    if (request.contains("knobs")) {
      for (const auto& [hex, way] : request["knobs"].items()) {
        SMELT_RETURN_IF_ERROR(AddTile(hex, way.get<std::string>(), &options));
      }
    }
    InputSource source{.file = request.value("inputs_file", "")};
    SMELT_ASSIGN_OR_RETURN(source.kind, measure::ParseInputKind(
                                            request.value("inputs", std::string(measure::InputKindName(source.kind)))));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> program,
                           LoadedProgram::Compile(request.value("module", ""), target_, options));
    json kernels = json::array();
    for (const auto& kernel : program->executable().kernels()) {
      kernels.push_back({{"name", kernel.name},
                         {"hash", kernel.hash.ToHex()},
                         {"opaque", kernel.opaque},
                         {"tile", kernel.tile},
                         {"flops", kernel.flops},
                         {"bytes", kernel.bytes}});
    }
    building_ = false;
    SMELT_RETURN_IF_ERROR(program->TakeInputs(source, inputs_));
    SMELT_RETURN_IF_ERROR(program->Prepare());  // here, so that a crash falls to the program that causes it
    const int id = next_id_++;
    json reply{{"id", id},
               {"compile_seconds", program->executable().compile_seconds()},
               {"arena_bytes", program->executable().arena_bytes()},
               {"kernels", std::move(kernels)}};
    programs_[id] = std::move(program);
    return reply;
  }

  // The knob of a kernel of ours is its tile.
  static absl::Status AddTile(const std::string& hex, const std::string& text, ExecutableOptions* options) {
    const std::optional<Hash128> hash = Hash128::FromHex(hex);
    if (!hash) return absl::InvalidArgumentError(absl::StrCat("`", hex, "` is no kernel hash"));
    SMELT_ASSIGN_OR_RETURN(options->tiles[*hash], kernels::nests::Tile::Parse(text));
    return absl::OkStatus();
  }

  absl::StatusOr<json> Time(const json& request) {
    std::vector<LoadedProgram*> programs;
    for (int id : request.value("ids", std::vector<int>())) {
      SMELT_ASSIGN_OR_RETURN(programs.emplace_back(), Find(id));
      SMELT_RETURN_IF_ERROR(programs.back()->Run());
    }
    measure::SampleLimits limits{.least_seconds = request.value("least_seconds", 0.0)};
    limits.rounds = request.value("rounds", limits.rounds);
    limits.seconds = request.value("seconds", limits.seconds);
    SMELT_ASSIGN_OR_RETURN(
        const std::vector<std::vector<double>> seconds,
        measure::TimeInTurn(programs.size(), limits, [&](size_t i) { return programs[i]->Sample(); }));
    return json{{"seconds", seconds}};
  }

  absl::StatusOr<json> KernelSeconds(const json& request) {
    SMELT_ASSIGN_OR_RETURN(LoadedProgram * program, Find(request.value("id", -1)));
    SMELT_ASSIGN_OR_RETURN(const LoadedProgram::KernelTimes times, program->TimeKernels(request.value("rounds", 3)));
    return json{{"seconds", times.seconds}, {"median", times.median}, {"executions", times.executions}};
  }

  absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadKernel(const json& request) {
    building_ = true;
    ExecutableOptions options{.cache = &cache_};
    const std::string way = request.value("way", "");
    if (!way.empty()) SMELT_RETURN_IF_ERROR(AddTile(request.value("hash", ""), way, &options));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> program,
                           LoadedProgram::Compile(request.value("module", ""), target_, options));
    // Else the times would be of something else than the kernel.
    if (program->executable().kernels().size() != 1) {
      return absl::InternalError(
          absl::StrCat("the kernel compiles to ", program->executable().kernels().size(), " kernels instead of one"));
    }
    const cpu::KernelInfo& kernel = program->executable().kernels()[0];
    // A kernel whose tile does not fit would run through the evaluator.
    if (!way.empty() && kernel.opaque) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernel `", kernel.name, "` does not run with tile ", way, ": ", kernel.opaque_reason));
    }
    building_ = false;
    SMELT_RETURN_IF_ERROR(program->TakeInputs({}, inputs_));
    return program;
  }

  absl::StatusOr<json> TimeKernel(const json& request) {
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> program, LoadKernel(request));
    SMELT_RETURN_IF_ERROR(program->Prepare());
    const measure::SampleLimits limits{.rounds = std::max(request.value("repeats", 3), 3),
                                       .seconds = request.value("seconds", 2.0),
                                       .least_seconds = 5e-3,
                                       .most_rounds = 25};
    SMELT_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> seconds,
                           measure::TimeInTurn(1, limits, [&](size_t) { return program->Sample(); }));
    const cpu::KernelInfo& kernel = program->executable().kernels()[0];
    return json{{"seconds", seconds[0]},
                {"compile_seconds", program->executable().compile_seconds()},
                {"trace", kernel.trace},
                {"tile", kernel.tile},
                {"opaque", kernel.opaque}};
  }

  absl::StatusOr<json> Compile(const json& request) {
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<LoadedProgram> program, LoadKernel(request));
    return json{{"compile_seconds", program->executable().compile_seconds()}};
  }

  absl::StatusOr<json> Unload(const json& request) {
    programs_.erase(request.value("id", -1));
    return json::object();
  }

  absl::StatusOr<json> Outputs(const json& request) {
    SMELT_ASSIGN_OR_RETURN(LoadedProgram * program, Find(request.value("id", -1)));
    SMELT_RETURN_IF_ERROR(program->Run());
    hlo::SafetensorsFile file;
    SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> outputs, program->Outputs());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].IsArray()) continue;
      file.tensors.push_back({absl::StrCat("out.", i), hlo::ToStorable(outputs[i])});
    }
    SMELT_RETURN_IF_ERROR(hlo::WriteSafetensors(request.value("file", ""), file));
    return json::object();
  }

  absl::StatusOr<json> Inject(const json& request) {
    const std::string fault = request.value("fault", "");
    if (fault == "crash") std::abort();
    if (fault == "spin") {
      static std::atomic<uint64_t> turns{0};  // an endless loop without side effect could be taken for unreachable
      for (;;) turns.fetch_add(1, std::memory_order_relaxed);
    }
    if (fault == "memory") {
      std::vector<std::unique_ptr<char[]>> blocks;
      for (;;) {
        blocks.emplace_back(new char[64 << 20]);
        std::fill_n(blocks.back().get(), 64 << 20, 1);
      }
    }
    return absl::InvalidArgumentError(absl::StrCat("unknown fault `", fault, "`"));
  }

  Target target_;
  KernelCache cache_;
  InputPool inputs_;
  std::map<int, std::unique_ptr<LoadedProgram>> programs_;
  int next_id_ = 0;
  bool building_ = false;
};

}  // namespace

int WorkerMain(const std::string& target_text, const std::string& cache_folder, int cpu) {
  if (cpu >= 0) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(cpu, &cores);
    ::sched_setaffinity(0, sizeof(cores), &cores);  // where it is not allowed, times are noisier and that is all
  }
  std::set_new_handler([] { ::_exit(kOutOfMemoryExit); });
  absl::StatusOr<Target> target = ParseTarget(target_text);
  if (!target.ok()) return 2;
  Worker worker(*std::move(target), cache_folder);
  for (;;) {
    absl::StatusOr<json> request = measure::ReceiveMessage(STDIN_FILENO, -1);
    if (!request.ok()) return 0;
    if (!measure::SendMessage(3, worker.Handle(*request)).ok()) return 0;
  }
}

}  // namespace smelt::cpu
