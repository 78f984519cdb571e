// Fits the coefficients of the analytical model (kernels/cost/analytical.h) to a corpus of measured kernels.
//
//   build/release/bench/fit_analytical CORPUS...
//
// The kernels may be of several machines, whose figures their records tell; one set of coefficients is fitted to all.
// Prints the coefficients that there are and those that fit best, and the errors under both: medians of |estimate /
// measured - 1| for kernels of 5 us and more and for those below, and by kind of kernel the median of the ratio and the
// spread of its logarithm's middle half. What is made small is the mean of |log(estimate / measured)|, at most 2 each;
// a program's kernels count together as the square root of their number. A call's own start is a coefficient here,
// because kernels of a corpus are timed without a program's cold start.
//
// Exit status 0, or 1 where the corpus cannot be read.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "bench/run_program.h"
#include "gnn/corpus/corpus.h"
#include "gnn/dataset/kernel_kind.h"
#include "hlo/text/parser.h"
#include "kernels/cost/analytical.h"
#include "machine/descriptor.h"
#include "targets/cpu/processor/detect.h"

namespace {

using smelt::kernels::cost::Coefficients;
using smelt::kernels::cost::KernelWork;

constexpr double kMostError = 2;
constexpr double kLarge = 5e-6;

struct Kernel {
  KernelWork work;
  const smelt::machine::Machine* machine = nullptr;
  std::string program, kind;
  double seconds = 0;
  double weight = 1;
};

struct Parameters {
  Coefficients coefficients;
  double start_seconds = 3e-8;

  // Each as a pointer, with its name.
  std::vector<std::pair<std::string, double*>> All() {
    std::vector<std::pair<std::string, double*>> all;
    for (int loop = 0; loop < KernelWork::kLoops; ++loop)
      all.emplace_back(NameOf(static_cast<KernelWork::Loop>(loop)), &coefficients.operation[loop]);
    all.emplace_back("contraction share", &coefficients.contraction_share);
    all.emplace_back("bandwidth share", &coefficients.bandwidth_share);
    all.emplace_back("start, seconds", &start_seconds);
    return all;
  }
};

double EstimateOf(const Kernel& kernel, const Parameters& parameters) {
  const auto whole = FormulaOf(kernel.work, *kernel.machine, parameters.coefficients).Whole();
  return std::max(whole.compute, whole.memory) + parameters.start_seconds;
}

double Loss(const std::vector<Kernel>& kernels, const Parameters& parameters) {
  double sum = 0, weights = 0;
  for (const Kernel& kernel : kernels) {
    const double error = std::abs(std::log(EstimateOf(kernel, parameters) / kernel.seconds));
    sum += kernel.weight * std::min(error, kMostError);
    weights += kernel.weight;
  }
  return sum / weights;
}

// One coefficient after the other, by steps that become smaller; no share is above 1.
void Fit(const std::vector<Kernel>& kernels, Parameters* parameters) {
  double best = Loss(kernels, *parameters);
  for (double step = 2; step > 1.01; step = std::sqrt(step)) {
    for (int pass = 0; pass < 2; ++pass) {
      for (auto& [name, value] : parameters->All()) {
        for (const double factor : {step, 1 / step}) {
          for (;;) {
            const double before = *value;
            *value *= factor;
            if (name.ends_with("share")) *value = std::min(*value, 1.0);
            const double loss = *value == before ? best : Loss(kernels, *parameters);
            if (loss < best) {
              best = loss;
              continue;
            }
            *value = before;
            break;
          }
        }
      }
    }
    std::fprintf(stderr, "steps of %.3f: mean error %.4f\n", step, best);
  }
}

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void PrintCoefficients(const char* title, Parameters parameters) {
  std::printf("%s\n", title);
  for (const auto& [name, value] : parameters.All()) std::printf("  %-20s %.4g\n", name.c_str(), *value);
}

void PrintErrors(const smelt::machine::Machine& machine, const std::vector<Kernel>& kernels,
                 const Parameters& parameters) {
  std::vector<double> large, small;
  std::map<std::string, std::vector<double>> by_kind;
  for (const Kernel& kernel : kernels) {
    if (kernel.machine != &machine) continue;
    const double ratio = EstimateOf(kernel, parameters) / kernel.seconds;
    (kernel.seconds >= kLarge ? large : small).push_back(std::abs(ratio - 1));
    by_kind[kernel.kind].push_back(std::log(ratio));
  }
  std::printf("%s: median error %.1f %% for 5 us and more (%zu kernels), %.1f %% below (%zu)\n", machine.name.c_str(),
              100 * Quantile(large, 0.5), large.size(), 100 * Quantile(small, 0.5), small.size());
  std::printf("  %-22s %8s %8s %8s %8s\n", "kind", "kernels", "median", "middle", "10 to 90");
  for (const auto& [kind, errors] : by_kind)
    std::printf("  %-22s %8zu %8.2f %8.2f %8.2f\n", kind.c_str(), errors.size(), std::exp(Quantile(errors, 0.5)),
                Quantile(errors, 0.75) - Quantile(errors, 0.25), Quantile(errors, 0.9) - Quantile(errors, 0.1));
}

// Each by the text that describes it.
using Machines = std::map<std::string, smelt::machine::Machine>;

// The machine of a record; what it does not tell is `other`'s.
absl::StatusOr<const smelt::machine::Machine*> MachineOf(const std::string& text, const std::string& other,
                                                         Machines* machines) {
  const auto [at, fresh] = machines->try_emplace(text.empty() ? "host" : text);
  if (fresh && text.empty()) {
    SMELT_ASSIGN_OR_RETURN(at->second, smelt::cpu::ParseTarget(other));
  } else if (fresh) {
    SMELT_ASSIGN_OR_RETURN(at->second, smelt::machine::ReadMachine(text));
  }
  return &at->second;
}

absl::StatusOr<std::vector<Kernel>> Read(const std::vector<std::string>& folders, const std::string& other,
                                         Machines* machines) {
  absl::flat_hash_map<std::string, size_t> known;
  std::vector<Kernel> kernels;
  for (const std::string& folder : folders) {
    const auto report = smelt::gnn::ReadCorpus(folder, [&](smelt::gnn::KernelExample example) -> absl::Status {
      SMELT_ASSIGN_OR_RETURN(const smelt::machine::Machine* machine, MachineOf(example.machine, other, machines));
      for (const smelt::gnn::Measurement& measured : example.measurements) {
        if (!measured.default_tile || !measured.error.empty() || measured.seconds.empty()) continue;
        const auto [at, fresh] = known.try_emplace(machine->name + example.hash.ToHex(), kernels.size());
        if (!fresh) {
          kernels[at->second].seconds = std::min(kernels[at->second].seconds, measured.label());
          continue;
        }
        auto module = smelt::hlo::ParseModule(example.kernel_text, {.file_name = example.program});
        if (!module.ok()) return module.status();
        const smelt::hlo::Computation& computation = *(*module)->entry();
        kernels.push_back({smelt::kernels::cost::WorkOf(computation, *machine), machine,
                           smelt::StrCat(machine->name, " ", example.program), smelt::gnn::KernelKind(computation),
                           measured.label()});
      }
      return absl::OkStatus();
    });
    if (!report.ok()) return report.status();
  }
  std::map<std::string, double> counts;
  for (const Kernel& kernel : kernels) ++counts[kernel.program];
  for (Kernel& kernel : kernels) kernel.weight = 1 / std::sqrt(counts[kernel.program]);
  return kernels;
}

absl::Status FitCorpora(const std::vector<std::string>& folders, const std::string& other) {
  Machines machines;
  SMELT_ASSIGN_OR_RETURN(const std::vector<Kernel> kernels, Read(folders, other, &machines));
  Parameters parameters;
  PrintCoefficients("as it is", parameters);
  for (const auto& [text, machine] : machines) PrintErrors(machine, kernels, parameters);
  Fit(kernels, &parameters);
  PrintCoefficients("fitted", parameters);
  for (const auto& [text, machine] : machines) PrintErrors(machine, kernels, parameters);
  return absl::OkStatus();
}

smelt::cli::Action Declare(smelt::cli::Arguments& arguments) {
  auto folders = std::make_shared<std::vector<std::string>>();
  auto other = std::make_shared<std::string>("cpu:threads=1");
  arguments.Add("CORPUS", *folders, "Corpora of smelt profile").Required();
  arguments.Add("--target", *other, "Processor of records that do not tell their own");
  return [folders, other] { return FitCorpora(*folders, *other); };
}

}  // namespace

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("fit_analytical", "Fits the analytical model's coefficients to measured kernels",
                                  Declare, argc, argv);
}
