#include "machine/target_id.h"

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
