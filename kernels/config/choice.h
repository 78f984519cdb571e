// Which schedule a kernel is compiled with, as texts that people, records and configuration files carry.
//
//   ScheduleChoice choice = ParseChoice("i1=4x1x14 i3=2x1x32 r2=1x64x1").value();   // a point of its space
//   choice = ParseChoice("1x14x14x32").value();                                     // a tile
//   choice = ParseChoice("").value();                                               // what the templates make
//   choice = ParseChoice("direct").value();                                         // the same of the direct sum
//
// A choice is explicit unless it is the default, and an explicit choice is compiled as it says or not at all.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/hash.h"
#include "hlo/computation.h"
#include "kernels/config/trace_file.h"
#include "kernels/nests/structure.h"
#include "kernels/schedule/schedule.h"
#include "kernels/tiles/kernel_schedule.h"
#include "kernels/tiles/tiles.h"
#include "machine/machine.h"

namespace smelt::kernels::config {

// What the templates make of the kernel, with the tile that they prefer.
struct DefaultSchedule {
  bool direct = false;  // of the direct sum, also where another algorithm of a convolution is expected to be faster
  bool operator==(const DefaultSchedule&) const = default;
};
// Config::ToString of a point of the kernel's space.
struct ConfigText {
  std::string text;
  bool operator==(const ConfigText&) const = default;
};
using ScheduleChoice = std::variant<DefaultSchedule, nests::Tile, ConfigText, KernelTrace>;

inline bool IsExplicit(const ScheduleChoice& choice) { return !std::holds_alternative<DefaultSchedule>(choice); }

// Empty or "default"; "direct"; a tile ("1x14x14x32", "scalar"); a configuration ("NAME=OPTION ..."); or a trace file's
// text with one kernel. InvalidArgument: none of these.
absl::StatusOr<ScheduleChoice> ParseChoice(std::string_view text);
// What ParseChoice reads; empty for the default.
std::string ToText(const ScheduleChoice& choice);
// The same in a word or a line, for tables: a trace becomes "trace HASH".
std::string ToLine(const ScheduleChoice& choice);

// A trace's graph must be the kernel's: InvalidArgument naming both hashes where it is not. Other choices fit any
// kernel, as far as this tells.
absl::Status CheckChoice(const ScheduleChoice& choice, const Hash128& kernel);

// The schedule of a choice; of the default, that of the tile that the templates prefer. InvalidArgument: a tile that
// does not divide the kernel, a point of another space, a step of a trace that its graph does not allow;
// FailedPrecondition: a point that cannot work (ConfigSpace::Check). `structure` is that of the kernel; `options` are
// for tiles.
absl::StatusOr<schedule::Schedule> ScheduleOf(const ScheduleChoice& choice, const nests::Structure& structure,
                                              const machine::Machine& target,
                                              const nests::ScheduleOptions& options = {});

}  // namespace smelt::kernels::config
