// The HLO texts beside the checkout, for tests that run over all of them. They are optional: a test skips without them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace smelt::hlo {

inline std::vector<std::filesystem::path> CorpusFiles(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  const std::filesystem::path root = std::filesystem::path(SMELT_SOURCE_DIR) / "../shared/corpora" / folder;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    if (entry.path().extension() == ".hlo") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace smelt::hlo
