#include "sim/race_detector.h"

#include <algorithm>

#include "base/str_cat.h"
#include "sim/executor.h"

namespace smelt::sim {

using vdla::isa::Access;
using vdla::isa::Accesses;
using vdla::isa::kUnits;
using vdla::isa::Run;
using vdla::isa::Space;
using vdla::isa::Unit;

namespace {
constexpr size_t kMostPairs = 1 << 20;
}  // namespace

RaceDetector::RaceDetector(const vdla::isa::Config& config, absl::Span<const vdla::isa::Instruction> instructions,
                           int64_t max_races)
    : instructions_(instructions), max_races_(max_races) {
  // Micro-ops are read and written by one unit alone, which cannot race with itself.
  for (const vdla::isa::Memory memory : {vdla::isa::Memory::kInp, vdla::isa::Memory::kWgt, vdla::isa::Memory::kAcc})
    cells_[static_cast<size_t>(SpaceOf(memory))].resize(static_cast<size_t>(config.DepthOf(memory)));
}

void RaceDetector::Join(Unit unit, const VectorClock& clock) {
  VectorClock& mine = clocks_[static_cast<size_t>(unit)];
  for (size_t u = 0; u < kUnits; ++u) mine[u] = std::max(mine[u], clock[u]);
}

void RaceDetector::Begin(Unit unit, int64_t number, const Accesses& accesses) {
  ++clocks_[static_cast<size_t>(unit)][static_cast<size_t>(unit)];
  for (const Access& access : accesses) {
    if (access.space == Space::kDram) {
      TouchDram(unit, number, access);
    } else if (!cells_[static_cast<size_t>(access.space)].empty()) {
      TouchCells(unit, number, access);
    }
  }
}

void RaceDetector::TouchCells(Unit unit, int64_t number, const Access& access) {
  const auto self = static_cast<size_t>(unit);
  const Epoch now{clocks_[self][self], number};
  std::vector<Cell>& cells = cells_[static_cast<size_t>(access.space)];
  for (uint64_t r = 0; r < access.run.count; ++r) {
    const uint64_t begin = access.run.begin + r * access.run.stride;
    for (uint64_t e = begin; e < begin + access.run.length; ++e) {
      Cell& cell = cells[e];
      for (size_t other = 0; other < kUnits; ++other) {
        if (other == self) continue;
        const bool read = access.write && !Ordered(unit, other, cell.read[other]);
        const bool written = !Ordered(unit, other, cell.written[other]);
        if (read || written)
          Found(written ? cell.written[other] : cell.read[other], number, written, access.write,
                StrCat(NameOf(access.space), " element ", e));
      }
      (access.write ? cell.written : cell.read)[self] = now;
    }
  }
}

void RaceDetector::TouchDram(Unit unit, int64_t number, const Access& access) {
  const auto self = static_cast<size_t>(unit);
  for (size_t other = 0; other < kUnits; ++other) {
    if (other == self) continue;
    ForgetKnown(other);
    // Epochs rise along the list, so that what this unit knows of is its beginning.
    const std::deque<Touched>& list = touched_[other];
    auto at =
        std::partition_point(list.begin(), list.end(), [&](const Touched& t) { return Ordered(unit, other, t.epoch); });
    for (; at != list.end(); ++at) {
      const Touched& touched = *at;
      if ((!touched.write && !access.write) || !Overlap(touched.run, access.run)) continue;
      const uint64_t begin = std::max(touched.run.begin, access.run.begin),
                     end = std::min(touched.run.end(), access.run.end());
      Found(touched.epoch, number, touched.write, access.write, StrCat("DRAM between bytes ", begin, " and ", end - 1));
    }
  }
  touched_[self].push_back({access.run, access.write, {clocks_[self][self], number}});
}

// What all others know of can race with nothing that is yet to come.
void RaceDetector::ForgetKnown(size_t unit) {
  int64_t known = clocks_[unit][unit];
  for (size_t other = 0; other < kUnits; ++other) known = std::min(known, clocks_[other][unit]);
  std::deque<Touched>& list = touched_[unit];
  while (!list.empty() && list.front().epoch.at <= known) list.pop_front();
}

void RaceDetector::Found(const Epoch& before, int64_t number, bool wrote, bool writes, const std::string& what) {
  // One report for a pair of instructions; of a program that races all over, the first million count.
  if (pairs_.size() >= kMostPairs || !pairs_.insert({before.number, number}).second) return;
  ++count_;
  if (static_cast<int64_t>(races_.size()) >= max_races_) return;
  const auto describe = [&](int64_t n) { return Describe(instructions_[static_cast<size_t>(n)], n); };
  races_.push_back(
      {before.number, number, what,
       StrCat("race: ", describe(before.number), " of the ",
              NameOf(UnitOf(instructions_[static_cast<size_t>(before.number)])), " unit ", wrote ? "writes " : "reads ",
              what, ", and ", describe(number), " of the ", NameOf(UnitOf(instructions_[static_cast<size_t>(number)])),
              " unit ", writes ? "writes" : "reads", " it; no token orders them")});
}

}  // namespace smelt::sim
