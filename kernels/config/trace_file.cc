#include "kernels/config/trace_file.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "kernels/te/hlo/algorithm.h"

namespace smelt::kernels::config {
namespace {

constexpr char kTraceMagic[] = "smelt schedule";
constexpr size_t kCheckDigits = 16;

using TraceWords = std::vector<std::string>;

std::string CheckOf(const std::string& steps) { return HashOf(steps).ToHex().substr(0, kCheckDigits); }

class TraceReader {
 public:
  TraceReader(std::string_view text, std::string_view file) : file_(file) {
    lines_ = absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  }

  absl::StatusOr<std::vector<KernelTrace>> Run() {
    SMELT_RETURN_IF_ERROR(ReadVersion());
    std::vector<KernelTrace> traces;
    for (std::optional<TraceWords> words = Next(); words; words = Next()) {
      if ((*words)[0] != "kernel")
        return Error(absl::StrCat("expected `kernel HASH`, found `", absl::StrJoin(*words, " "), "`"));
      SMELT_ASSIGN_OR_RETURN(KernelTrace trace, ReadKernel(*words));
      for (const KernelTrace& other : traces) {
        if (other.kernel == trace.kernel)
          return Error(absl::StrCat("kernel ", trace.kernel.ToHex(), " stands there twice"));
      }
      traces.push_back(std::move(trace));
    }
    if (traces.empty()) return Error("holds no kernel");
    return traces;
  }

 private:
  absl::Status Error(std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(std::string(file_), ":", at_, ": ", std::string(what)));
  }

  // The words of the next line that has any.
  std::optional<TraceWords> Next() {
    while (at_ < lines_.size()) {
      const absl::string_view line = lines_[at_++];
      TraceWords words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipWhitespace());
      if (!words.empty() && words[0][0] != '#') return words;
    }
    return std::nullopt;
  }

  absl::Status ReadVersion() {
    const std::optional<TraceWords> words = Next();
    if (!words || words->size() != 3 || absl::StrCat((*words)[0], " ", (*words)[1]) != kTraceMagic) {
      return Error(absl::StrCat("is no file of schedules: these begin with `", kTraceMagic, " ", kTraceVersion, "`"));
    }
    if ((*words)[2] != absl::StrCat(kTraceVersion)) {
      return Error(absl::StrCat("has version ", (*words)[2], " of the format, and this program reads ", kTraceVersion,
                                ": print it again with `smelt inspect --schedule`"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<KernelTrace> ReadKernel(const TraceWords& head) {
    KernelTrace trace;
    const std::optional<Hash128> hash = head.size() > 1 ? Hash128::FromHex(head[1]) : std::nullopt;
    if (!hash || head.size() > 3) return Error("expected `kernel HASH [NAME]` with 32 hexadecimal digits");
    trace.kernel = *hash;
    if (head.size() == 3) trace.name = head[2];
    const size_t began = at_;
    int64_t steps = 0;
    for (std::optional<TraceWords> words = Next(); words; words = Next()) {
      if ((*words)[0] == "kernel") break;
      if ((*words)[0] == "target" && words->size() == 2 && steps == 0) {
        trace.target = (*words)[1];
        continue;
      }
      if ((*words)[0] == "algorithm" && words->size() == 2 && steps == 0) {
        const absl::StatusOr<te::ConvolutionAlgorithm> algorithm = te::ParseAlgorithm((*words)[1]);
        if (!algorithm.ok()) return Error(std::string(algorithm.status().message()));
        trace.algorithm = (*words)[1];
        continue;
      }
      if ((*words)[0] != "end") {
        absl::StrAppend(&trace.steps, absl::StrJoin(*words, " "), "\n");
        ++steps;
        continue;
      }
      return CheckEnd(*words, steps, std::move(trace));
    }
    return Error(absl::StrCat("the trace of kernel ", trace.kernel.ToHex(), " that begins at line ", began,
                              " has no `end`: the file is torn"));
  }

  absl::StatusOr<KernelTrace> CheckEnd(const TraceWords& words, int64_t steps, KernelTrace trace) const {
    if (words.size() == 2 && words[1] == "any") return trace;
    int64_t expected = 0;
    if (words.size() != 3 || !absl::SimpleAtoi(words[1], &expected))
      return Error("expected `end STEPS HASH`, or `end any` in a file that was written by hand: the file is torn");
    if (expected != steps) {
      return Error(absl::StrCat("the trace of kernel ", trace.kernel.ToHex(), " should have ", expected,
                                " steps and has ", steps, ": the file is torn"));
    }
    if (words[2] != CheckOf(trace.steps)) {
      return Error(absl::StrCat("the steps of kernel ", trace.kernel.ToHex(),
                                " were changed since they were printed; if that was meant, write `end any`"));
    }
    return trace;
  }

  std::string_view file_;
  std::vector<absl::string_view> lines_;
  size_t at_ = 0;
};

}  // namespace

std::string PrintTraces(absl::Span<const KernelTrace> traces) {
  std::string text = absl::StrCat(kTraceMagic, " ", kTraceVersion, "\n");
  for (const KernelTrace& trace : traces) {
    // Comments, such as those of a fallback, are no steps.
    std::string steps;
    int64_t count = 0;
    for (absl::string_view line : absl::StrSplit(trace.steps, '\n')) {
      const TraceWords words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipWhitespace());
      if (words.empty() || words[0][0] == '#') continue;
      absl::StrAppend(&steps, absl::StrJoin(words, " "), "\n");
      ++count;
    }
    absl::StrAppend(&text, "kernel ", trace.kernel.ToHex(), trace.name.empty() ? "" : " ", trace.name, "\n");
    if (!trace.target.empty()) absl::StrAppend(&text, "target ", trace.target, "\n");
    if (!trace.algorithm.empty()) absl::StrAppend(&text, "algorithm ", trace.algorithm, "\n");
    absl::StrAppend(&text, steps, "end ", count, " ", CheckOf(steps), "\n");
  }
  return text;
}

absl::StatusOr<std::vector<KernelTrace>> ParseTraces(std::string_view text, std::string_view file) {
  return TraceReader(text, file).Run();
}

}  // namespace smelt::kernels::config
