// The master template: the knobs of a kernel's dominating nest, and the schedule that a choice of them makes. The other
// nests get their own templates with the tiles that those prefer.
//
//   auto master = MasterTemplate::Of(computation, machine).value();
//   schedule::Schedule schedule = master->ScheduleFor(master->usual()).value();
//
// After Ansor's rules (Zheng et al., OSDI 2020, Section 4.1) in that the stages decide which loops there are, and after
// AutoTVM in that every decision is a knob. Users go through config.h.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "kernels/config/decisions.h"
#include "kernels/config/knob.h"
#include "kernels/config/main_nest.h"
#include "kernels/schedule/schedule.h"
#include "machine/machine.h"

namespace smelt::kernels::config {

class MasterTemplate {
 public:
  static absl::StatusOr<std::shared_ptr<const MasterTemplate>> Of(const hlo::Computation& kernel,
                                                                  const machine::Machine& target);
  static absl::StatusOr<std::shared_ptr<const MasterTemplate>> Of(nests::Structure structure,
                                                                  const machine::Machine& target);

  const std::shared_ptr<const std::vector<Knob>>& knobs() const { return knobs_; }
  const MainNest& nest() const { return *nest_; }
  // The options, one a knob, nearest to what the templates choose; they pass Check.
  const std::vector<int>& usual() const { return usual_; }

  Decisions DecisionsOf(const std::vector<int>& options) const;
  absl::Status Check(const std::vector<int>& options) const;
  absl::StatusOr<schedule::Schedule> ScheduleFor(const std::vector<int>& options) const;

 private:
  // What a knob decides; `index` is a position in the list that it is about.
  enum class Subject : uint8_t {
    kAxis,
    kReduce,
    kTileOrder,
    kPassOrder,
    kSumOrder,
    kVectors,
    kLanes,
    kParallel,
    kEpilogue,
    kPacking,
    kPackedRun
  };
  struct About {
    Subject subject;
    int index = 0;
  };

  MasterTemplate(std::unique_ptr<const MainNest> nest, const machine::Machine& target);
  void MakeKnobs();
  void Add(Knob knob, Subject subject, int index = 0);
  void FindUsual();

  machine::Machine target_;
  std::unique_ptr<const MainNest> nest_;
  std::vector<Knob> made_;  // while they are made
  std::shared_ptr<const std::vector<Knob>> knobs_;
  std::vector<About> about_;  // one a knob
  std::vector<int> usual_;
};

// Makes the schedule of a whole kernel by the decisions, whether or not they pass CheckDecisions. apply.cc
absl::StatusOr<schedule::Schedule> ScheduleByDecisions(const MainNest& nest, const Decisions& decisions,
                                                       const machine::Machine& target);

}  // namespace smelt::kernels::config
