// What the rules read in a file: its includes, its place, its lines.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace smelt::structure {

struct Include {
  int line = 0;
  std::string path;
  bool quoted = false;
};

// A C++ source or header.
bool IsCode(absl::string_view path);
std::vector<Include> IncludesOf(const std::string& text);

// The first part of a path, and all but the last; empty for a file of the root.
absl::string_view TopFolder(absl::string_view path);
absl::string_view FolderOf(absl::string_view path);

// The number of the line of `text` in which position `at` lies.
int LineOf(absl::string_view text, size_t at);

}  // namespace smelt::structure
