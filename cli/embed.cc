// smelt embed: kernels of ours for a module that XLA compiles.
#include "targets/xla/embed/embed.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "cli/print_json.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "fusion/config_file.h"
#include "hlo/file/write.h"
#include "nlohmann/json.hpp"
#include "targets/cpu/processor/detect.h"
#include "targets/program.h"
#include "targets/xla/embed/link_table.h"
#include "targets/xla/program.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

struct EmbedFlags {
  std::string module, fusion = "priority", kernels = "all", folder;
  int threads = 1;
  bool json = false;
};

// The module fused as XLA takes it, without its library, and the tiles of a configuration file.
absl::StatusOr<std::unique_ptr<hlo::Module>> Fused(const EmbedFlags& flags, std::map<std::string, std::string>* tiles) {
  SMELT_ASSIGN_OR_RETURN(const targets::Program program, targets::LoadProgram(flags.module, targets::Simplify::kNo));
  SMELT_ASSIGN_OR_RETURN(const fusion::Space space, xla::XlaSpace(program));
  fusion::Config config;
  if (targets::IsFusionName(flags.fusion)) {
    SMELT_ASSIGN_OR_RETURN(config, targets::NamedFusion(space, program.flat, flags.fusion, nullptr));
  } else {
    SMELT_ASSIGN_OR_RETURN(const fusion::SavedConfig saved, fusion::LoadConfig(flags.fusion, space));
    config = saved.config;
    *tiles = saved.tiles;
  }
  return xla::LoopFusionProgram(space, config, {}, flags.threads);
}

absl::Status Embed(const EmbedFlags& flags) {
  embed::EmbedOptions options;
  options.which = flags.kernels == "contractions" ? embed::Which::kContractions : embed::Which::kAll;
  SMELT_ASSIGN_OR_RETURN(options.target, cpu::TargetOf({.kind = "cpu", .threads = flags.threads}));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module, Fused(flags, &options.tiles));
  SMELT_ASSIGN_OR_RETURN(const embed::Embedded embedded, embed::EmbedKernels(options, module.get()));

  const fs::path folder = flags.folder;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat(flags.folder, ": ", error.message()));
  SMELT_RETURN_IF_ERROR(hlo::WriteModuleFile((folder / "embedded.pb").string(), *module));
  SMELT_RETURN_IF_ERROR(WriteFile((folder / "table.c").string(), embed::LinkTable(embedded.kernels)));
  std::vector<std::string> objects;
  for (const embed::EmbeddedKernel& kernel : embedded.kernels) {
    objects.push_back(absl::StrCat(kernel.id, ".o"));
    SMELT_RETURN_IF_ERROR(WriteFile((folder / objects.back()).string(), kernel.object.elf));
  }
  if (!flags.json) {
    std::printf("%zu calls of %zu kernels in %s\n", embedded.calls.size(), embedded.kernels.size(),
                flags.folder.c_str());
    for (const embed::LeftKernel& left : embedded.left)
      std::printf("  XLA's: %s: %s\n", left.name.c_str(), left.reason.c_str());
    return absl::OkStatus();
  }
  nlohmann::json left = nlohmann::json::array();
  for (const embed::LeftKernel& kernel : embedded.left)
    left.push_back({{"name", kernel.name}, {"reason", kernel.reason}});
  const nlohmann::json report{{"calls", embedded.calls}, {"objects", objects}, {"left", left}};
  PrintJson(report);
  return absl::OkStatus();
}

}  // namespace

Action AddEmbed(Arguments& arguments) {
  auto flags = std::make_shared<EmbedFlags>();
  arguments.Add("MODULE", flags->module, "A module as XLA's passes left it with its fusion off").Required();
  arguments.Add(kOutputFlag, flags->folder, "Folder for embedded.pb, table.c and an object file a kernel").Required();
  AddFusionFlag(arguments, &flags->fusion);
  arguments.Add("--kernels", flags->kernels, "contractions: kernels with a dot or a convolution; all: of some size")
      .OneOf({"contractions", "all"})
      .ShowsDefault();
  arguments.Add("--threads", flags->threads, "Threads of XLA's pool").Between(1, 1024).ShowsDefault();
  arguments.AddFlag("--json", flags->json, "Machine-readable result on standard output");
  return [flags] { return Embed(*flags); };
}

}  // namespace smelt::cli
