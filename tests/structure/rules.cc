#include <algorithm>
#include <iterator>
#include <regex>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tests/structure/source_text.h"
#include "tests/structure/source_tree.h"

namespace smelt::structure {
namespace {

// The pipeline. A folder may include itself and what its line lists; `tests` and `bench` may include everything. A
// folder inside one with a line may have a line of its own, which then holds for it.
struct FolderRule {
  absl::string_view folder;
  std::vector<absl::string_view> may_include;
};
const FolderRule kFolderRules[] = {
    {"base", {}},
    {"hlo", {"base"}},
    {"machine", {"base"}},
    {"fusion", {"base", "hlo", "machine"}},
    {"kernels", {"base", "hlo", "machine", "fusion"}},
    {"runtime", {"base"}},
    {"vdla/isa", {"base"}},
    {"sim", {"base", "vdla/isa"}},
    {"vdla/lower", {"base", "hlo", "machine", "kernels", "vdla/isa"}},
    {"vdla/driver", {"base", "vdla/isa", "sim"}},
    {"vdla/xrt", {"base", "vdla/isa", "vdla/driver"}},
    {"vdla/rtl", {"base", "vdla/isa", "sim"}},
    {"vdla", {"base", "hlo", "machine", "fusion", "kernels", "sim"}},
    {"gnn", {"base", "hlo", "machine", "fusion", "kernels"}},
    {"measure", {"base", "hlo", "machine", "fusion"}},
    {"targets", {"base", "hlo", "machine", "fusion", "kernels", "runtime", "vdla", "sim", "gnn", "measure"}},
    {"tuner", {"base", "hlo", "machine", "fusion", "kernels", "gnn", "measure", "targets"}},
    {"fuzz", {"base", "hlo", "machine", "fusion", "kernels", "gnn", "measure", "targets", "tuner"}},
    {"cli",
     {"base", "hlo", "machine", "fusion", "kernels", "vdla", "sim", "gnn", "measure", "targets", "tuner", "fuzz"}},
    {"capi", {"base", "hlo", "machine", "fusion", "kernels", "gnn", "measure", "targets", "tuner"}},
    {"python", {}},  // compiled where the package is installed, with its own folder as the root
    {"bench",
     {"base", "hlo", "machine", "fusion", "kernels", "runtime", "vdla", "sim", "gnn", "measure", "targets", "tuner",
      "fuzz", "cli"}},
    {"tests",
     {"base", "hlo", "machine", "fusion", "kernels", "runtime", "vdla", "sim", "gnn", "measure", "targets", "tuner",
      "fuzz", "cli", "capi", "bench"}},
    {"models", {}},   // Python alone
    {"scripts", {}},  // Python alone
};

// Where a heavy dependency may be included. Everything else stays quick to compile and free of the dependency's types.
struct Door {
  absl::string_view dependency;
  std::vector<absl::string_view> include_prefixes;
  std::vector<absl::string_view> folders;
};
const Door kDoors[] = {
    {"LLVM", {"llvm/", "llvm-c/"}, {"targets/cpu/codegen/"}},
    {"LibTorch", {"torch/", "ATen/", "c10/"}, {"gnn/"}},
    {"XGBoost", {"xgboost/"}, {"gnn/boost/"}},
    {"SQLite", {"sqlite3.h"}, {"measure/records/"}},
    {"Protocol Buffers", {"google/protobuf/"}, {"gnn/", "hlo/proto/"}},
    {"Protocol Buffers", {"gnn/corpus/kernel_example.pb.h"}, {"gnn/"}},
    {"Protocol Buffers", {"hlo/proto/hlo.pb.h", "hlo/proto/xla_data.pb.h"}, {"hlo/proto/"}},
    {"XRT", {"xrt/", "experimental/", "uuid/"}, {"vdla/xrt/"}},
    {"CLI11", {"CLI/"}, {"cli/words/"}},
    {"zlib and zstd", {"zlib.h", "zstd.h"}, {"hlo/file/"}},
};

bool IsIn(absl::string_view path, absl::string_view folder) {
  return absl::StartsWith(path, folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

// The rule of the innermost folder that has one; null: none has.
const FolderRule* RuleOf(absl::string_view path) {
  const FolderRule* innermost = nullptr;
  for (const FolderRule& rule : kFolderRules) {
    if (IsIn(path, rule.folder) && (innermost == nullptr || rule.folder.size() > innermost->folder.size()))
      innermost = &rule;
  }
  return innermost;
}

bool MayInclude(const FolderRule& rule, absl::string_view path) {
  if (IsIn(path, rule.folder)) return true;
  for (absl::string_view folder : rule.may_include) {
    if (IsIn(path, folder)) return true;
  }
  return false;
}

bool Contains(const std::vector<absl::string_view>& list, absl::string_view value) {
  for (absl::string_view item : list) {
    if (item == value) return true;
  }
  return false;
}

bool MatchesAny(absl::string_view path, const std::vector<absl::string_view>& prefixes) {
  for (absl::string_view prefix : prefixes) {
    if (absl::StartsWith(path, prefix)) return true;
  }
  return false;
}

// A folder of the door, or its tests.
bool IsBehind(absl::string_view path, const Door& door) {
  absl::ConsumePrefix(&path, "tests/");
  return MatchesAny(path, door.folders);
}

}  // namespace

std::vector<std::string> CheckFolderIncludes(const SourceTree& tree) {
  std::vector<std::string> violations;
  for (const auto& [path, text] : tree) {
    const FolderRule* rule = RuleOf(path);
    if (rule == nullptr && !TopFolder(path).empty() && (IsCode(path) || absl::EndsWith(path, ".py"))) {
      violations.push_back(absl::StrCat(path, ":1: no rule says what ", std::string(TopFolder(path)),
                                        "/ may include; add a line to kFolderRules in tests/structure/rules.cc"));
    }
    if (!IsCode(path) || rule == nullptr) continue;
    for (const Include& include : IncludesOf(text)) {
      if (RuleOf(include.path) != nullptr) {
        if (MayInclude(*rule, include.path)) continue;
        violations.push_back(
            absl::StrCat(path, ":", include.line, ": includes ", include.path, "; ", rule->folder, "/ may include ",
                         rule->may_include.empty() ? "no other folder" : absl::StrCat("only folders before it"),
                         " in the pipeline"));
      } else if (include.quoted && rule->folder != "python" &&
                 tree.count(absl::StrCat(path.substr(0, path.rfind('/') + 1), include.path)) > 0) {
        violations.push_back(absl::StrCat(path, ":", include.line, ": includes ", include.path,
                                          "; write the path from the repository's root"));
      }
    }
  }
  return violations;
}

std::vector<std::string> CheckDependencyDoors(const SourceTree& tree) {
  std::vector<std::string> violations;
  for (const Door& door : kDoors) {
    // Headers through which the dependency is seen, directly or through other headers. They grow until nothing is
    // added.
    std::set<std::string> carriers;
    for (bool grew = true; grew;) {
      grew = false;
      for (const auto& [path, text] : tree) {
        if (!absl::EndsWith(path, ".h") || carriers.count(path) > 0) continue;
        for (const Include& include : IncludesOf(text)) {
          if (MatchesAny(include.path, door.include_prefixes) || carriers.count(include.path) > 0) {
            carriers.insert(path);
            grew = true;
            break;
          }
        }
      }
    }
    for (const auto& [path, text] : tree) {
      // The tests of a folder stand behind its door with it.
      if (!IsCode(path) || IsBehind(path, door)) continue;
      for (const Include& include : IncludesOf(text)) {
        if (MatchesAny(include.path, door.include_prefixes)) {
          violations.push_back(absl::StrCat(path, ":", include.line, ": includes ", include.path, "; ", door.dependency,
                                            " belongs behind ", absl::StrJoin(door.folders, " and ")));
        } else if (carriers.count(include.path) > 0) {
          violations.push_back(absl::StrCat(path, ":", include.line, ": sees ", door.dependency, " through ",
                                            include.path, "; a header that leaves ",
                                            absl::StrJoin(door.folders, " and "), " must not include it"));
        }
      }
    }
  }
  return violations;
}

std::vector<std::string> CheckAbsolutePaths(const SourceTree& tree) {
  // Each name is in two parts, so that this file does not break its own rule.
  const std::string places[] = {absl::StrCat("/", "home/"), absl::StrCat("/", "work/"), absl::StrCat("/", "root/"),
                                absl::StrCat("/", "tmp/"), absl::StrCat("/", "Users/")};
  std::vector<std::string> violations;
  for (const auto& [path, text] : tree) {
    for (const std::string& place : places) {
      for (size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + 1)) {
        const char before = at == 0 ? ' ' : text[at - 1];
        // `build/tmp/x` and `https://host/home/x` are no places of a machine; `${ROOT}/home/` is none either.
        if (absl::ascii_isalnum(before) || before == '.' || before == '_' || before == '-' || before == '}') continue;
        violations.push_back(absl::StrCat(path, ":", LineOf(text, at), ": names ", place, ", a place of one machine"));
      }
    }
  }
  return violations;
}

std::vector<std::string> CheckFileLengths(const SourceTree& tree, int limit) {
  std::vector<std::string> violations;
  for (const auto& [path, text] : tree) {
    if (!IsCode(path) && !absl::EndsWith(path, ".py") && !absl::EndsWith(path, ".sh") && !absl::EndsWith(path, ".md"))
      continue;
    const int lines = LineOf(text, text.size()) - (absl::EndsWith(text, "\n") ? 1 : 0);
    if (lines > limit)
      violations.push_back(absl::StrCat(path, ":", limit + 1, ": has ", lines, " lines; split it by concept"));
  }
  return violations;
}

std::vector<std::string> CheckFileNames(const SourceTree& tree) {
  const std::vector<absl::string_view> vague = {"utils", "util", "helpers", "helper", "common", "misc"};
  std::vector<std::string> violations;
  for (const auto& [path, text] : tree) {
    for (absl::string_view part : absl::StrSplit(path, '/')) {
      // The last word is the noun: `common_subexpressions` says what it holds, `passes_common` does not.
      const absl::string_view stem = part.substr(0, part.find('.'));
      const std::vector<absl::string_view> words = absl::StrSplit(stem, absl::ByAnyChar("_-"));
      if (Contains(vague, words.back())) {
        violations.push_back(absl::StrCat(path, ":1: \"", words.back(), "\" does not say what the file holds"));
      }
    }
  }
  return violations;
}

std::vector<std::string> CheckFileSystemCalls(const SourceTree& tree) {
  static const std::regex* const call = new std::regex(
      R"(\b(std::filesystem|fs)::(remove|remove_all|rename|create_directory|create_directories|file_size|copy|copy_file|exists|is_regular_file|is_directory|is_symlink|is_empty|directory_iterator|recursive_directory_iterator|canonical|weakly_canonical|absolute|current_path|temp_directory_path|last_write_time|resize_file|space|status|relative|read_symlink|permissions|equivalent)\b( \w+)?\()");
  std::vector<std::string> violations;
  for (const auto& [path, text] : tree) {
    if (!IsCode(path) || absl::StartsWith(path, "tests/")) continue;
    for (std::sregex_iterator at(text.begin(), text.end(), *call), end; at != end; ++at) {
      const size_t first = at->position() + at->length();
      size_t last = first;
      for (int depth = 1; last < text.size(); ++last) {
        depth += (text[last] == '(') - (text[last] == ')');
        if (depth == 0) break;
      }
      const std::string arguments = text.substr(first, last - first);
      if (absl::StrContains(arguments.substr(arguments.rfind(',') + 1), "error") ||
          absl::StrContains(arguments.substr(arguments.rfind(',') + 1), "ignored"))
        continue;
      violations.push_back(absl::StrCat(path, ":", LineOf(text, at->position()), ": ", (*at)[2].str(),
                                        " without an error_code throws; give it one named error or ignored"));
    }
  }
  return violations;
}

std::vector<std::string> CheckTestFolders(const SourceTree& tree) {
  static constexpr const char* kShared[] = {"TempDir()", "temp_directory_path()"};
  // Has the class; keeps what it finds; is built without GoogleTest. The names of the latter two have the process id.
  static constexpr absl::string_view kAllowed[] = {"tests/scratch_folder.h", "tests/fuzz/agreement_test.cc",
                                                   "tests/fuzz/targets/file_of.cc"};
  std::vector<std::string> violations;
  for (const auto& [path, text] : tree) {
    if (!IsCode(path) || !absl::StartsWith(path, "tests/") || absl::StartsWith(path, "tests/structure/") ||
        std::find(std::begin(kAllowed), std::end(kAllowed), path) != std::end(kAllowed))
      continue;
    for (const char* call : kShared) {
      if (const size_t at = text.find(call); at != std::string::npos)
        violations.push_back(absl::StrCat(path, ":", LineOf(text, at), ": ", call,
                                          " is every test's; take a ScratchFolder (tests/scratch_folder.h)"));
    }
  }
  return violations;
}

std::vector<std::string> CheckMarkers(const SourceTree& tree) {
  const std::string markers[] = {absl::StrCat("TO", "DO"), absl::StrCat("FIX", "ME"), absl::StrCat("XX", "X")};
  std::vector<std::string> violations;
  for (const auto& [path, text] : tree) {
    if (!IsCode(path) && !absl::EndsWith(path, ".py") && !absl::EndsWith(path, ".sh")) continue;
    for (const std::string& marker : markers) {
      const size_t at = text.find(marker);
      if (at != std::string::npos) {
        violations.push_back(absl::StrCat(path, ":", LineOf(text, at), ": ", marker, " marks unfinished work"));
      }
    }
  }
  return violations;
}

}  // namespace smelt::structure
