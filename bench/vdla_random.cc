// Do the two timings of the simulator of VDLA agree, and does what is lowered to it compute what HLO says?
//
//   build/release/bench/vdla_random --programs=100000 --seed=1
//   build/release/bench/vdla_random --kernels=10000 --seed=1
//
// Random programs without races must leave the same bytes in DRAM under both timings, have no race, and have one as
// soon as a token that they need is taken away. Random int8 layers under two of their schedules must give the
// evaluator's bits on both, without a race, a deadlock or a token that is left. `--write=FOLDER` writes programs of
// such layers in the sizes of networks instead, `--kernels` of them with 24 layers each, for `smelt profile
// --target=vdla`.
#include <cstdio>
#include <filesystem>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/write_file.h"
#include "bench/vdla_agreement.h"
#include "bench/vdla_kernel_agreement.h"

namespace smelt::bench {
namespace {

constexpr int kLayersOfProgram = 24;

int CheckKernels(int64_t kernels, uint64_t seed) {
  const Clock::time_point start = Clock::now();
  KernelCount count;
  for (int64_t k = 0; k < kernels; ++k) {
    const std::string difference = FindKernelDifference(seed + static_cast<uint64_t>(k), &count);
    if (!difference.empty()) {
      std::printf("seed %lu: %s\n", seed + static_cast<uint64_t>(k), difference.c_str());
      return 1;
    }
    if ((k + 1) % 500 == 0) std::fprintf(stderr, "%ld kernels\n", k + 1);
  }
  std::printf(
      "%ld kernels under %ld schedules (%ld did not fit), %ld instructions: the evaluator's bits on both "
      "simulators, no race, no token left; %.0f seconds\n",
      count.kernels, count.schedules, count.refused, count.instructions, Since(start));
  return 0;
}

int WritePrograms(int64_t programs, uint64_t seed, const std::filesystem::path& folder) {
  for (int64_t p = 0; p < programs; ++p) {
    const uint64_t of = seed + static_cast<uint64_t>(p);
    // From small networks to large ones.
    const int64_t sides[] = {8, 16, 28, 56}, channels[] = {64, 128, 256, 512};
    RandomLayers layers(of, {.side = sides[of % 4],
                             .channels = channels[(of / 4) % 4],
                             .images = 1 + static_cast<int64_t>(of / 16 % 2),
                             .whole_blocks = true});
    for (int l = 0; l < kLayersOfProgram; ++l) layers.Add();
    const std::string file = absl::StrFormat("layers_%05d.hlo", of);
    if (const absl::Status written = WriteFile((folder / file).string(), layers.Finish()); !written.ok()) {
      std::fprintf(stderr, "%s\n", std::string(written.message()).c_str());
      return 1;
    }
  }
  return 0;
}

int CheckPrograms(int64_t programs, uint64_t seed) {
  const Clock::time_point start = Clock::now();
  AgreementCount count;
  for (int64_t p = 0; p < programs; ++p) {
    const std::string difference = FindDisagreement(seed + static_cast<uint64_t>(p), &count);
    if (difference.empty()) continue;
    std::printf("seed %lu: %s\n", seed + static_cast<uint64_t>(p), difference.c_str());
    return 1;
  }
  std::printf(
      "%ld programs of %ld instructions agree; %ld tokens were taken away one by one, and each was missed; %.0f "
      "seconds\n",
      programs, count.instructions, count.tokens, Since(start));
  return 0;
}

}  // namespace
}  // namespace smelt::bench

int main(int argc, char** argv) {
  CLI::App app("Random programs of VDLA: functional against cycle by cycle; random layers: against the evaluator.");
  int64_t programs = 100000, kernels = 0;
  uint64_t seed = 1;
  std::string folder;
  app.add_option("--programs", programs, "How many programs")->check(CLI::PositiveNumber);
  app.add_option("--kernels", kernels, "How many layers, instead of programs")->check(CLI::PositiveNumber);
  app.add_option("--write", folder, "Write programs of layers into this folder instead")->check(CLI::ExistingDirectory);
  app.add_option("--seed", seed, "Of the first; those that follow count up");
  CLI11_PARSE(app, argc, argv);
  if (!folder.empty()) return smelt::bench::WritePrograms(kernels > 0 ? kernels : 1, seed, folder);
  return kernels > 0 ? smelt::bench::CheckKernels(kernels, seed) : smelt::bench::CheckPrograms(programs, seed);
}
