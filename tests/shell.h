// A command of the shell, run from a test.
//
//   const auto [out, status] = Shell("nm -D kernels.so");
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <utility>

namespace smelt {

// Standard output of the command, and its exit status as wait gives it.
inline std::pair<std::string, int> Shell(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> piece;
  size_t count;
  while ((count = std::fread(piece.data(), 1, piece.size(), pipe)) > 0) out.append(piece.data(), count);
  return {out, ::pclose(pipe)};
}

}  // namespace smelt
