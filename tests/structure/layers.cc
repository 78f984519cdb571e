// Folders inside folders: which include each other in a circle, and the modules of the Python package.
#include <map>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/structure/source_text.h"
#include "tests/structure/source_tree.h"

namespace smelt::structure {
namespace {

using Graph = std::map<std::string, std::set<std::string>>;

// A circle of the graph by its nodes, the first again at the end; empty when there is none.
class CycleFinder {
 public:
  explicit CycleFinder(const Graph& graph) : graph_(graph) {}
  std::vector<std::string> Find() {
    for (const auto& [node, unused] : graph_) {
      if (Visit(node)) return cycle_;
    }
    return {};
  }

 private:
  bool Visit(const std::string& node) {
    if (done_.count(node) > 0) return false;
    for (size_t i = 0; i < way_.size(); ++i) {
      if (way_[i] != node) continue;
      cycle_.assign(way_.begin() + static_cast<int64_t>(i), way_.end());
      cycle_.push_back(node);
      return true;
    }
    way_.push_back(node);
    if (const auto next = graph_.find(node); next != graph_.end()) {
      for (const std::string& to : next->second) {
        if (Visit(to)) return true;
      }
    }
    way_.pop_back();
    done_.insert(node);
    return false;
  }

  const Graph& graph_;
  std::vector<std::string> way_, cycle_;
  std::set<std::string> done_;
};

bool IsProduct(absl::string_view path) {
  return IsCode(path) && TopFolder(path) != "tests" && !TopFolder(path).empty();
}

// `from smelt import library` and `from smelt.jax import door, folder` name modules; `from smelt.library import X`
// does.
std::vector<std::string> ImportedNames(absl::string_view line) {
  std::smatch match;
  const std::string text(line);
  static const std::regex kFrom(R"(^\s*from ([\w.]+) import ([\w, *]+))");
  static const std::regex kImport(R"(^\s*import ([\w., ]+))");
  std::vector<std::string> names;
  if (std::regex_search(text, match, kFrom)) {
    names.push_back(match[1]);
    for (absl::string_view name : absl::StrSplit(match[2].str(), absl::ByAnyChar(", "), absl::SkipEmpty()))
      names.push_back(absl::StrCat(match[1].str(), ".", name));
  } else if (std::regex_search(text, match, kImport)) {
    for (absl::string_view name : absl::StrSplit(match[1].str(), absl::ByAnyChar(", "), absl::SkipEmpty()))
      names.push_back(std::string(name));
  }
  return names;
}

}  // namespace

std::vector<std::string> CheckFolderCycles(const SourceTree& tree) {
  Graph graph;
  for (const auto& [path, text] : tree) {
    if (!IsProduct(path)) continue;
    const std::string from(FolderOf(path));
    for (const Include& include : IncludesOf(text)) {
      const std::string to(FolderOf(include.path));
      if (tree.count(include.path) > 0 && from != to) graph[from].insert(to);
    }
  }
  std::vector<std::string> violations;
  while (true) {
    const std::vector<std::string> cycle = CycleFinder(graph).Find();
    if (cycle.empty()) break;
    violations.push_back(
        absl::StrCat(absl::StrJoin(cycle, " includes "), ": a circle; what both need belongs in a folder below both"));
    for (size_t i = 0; i + 1 < cycle.size(); ++i) graph[cycle[i]].erase(cycle[i + 1]);
  }
  return violations;
}

std::vector<std::string> CheckPythonImports(const SourceTree& tree) {
  constexpr absl::string_view kPackage = "python/smelt/";
  constexpr absl::string_view kOwnPackage = "python/smelt/jax/";
  constexpr absl::string_view kDoor = "python/smelt/jax/door.py";
  static const std::regex kPrivate(R"(^(jax\._src|jax\.extend|jaxlib\._)|^jaxlib\.)");
  static const std::regex kOutside(R"(^(jax|jaxlib|numpy)\b)");
  std::map<std::string, std::string> path_of;  // by module name
  for (const auto& [path, text] : tree) {
    if (!absl::StartsWith(path, kPackage) || !absl::EndsWith(path, ".py")) continue;
    std::string name = path.substr(std::string("python/").size());
    name.resize(name.size() - std::string(".py").size());
    name = absl::StrReplaceAll(name, {{"/", "."}});
    if (absl::EndsWith(name, ".__init__")) name.resize(name.size() - std::string(".__init__").size());
    path_of[name] = path;
  }
  std::vector<std::string> violations;
  Graph graph;
  for (const auto& [module, path] : path_of) {
    int number = 0;
    for (absl::string_view line : absl::StrSplit(tree.at(path), '\n')) {
      ++number;
      for (const std::string& name : ImportedNames(line)) {
        if (path_of.count(name) > 0 && name != module && !absl::StartsWith(absl::StrCat(module, "."), name + "."))
          graph[module].insert(name);
        if (std::regex_search(name, kPrivate) && path != kDoor) {
          violations.push_back(
              absl::StrCat(path, ":", number, ": imports ", name, "; private names belong in door.py"));
        } else if (std::regex_search(name, kOutside) && !absl::StartsWith(path, kOwnPackage)) {
          violations.push_back(absl::StrCat(path, ":", number, ": imports ", name, "; only smelt.jax needs a package"));
        }
      }
    }
  }
  if (const std::vector<std::string> cycle = CycleFinder(graph).Find(); !cycle.empty())
    violations.push_back(absl::StrCat(absl::StrJoin(cycle, " imports "), ": a circle"));
  return violations;
}

}  // namespace smelt::structure
