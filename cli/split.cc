#include "cli/split.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace smelt::cli {

absl::StatusOr<gnn::SplitOptions> ReadSplit(double validation, double test, uint64_t seed,
                                            const std::string& test_programs_file) {
  gnn::SplitOptions options{validation, test, seed, {}};
  if (test_programs_file.empty()) return options;
  std::ifstream file(test_programs_file);
  if (!file) return absl::NotFoundError(absl::StrCat(test_programs_file, ": cannot be opened: ", std::strerror(errno)));
  std::string line;
  while (std::getline(file, line)) {
    if (!line.empty() && line[0] != '#') options.test_programs.push_back(line);
  }
  if (options.test_programs.empty())
    return absl::InvalidArgumentError(absl::StrCat(test_programs_file, ": names no program; expected one a line"));
  return options;
}

}  // namespace smelt::cli
