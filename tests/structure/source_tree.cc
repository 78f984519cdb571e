#include "tests/structure/source_tree.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace smelt::structure {
namespace {

// Folders that version control does not keep, by the lines of .gitignore that name one: `/build/`, `__pycache__/`.
std::set<std::string> IgnoredFolders(const std::filesystem::path& root) {
  std::set<std::string> names = {".git"};
  std::ifstream file(root / ".gitignore");
  for (std::string line; std::getline(file, line);) {
    if (line.find('*') != std::string::npos) continue;
    while (!line.empty() && line.front() == '/') line.erase(0, 1);
    while (!line.empty() && line.back() == '/') line.pop_back();
    names.insert(line);
  }
  return names;
}

bool IsText(const std::filesystem::path& path) {
  static const std::set<std::string> kExtensions = {".h",   ".cc",   ".py",    ".sh",   ".md", ".txt", ".cmake",
                                                    ".hlo", ".json", ".proto", ".html", ".in", ".def", ".inc"};
  const std::string extension = path.extension().string();
  return kExtensions.count(extension) > 0 || (extension.empty() && path.filename() != "LICENSE");
}

void Read(const std::filesystem::path& path, const std::filesystem::path& root, SourceTree& tree) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.find('\0') == std::string::npos) tree[path.lexically_relative(root).generic_string()] = std::move(text);
}

}  // namespace

SourceTree ReadSourceTree(const std::string& root_name) {
  namespace fs = std::filesystem;
  const fs::path root(root_name);
  SourceTree tree;
  const std::set<std::string> ignored = IgnoredFolders(root);
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    // A build folder of another name holds CMake's cache.
    if (entry->is_directory() &&
        (ignored.count(entry->path().filename().string()) > 0 || fs::exists(entry->path() / "CMakeCache.txt"))) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && IsText(entry->path())) {
      Read(entry->path(), root, tree);
    }
  }
  return tree;
}

}  // namespace smelt::structure
