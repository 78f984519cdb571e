#include "tests/cli/every_verb.h"

#include <sstream>

#include "tests/cli/tool.h"
#include "tests/patience.h"

namespace smelt::cli {

std::vector<std::string> Verbs() {
  std::vector<std::string> verbs;
  std::istringstream help(RunTool({"help"}).out);
  bool listed = false;  // verbs follow the first group, flags come before
  for (std::string line; std::getline(help, line);) {
    if (line == "Look at a module:") listed = true;
    if (!listed || !line.starts_with("  ")) continue;
    std::istringstream words(line);
    words >> verbs.emplace_back();
  }
  return verbs;
}

std::vector<std::vector<std::string>> LineOfEachVerb(const std::filesystem::path& folder,
                                                     const std::filesystem::path& run) {
  const std::string module = (folder / "small.hlo").string(), corpus = (folder / "corpus").string(),
                    model = (folder / "m.smeltmodel").string();
  WriteFile(module, SmallProgram());
  return {
      {"inspect", module, "--json"},
      {"opt", module},
      {"opcodes"},
      {"quantize", module, "--inputs=2", "--json"},
      {"tune", module, "--out=" + run.string(), "--hardware-seconds=0.2", "--moves=100", "--model=analytical",
       "--json"},
      {"db", "list", (run / "records.db").string(), "--json"},
      {"embed", module, "--out=" + (folder / "embedded").string(), "--json"},
      {"build", module, "--out=" + (folder / "small.smeltmod").string(), "--json"},
      {"run", module},
      {"bench", module, "--seconds=0.05", "--json"},
      {"sim", SMELT_SOURCE_DIR "/models/products.vdla", "--json"},
      {"cache", "--json"},
      {"profile", module, "-o", corpus, "--configs=1", "--kernels=4", "--json"},
      {"corpus", "stats", corpus, "--json"},
      {"train", corpus, "-o", model, "--task=fusion", "--epochs=1", "--hidden=8", "--layers=0", "--test=0",
       "--validation=0", "--json"},
      {"calibrate", WithSeconds("--seconds", 15), "-o", (folder / "here.smeltmodel").string(), "--json"},
      {"eval", model, corpus, "--json"},
      {"predict", module, "--json"},
      {"rank", module, "--limit=2", "--json"},
      {"fuzz", module, "--configs=1", "--json"},
      {"reduce", module, "-o", (folder / "least.hlo").string(), "--time=0.1", "--", "false"},
  };
}

}  // namespace smelt::cli
