// Finds accesses of two units that no token orders. Each unit has a vector clock: its own entry counts its
// instructions, the others tell up to which instruction of theirs it knows of. A token carries the clock of who pushes
// it, and who pops it learns what that one knew (Lamport 1978, Mattern 1989; the cells are those of FastTrack, PLDI
// 2009).
//
//   RaceDetector detector(config, instructions, /*max_races=*/16);
//   detector.Begin(vdla::isa::Unit::kLoad, /*number=*/0, vdla::isa::AccessesOf(instructions[0], {}, config));
//   VectorClock token = detector.Clock(vdla::isa::Unit::kLoad);  // goes with the token
//   detector.Join(vdla::isa::Unit::kCompute, token);             // where it is popped
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "sim/simulate.h"
#include "vdla/isa/accesses.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"

namespace smelt::sim {

using VectorClock = std::array<int64_t, vdla::isa::kUnits>;

class RaceDetector {
 public:
  // `instructions` must outlive it.
  RaceDetector(const vdla::isa::Config& config, absl::Span<const vdla::isa::Instruction> instructions,
               int64_t max_races);

  // The unit knows what the clock knows.
  void Join(vdla::isa::Unit unit, const VectorClock& clock);
  // The unit begins an instruction, after its tokens are popped, and touches all of this.
  void Begin(vdla::isa::Unit unit, int64_t number, const vdla::isa::Accesses& accesses);
  const VectorClock& Clock(vdla::isa::Unit unit) const { return clocks_[static_cast<size_t>(unit)]; }

  int64_t count() const { return count_; }
  std::vector<Race> TakeRaces() { return std::move(races_); }

 private:
  // The last instruction of a unit that touched something; `at` is 0 where none did.
  struct Epoch {
    int64_t at = 0, number = 0;
  };
  // An element of a memory on the chip.
  struct Cell {
    std::array<Epoch, vdla::isa::kUnits> read, written;
  };
  // A range of DRAM that a unit touched.
  struct Touched {
    vdla::isa::Run run;
    bool write;
    Epoch epoch;
  };

  bool Ordered(vdla::isa::Unit self, size_t other, const Epoch& epoch) const {
    return epoch.at <= clocks_[static_cast<size_t>(self)][other];
  }
  void TouchCells(vdla::isa::Unit unit, int64_t number, const vdla::isa::Access& access);
  void TouchDram(vdla::isa::Unit unit, int64_t number, const vdla::isa::Access& access);
  void Found(const Epoch& before, int64_t number, bool wrote, bool writes, const std::string& what);
  void ForgetKnown(size_t unit);

  const absl::Span<const vdla::isa::Instruction> instructions_;
  const int64_t max_races_;
  std::array<VectorClock, vdla::isa::kUnits> clocks_{};
  std::array<std::vector<Cell>, vdla::isa::kSpaces> cells_;     // by Space; DRAM has none
  std::array<std::deque<Touched>, vdla::isa::kUnits> touched_;  // of DRAM, that some other unit does not know of
  std::set<std::pair<int64_t, int64_t>> pairs_;                 // that are reported
  int64_t count_ = 0;
  std::vector<Race> races_;
};

}  // namespace smelt::sim
