// Stands in for libFuzzer where its runtime is not installed: every file of the command line (and of its folders) goes
// through the target, then copies that are cut short or have bytes changed. `--changes=N` of each, 200 by default; the
// changes follow from the file's name and size.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/generate/random.h"
#include "tests/fuzz/targets/target.h"

namespace {

void Run(const std::string& bytes) {
  // A copy of its own, so that reads beyond the end meet the end of an allocation.
  const std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

int64_t RunFile(const std::filesystem::path& path, int64_t changes) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  Run(bytes);
  smelt::fuzz::Random random(std::hash<std::string>()(path.filename().string()), bytes.size());
  for (int64_t i = 0; i < changes && !bytes.empty(); ++i) {
    std::string changed = bytes;
    const int64_t size = static_cast<int64_t>(bytes.size());
    for (int64_t edits = random.Between(1, 4); edits > 0; --edits) {
      const int64_t at = random.Below(static_cast<int64_t>(changed.size())), length = random.Between(1, 16);
      if (changed.empty()) break;
      switch (random.Below(4)) {
        case 0:
          changed.resize(at);
          break;
        case 1:
          changed[at] = static_cast<char>(random.Next());
          break;
        case 2:
          changed.erase(at, length);
          break;
        default:
          changed.insert(at, bytes.substr(random.Below(size), length));
      }
    }
    Run(changed);
  }
  return changes + 1;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t changes = 200, runs = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--changes=", 10) == 0) {
      changes = std::atoll(argv[i] + 10);
      continue;
    }
    if (!std::filesystem::is_directory(argv[i])) {
      runs += RunFile(argv[i], changes);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) runs += RunFile(entry.path(), changes);
    }
  }
  std::printf("%lld inputs, no crash\n", static_cast<long long>(runs));
  return 0;
}
