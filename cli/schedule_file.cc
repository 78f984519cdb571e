#include "cli/schedule_file.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/file/read.h"
#include "kernels/config/trace_file.h"

namespace smelt::cli {

using kernels::config::KernelTrace;

absl::StatusOr<targets::Knobs> ReadSchedules(const std::string& path, const hlo::Module& fused) {
  SMELT_ASSIGN_OR_RETURN(const std::string text, hlo::ReadTextFile(path));
  SMELT_ASSIGN_OR_RETURN(const std::vector<KernelTrace> traces, kernels::config::ParseTraces(text, path));
  SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(fused));
  targets::Knobs ways;
  for (const KernelTrace& trace : traces) {
    const bool known = std::any_of(kernels.begin(), kernels.end(),
                                   [&](const fusion::Kernel& kernel) { return kernel.hash == trace.kernel; });
    if (!known) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": kernel ", trace.kernel.ToHex(), trace.name.empty() ? "" : absl::StrCat(" (", trace.name, ")"),
          " is none of the ", kernels.size(),
          " kernels of this program under this fusion; `smelt inspect --kernels --json` lists their hashes"));
    }
    ways[trace.kernel.ToHex()] = kernels::config::PrintTraces(absl::MakeConstSpan(&trace, 1));
  }
  return ways;
}

absl::StatusOr<std::string> SchedulesOf(const targets::Target& target, absl::Span<const fusion::Kernel> kernels,
                                        const std::string& way) {
  std::vector<KernelTrace> traces;
  absl::Status last = absl::NotFoundError("the program has no kernel");
  for (const fusion::Kernel& kernel : kernels) {
    const absl::StatusOr<targets::KernelListing> listing = target.Show(kernel, way);
    if (!listing.ok()) {
      // A kernel without a loop nest is none to be scheduled, one that was asked for by itself is an error.
      last = listing.status();
      if (kernels.size() > 1 && last.code() == absl::StatusCode::kUnimplemented) continue;
      return last;
    }
    KernelTrace trace{kernel.hash, kernel.name, target.id().ToString(), ""};
    for (const auto& [part, text] : *listing) {
      if (part == "schedule") trace.steps = text;
      if (part == "algorithm") trace.algorithm = text;
    }
    if (!trace.steps.empty()) traces.push_back(std::move(trace));
  }
  if (traces.empty()) return last;
  return kernels::config::PrintTraces(traces);
}

}  // namespace smelt::cli
