// What serves every target names none.
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/structure/source_text.h"
#include "tests/structure/source_tree.h"

namespace smelt::structure {
namespace {

const absl::string_view kServeEveryTarget[] = {"fusion/", "gnn/", "kernels/", "measure/", "runtime/", "tuner/"};
// Heuristics are named after the compiler that they follow.
constexpr absl::string_view kHeuristics = "fusion/heuristics/", kHeuristicName = "\"xla-cpu\"";

bool ServesEveryTarget(absl::string_view path) {
  if (!IsCode(path) || absl::StartsWith(path, kHeuristics)) return false;
  for (absl::string_view folder : kServeEveryTarget) {
    if (absl::StartsWith(path, folder)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> CheckTargetNames(const SourceTree& tree) {
  std::set<std::string> targets;
  for (const auto& [path, text] : tree) {
    const std::vector<std::string> parts = absl::StrSplit(path, '/');
    if (parts.size() > 2 && parts[0] == "targets") targets.insert(parts[1]);
  }
  std::vector<std::string> violations;
  for (const auto& [path, text] : tree) {
    if (!ServesEveryTarget(path)) continue;
    int number = 0;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      ++number;
      const std::string code = absl::AsciiStrToLower(
          absl::StrReplaceAll(line.substr(0, line.find("//")), {{kHeuristicName, "\"\""}, {"xla_cpu_pass", ""}}));
      for (const std::string& target : targets) {
        if (!absl::StrContains(code, target == "cpu" ? "cpu::" : target)) continue;
        violations.push_back(absl::StrCat(path, ":", number, ": names the target ", target,
                                          "; ask targets/target.h or targets/tunable.h, which it implements"));
      }
    }
  }
  return violations;
}

}  // namespace smelt::structure
