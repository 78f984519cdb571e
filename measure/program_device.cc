#include "measure/program_device.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/child_process.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "hlo/golden/inputs.h"
#include "hlo/golden/safetensors.h"
#include "measure/channel.h"
#include "measure/protocol.h"
#include "measure/timing.h"

namespace smelt::measure {
namespace {

using nlohmann::json;

// A program whose first run takes so long has warmed up by it, and is one sample.
constexpr double kLongSeconds = 0.1;

absl::StatusOr<std::vector<hlo::Literal>> ReadInputs(const std::string& path, const std::vector<hlo::Shape>& leaves) {
  const auto refused = [](absl::string_view why) { return absl::UnavailableError(why); };
  const absl::StatusOr<hlo::SafetensorsFile> file = hlo::ReadSafetensors(path);
  if (!file.ok()) return refused(file.status().message());
  size_t count = 0;
  for (const hlo::NamedTensor& tensor : file->tensors) count += absl::StartsWith(tensor.name, "in.");
  if (count != leaves.size()) {
    return refused(absl::StrCat(path, ": has ", count, " inputs (in.0, in.1, ...), and the parameters have ",
                                leaves.size(), " arrays"));
  }
  std::vector<hlo::Literal> values;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::string name = absl::StrCat("in.", i);
    const hlo::Literal* stored = file->Find(name);
    if (stored == nullptr) return refused(absl::StrCat(path, ": has no input `", name, "`"));
    absl::StatusOr<hlo::Literal> value = hlo::FromStorable(*stored, leaves[i]);
    if (!value.ok()) return refused(absl::StrCat(path, ": input `", name, "`: ", value.status().message()));
    values.push_back(*std::move(value));
  }
  return values;
}

// Appends the least of a few samples: what was in the caches before is not the reference's.
absl::Status TakeReference(DeviceProgram& reference, std::vector<double>* seconds) {
  constexpr int kSamples = 3;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kSamples; ++i) {
    SMELT_ASSIGN_OR_RETURN(const double sample, reference.Sample());
    least = std::min(least, sample);
  }
  seconds->push_back(least);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<hlo::Literal>> MakeInputs(const InputSource& source, absl::Span<const hlo::Shape> leaves) {
  std::vector<hlo::Shape> plain;  // in the order of the file and of the formula
  for (const hlo::Shape& shape : leaves) plain.push_back(hlo::Shape::Array(shape.element_type, shape.dimensions));
  if (!source.file.empty()) return ReadInputs(source.file, plain);
  std::vector<hlo::Literal> values;
  for (size_t i = 0; i < plain.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(
        values.emplace_back(),
        hlo::MakeInput(plain[i], static_cast<int64_t>(i), RangeOf(source.inputs, static_cast<int64_t>(i), plain[i])));
  }
  return values;
}

absl::Status DeviceProgram::Prepare() {
  constexpr double kSampleSeconds = 100e-6;
  auto start = Clock::now();
  SMELT_RETURN_IF_ERROR(Run());
  is_long_ = Since(start) > kLongSeconds;
  if (is_long_) return absl::OkStatus();
  start = Clock::now();
  SMELT_RETURN_IF_ERROR(Run());
  runs_per_sample_ = std::clamp<int64_t>(static_cast<int64_t>(kSampleSeconds / std::max(Since(start), 1e-8)), 1, 2000);
  return absl::OkStatus();
}

absl::Status DeviceProgram::WarmUp() { return is_long_ ? absl::OkStatus() : Run(); }

absl::StatusOr<double> DeviceProgram::Sample() {
  const auto start = Clock::now();
  for (int64_t i = 0; i < runs_per_sample_; ++i) SMELT_RETURN_IF_ERROR(Run());
  return Since(start) / static_cast<double>(runs_per_sample_);
}

absl::StatusOr<json> ProgramDevice::Call(const json& request, double) {
  building_ = false;
  const absl::StatusOr<json> result = Dispatch(request);
  json reply = result.ok() ? *result : ErrorReply(result.status(), building_);
  if (const std::string trouble = TakeCacheTrouble(); !trouble.empty()) reply["cache_trouble"] = trouble;
  return reply;
}

absl::StatusOr<json> ProgramDevice::Dispatch(const json& request) {
  using Handler = absl::StatusOr<json> (ProgramDevice::*)(const json&);
  static constexpr std::pair<std::string_view, Handler> kHandlers[] = {
      {"hello", &ProgramDevice::Hello},
      {"load", &ProgramDevice::Load},
      {"time", &ProgramDevice::Time},
      {"kernel_seconds", &ProgramDevice::KernelSeconds},
      {"time_kernel", &ProgramDevice::TimeKernel},
      {"compile", &ProgramDevice::Compile},
      {"outputs", &ProgramDevice::Outputs},
      {"unload", &ProgramDevice::Unload},
      {"inject", &ProgramDevice::Inject},
  };
  const std::string what = request.value("do", "");
  for (const auto& [name, handler] : kHandlers) {
    if (name == what) return (this->*handler)(request);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown request `", what, "`"));
}

absl::StatusOr<DeviceProgram*> ProgramDevice::Find(int id) {
  auto it = programs_.find(id);
  if (it == programs_.end()) return absl::NotFoundError(absl::StrCat("no program ", id, " is loaded"));
  return it->second.get();
}

absl::StatusOr<json> ProgramDevice::Hello(const json&) {
  return json{{"protocol", kProtocolVersion}, {"pid", ::getpid()}};
}

absl::StatusOr<json> ProgramDevice::Load(const json& request) {
  building_ = true;
  InputSource source{.file = request.value("inputs_file", ""),
                     .distances = request.value("distances", std::vector<int64_t>())};
  const std::string usual(InputKindName(source.inputs.kind));
  SMELT_ASSIGN_OR_RETURN(source.inputs.kind, ParseInputKind(request.value("inputs", usual)));
  for (const auto& [leaf, limit] : request.value("limits", std::map<int64_t, int64_t>()))
    if (limit > 0) source.inputs.limits.emplace(leaf, limit);
  const auto start = Clock::now();
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<DeviceProgram> program, Build(request));
  json reply{{"compile_seconds", Since(start)}};
  building_ = false;
  SMELT_RETURN_IF_ERROR(program->TakeInputs(source));
  // Here, so that a crash falls to the program that causes it.
  if (request.value("warm_up", true)) SMELT_RETURN_IF_ERROR(program->Prepare());
  reply.update(program->ProgramFacts());
  reply["id"] = next_id_;
  programs_[next_id_++] = std::move(program);
  return reply;
}

absl::StatusOr<json> ProgramDevice::Time(const json& request) {
  std::vector<DeviceProgram*> programs;
  for (int id : request.value("ids", std::vector<int>())) {
    SMELT_ASSIGN_OR_RETURN(programs.emplace_back(), Find(id));
    SMELT_RETURN_IF_ERROR(programs.back()->WarmUp());
  }
  SampleLimits limits{.least_seconds = request.value("least_seconds", 0.0), .hopeless = request.value("hopeless", 0.0)};
  limits.rounds = request.value("rounds", limits.rounds);
  limits.seconds = request.value("seconds", limits.seconds);
  if (std::none_of(programs.begin(), programs.end(), [](const DeviceProgram* p) { return p->TimesVary(); }))
    limits = {.rounds = 1};
  SMELT_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> seconds,
                         TimeInTurn(programs.size(), limits, [&](size_t i) { return programs[i]->Sample(); }));
  return json{{"seconds", seconds}};
}

absl::StatusOr<json> ProgramDevice::KernelSeconds(const json& request) {
  SMELT_ASSIGN_OR_RETURN(DeviceProgram * program, Find(request.value("id", -1)));
  SMELT_ASSIGN_OR_RETURN(const DeviceProgram::KernelTimes times, program->TimeKernels(request.value("rounds", 3)));
  return json{{"seconds", times.seconds}, {"median", times.median}, {"executions", times.executions}};
}

absl::StatusOr<DeviceProgram*> ProgramDevice::Reference(const json& request) {
  if (reference_ != nullptr && reference_request_ == request) return reference_.get();
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<DeviceProgram> reference, BuildKernel(request));
  SMELT_RETURN_IF_ERROR(
      reference->TakeInputs({.within_program = true, .distances = request.value("distances", std::vector<int64_t>())}));
  SMELT_RETURN_IF_ERROR(reference->Prepare());
  reference_ = std::move(reference);
  reference_request_ = request;
  return reference_.get();
}

absl::StatusOr<json> ProgramDevice::TimeKernel(const json& request) {
  building_ = true;
  DeviceProgram* reference = nullptr;
  if (request.contains("reference")) {
    SMELT_ASSIGN_OR_RETURN(reference, Reference(request["reference"]));
  }
  const auto start = Clock::now();
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceProgram> kernel, BuildKernel(request));
  json reply{{"compile_seconds", Since(start)}};
  building_ = false;
  SMELT_RETURN_IF_ERROR(
      kernel->TakeInputs({.within_program = true, .distances = request.value("distances", std::vector<int64_t>())}));
  std::vector<double> reference_seconds;
  if (reference != nullptr) SMELT_RETURN_IF_ERROR(TakeReference(*reference, &reference_seconds));
  SMELT_RETURN_IF_ERROR(kernel->Prepare());
  SampleLimits limits{.rounds = std::max(request.value("repeats", 3), 3),
                      .seconds = request.value("seconds", 2.0),
                      .least_seconds = 5e-3,
                      .most_rounds = 25};
  if (!kernel->TimesVary()) limits = {.rounds = 1};
  SMELT_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> seconds,
                         TimeInTurn(1, limits, [&](size_t) { return kernel->Sample(); }));
  reply["seconds"] = seconds[0];
  if (reference != nullptr) {
    SMELT_RETURN_IF_ERROR(TakeReference(*reference, &reference_seconds));
    reply["reference_seconds"] = reference_seconds;
  }
  reply.update(kernel->KernelFacts());
  return reply;
}

absl::StatusOr<json> ProgramDevice::Compile(const json& request) {
  building_ = true;
  const auto start = Clock::now();
  SMELT_RETURN_IF_ERROR(BuildKernel(request).status());
  return json{{"compile_seconds", Since(start)}};
}

absl::StatusOr<json> ProgramDevice::Unload(const json& request) {
  programs_.erase(request.value("id", -1));
  return json::object();
}

absl::StatusOr<json> ProgramDevice::Outputs(const json& request) {
  SMELT_ASSIGN_OR_RETURN(DeviceProgram * program, Find(request.value("id", -1)));
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

absl::StatusOr<json> ProgramDevice::Inject(const json& request) {
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

int Serve(ProgramDevice& device) {
  std::set_new_handler([] { ::_exit(kOutOfMemoryExit); });
  for (;;) {
    const absl::StatusOr<json> request = ReceiveMessage(STDIN_FILENO, -1);
    if (!request.ok()) return 0;
    const absl::StatusOr<json> reply = device.Call(*request, 0);
    if (!reply.ok() || !SendMessage(3, *reply).ok()) return 0;
  }
}

}  // namespace smelt::measure
