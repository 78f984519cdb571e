#include "cli/words/nearest.h"

#include <algorithm>

namespace smelt::cli {
namespace {

// The optimal string alignment distance (Damerau 1964; Wagner and Fischer 1974 for the table).
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> changes(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        changes[i][j] = i + j;
        continue;
      }
      changes[i][j] = std::min(
          {changes[i - 1][j] + 1, changes[i][j - 1] + 1, changes[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        changes[i][j] = std::min(changes[i][j], changes[i - 2][j - 2] + 1);
    }
  }
  return changes[a.size()][b.size()];
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 64;  // no verb or flag is as long
  std::string nearest;
  size_t fewest = word.size() > kLongest ? 0 : (word.size() + 1) / 2;
  for (const std::string& candidate : candidates) {
    const size_t changes = fewest == 0 ? 0 : Distance(word, candidate);
    if (changes < fewest) {
      fewest = changes;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace smelt::cli
