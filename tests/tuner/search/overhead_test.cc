#include "tuner/search/overhead.h"

#include "gtest/gtest.h"

namespace smelt::tuner {
namespace {

TEST(Overhead, IsToldFromProgramsAndNeverNegative) {
  OverheadFit fit;
  EXPECT_EQ(fit.Fit().seconds_per_byte, 0);
  // 1e-10 s a byte and 2e-6 s a kernel.
  for (const auto& [bytes, kernels] : {std::pair{1e6, 10.0}, {4e6, 10.0}, {1e6, 60.0}})
    fit.Add(bytes, kernels, 1e-4, 1e-4 + 1e-10 * bytes + 2e-6 * kernels);
  EXPECT_NEAR(fit.Fit().seconds_per_byte, 1e-10, 1e-12);
  EXPECT_NEAR(fit.Fit().seconds_per_kernel, 2e-6, 1e-8);
  OverheadFit faster;
  faster.Add(1e6, 10, 2e-4, 1e-4);
  EXPECT_EQ(faster.Fit().seconds_per_byte, 0);
  EXPECT_EQ(faster.Fit().seconds_per_kernel, 0);
}

}  // namespace
}  // namespace smelt::tuner
