#include "machine/target_id.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace smelt::machine {

TargetId TargetId::Parse(std::string_view text) {
  absl::string_view rest(text.data(), text.size());
  TargetId id;
  if (absl::ConsumePrefix(&rest, "xla, cpu:")) {
    id.kind = "xla";
  } else {
    const size_t colon = rest.find(':');
    id.kind = std::string(rest.substr(0, colon));
    rest = colon == absl::string_view::npos ? absl::string_view() : rest.substr(colon + 1);
  }
  for (absl::string_view option : absl::StrSplit(rest, ',', absl::SkipEmpty())) {
    int threads = 0;
    if (absl::ConsumePrefix(&option, "threads=") && absl::SimpleAtoi(option, &threads) && threads > 0) {
      id.threads = threads;
    } else {
      id.cpu = std::string(option);
    }
  }
  return id;
}

absl::StatusOr<TargetId> TargetId::Read(std::string_view text) {
  constexpr int kMaxThreads = 1024;
  TargetId id;
  const size_t colon = text.find(':');
  id.kind = std::string(text.substr(0, colon));
  if (colon == std::string_view::npos) return id;
  for (absl::string_view option :
       absl::StrSplit(absl::string_view(text.data() + colon + 1, text.size() - colon - 1), ',')) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(option, absl::MaxSplits('=', 1));
    const bool has_value = option.find('=') != absl::string_view::npos;
    if (has_value && parts.first == "threads") {
      if (!absl::SimpleAtoi(parts.second, &id.threads) || id.threads < 1 || id.threads > kMaxThreads) {
        return absl::InvalidArgumentError(absl::StrCat("target `", std::string(text), "`: threads=", parts.second,
                                                       " is no number from 1 to ", kMaxThreads));
      }
    } else if (!has_value && id.cpu.empty() && !option.empty()) {
      id.cpu = std::string(option);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("target `", std::string(text), "`: `", std::string(option),
                                                     "` is neither threads=N nor one CPU's name"));
    }
  }
  return id;
}

std::string TargetId::ToString() const {
  std::string text = kind;
  if (!cpu.empty()) absl::StrAppend(&text, ":", cpu);
  if (threads > 0) absl::StrAppend(&text, cpu.empty() ? ":" : ",", "threads=", threads);
  return text;
}

bool TargetId::Agrees(const TargetId& other) const {
  const auto differ = [](const std::string& a, const std::string& b) { return !a.empty() && !b.empty() && a != b; };
  return !differ(kind, other.kind) && !differ(cpu, other.cpu) &&
         (threads == other.threads || threads == 0 || other.threads == 0);
}

}  // namespace smelt::machine
