// Rules for what is written for people: READMEs and comments.
#include <algorithm>
#include <regex>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/structure/source_text.h"
#include "tests/structure/source_tree.h"

namespace smelt::structure {
namespace {

// Whether a README in `folder` may mean a file of the tree by `name`: from the root, from its folder, or by the end of
// a path in its folder.
bool Names(const SourceTree& tree, absl::string_view folder, absl::string_view name) {
  if (tree.count(std::string(name)) > 0) return true;
  const std::string prefix = folder.empty() ? "" : absl::StrCat(folder, "/");
  const std::string end = absl::StrCat("/", name);
  for (auto file = tree.lower_bound(prefix); file != tree.end() && absl::StartsWith(file->first, prefix); ++file) {
    if (absl::EndsWith(absl::StrCat("/", file->first.substr(prefix.size())), end)) return true;
  }
  return false;
}

std::vector<std::string> MissingFiles(const SourceTree& tree, const std::string& path, const std::string& text) {
  static const std::regex kFile(R"(`([\w./-]+\.(?:h|cc|py|md|sh|proto|cmake|def))`)");
  std::vector<std::string> violations;
  for (std::sregex_iterator match(text.begin(), text.end(), kFile), end; match != end; ++match) {
    const std::string name = (*match)[1];
    // A document may mean any file of the tree by the end of its path, a README those of its folder.
    const absl::string_view folder = TopFolder(path) == "docs" ? absl::string_view() : FolderOf(path);
    if (Names(tree, folder, name)) continue;
    violations.push_back(absl::StrCat(path, ":", LineOf(text, static_cast<size_t>(match->position())), ": names ", name,
                                      ", and there is no such file"));
  }
  return violations;
}

}  // namespace

std::vector<std::string> CheckReadmes(const SourceTree& tree) {
  std::set<std::string> folders;
  for (const auto& [path, text] : tree) {
    const absl::string_view folder = TopFolder(path);
    if (folder.empty() || folder == "tests") continue;
    if (IsCode(path) || absl::EndsWith(path, ".py")) folders.insert(std::string(FolderOf(path)));
    if (IsCode(path) || absl::EndsWith(path, ".py") || absl::EndsWith(path, ".hlo"))
      folders.insert(std::string(folder));
  }
  std::vector<std::string> violations;
  for (const std::string& folder : folders) {
    const std::string path = absl::StrCat(folder, "/README.md");
    const auto readme = tree.find(path);
    if (readme != tree.end()) {
      if (absl::StripAsciiWhitespace(readme->second).size() < 200)
        violations.push_back(absl::StrCat(path, ":1: says nothing; about ten lines are expected"));
      continue;
    }
    // The README of a folder around it speaks for it where it names it.
    std::string around(FolderOf(folder));
    while (!around.empty() && tree.count(around + "/README.md") == 0) around = std::string(FolderOf(around));
    const std::string below = around.empty() ? "" : folder.substr(around.size() + 1);
    if (around.empty() || !absl::StrContains(tree.at(around + "/README.md"), absl::StrCat("`", below, "/"))) {
      violations.push_back(absl::StrCat(
          path, ":1: missing; it says what comes in, what goes out, which file to open first, unless the README.md of ",
          "the folder around it names this one"));
    }
  }
  for (const auto& [path, text] : tree) {
    const bool is_document = absl::EndsWith(path, ".md") && (TopFolder(path) == "docs" || TopFolder(path).empty());
    if (!absl::EndsWith(path, "README.md") && !is_document) continue;
    for (std::string& violation : MissingFiles(tree, path, text)) violations.push_back(std::move(violation));
  }
  return violations;
}

std::vector<std::string> CheckShownCode(const SourceTree& tree) {
  constexpr std::string_view kDocument = "docs/adding.md", kBegin = "```cpp\n", kEnd = "```\n";
  const auto document = tree.find(std::string(kDocument));
  if (document == tree.end()) return {absl::StrCat(std::string(kDocument), ":1: is not there")};
  const std::string& text = document->second;
  std::vector<std::string> violations;
  for (size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
    const size_t begin = at + kBegin.size();
    const std::string shown = text.substr(begin, text.find(kEnd, begin) - begin);
    const bool is_code = std::any_of(tree.begin(), tree.end(), [&](const auto& file) {
      return IsCode(file.first) && absl::StrContains(file.second, shown);
    });
    if (!is_code)
      violations.push_back(
          absl::StrCat(std::string(kDocument), ":", LineOf(text, at), ": shows code that no file has"));
  }
  return violations;
}

std::vector<std::string> CheckComments(const SourceTree& tree) {
  static const std::regex kComment(R"(^\s*(?://|#) ?(\S.*)?$)");
  static const std::regex kBare(R"(^\s*(?://|#) (Of|By|As|In)\b)");
  std::vector<std::string> violations;
  for (const auto& [path, text] : tree) {
    if (!IsCode(path) && !absl::EndsWith(path, ".py") && !absl::EndsWith(path, ".sh")) continue;
    bool goes_on = false;  // the line before is a comment's, so that this one may begin anywhere in a sentence
    int number = 0;
    for (absl::string_view part : absl::StrSplit(text, '\n')) {
      ++number;
      const std::string line(part.substr(0, 200));  // enough, and long literals would exhaust the matcher
      std::smatch match;
      if (!goes_on && std::regex_search(line, match, kBare)) {
        violations.push_back(absl::StrCat(path, ":", number, ": a comment that opens with ", match[1].str(),
                                          "; begin with the subject: what it is, or what it does"));
      }
      goes_on = std::regex_match(line, match, kComment) && match[1].matched;
    }
  }
  return violations;
}

}  // namespace smelt::structure
