#include "tests/structure/source_tree.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

namespace smelt::structure {
namespace {

constexpr std::string_view kTopFolders[] = {"hlo",   "fusion", "kernels", "gnn",     "tuner", "fuzz", "cli", "tests",
                                            "bench", "models", "docs",    "scripts", "cmake", ".ci"};

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
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file() && IsText(entry.path())) Read(entry.path(), root, tree);
  }
  for (std::string_view folder : kTopFolders) {
    if (!fs::is_directory(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file() && IsText(entry.path())) Read(entry.path(), root, tree);
    }
  }
  return tree;
}

}  // namespace smelt::structure
