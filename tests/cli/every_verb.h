// A short command line of each verb, for what must hold for all of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace smelt::cli {

// The names that `smelt help` lists.
std::vector<std::string> Verbs();

// Each finds what it reads where the lines are run in their order; all have --json where the verb has it. Modules,
// models and corpora lie in `folder`, which is there; the tuner's run folder is `run`.
std::vector<std::vector<std::string>> LineOfEachVerb(const std::filesystem::path& folder,
                                                     const std::filesystem::path& run);

}  // namespace smelt::cli
