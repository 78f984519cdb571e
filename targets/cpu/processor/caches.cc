#include "targets/cpu/processor/caches.h"

#include <fstream>
#include <string>

namespace smelt::cpu {
namespace {

// The only word of a file; empty where there is none.
std::string Word(const std::filesystem::path& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

// "32768K"; 0: not of that form.
int64_t ReadBytes(const std::string& text) {
  size_t end = 0;
  int64_t bytes = 0;
  for (; end < text.size() && end < 12 && text[end] >= '0' && text[end] <= '9'; ++end)
    bytes = bytes * 10 + (text[end] - '0');
  const std::string unit = text.substr(end);
  return unit.empty() ? bytes : unit == "K" ? bytes << 10 : unit == "M" ? bytes << 20 : unit == "G" ? bytes << 30 : 0;
}

}  // namespace

int64_t CacheBytes(int level, const std::filesystem::path& folder) {
  constexpr int kMostCaches = 16;
  for (int index = 0; index < kMostCaches; ++index) {
    const std::filesystem::path cache = folder / ("index" + std::to_string(index));
    if (Word(cache / "level") != std::to_string(level) || Word(cache / "type") == "Instruction") continue;
    return ReadBytes(Word(cache / "size"));
  }
  return 0;
}

}  // namespace smelt::cpu
