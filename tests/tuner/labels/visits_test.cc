// Labels under spells: a machine whose clock is a fake and whose speed changes for a second every few seconds.
#include "tuner/visits.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <set>

#include "fusion/kernel_of_module.h"
#include "gnn/corpus/visits.h"
#include "hlo/text/parser.h"
#include "kernels/cost/analytical.h"
#include "nlohmann/json.hpp"
#include "tuner/shape_variants.h"
#include "tuner/spell_watch.h"

namespace smelt::tuner {
namespace {

// Seconds of the fake world: every trial takes as long as a real one. Several threads compile, one of them times.
struct World {
  double now = 0;
  std::atomic<int> processes = 0, timed = 0;
  double Factor() const { return std::fmod(now, 4.0) < 1.0 ? 1.7 : 1.0; }  // a quarter of the time
};

double TruthOf(const std::string& module) { return 1e-6 * static_cast<double>(1 + module.size() % 97); }

class FakeDevice : public measure::Device {
 public:
  explicit FakeDevice(World& world) : world_(world) { ++world_.processes; }
  absl::StatusOr<nlohmann::json> Call(const nlohmann::json& request, double) override {
    if (request["do"] == "compile") return nlohmann::json{{"compile_seconds", 0.01}};
    world_.now += 0.06;  // so that the reference kernel, too, is timed now and then
    ++world_.timed;
    const double seconds = TruthOf(request["module"].get<std::string>()) * world_.Factor();
    return nlohmann::json{{"seconds", {seconds, 1.01 * seconds, 1.005 * seconds}}, {"tile", "8"}, {"trace", ""}};
  }
  bool alive() const override { return true; }

 private:
  World& world_;
};

class FakeTarget : public targets::Target {
 public:
  explicit FakeTarget(World& world) : world_(world) {}
  machine::TargetId id() const override { return {"cpu", "fake", 1}; }
  std::string CompilerVersion() const override { return "fake 1"; }
  const machine::Machine& machine() const override { return machine_; }
  measure::DeviceFactory NewDevice(targets::DeviceUse) const override {
    return [this](double) -> absl::StatusOr<std::unique_ptr<measure::Device>> {
      return std::make_unique<FakeDevice>(world_);
    };
  }
  bool KeepsCode() const override { return true; }

 private:
  World& world_;
  const machine::Machine machine_;
};

std::vector<KernelJob> Jobs(int count) {
  std::vector<KernelJob> jobs;
  for (int i = 0; i < count; ++i) {
    const std::string shape = "f32[" + std::to_string(8 + i) + "]{0}";
    const std::string text =
        "HloModule k\n\nENTRY e {\n  p = " + shape + " parameter(0)\n  ROOT r = " + shape + " negate(p)\n}\n";
    jobs.push_back(
        {fusion::KernelOfModule(*hlo::ParseModule(text).value()).value(), {std::nullopt}, "program", "random"});
  }
  return jobs;
}

TEST(SpellWatch, TellsHowFarTheReferenceLiesFromItsUsualTime) {
  SpellWatch watch;
  for (int i = 0; i < 9; ++i) watch.Add(1e-5 * (1 + 0.001 * i));
  EXPECT_LT(std::fabs(watch.Drift()), 0.01);
  watch.Add(1.7e-5);
  EXPECT_NEAR(watch.Drift(), 0.7, 0.02);
  watch.Add(1e-5);  // between a slow one and an ordinary one, nobody knows when it ended
  EXPECT_NEAR(watch.Drift(), 0.7, 0.02);
  watch.Add(1e-5);
  EXPECT_LT(std::fabs(watch.Drift()), 0.01);
}

TEST(LabelOf, PrefersVisitsOutsideOfSpells) {
  EXPECT_EQ(gnn::LabelOf({}), 0);
  EXPECT_EQ(gnn::LabelOf({{2e-6, 0.0}, {1e-6, -0.4}}), 2e-6);
  EXPECT_EQ(gnn::LabelOf({{3e-6, 0.6}, {2e-6, 0.01}, {2.1e-6, 0.0}}), 2e-6);
  EXPECT_EQ(gnn::LabelOf({{3e-6, 0.6}, {5e-6, 0.7}}), 3e-6);
}

TEST(Visits, SpellsAreNoticedAndLeaveNoLabelWrong) {
  World world;
  const FakeTarget target(world);
  const std::vector<KernelJob> jobs = Jobs(60);
  SpellWatch watch;
  std::map<Hash128, std::vector<gnn::Visit>> visits;
  std::map<Hash128, std::set<std::string>> processes;
  int64_t unsteady = 0;
  const auto take = [&](const KernelJob& job, const KernelVisit& visit) {
    visits[job.kernel.hash].push_back({visit.times[0].outcome.best(), visit.drift});
    processes[job.kernel.hash].insert(visit.placement.substr(0, visit.placement.find(',')));
    unsteady += visit.unsteady;
    return absl::OkStatus();
  };
  ASSERT_TRUE(VisitKernels(target, {.visits = 2, .watch = &watch, .seconds_between = 0}, jobs, take).ok());
  ASSERT_EQ(visits.size(), jobs.size());
  EXPECT_GT(unsteady, 10);
  // The truth follows from the program that a kernel is timed as: ask the device itself, on a machine without spells.
  std::map<Hash128, double> truth;
  World quiet;
  quiet.now = 2;
  const FakeTarget still(quiet);
  measure::Runner runner(still.NewDevice(targets::DeviceUse::kTimes), {});
  for (const KernelJob& job : jobs) {
    quiet.now = 2;
    truth[job.kernel.hash] = still.TimeKernel(runner, job.kernel, "").outcome.best();
  }
  int single_wrong = 0, label_wrong = 0;
  for (const auto& [hash, of_kernel] : visits) {
    EXPECT_GE(of_kernel.size(), 2u);
    EXPECT_GE(processes[hash].size(), 2u);
    single_wrong += std::fabs(of_kernel[0].seconds / truth[hash] - 1) > 0.1;
    label_wrong += std::fabs(gnn::LabelOf(of_kernel) / truth[hash] - 1) > 0.1;
  }
  EXPECT_GE(single_wrong, 8);
  EXPECT_LE(label_wrong, 2);
}

TEST(Visits, SimulatedTimesAreMadeOnce) {
  class Simulated : public FakeTarget {
   public:
    using FakeTarget::FakeTarget;
    bool TimesVary() const override { return false; }
  };
  World world;
  const Simulated target(world);
  int64_t visits = 0;
  ASSERT_TRUE(VisitKernels(target, {.visits = 2}, Jobs(5), [&](const KernelJob&, const KernelVisit&) {
                ++visits;
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(visits, 5);
  EXPECT_EQ(world.timed, 5);
}

TEST(ShapeVariants, AreKernelsOfOtherSizesThatVerify) {
  const auto kernel = fusion::KernelOfModule(*hlo::ParseModule(R"(HloModule m

ENTRY e {
  a = f32[96,70]{1,0} parameter(0)
  b = f32[70,130]{1,0} parameter(1)
  d = f32[96,130]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[96,65]{1,0} slice(d), slice={[0:96], [0:65]}
  ROOT r = f32[96,65]{1,0} tanh(s)
}
)")
                                                  .value())
                          .value();
  std::set<Hash128> hashes{kernel.hash};
  for (const fusion::Kernel& variant : ShapeVariants(kernel, 8, 1)) {
    EXPECT_TRUE(hashes.insert(variant.hash).second);
    EXPECT_EQ(variant.computation().instruction_count(), kernel.computation().instruction_count());
  }
  EXPECT_GE(hashes.size(), 7u);
  // A size that a reshape folds away has no variant of its own.
  const auto folded =
      fusion::KernelOfModule(*hlo::ParseModule("HloModule m\n\nENTRY e {\n  p = f32[6,8]{1,0} parameter(0)\n  n = "
                                               "f32[6,8]{1,0} negate(p)\n  ROOT r = f32[48]{0} "
                                               "reshape(n)\n}\n")
                                  .value())
          .value();
  for (const fusion::Kernel& variant : ShapeVariants(folded, 8, 1)) EXPECT_FALSE(variant.hash == folded.hash);
}

}  // namespace
}  // namespace smelt::tuner
