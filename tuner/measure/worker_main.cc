#include "tuner/measure/worker_main.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/golden/inputs.h"
#include "hlo/golden/safetensors.h"
#include "hlo/status_macros.h"
#include "hlo/text/parser.h"
#include "kernels/compile/compile.h"
#include "kernels/runtime/executable.h"
#include "tuner/measure/channel.h"
#include "tuner/measure/worker_process.h"

namespace smelt::tuner {
namespace {

using kernels::KernelCache;
using kernels::Target;
using kernels::runtime::Executable;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A loaded program with its inputs and room for its outputs.
struct Program {
  std::unique_ptr<Executable> executable;
  std::vector<hlo::Literal> inputs;   // leaves
  std::vector<hlo::Literal> outputs;  // leaves
  std::vector<const void*> input_pointers;
  std::vector<void*> output_pointers;

  absl::Status Run() { return executable->RunInto(input_pointers, output_pointers); }
};

void AppendLeaves(hlo::Literal literal, std::vector<hlo::Literal>* leaves) {
  if (!literal.shape().IsTuple()) {
    leaves->push_back(std::move(literal));
    return;
  }
  for (hlo::Literal& element : literal.elements()) AppendLeaves(std::move(element), leaves);
}

absl::StatusOr<std::unique_ptr<Program>> Load(const std::string& text, const Target& target,
                                              const kernels::runtime::ExecutableOptions& options) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, hlo::ParseModule(text, {.file_name = "candidate"}));
  auto program = std::make_unique<Program>();
  SMELT_ASSIGN_OR_RETURN(program->executable, Executable::Compile(*module, target, options));
  SMELT_ASSIGN_OR_RETURN(std::vector<hlo::Literal> arguments, hlo::MakeInputs(*module));
  for (hlo::Literal& argument : arguments) AppendLeaves(std::move(argument), &program->inputs);
  std::vector<const hlo::Shape*> shapes;
  module->entry()->root()->shape().AppendLeaves(&shapes);
  for (const hlo::Shape* shape : shapes) {
    SMELT_ASSIGN_OR_RETURN(hlo::Literal output, hlo::Literal::Create(*shape));
    program->outputs.push_back(std::move(output));
  }
  for (const hlo::Literal& input : program->inputs) program->input_pointers.push_back(input.raw());
  for (hlo::Literal& output : program->outputs) program->output_pointers.push_back(output.raw());
  return program;
}

// One sample: enough runs that the clock's resolution does not matter, averaged.
absl::StatusOr<double> Sample(Program& program, int64_t runs) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < runs; ++i) SMELT_RETURN_IF_ERROR(program.Run());
  return Since(start) / static_cast<double>(runs);
}

// Warms up and returns how many runs make a sample of at least 50 us.
absl::StatusOr<int64_t> RunsPerSample(Program& program) {
  SMELT_RETURN_IF_ERROR(program.Run());
  SMELT_ASSIGN_OR_RETURN(const double once, Sample(program, 1));
  return std::clamp<int64_t>(static_cast<int64_t>(50e-6 / std::max(once, 1e-8)), 1, 1000);
}

class Worker {
 public:
  Worker(Target target, const std::string& cache_folder) : target_(std::move(target)), cache_(cache_folder) {}

  json Handle(const json& request) {
    building_ = false;
    absl::StatusOr<json> reply = Dispatch(request);
    if (reply.ok()) return *std::move(reply);
    return {{"error", std::string(reply.status().message())}, {"build", building_}};
  }

 private:
  absl::StatusOr<json> Dispatch(const json& request) {
    const std::string what = request.value("do", "");
    if (what == "hello") return json{{"pid", ::getpid()}};
    if (what == "load") return LoadProgram(request);
    if (what == "time") return Time(request);
    if (what == "time_kernel") return TimeKernel(request);
    if (what == "outputs") return Outputs(request);
    if (what == "unload") {
      programs_.erase(request.value("id", -1));
      return json::object();
    }
    if (what == "inject") return Inject(request.value("fault", ""));
    return absl::InvalidArgumentError(absl::StrCat("unknown request `", what, "`"));
  }

  absl::StatusOr<Program*> Find(int id) {
    auto it = programs_.find(id);
    if (it == programs_.end()) return absl::NotFoundError(absl::StrCat("no program ", id, " is loaded"));
    return it->second.get();
  }

  absl::StatusOr<json> LoadProgram(const json& request) {
    building_ = true;
    SMELT_ASSIGN_OR_RETURN(kernels::runtime::ExecutableOptions options, Options(request));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Program> program, Load(request.value("module", ""), target_, options));
    json kernels = json::array();
    for (const auto& kernel : program->executable->kernels()) {
      kernels.push_back(
          {{"name", kernel.name}, {"hash", kernel.hash.ToHex()}, {"opaque", kernel.opaque}, {"tile", kernel.tile}});
    }
    const double compile_seconds = program->executable->compile_seconds();
    const int id = next_id_++;
    programs_[id] = std::move(program);
    return json{{"id", id}, {"compile_seconds", compile_seconds}, {"kernels", kernels}};
  }

  // "tiles": {hash: "1x8x32"}.
  absl::StatusOr<kernels::runtime::ExecutableOptions> Options(const json& request) {
    kernels::runtime::ExecutableOptions options;
    options.cache = &cache_;
    if (!request.contains("tiles")) return options;
    for (const auto& [hex, text] : request["tiles"].items()) {
      auto hash = hlo::Hash128::FromHex(hex);
      if (!hash) return absl::InvalidArgumentError(absl::StrCat("`", hex, "` is no kernel hash"));
      SMELT_ASSIGN_OR_RETURN(options.tiles[*hash], kernels::space::Tile::Parse(text.get<std::string>()));
    }
    return options;
  }

  absl::StatusOr<json> Time(const json& request) {
    std::vector<Program*> programs;
    std::vector<int64_t> runs;
    for (int id : request.value("ids", std::vector<int>())) {
      SMELT_ASSIGN_OR_RETURN(Program * program, Find(id));
      SMELT_ASSIGN_OR_RETURN(runs.emplace_back(), RunsPerSample(*program));
      programs.push_back(program);
    }
    const int rounds = request.value("rounds", 5);
    const double limit = request.value("seconds", 10.0);
    std::vector<std::vector<double>> seconds(programs.size());
    const auto start = Clock::now();
    for (int round = 0; round < rounds && (round < 3 || Since(start) < limit); ++round) {
      // Every other round goes backwards, so that none always runs on the caches that another leaves.
      for (size_t k = 0; k < programs.size(); ++k) {
        const size_t i = round % 2 == 0 ? k : programs.size() - 1 - k;
        SMELT_ASSIGN_OR_RETURN(const double sample, Sample(*programs[i], runs[i]));
        seconds[i].push_back(sample);
      }
    }
    return json{{"seconds", seconds}};
  }

  absl::StatusOr<json> TimeKernel(const json& request) {
    building_ = true;
    kernels::runtime::ExecutableOptions options;
    options.cache = &cache_;
    const std::string tile = request.value("tile", "");
    if (!tile.empty()) {
      auto hash = hlo::Hash128::FromHex(request.value("hash", ""));
      if (!hash) return absl::InvalidArgumentError("a tile needs the kernel's hash");
      SMELT_ASSIGN_OR_RETURN(options.tiles[*hash], kernels::space::Tile::Parse(tile));
    }
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Program> program, Load(request.value("module", ""), target_, options));
    building_ = false;
    SMELT_ASSIGN_OR_RETURN(const int64_t runs, RunsPerSample(*program));
    const int repeats = request.value("repeats", 3);
    const double limit = request.value("seconds", 2.0);
    std::vector<double> seconds;
    const auto start = Clock::now();
    for (int i = 0; i < repeats && (i < 3 || Since(start) < limit); ++i) {
      SMELT_ASSIGN_OR_RETURN(seconds.emplace_back(), Sample(*program, runs));
    }
    json reply{{"seconds", seconds}, {"compile_seconds", program->executable->compile_seconds()}};
    if (program->executable->kernels().size() == 1) {
      const auto& kernel = program->executable->kernels()[0];
      reply["trace"] = kernel.trace;
      reply["tile"] = kernel.tile;
      reply["opaque"] = kernel.opaque;
    }
    return reply;
  }

  absl::StatusOr<json> Outputs(const json& request) {
    SMELT_ASSIGN_OR_RETURN(Program * program, Find(request.value("id", -1)));
    SMELT_RETURN_IF_ERROR(program->Run());
    hlo::SafetensorsFile file;
    for (size_t i = 0; i < program->outputs.size(); ++i) {
      if (program->outputs[i].shape().IsToken()) continue;
      file.tensors.push_back({absl::StrCat("out.", i), hlo::ToStorable(program->outputs[i])});
    }
    SMELT_RETURN_IF_ERROR(hlo::WriteSafetensors(request.value("file", ""), file));
    return json::object();
  }

  absl::StatusOr<json> Inject(const std::string& fault) {
    if (fault == "crash") std::abort();
    if (fault == "spin") {
      for (volatile uint64_t i = 0;; i = i + 1) {
      }
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
  std::map<int, std::unique_ptr<Program>> programs_;
  int next_id_ = 0;
  bool building_ = false;
};

}  // namespace

int WorkerMain(const std::string& target_text, const std::string& cache_folder) {
  std::set_new_handler([] { ::_exit(kOutOfMemoryExit); });
  absl::StatusOr<Target> target = Target::Parse(target_text);
  if (!target.ok()) return 2;
  Worker worker(*std::move(target), cache_folder);
  for (;;) {
    absl::StatusOr<json> request = ReceiveMessage(STDIN_FILENO, -1);
    if (!request.ok()) return 0;
    if (!SendMessage(3, worker.Handle(*request)).ok()) return 0;
  }
}

}  // namespace smelt::tuner
