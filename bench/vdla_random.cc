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
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "bench/run_program.h"
#include "bench/vdla_agreement.h"
#include "bench/vdla_kernel_agreement.h"

namespace smelt::bench {
namespace {

constexpr int kLayersOfProgram = 24;

struct Flags {
  int64_t programs = 100000, kernels = 0;
  uint64_t seed = 1;
  std::string folder;
};

absl::Status CheckKernels(int64_t kernels, uint64_t seed) {
  const Clock::time_point start = Clock::now();
  KernelCount count;
  for (int64_t k = 0; k < kernels; ++k) {
    const std::string difference = FindKernelDifference(seed + static_cast<uint64_t>(k), &count);
    if (!difference.empty()) {
      std::printf("seed %lu: %s\n", seed + static_cast<uint64_t>(k), difference.c_str());
      return FailedQuietly();
    }
    if ((k + 1) % 500 == 0) std::fprintf(stderr, "%ld kernels\n", k + 1);
  }
  std::printf(
      "%ld kernels under %ld schedules (%ld did not fit), %ld instructions: the evaluator's bits on both "
      "simulators, no race, no token left; %.0f seconds\n",
      count.kernels, count.schedules, count.refused, count.instructions, Since(start));
  return absl::OkStatus();
}

absl::Status WritePrograms(int64_t programs, uint64_t seed, const std::filesystem::path& folder) {
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
    SMELT_RETURN_IF_ERROR(WriteFile((folder / file).string(), layers.Finish()));
  }
  return absl::OkStatus();
}

absl::Status CheckPrograms(int64_t programs, uint64_t seed) {
  const Clock::time_point start = Clock::now();
  AgreementCount count;
  for (int64_t p = 0; p < programs; ++p) {
    const std::string difference = FindDisagreement(seed + static_cast<uint64_t>(p), &count);
    if (difference.empty()) continue;
    std::printf("seed %lu: %s\n", seed + static_cast<uint64_t>(p), difference.c_str());
    return FailedQuietly();
  }
  std::printf(
      "%ld programs of %ld instructions agree; %ld tokens were taken away one by one, and each was missed; %.0f "
      "seconds\n",
      programs, count.instructions, count.tokens, Since(start));
  return absl::OkStatus();
}

absl::Status Run(const Flags& flags) {
  if (!flags.folder.empty()) return WritePrograms(flags.kernels > 0 ? flags.kernels : 1, flags.seed, flags.folder);
  return flags.kernels > 0 ? CheckKernels(flags.kernels, flags.seed) : CheckPrograms(flags.programs, flags.seed);
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("--programs", flags->programs, "How many programs").Positive();
  arguments.Add("--kernels", flags->kernels, "How many layers, instead of programs").Positive();
  arguments.Add("--write", flags->folder, "Write programs of layers into this folder instead").ExistingFolder();
  arguments.Add("--seed", flags->seed, "Of the first; those that follow count up");
  return [flags] { return Run(*flags); };
}

}  // namespace
}  // namespace smelt::bench

int main(int argc, char** argv) {
  return smelt::bench::RunProgram(
      "vdla_random",
      "Random programs of VDLA: functional against cycle by cycle; random layers: against the evaluator.",
      smelt::bench::Declare, argc, argv);
}
