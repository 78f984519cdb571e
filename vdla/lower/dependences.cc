#include "vdla/lower/dependences.h"

#include <algorithm>

namespace smelt::vdla::lower {
namespace {

using isa::Access;
using isa::kSpaces;
using isa::kUnits;

constexpr Needs kNone = {-1, -1, -1};

// The latest access of each unit to a range that no access divides.
struct Cell {
  Needs read = kNone, write = kNone;
};

// One memory, cut at every place where some access begins or ends.
class Space {
 public:
  void AddCuts(const Access& access) {
    for (uint64_t i = 0; i < access.run.count; ++i) {
      const uint64_t begin = access.run.begin + i * access.run.stride;
      cuts_.push_back(begin);
      cuts_.push_back(begin + access.run.length);
    }
  }
  void Cut() {
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    cells_.resize(cuts_.size());
  }
  template <typename Visit>
  void ForEachCell(const Access& access, Visit visit) {
    for (uint64_t i = 0; i < access.run.count; ++i) {
      const uint64_t begin = access.run.begin + i * access.run.stride;
      auto cut = std::lower_bound(cuts_.begin(), cuts_.end(), begin);
      for (; *cut < begin + access.run.length; ++cut) visit(cells_[static_cast<size_t>(cut - cuts_.begin())]);
    }
  }

 private:
  std::vector<uint64_t> cuts_;
  std::vector<Cell> cells_;
};

void WaitFor(const Needs& earlier, Needs& needs) {
  for (int unit = 0; unit < kUnits; ++unit) needs[unit] = std::max(needs[unit], earlier[unit]);
}

}  // namespace

std::vector<Needs> FindDependences(absl::Span<const Step> steps) {
  // What nobody writes (weights, inputs) and what one unit alone touches needs no order. Most bytes of DRAM are such,
  // but telling them apart costs as much as treating them like the rest.
  std::array<Space, kSpaces> spaces;
  for (const Step& step : steps) {
    if (step.accesses == nullptr) continue;
    for (const Access& access : *step.accesses) spaces[static_cast<int>(access.space)].AddCuts(access);
  }
  for (Space& space : spaces) space.Cut();

  std::vector<Needs> all(steps.size(), kNone);
  Needs latest = kNone;
  for (int64_t i = 0; i < static_cast<int64_t>(steps.size()); ++i) {
    const Step& step = steps[i];
    const int unit = static_cast<int>(step.unit);
    Needs& needs = all[i];
    if (step.waits_for_all) needs = latest;
    if (step.accesses != nullptr) {
      // All needs come before all marks: an instruction that reads what it writes does not wait for itself.
      for (const Access& access : *step.accesses) {
        spaces[static_cast<int>(access.space)].ForEachCell(access, [&](const Cell& cell) {
          WaitFor(cell.write, needs);
          if (access.write) WaitFor(cell.read, needs);
        });
      }
      for (const Access& access : *step.accesses) {
        spaces[static_cast<int>(access.space)].ForEachCell(
            access, [&](Cell& cell) { (access.write ? cell.write : cell.read)[unit] = i; });
      }
    }
    needs[unit] = -1;
    latest[unit] = i;
  }
  return all;
}

}  // namespace smelt::vdla::lower
