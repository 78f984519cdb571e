#include "tuner/contenders.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace smelt::tuner {
namespace {

// How many times the fastest a default may take.
constexpr double kHopeless = 2;
// How many times what it took to begin with a session has. Of 30 programs in 40 s each, equal parts found nothing on
// seven where a whole session gained a third and more.
constexpr double kLeastSession = 4;

// The contender with the smallest part of those that have one, but for `fastest`; `fastest` where there is none.
size_t LeastOf(const std::vector<Part>& parts, size_t fastest) {
  size_t least = fastest;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == fastest || !parts[i].why_none.empty()) continue;
    if (least == fastest || parts[i].weight < parts[least].weight) least = i;
  }
  return least;
}

double ShareOf(const std::vector<Part>& parts, size_t i) {
  double all = 0;
  for (const Part& part : parts) all += part.why_none.empty() ? part.weight : 0;
  return parts[i].weight / all;
}

}  // namespace

size_t Fastest(const std::vector<Contender>& contenders) {
  size_t fastest = contenders.size();
  for (size_t i = 0; i < contenders.size(); ++i) {
    if (contenders[i].seconds == 0) continue;
    if (fastest == contenders.size() || contenders[i].seconds < contenders[fastest].seconds) fastest = i;
  }
  return fastest;
}

std::vector<Part> ShareOut(const std::vector<Contender>& contenders, double left) {
  std::vector<Part> parts(contenders.size());
  const size_t fastest = Fastest(contenders);
  if (fastest == contenders.size()) return parts;
  const Contender& leader = contenders[fastest];
  for (size_t i = 0; i < contenders.size(); ++i) {
    if (contenders[i].seconds == 0) continue;
    const double times = contenders[i].seconds / leader.seconds;
    parts[i].weight = 1 / (times * times);
    if (times > kHopeless) {
      parts[i].why_none = absl::StrFormat("its default takes %.4g ms, %.1f times that of %s, which gets the time",
                                          1e3 * contenders[i].seconds, times, leader.name);
    }
  }
  // The furthest first, so that what it leaves may be enough for the next.
  for (size_t i = LeastOf(parts, fastest); i != fastest; i = LeastOf(parts, fastest)) {
    const double part = std::max(left, 0.0) * ShareOf(parts, i);
    if (part >= kLeastSession * contenders[i].begun) break;
    const std::string why = contenders[i].seconds == 0 ? "its default was not timed in time"
                                                       : absl::StrFormat("its default takes %.2f times as long",
                                                                         contenders[i].seconds / leader.seconds);
    parts[i].why_none = absl::StrFormat("%s; the %.0f s left for it are few, and go to %s", why, part, leader.name);
  }
  return parts;
}

}  // namespace smelt::tuner
