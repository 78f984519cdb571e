// The program smelt-train, which alone is linked with LibTorch: verbs that need it become it.
//
//   return BecomeTraining("train", {"corpus", "-o", "model.smeltmodel"});
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace smelt::cli {

// A verb and the words after it. Returns only where the program cannot be started: NotFound, with what to do.
absl::Status BecomeTraining(const std::string& verb, std::vector<std::string> words);

// The words that this program was started with, its own name and the verb left out.
std::vector<std::string> WordsAfterVerb();

// The program beside this one of that name.
std::string Beside(const std::string& name);

}  // namespace smelt::cli
