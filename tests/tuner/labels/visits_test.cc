// Labels under spells: a machine whose clock is a fake and that is slower for a part of every second.
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
  double slow_share = 0;
  std::atomic<int> processes = 0, timed = 0;
  double Factor() const { return std::fmod(now, 1.0) < slow_share ? 1.7 : 1.0; }
};

double TruthOf(const std::string& module) { return 1e-6 * static_cast<double>(1 + module.size() % 97); }

class FakeDevice : public measure::Device {
 public:
  explicit FakeDevice(World& world) : world_(world) { ++world_.processes; }
  absl::StatusOr<nlohmann::json> Call(const nlohmann::json& request, double) override {
    if (request["do"] == "compile") return nlohmann::json{{"compile_seconds", 0.01}};
    const double before = world_.Factor();
    world_.now += 0.06;
    ++world_.timed;
    const double seconds = TruthOf(request["module"].get<std::string>()) * before;
    nlohmann::json reply{{"seconds", {seconds, 1.01 * seconds, 1.005 * seconds}}, {"tile", "8"}, {"trace", ""}};
    if (request.contains("reference")) reply["reference_seconds"] = {1e-6 * before, 1e-6 * world_.Factor()};
    return reply;
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

class VisitsInSpells : public testing::TestWithParam<double> {};

TEST_P(VisitsInSpells, TimesMadeInThemAreMadeAgain) {
  World world{.slow_share = GetParam()};
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
  ASSERT_TRUE(VisitKernels(target, {.visits = 2, .watch = &watch}, jobs, take).ok());
  ASSERT_EQ(visits.size(), jobs.size());
  const double expected = 2 * 60 / (1 - GetParam());  // each until it is steady
  EXPECT_GT(world.timed, 0.8 * expected);
  EXPECT_LT(world.timed, 1.3 * expected);
  EXPECT_LE(unsteady, 20);
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
  int label_wrong = 0;
  for (const auto& [hash, of_kernel] : visits) {
    EXPECT_GE(of_kernel.size(), 2u);
    EXPECT_GE(processes[hash].size(), 2u);
    label_wrong += std::fabs(gnn::LabelOf(of_kernel) / truth[hash] - 1) > 0.1;
  }
  EXPECT_LE(label_wrong, 2);
}

INSTANTIATE_TEST_SUITE_P(Shares, VisitsInSpells, testing::Values(0, 0.25, 0.6));

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
