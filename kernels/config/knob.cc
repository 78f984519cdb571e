#include "kernels/config/knob.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/ceil_div.h"

namespace smelt::kernels::config {
namespace {

// Tiles of one axis for each size of register tile, and sizes of a block of a sum: more would be neighbours of each
// other in what they cost.
constexpr size_t kMostTiles = 14;
// Work beyond the end of an axis that a register tile may cause, as a share of the axis.
constexpr double kMostWaste = 0.34;
constexpr int64_t kMostUnrolled = 16;
constexpr int64_t kShortestBlock = 4;
// Taps of a window's side, each of which may be a block by itself.
constexpr int64_t kMostTaps = 11;
constexpr int64_t kMostBlocks = 1024;

std::vector<int64_t> Divisors(int64_t n) {
  std::vector<int64_t> low, high;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d != n / d) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// How many register tiles a tile may have: divisors and powers of two, and all of them; thinned evenly.
std::vector<int64_t> Passes(int64_t all) {
  std::set<int64_t> choices{1, all};
  for (int64_t d : Divisors(all)) choices.insert(d);
  for (int64_t power = 2; power < all; power *= 2) choices.insert(power);
  std::vector<int64_t> list(choices.begin(), choices.end());
  if (list.size() <= kMostTiles) return list;
  std::vector<int64_t> thinned;
  for (size_t i = 0; i < kMostTiles; ++i) thinned.push_back(list[i * (list.size() - 1) / (kMostTiles - 1)]);
  return thinned;
}

void AddOption(Knob* knob, std::vector<int64_t> values) {
  knob->options.push_back(absl::StrJoin(values, "x"));
  knob->values.push_back(std::move(values));
}

float Log2(int64_t value) { return static_cast<float>(std::log2(static_cast<double>(value) + 1)); }

}  // namespace

size_t Knob::FeatureCount() const { return kind == Kind::kChoice ? options.size() : values[0].size(); }

void Knob::AppendFeatures(int option, std::vector<float>* features) const {
  if (kind == Kind::kChoice) {
    for (size_t i = 0; i < options.size(); ++i) features->push_back(static_cast<int>(i) == option ? 1.0f : 0.0f);
    return;
  }
  if (kind == Kind::kPermutation) {
    // The place of each thing, so that a feature always speaks of the same one.
    std::vector<float> places(values[option].size());
    for (size_t place = 0; place < places.size(); ++place) places[values[option][place]] = static_cast<float>(place);
    features->insert(features->end(), places.begin(), places.end());
    return;
  }
  for (int64_t value : values[option]) features->push_back(Log2(value));
}

int Knob::Find(const std::vector<int64_t>& wanted) const {
  const auto at = std::find(values.begin(), values.end(), wanted);
  return at == values.end() ? -1 : static_cast<int>(at - values.begin());
}

int Knob::Nearest(const std::vector<int64_t>& wanted) const {
  int best = 0;
  double least = INFINITY;
  for (size_t i = 0; i < values.size(); ++i) {
    double distance = 0;
    for (size_t k = 0; k < std::min(values[i].size(), wanted.size()); ++k) {
      distance += std::abs(std::log2((static_cast<double>(values[i][k]) + 1) / (static_cast<double>(wanted[k]) + 1)));
    }
    if (distance < least) {
      least = distance;
      best = static_cast<int>(i);
    }
  }
  return best;
}

Knob SplitKnob(std::string name, int64_t extent, const SplitLimits& limits) {
  Knob knob{.name = std::move(name), .kind = Knob::Kind::kSplit};
  std::set<int64_t> registers;
  if (limits.most_rows > 0) registers.insert(1);
  const auto wasteful = [&](int64_t factor) {
    return static_cast<double>(CeilDiv(extent, factor) * factor - extent) > kMostWaste * static_cast<double>(extent);
  };
  for (int64_t rows = 2; rows <= std::min(extent, limits.most_rows); ++rows) {
    if (!wasteful(rows)) registers.insert(rows);
  }
  bool any_width = false;
  for (int64_t width : limits.vector_widths) {
    if (width > extent || wasteful(width)) continue;
    registers.insert(width);
    any_width = true;
  }
  // Whole, in as many vectors as it takes; and where every width is wasteful, the narrowest.
  if (!limits.vector_widths.empty()) {
    if (extent <= limits.vector_widths.back()) registers.insert(extent);
    if (!any_width) registers.insert(std::min(extent, limits.vector_widths.front()));
  }
  std::set<std::vector<int64_t>> seen;
  for (int64_t inner : registers) {
    const int64_t all = CeilDiv(extent, inner);
    for (int64_t passes : limits.tiles ? Passes(all) : std::vector<int64_t>{all}) {
      std::vector<int64_t> option{CeilDiv(all, passes), passes, inner};
      if (seen.insert(option).second) AddOption(&knob, std::move(option));
    }
  }
  return knob;
}

Knob SumKnob(std::string name, int64_t extent, bool blocks) {
  Knob knob{.name = std::move(name), .kind = Knob::Kind::kSplit};
  for (int64_t block : Divisors(extent)) {
    const int64_t count = extent / block;
    const bool taps = block == 1 && extent <= kMostTaps;
    if (count > 1 && (!blocks || (block < kShortestBlock && !taps) || count > kMostBlocks)) continue;
    for (int64_t unrolled : Divisors(block)) {
      if (unrolled > kMostUnrolled && unrolled != extent) break;
      if (unrolled > 2 * kMostUnrolled) break;
      AddOption(&knob, {count, block / unrolled, unrolled});
    }
  }
  return knob;
}

Knob OrderKnob(std::string name, const std::vector<std::string>& things) {
  Knob knob{.name = std::move(name), .kind = Knob::Kind::kPermutation};
  std::vector<int64_t> order(things.size());
  std::iota(order.begin(), order.end(), 0);
  std::set<std::vector<int64_t>> seen;
  const auto add = [&](const std::vector<int64_t>& entry) {
    if (!seen.insert(entry).second) return;
    knob.options.push_back(entry.empty() ? "-" : absl::StrJoin(entry, ",", [&](std::string* out, int64_t position) {
      absl::StrAppend(out, things[position]);
    }));
    knob.values.push_back(entry);
  };
  if (things.size() <= 4) {
    std::vector<int64_t> entry = order;
    do {
      add(entry);
    } while (std::next_permutation(entry.begin(), entry.end()));
    return knob;
  }
  // The order in which they stand, each moved to the front, and each moved to the end.
  add(order);
  for (size_t i = 0; i < order.size(); ++i) {
    std::vector<int64_t> entry = order;
    std::rotate(entry.begin(), entry.begin() + static_cast<int64_t>(i), entry.begin() + static_cast<int64_t>(i) + 1);
    add(entry);
    entry = order;
    std::rotate(entry.begin() + static_cast<int64_t>(i), entry.begin() + static_cast<int64_t>(i) + 1, entry.end());
    add(entry);
  }
  return knob;
}

Knob AnnotationKnob(std::string name, std::vector<int64_t> numbers) {
  Knob knob{.name = std::move(name), .kind = Knob::Kind::kAnnotation};
  for (int64_t number : numbers) AddOption(&knob, {number});
  return knob;
}

Knob ChoiceKnob(std::string name, std::vector<std::string> ways) {
  Knob knob{.name = std::move(name), .kind = Knob::Kind::kChoice, .options = std::move(ways)};
  for (size_t i = 0; i < knob.options.size(); ++i) knob.values.push_back({static_cast<int64_t>(i)});
  return knob;
}

}  // namespace smelt::kernels::config
