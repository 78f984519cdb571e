// The configuration space of a kernel: every schedule that the master template can make of it, as a number.
//
//   ConfigSpace space = SpaceOf(computation, machine).value();
//   Config config = space.Random(bits);
//   config.ToString();                              // "i1=4x1x14 i3=2x1x32 r2=1x64x1 ... pack.p1=root"
//   schedule::Schedule schedule = space.ScheduleFor(config).value();
//   Config neighbour = space.Mutate(config, bits);
//
// The knobs follow from the loops of the kernel's dominating nest (kernels/nests/structure.h) and from no operator's
// name: kernels/config/main_nest.h says what they are and mean. A point is a mixed-radix number, one digit a knob.
//
// Not every point can work: some would need more registers or cache than there are. Random, Mutate and Default give
// points that pass Check; At gives any. A space holds the kernel's expressions and may outlive the kernel. Const
// functions may run in several threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/hash.h"
#include "hlo/computation.h"
#include "kernels/config/knob.h"
#include "kernels/schedule/schedule.h"
#include "machine/machine.h"

namespace smelt::kernels::config {

class MasterTemplate;  // master.h

// A point: the number of an option for each knob of its space.
class Config {
 public:
  Config() = default;
  Config(std::shared_ptr<const std::vector<Knob>> knobs, std::vector<int> values)
      : knobs_(std::move(knobs)), values_(std::move(values)) {}

  const std::vector<int>& values() const { return values_; }
  const std::vector<int64_t>& ValuesOf(size_t knob) const { return (*knobs_)[knob].values[values_[knob]]; }
  // `NAME=OPTION` of every knob, in order, separated by spaces; ConfigSpace::Parse reads it.
  std::string ToString() const;
  Hash128 Hash() const;  // of the text: the same in every process
  // Whether the texts are equal.
  bool operator==(const Config& other) const;

 private:
  std::shared_ptr<const std::vector<Knob>> knobs_;
  std::vector<int> values_;
};

class ConfigSpace {
 public:
  explicit ConfigSpace(std::shared_ptr<const MasterTemplate> master);

  // The product of the knobs' options; Uint128Max, where it is more: points beyond have no number.
  absl::uint128 size() const;
  const std::vector<Knob>& knobs() const { return *knobs_; }

  Config At(absl::uint128 index) const;  // index < size()
  absl::uint128 IndexOf(const Config& config) const;
  // The point that is nearest to what the templates choose without a search.
  Config Default() const;
  // Drawn evenly from the points that pass Check; Default where none was found in a thousand draws.
  Config Random(absl::BitGenRef bits) const;
  // One knob redrawn to another option; `config` itself where no neighbour passes.
  Config Mutate(const Config& config, absl::BitGenRef bits) const;

  // `config` with another option of one knob, which need not pass Check.
  Config With(const Config& config, size_t knob, int option) const;

  // Why the point cannot work: registers, caches, or vectors that would have to be gathered. FailedPrecondition naming
  // stage and loop. It is static: the schedule is not made. Microseconds.
  absl::Status Check(const Config& config) const;
  // The schedule of the point. Errors: those of Check; those of the primitives, with the stage and loop that they name.
  absl::StatusOr<schedule::Schedule> ScheduleFor(const Config& config) const;

  // The raw configuration as numbers: logarithms of split factors and annotations, the place of each thing in an order,
  // one-hot choices. KnobFeatureCount() numbers, the same for every point of the space.
  std::vector<float> KnobFeatures(const Config& config) const;
  size_t KnobFeatureCount() const;

  // Reads Config::ToString, knobs in any order. InvalidArgument naming the word: an unknown knob, an option that the
  // knob does not have, a knob that is missing or given twice. The word `default` is no point of the space: where texts
  // of configurations are read it means what the templates make without one.
  absl::StatusOr<Config> Parse(std::string_view text) const;

 private:
  std::shared_ptr<const MasterTemplate> master_;
  std::shared_ptr<const std::vector<Knob>> knobs_;
};

// Unimplemented naming the instruction or the stage: an operation without a loop nest; a kernel whose dominating nest
// is computed inside of another.
absl::StatusOr<ConfigSpace> SpaceOf(const hlo::Computation& kernel, const machine::Machine& target);

// SpaceOf(kernel, target) and the point of it that reads like `config`; never another schedule than it says.
absl::StatusOr<schedule::Schedule> ScheduleFor(const hlo::Computation& kernel, const Config& config,
                                               const machine::Machine& target);

}  // namespace smelt::kernels::config
