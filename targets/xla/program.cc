#include "targets/xla/program.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "fusion/apply.h"
#include "fusion/rules.h"
#include "fusion/unfuse.h"
#include "hlo/file/read.h"
#include "hlo/proto/reader.h"
#include "hlo/proto/writer.h"
#include "measure/comparison.h"
#include "nlohmann/json.hpp"
#include "targets/xla/calls.h"
#include "targets/xla/default_layouts.h"
#include "targets/xla/library_fusions.h"
#include "targets/xla/loop_fusions.h"
#include "targets/xla/loop_rules.h"
#include "targets/xla/loop_states.h"

namespace smelt::xla {
namespace {

using nlohmann::json;

absl::StatusOr<std::string> Encoded(const hlo::Module& module) {
  SMELT_ASSIGN_OR_RETURN(const std::string bytes, hlo::WriteProto(module, hlo::ProtoForm::kBinary));
  return absl::Base64Escape(bytes);
}

// XLA's code generator has integers of four and two bits side by side in bytes, which their layouts must say; its
// passes see to that in a module that it captured.
void PackSmallIntegers(hlo::Shape* shape) {
  for (hlo::Shape& element : shape->tuple_shapes) PackSmallIntegers(&element);
  if (!shape->IsArray() || !hlo::IsInteger(shape->element_type)) return;
  const int bits = hlo::BitWidth(shape->element_type);
  if (bits >= 8 || bits == 1 || shape->element_type == hlo::PrimitiveType::kPred) return;
  hlo::Layout layout;
  for (int64_t d : MajorToMinor(*shape)) layout.minor_to_major.insert(layout.minor_to_major.begin(), d);
  if (shape->layout) layout = *shape->layout;
  layout.element_size_in_bits = bits;
  shape->layout = std::move(layout);
}

// Where the captured form of a module is kept between runs; empty: nowhere. Of the version in worker.py.
std::string CacheFile(const std::string& module, const char* with, const std::string& cache_folder) {
  if (cache_folder.empty()) return "";
  const std::string what = absl::StrCat("xla capture, ", kXlaVersion, *with == 0 ? "" : ", ", with);
  const std::string name = Hasher().Add(what).Add(module).Finish().ToHex();
  return (std::filesystem::path(cache_folder) / absl::StrCat(name, ".xla.pb")).string();
}

// A cache that cannot be read or written costs time and nothing else.
std::unique_ptr<hlo::Module> FromCache(const std::string& file) {
  std::error_code error;
  if (file.empty() || !std::filesystem::is_regular_file(file, error)) return nullptr;
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ReadModuleFile(file);
  if (!module.ok()) return nullptr;
  NoteCacheUse(file);
  return *std::move(module);
}

absl::StatusOr<std::unique_ptr<hlo::Module>> Captured(const std::string& path, const std::string& module,
                                                      measure::KeptWorker& worker, double timeout_seconds,
                                                      const char* with) {
  const std::string& folder = worker.options().cache_folder;
  const std::string file = CacheFile(module, with, folder);
  if (std::unique_ptr<hlo::Module> known = FromCache(file)) return known;
  json request{{"do", "capture"}, {"module", module}};
  if (*with != 0) request[with] = true;
  const absl::StatusOr<json> reply = worker.Ask(request, timeout_seconds);
  if (!reply.ok()) {
    return absl::Status(reply.status().code(),
                        absl::StrCat(path, ": XLA's passes: ", std::string(reply.status().message())));
  }
  if (reply->contains("error"))
    return absl::UnimplementedError(absl::StrCat(path, ": XLA refuses the module: ", reply->value("error", "")));
  std::string bytes;
  if (!absl::Base64Unescape(reply->value("module", ""), &bytes))
    return absl::InternalError("the module that XLA's child sent is no base64");
  absl::StatusOr<std::unique_ptr<hlo::Module>> captured =
      hlo::ReadProto(bytes, {.file_name = absl::StrCat(path, " (after XLA's passes)")});
  if (captured.ok()) KeepInCache(folder, file, bytes);
  return captured;
}

// (f32[2,3], s32[])->f32[2], without layouts.
std::string ShapeOf(const hlo::Module& module) {
  std::string text = "(";
  for (const hlo::Instruction* parameter : module.entry()->Parameters())
    absl::StrAppend(&text, text.size() > 1 ? ", " : "", parameter->shape().ToString(/*with_layout=*/false));
  return absl::StrCat(text, ")->", module.entry()->root()->shape().ToString(/*with_layout=*/false));
}

// The capture of a file, which must be one of this module.
absl::StatusOr<std::unique_ptr<hlo::Module>> ReadCapture(const std::string& file, const hlo::Module& original) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> captured, hlo::ReadModuleFile(file));
  const std::string expected = ShapeOf(original), found = ShapeOf(*captured);
  if (expected != found) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": captured of another module: it computes ", found, ", the module ", expected));
  }
  return captured;
}

}  // namespace

absl::StatusOr<fusion::Unfused> FlatProgram(const hlo::Module& captured) {
  const std::unique_ptr<hlo::Module> held = captured.Clone();
  HoldLibraryFusions(held.get());
  SMELT_ASSIGN_OR_RETURN(fusion::Unfused flat, fusion::Unfuse(*held));
  OverwriteLate(flat.module.get());
  return flat;
}

absl::StatusOr<XlaProgram> ReadXlaProgram(const std::string& path) {
  XlaProgram program;
  program.program.path = path;
  SMELT_ASSIGN_OR_RETURN(program.program.original, hlo::ReadModuleFile(path));
  // A module that comes fused is taken apart: XLA's own passes are to see what its user wrote.
  SMELT_ASSIGN_OR_RETURN(const fusion::Unfused apart, fusion::Unfuse(*program.program.original));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> plain, WithDefaultLayouts(*apart.module));
  SMELT_ASSIGN_OR_RETURN(const std::string encoded, Encoded(*plain));
  program.xla_default = {.module_text = encoded, .compiler = "xla"};
  program.xla_no_library = {.module_text = encoded, .compiler = "xla_no_library"};
  return program;
}

absl::StatusOr<XlaProgram> LoadXlaProgram(const std::string& path, measure::KeptWorker& worker, double timeout_seconds,
                                          const CaptureFiles& files) {
  SMELT_ASSIGN_OR_RETURN(XlaProgram program, ReadXlaProgram(path));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> captured,
                         files.without_library.empty()
                             ? Captured(path, program.xla_default.module_text, worker, timeout_seconds, "")
                             : ReadCapture(files.without_library, *program.program.original));
  SMELT_ASSIGN_OR_RETURN(program.program.flat, FlatProgram(*captured));
  return program;
}

absl::Status FindLibraryKernels(measure::KeptWorker& worker, double timeout_seconds, XlaProgram* program,
                                const CaptureFiles& files) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> captured,
                         files.with_library.empty() ? Captured(program->program.path, program->xla_default.module_text,
                                                               worker, timeout_seconds, "library")
                                                    : ReadCapture(files.with_library, *program->program.original));
  std::set<std::string> handed;
  for (const hlo::Computation* computation : captured->ExecutedComputations()) {
    for (const hlo::Instruction* fusion : computation->Instructions()) {
      if (!IsLibraryFusion(*fusion)) continue;
      ++program->library_fusions;
      for (const hlo::Instruction* inside : fusion->called(0)->Instructions()) {
        if (IsLibraryOpcode(inside->opcode())) handed.insert(TileKey(*inside));
      }
    }
  }
  for (const hlo::Computation* computation : program->program.module().ExecutedComputations()) {
    for (const hlo::Instruction* instruction : computation->Instructions()) {
      if (!IsLibraryOpcode(instruction->opcode())) continue;
      const std::string key = TileKey(*instruction);
      if (!key.empty() && handed.contains(key)) program->library_kernels.emplace(key, instruction->name());
    }
  }
  return absl::OkStatus();
}

absl::Status FindOwnFusions(measure::KeptWorker& worker, double timeout_seconds, XlaProgram* program) {
  SMELT_ASSIGN_OR_RETURN(program->fused_by_xla, Captured(program->program.path, program->xla_default.module_text,
                                                         worker, timeout_seconds, "fusion"));
  return absl::OkStatus();
}

absl::Status TakeLibraryFusions(measure::KeptWorker& worker, double timeout_seconds, XlaProgram* program,
                                const CaptureFiles& files) {
  const std::string& path = program->program.path;
  const std::string& module = program->xla_default.module_text;
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> captured,
                         files.with_library.empty() ? Captured(path, module, worker, timeout_seconds, "library")
                                                    : ReadCapture(files.with_library, *program->program.original));
  SMELT_ASSIGN_OR_RETURN(fusion::Unfused flat, FlatProgram(*captured));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> own, Captured(path, module, worker, timeout_seconds, "default"));
  HoldLibraryFusions(own.get());
  program->program.flat = std::move(flat);
  program->fused_by_xla = std::move(own);
  program->library_kernels.clear();
  return absl::OkStatus();
}

absl::StatusOr<bool> LibraryIsFaster(measure::KeptWorker& worker, const measure::MeasurePolicy& policy,
                                     double timeout_seconds, XlaProgram* program) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                               std::chrono::duration<double>(timeout_seconds));
  std::vector<measure::Candidate> candidates = {program->xla_default, program->xla_no_library};
  const Callable callable = FindCallable(program->program.module());
  if (!callable.convolutions.empty() && FindOwnFusions(worker, timeout_seconds, program).ok()) {
    const std::unique_ptr<hlo::Module> called = program->fused_by_xla->Clone();
    CallConvolutions(callable, called.get());
    absl::StatusOr<measure::Candidate> candidate = XlaCandidate(*called);
    if (candidate.ok()) candidates.push_back(*std::move(candidate));
  }
  measure::Runner runner(worker.options(), policy);
  runner.SetDeadline(deadline);
  const std::vector<measure::Outcome> outcomes = runner.TimePrograms(candidates, policy.repeats, policy.seconds);
  if (runner.out_of_time()) return absl::DeadlineExceededError(absl::StrCat("no answer in ", timeout_seconds, " s"));
  double without = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].ok() && i < 2) return absl::InternalError(outcomes[i].message);
    if (outcomes[i].ok() && i > 0) without = std::min(without, outcomes[i].median());
  }
  return outcomes[0].median() < (1 - measure::kScreeningGain) * without;
}

absl::StatusOr<fusion::Space> XlaSpace(const targets::Program& program) {
  return fusion::Space::Build(program.module(), LoopRules());
}

std::unique_ptr<hlo::Module> LoopFusionProgram(const fusion::Space& space, const fusion::Config& config,
                                               const Tiles& tiles, int threads) {
  std::unique_ptr<hlo::Module> fused = fusion::Apply(space, config);
  ToLoopFusions({.threads = threads, .tiles = tiles}, fused.get());
  return fused;
}

absl::StatusOr<measure::Candidate> XlaCandidate(const hlo::Module& module) {
  const std::unique_ptr<hlo::Module> packed = module.Clone();
  for (hlo::Computation* computation : packed->Computations()) {
    for (hlo::Instruction* instruction : computation->Instructions()) PackSmallIntegers(&instruction->shape());
  }
  SMELT_ASSIGN_OR_RETURN(std::string encoded, Encoded(*packed));
  return measure::Candidate{.module_text = std::move(encoded), .compiler = "as_given"};
}

measure::Candidate XlaTrial(const XlaProgram& program, const fusion::Space& space, const fusion::Config& config,
                            const Tiles& tiles, const std::string& compiler, int threads) {
  if (compiler == program.xla_default.compiler) return program.xla_default;
  if (compiler == program.xla_no_library.compiler) return program.xla_no_library;
  absl::StatusOr<measure::Candidate> candidate = XlaCandidate(*LoopFusionProgram(space, config, tiles, threads));
  // A program beyond what a proto holds: the child refuses it, as it does everything that it cannot read.
  return candidate.ok() ? *std::move(candidate) : measure::Candidate{.compiler = "as_given"};
}

}  // namespace smelt::xla
