// Which targets are worth a session of one program, and how much of the time each gets.
//
//   std::vector<Part> parts = ShareOut({{.name = "cpu", .seconds = 1e-3, .begun = 2},
//                                       {.name = "xla", .seconds = 3e-3, .begun = 9}}, 40);
//   parts[1].why_none        // "its default takes 3 ms, 3.0 times that of cpu, which gets the time"
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace smelt::tuner {

struct Contender {
  std::string name;
  double seconds = 0;  // of its default; 0: not known
  double begun = 0;    // seconds that preparing its program and timing the default take
};

struct Part {
  double weight = 1;     // what its session gets of the time, beside the others'
  std::string why_none;  // why it gets no session; empty: it gets one
};

// The one with the fastest default that is known; contenders.size() where none is.
size_t Fastest(const std::vector<Contender>& contenders);

// `left`: seconds for all sessions where there are several.
// A default that takes twice as long as another's gets none: sessions gain less than that, but where a default runs in
// the evaluator or has its loops called, and then the other target is the better one anyway. Nearer ones get time by
// the square of how near they are, as long as that is several times what it takes to begin with: evaluating the program
// and comparing what was found with the default takes as long, and one whole session beats two such. The fastest always
// has one.
std::vector<Part> ShareOut(const std::vector<Contender>& contenders, double left);

}  // namespace smelt::tuner
