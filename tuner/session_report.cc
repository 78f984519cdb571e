#include "tuner/session_report.h"

#include <cstring>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fusion/kernel.h"
#include "hlo/status_macros.h"

namespace smelt::tuner {

absl::Status NameChangedKernels(const hlo::Module& usual, const hlo::Module& tuned, TuneReport* report) {
  std::map<hlo::Hash128, std::string> names[2];
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

std::string FormatReport(const std::string& path, const TuneOptions& options, const TuneReport& report) {
  const bool xla = options.xla != nullptr;
  std::string text =
      xla ? absl::StrFormat("%s\n  XLA       %10.4f ms (its own choice)\n  tuned     %10.4f ms\n", path,
                            1e3 * report.default_seconds, 1e3 * report.best_seconds)
          : absl::StrFormat(
                "%s\n  default   %10.4f ms (predicted %.4f ms)\n  tuned     %10.4f ms (predicted %.4f ms)\n", path,
                1e3 * report.default_seconds, 1e3 * report.default_predicted, 1e3 * report.best_seconds,
                1e3 * report.best_predicted);
  if (report.improved) {
    absl::StrAppend(&text,
                    absl::StrFormat("  gain      %10.1f %% (noise %.1f %%), interleaved medians\n",
                                    100 * (1 - report.best_seconds / report.default_seconds), 100 * report.noise));
  } else {
    absl::StrAppend(
        &text, absl::StrFormat(
                   "  nothing measured beat the default by more than twice the noise (%.1f %%): %s is the answer\n",
                   100 * report.noise, xla ? "XLA's own choice" : "the default"));
  }
  const std::string verified =
      report.verified              ? "yes, against the evaluator"
      : !report.difference.empty() ? absl::StrCat("NO: ", report.difference)
      : !report.unchecked.empty()
          ? absl::StrCat("only against another compilation: the evaluator stopped: ", report.unchecked)
          : "no: interrupted";
  absl::StrAppend(&text, "  verified  ", verified, "\n");
  for (const std::string& line : report.noisy) absl::StrAppend(&text, "    ", line, "\n");
  absl::StrAppend(&text,
                  absl::StrFormat("  search    %d moves, %.0f a second; %d configurations measured, %d from records, "
                                  "%d failed; %.1f s of hardware time\n",
                                  report.moves, report.moves_per_second, report.measured, report.known, report.failed,
                                  report.hardware_seconds));
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
  if (xla && report.answer != "as_given") {
    absl::StrAppend(&text, "  answer    ",
                    report.answer == "xla" ? "XLA's own choice: --fusion=xla\n"
                                           : "XLA without its library: --fusion=xla-no-library\n");
    return text;
  }
  for (const StartingPoint& start : report.starts)
    absl::StrAppend(&text, absl::StrFormat("  start     %-14s %.3f of XLA's time\n", start.name, start.relative));
  for (const std::string& name : report.library) absl::StrAppend(&text, "  library runs ", name, " and its equals\n");
  for (const std::string& name : report.called) absl::StrAppend(&text, "  a function of its own: ", name, "\n");
  for (const std::string& name : report.uncut) absl::StrAppend(&text, "  on one thread: ", name, "\n");
  absl::StrAppend(&text, "  answer    ", (std::filesystem::path(options.folder) / "best.fusion.json").string(), "\n");
  return text;
}

}  // namespace smelt::tuner
