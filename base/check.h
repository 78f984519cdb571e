// Check(condition, what): for our own bugs only, never for what a user wrote. Prints the place and aborts.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string_view>

namespace smelt {

inline void Check(bool condition, std::string_view what, std::source_location where = std::source_location::current()) {
  if (condition) [[likely]]
    return;
  std::fprintf(stderr, "%s:%u: internal error: %.*s\n", where.file_name(), static_cast<unsigned>(where.line()),
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace smelt
