// Which kernels of a program go into a corpus.
#include "tuner/kernel_sample.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "hlo/text/parser.h"

namespace smelt::tuner {
namespace {

// A chain of elementwise work that is read twice here and there: many configurations, many kernels.
std::string Chain() {
  std::string text = "HloModule chain\n\nENTRY e {\n  n0 = f32[64,32]{1,0} parameter(0)\n";
  for (int i = 1; i < 24; ++i) {
    const char* const opcodes[] = {"add", "multiply", "maximum"};
    text += std::string(i == 23 ? "  ROOT n" : "  n") + std::to_string(i) + " = f32[64,32]{1,0} " + opcodes[i % 3] +
            "(n" + std::to_string(i - 1) + ", n" + std::to_string(i / 2) + ")\n";
  }
  return text + "}\n";
}

class KernelSampleTest : public ::testing::Test {
 protected:
  KernelSampleTest()
      : module_(hlo::ParseModule(Chain()).value()),
        space_(fusion::Space::Build(*module_, fusion::Rules::OwnKernels()).value()) {}
  KernelSample Sample(const SampleOptions& options) {
    return SampleKernels(space_, {}, options, [](const fusion::Kernel&) { return true; });
  }
  const std::unique_ptr<hlo::Module> module_;
  const fusion::Space space_;
};

TEST_F(KernelSampleTest, HoldsKernelsOfHeuristicsOfRandomConfigurationsAndOfWalks) {
  const KernelSample sample = Sample({.kernels = 40, .configurations = 40, .seed = 3});
  ASSERT_EQ(sample.kernels.size(), 40u);
  EXPECT_GT(sample.distinct, 80);
  std::map<std::string, int> provenances;
  std::set<Hash128> hashes;
  for (const SampledKernel& found : sample.kernels) {
    ++provenances[found.provenance.substr(0, found.provenance.find(':'))];
    EXPECT_TRUE(hashes.insert(found.kernel.hash).second);
  }
  EXPECT_LE(provenances["heuristic"], 40);
  EXPECT_GE(provenances["random"], 8);
  EXPECT_GE(provenances["walk"], 8);
}

TEST_F(KernelSampleTest, IsTheSameUnderOneSeedAndAnotherUnderAnother) {
  const auto hashes = [&](uint64_t seed) {
    std::vector<Hash128> list;
    for (const SampledKernel& found : Sample({.kernels = 30, .configurations = 20, .seed = seed}).kernels)
      list.push_back(found.kernel.hash);
    return list;
  };
  EXPECT_EQ(hashes(1), hashes(1));
  EXPECT_NE(hashes(1), hashes(2));
}

// A sample that took the first kernels it met would hold those of the first configurations only.
TEST_F(KernelSampleTest, ALateConfigurationHasAsMuchOfAChanceAsAnEarlyOne) {
  std::set<Hash128> early;
  for (const SampledKernel& found : Sample({.kernels = 1000, .configurations = 8, .seed = 5}).kernels)
    early.insert(found.kernel.hash);
  int late = 0;
  const KernelSample sample = Sample({.kernels = 60, .configurations = 80, .seed = 5});
  for (const SampledKernel& found : sample.kernels) late += !early.contains(found.kernel.hash);
  EXPECT_GT(late, 10);
}

}  // namespace
}  // namespace smelt::tuner
