#include "targets/registry.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace smelt::targets {
namespace {

// Objects of the class Registered are made before main, in an order that nobody knows.
std::map<std::string, Kind>& Table() {
  static std::map<std::string, Kind> table;
  return table;
}

}  // namespace

Registered::Registered(Kind kind) {
  std::string name = kind.name;
  Table().insert_or_assign(std::move(name), std::move(kind));
}

const std::map<std::string, Kind>& Kinds() { return Table(); }

std::string Settings::Get(const std::string& flag, const std::string& usual) const {
  const auto found = flags.find(flag);
  return found == flags.end() || found->second.empty() ? usual : found->second;
}

double Settings::Seconds(const std::string& flag, double usual) const {
  double seconds = usual;
  if (const std::string text = Get(flag); !text.empty() && !absl::SimpleAtod(text, &seconds)) return usual;
  return seconds;
}

std::vector<std::string> SplitTargets(const std::string& words) {
  std::vector<std::string> targets;
  for (absl::string_view word : absl::StrSplit(words, ',')) {
    const bool begins = Kinds().contains(std::string(word.substr(0, word.find(':'))));
    if (targets.empty() || begins) {
      targets.emplace_back(word);
    } else {
      absl::StrAppend(&targets.back(), ",", word);
    }
  }
  return targets;
}

absl::StatusOr<machine::TargetId> ReadTargetId(const std::string& words) {
  SMELT_ASSIGN_OR_RETURN(machine::TargetId id, machine::TargetId::Read(words));
  if (Kinds().contains(id.kind)) return id;
  std::vector<std::string> grammars;
  for (const auto& [name, kind] : Kinds()) grammars.push_back(kind.grammar);
  return absl::InvalidArgumentError(absl::StrCat("target `", words, "`: expected ", absl::StrJoin(grammars, "; ")));
}

absl::StatusOr<std::unique_ptr<Target>> Open(const machine::TargetId& id, const Settings& settings) {
  if (const auto kind = Kinds().find(id.kind); kind != Kinds().end()) return kind->second.open(id, settings);
  return ReadTargetId(id.ToString()).status();
}

}  // namespace smelt::targets
