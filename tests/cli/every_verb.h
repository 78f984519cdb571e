// A short command line of each verb, for what must hold for all of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace smelt::cli {

// The names that `smelt help` lists.
std::vector<std::string> Verbs();

// In an order in which each finds what it reads, with --json where a verb has it. Modules, models and corpora lie in
// `folder`, which is there; the tuner's run folder is `run`.
std::vector<std::vector<std::string>> LineOfEachVerb(const std::filesystem::path& folder,
                                                     const std::filesystem::path& run);

}  // namespace smelt::cli
