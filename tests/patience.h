// How long tests let the tool take: what is asked for, and more under the thread sanitizer, where a second does the
// work of a tenth.
//
//   Output({"tune", module, WithSeconds("--budget", 8)});   // --budget=8
#pragma once

#include <string>

namespace smelt {

inline std::string WithSeconds(const std::string& flag, int seconds) {
#ifdef __SANITIZE_THREAD__
  seconds *= 10;
#endif
  return flag + "=" + std::to_string(seconds);
}

}  // namespace smelt
