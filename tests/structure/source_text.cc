#include "tests/structure/source_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace smelt::structure {

bool IsCode(absl::string_view path) { return absl::EndsWith(path, ".h") || absl::EndsWith(path, ".cc"); }

std::vector<Include> IncludesOf(const std::string& text) {
  std::vector<Include> includes;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "#")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "include")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (line.empty() || (line[0] != '"' && line[0] != '<')) continue;
    const bool quoted = line[0] == '"';
    const size_t end = line.find(quoted ? '"' : '>', 1);
    if (end != absl::string_view::npos) includes.push_back({number, std::string(line.substr(1, end - 1)), quoted});
  }
  return includes;
}

absl::string_view TopFolder(absl::string_view path) {
  const size_t slash = path.find('/');
  return slash == absl::string_view::npos ? absl::string_view() : path.substr(0, slash);
}

absl::string_view FolderOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? absl::string_view() : path.substr(0, slash);
}

int LineOf(absl::string_view text, size_t at) {
  int line = 1;
  for (size_t i = 0; i < at; ++i) line += text[i] == '\n';
  return line;
}

}  // namespace smelt::structure
