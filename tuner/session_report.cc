#include "tuner/session_report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "fusion/kernel.h"

namespace smelt::tuner {

absl::Status NameChangedKernels(const hlo::Module& usual, const hlo::Module& tuned, TuneReport* report) {
  std::map<Hash128, std::string> names[2];
  const hlo::Module* modules[2] = {&usual, &tuned};
  for (int i = 0; i < 2; ++i) {
    SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*modules[i]));
    for (const fusion::Kernel& kernel : kernels) names[i][kernel.hash] = kernel.name;
  }
  for (const auto& [hash, name] : names[0]) {
    if (!names[1].contains(hash)) report->kernels_gone.push_back(name);
  }
  for (const auto& [hash, name] : names[1]) {
    if (!names[0].contains(hash)) report->kernels_new.push_back(name);
  }
  return absl::OkStatus();
}

namespace {

// Times of the default and of the answer, and what decided between them.
std::string TimesText(const TuneReport& report) {
  const bool ours = report.compiler.empty();  // the default, and so it was predicted
  const std::string kept = ours ? "the default" : absl::StrCat(report.compiler, "'s own choice");
  if (report.default_seconds == 0) {
    const std::string why = report.undecided.empty() ? "nothing was measured" : report.undecided;
    return absl::StrCat("  nothing is known: ", why, ". ", ours ? "The default" : kept, " is the answer\n");
  }
  const auto line = [ours](const std::string& name, double seconds, double predicted) {
    return ours ? absl::StrFormat("  %-9s %10.4f ms (predicted %.4f ms)\n", name, 1e3 * seconds, 1e3 * predicted)
                : absl::StrFormat("  %-9s %10.4f ms\n", name, 1e3 * seconds);
  };
  std::string text =
      absl::StrCat(line(ours ? "default" : report.compiler, report.default_seconds, report.default_predicted),
                   line("tuned", report.best_seconds, report.best_predicted));
  if (!report.compared) {
    if (report.improved) {
      absl::StrAppend(&text, absl::StrFormat("  speed     %10.3f times the default's in one trial: %s\n",
                                             report.speedup(), report.undecided));
    } else {
      absl::StrAppend(&text, "  ",
                      report.undecided.empty() ? "nothing measured was faster than the default" : report.undecided,
                      ": ", kept, " is the answer\n");
    }
    return text;
  }
  const measure::Comparison& compared = *report.compared;
  const bool exact = compared.low == compared.high;  // times that never vary
  const std::string interval = exact ? absl::StrFormat("%.4f", std::exp(compared.gain))
                                     : absl::StrFormat("%.3f [%.3f, %.3f]", std::exp(compared.gain),
                                                       std::exp(compared.low), std::exp(compared.high));
  if (report.improved) {
    absl::StrAppend(&text, absl::StrFormat("  speed     %10s times the default's, ", interval),
                    exact ? "exactly, as times do not vary" : absl::StrCat("of ", compared.children, " processes"),
                    "\n");
  } else if (compared.children == 0) {
    absl::StrAppend(&text, "  the best that was found failed beside the default: ", kept, " is the answer\n");
  } else {
    absl::StrAppend(&text, "  the best that was found runs at ", interval, " times the default's speed, which ",
                    compared.better ? "gave other results in the end"
                    : exact         ? "is no gain"
                                    : "may be noise",
                    ": ", kept, " is the answer\n");
  }
  return text;
}

// Where the default's time goes, and what other ways of these kernels were worth.
std::string AloneText(const TuneReport& report) {
  constexpr size_t kMost = 6;
  if (report.alone.empty()) return "";
  double total = 0;
  for (const KernelAlone& kernel : report.alone) total += kernel.total();
  std::string text = absl::StrFormat("  kernels of the default timed alone, %d, together %.4f ms%s; the heaviest:\n",
                                     report.alone.size(), 1e3 * total,
                                     report.default_seconds > total ? ", the rest lies between them" : "");
  for (size_t i = 0; i < std::min(kMost, report.alone.size()); ++i) {
    const KernelAlone& kernel = report.alone[i];
    const std::string ways = kernel.ways == 0 ? "no other way to run it"
                             : kernel.fastest < kernel.seconds
                                 ? absl::StrFormat("the best of %d other ways takes %.2f %% less", kernel.ways,
                                                   100 * (1 - kernel.fastest / kernel.seconds))
                                 : absl::StrFormat("none of %d other ways is faster", kernel.ways);
    absl::StrAppend(&text, absl::StrFormat("    %10.4f ms %4.1f %%  %s: %s\n", 1e3 * kernel.total(),
                                           100 * kernel.total() / total, kernel.name, ways));
  }
  return text;
}

}  // namespace

std::string FormatReport(const std::string& path, const TuneOptions& options, const TuneReport& report,
                         const measure::Budget& budget) {
  std::string text = absl::StrCat(path, "\n", TimesText(report));
  const std::string verified = report.verified              ? "yes, against the evaluator"
                               : !report.difference.empty() ? absl::StrCat("NO: ", report.difference)
                               : report.unchecked.empty()   ? std::string("no: ended before")
                               : report.improved
                                   ? absl::StrCat("only against the default's own results: ", report.unchecked)
                                   : absl::StrCat("no: ", report.unchecked);
  if (report.default_seconds > 0) absl::StrAppend(&text, "  verified  ", verified, "\n");
  for (const std::string& line : report.noisy) absl::StrAppend(&text, "    ", line, "\n");
  absl::StrAppend(&text, "  time      ", budget.ToString(), "\n");
  if (report.measured + report.known > 0) {
    absl::StrAppend(&text, "  search    ");
    if (report.moves > 0)
      absl::StrAppend(&text, absl::StrFormat("%d moves, %.0f a second; ", report.moves, report.moves_per_second));
    absl::StrAppend(&text,
                    absl::StrFormat("%d configurations measured, %d from records, %d failed; %.1f s of compiling "
                                    "and timing",
                                    report.measured, report.known, report.failed, report.hardware_seconds));
    if (report.known_seconds > 0)
      absl::StrAppend(&text, absl::StrFormat(", %.1f s of it in earlier runs", report.known_seconds));
    absl::StrAppend(&text, "\n");
  }
  if (!report.kernels_gone.empty() || !report.kernels_new.empty()) {
    absl::StrAppend(&text, "  kernels of the default that are gone:\n");
    for (const std::string& name : report.kernels_gone) absl::StrAppend(&text, "    - ", name, "\n");
    absl::StrAppend(&text, "  kernels that the tuned program has instead:\n");
    for (const std::string& name : report.kernels_new) absl::StrAppend(&text, "    + ", name, "\n");
  }
  for (const ChangedKernel& kernel : report.tiles) {
    absl::StrAppend(&text, absl::StrFormat("  tile of %s: %s, %.1f us instead of %.1f us\n", kernel.name, kernel.tile,
                                           1e6 * kernel.tuned_seconds, 1e6 * kernel.seconds));
  }
  if (!report.answer.empty()) {
    absl::StrAppend(&text, "  answer    ", report.answer_words, "\n");
    return text;
  }
  for (const StartingPoint& start : report.starts) {
    absl::StrAppend(&text,
                    absl::StrFormat("  start     %-14s %.3f of the default's time\n", start.name, start.relative));
  }
  absl::StrAppend(&text, AloneText(report));
  for (const ChosenKnob& knob : report.knobs) absl::StrAppend(&text, "  ", knob.words, "\n");
  absl::StrAppend(&text, "  answer    ", (std::filesystem::path(options.folder) / "best.fusion.json").string(), "\n");
  return text;
}

}  // namespace smelt::tuner
