// What long work says on standard error while it goes on: on a terminal one line that is written over, elsewhere (a
// file, a pipe, the log of a batch system) a plain line every few seconds.
//
//   Progress progress;
//   progress.Update("3 of 10 modules");   // shown now and then
//   progress.Say("module 4: differs");    // shown in any case, and stays
//
// The end of its life ends a line that is unfinished, so that what is said afterwards begins a line of its own. Options
// that take a `Progress*` are silent where it is null. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace smelt::tuner {

class Progress {
 public:
  Progress();  // to standard error, which is a terminal or not
  Progress(std::FILE* file, bool terminal) : file_(file), terminal_(terminal) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(std::string_view line);
  void Say(std::string_view line);

 private:
  using Clock = std::chrono::steady_clock;

  std::FILE* file_;
  bool terminal_;
  bool open_ = false;  // a line on a terminal waits to be written over
  std::string last_line_;
  Clock::time_point last_time_ = {};
};

}  // namespace smelt::tuner
