#include "fusion/config_file.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/write_file.h"
#include "fusion/legality.h"

namespace smelt::fusion {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kFormat = 1;
constexpr int64_t kLargestFile = 256 << 20;
constexpr int kDeepest = 16;

absl::Status Malformed(const std::string& origin, const std::string& what) {
  return absl::InvalidArgumentError(StrCat(origin, ": ", what, ". A configuration file is what `smelt tune` writes."));
}

// The keys of a decision's two instructions.
struct Ends {
  std::string_view first;
  std::string_view second;
};
Ends EndsOf(DecisionKind kind) {
  if (kind == DecisionKind::kEdge) return {"producer", "consumer"};
  if (kind == DecisionKind::kShare) return {"producer", ""};
  return {"first", "second"};
}

std::string Verb(DecisionKind kind, const std::string& first, const std::string& second) {
  if (kind == DecisionKind::kShare) return StrCat("shares `", first, "`");
  return StrCat("joins `", first, "` to `", second, "`");
}

// Text nested deeper than a configuration ever is must not reach the parser, which recurses when it takes apart a
// value.
bool TooDeep(const std::string& json) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') {
      if (++depth > kDeepest) return true;
    }
    if (c == '}' || c == ']') --depth;
  }
  return false;
}

absl::StatusOr<std::string> StringField(const Json& object, std::string_view key, const std::string& where) {
  auto it = object.find(std::string(key));
  if (it == object.end() || !it->is_string()) {
    return absl::InvalidArgumentError(StrCat(where, " has no text `", key, "`"));
  }
  return it->get<std::string>();
}

absl::Status ReadSeconds(const Json& object, std::string_view key, std::optional<double>* seconds) {
  auto it = object.find(std::string(key));
  if (it == object.end() || it->is_null()) return absl::OkStatus();
  if (!it->is_number() || !(it->get<double>() >= 0) || !std::isfinite(it->get<double>())) {
    return absl::InvalidArgumentError(StrCat("`", key, "` is not a number of seconds"));
  }
  *seconds = it->get<double>();
  return absl::OkStatus();
}

// Finds decisions by kind and names.
class Names {
 public:
  explicit Names(const Space& space) : space_(space) {
    for (const Node& node : space.graph().nodes()) nodes_[node.instruction->name()] = node.instruction;
    for (int32_t d = 0; d < space.size(); ++d) {
      decisions_[Key(space.decision(d).kind, space.first(d).name(),
                     space.second(d) == nullptr ? "" : space.second(d)->name())] = d;
    }
  }

  // The decision, or why this module does not have it.
  absl::StatusOr<int32_t> Find(int64_t position, DecisionKind kind, const std::string& computation,
                               const std::string& first, const std::string& second) const {
    const auto refuse = [&](const std::string& why) {
      return absl::FailedPreconditionError(
          StrCat("decision ", position, " ", Verb(kind, first, second), ", and ", why));
    };
    for (const std::string* name : {&first, &second}) {
      if (name->empty()) continue;
      auto it = nodes_.find(*name);
      if (it == nodes_.end()) return refuse(StrCat("this module has no `", *name, "`"));
      if (it->second->parent()->name() != computation) {
        return refuse(
            StrCat("here `", *name, "` stands in `", it->second->parent()->name(), "`, not in `", computation, "`"));
      }
    }
    auto it = decisions_.find(Key(kind, first, second));
    if (it == decisions_.end()) return refuse("this module has no such decision");
    return it->second;
  }

 private:
  static std::string Key(DecisionKind kind, const std::string& first, const std::string& second) {
    return StrCat(static_cast<int>(kind), " ", first, " ", second);
  }
  const Space& space_;
  absl::flat_hash_map<std::string, const hlo::Instruction*> nodes_;
  absl::flat_hash_map<std::string, int32_t> decisions_;
};

}  // namespace

std::string ConfigToJson(const Space& space, const SavedConfig& saved) {
  Json json;
  json["format"] = kFormat;
  json["module"] = space.module().name();
  json["fingerprint"] = space.fingerprint().ToHex();
  json["target"] = saved.target.kind.empty() ? space.rules().name : saved.target.ToString();
  if (saved.predicted_seconds) json["predicted_seconds"] = *saved.predicted_seconds;
  if (saved.measured_seconds) json["measured_seconds"] = *saved.measured_seconds;
  Json decisions = Json::array();
  for (int64_t d = 0; d < space.size(); ++d) {
    if (!saved.config.Get(d)) continue;
    const Ends ends = EndsOf(space.decision(d).kind);
    Json decision;
    decision["kind"] = DecisionKindName(space.decision(d).kind);
    decision["computation"] = space.computation(d).name();
    decision[std::string(ends.first)] = space.first(d).name();
    if (!ends.second.empty()) decision[std::string(ends.second)] = space.second(d)->name();
    decisions.push_back(std::move(decision));
  }
  json["decisions"] = std::move(decisions);
  if (!saved.tiles.empty()) json["tiles"] = saved.tiles;
  return JsonText(json, 1) + "\n";
}

absl::StatusOr<SavedConfig> ConfigFromJson(const std::string& text, const std::string& origin, const Space& space) {
  if (TooDeep(text)) return Malformed(origin, "nested more deeply than a configuration is");
  const Json json = ParseOrderedJson(text);
  if (json.is_discarded()) return Malformed(origin, "not valid JSON, or cut off");
  if (!json.is_object()) return Malformed(origin, "expected a JSON object");
  auto format = json.find("format");
  if (format == json.end() || !format->is_number_integer()) return Malformed(origin, "`format` is no whole number");
  if (format->get<int64_t>() != kFormat) {
    return absl::FailedPreconditionError(StrCat(origin, ": format ", format->get<int64_t>(),
                                                ", and this version reads format ", kFormat,
                                                ". Tune again, or use the version that wrote it."));
  }
  absl::StatusOr<std::string> fingerprint = StringField(json, "fingerprint", "the configuration");
  if (!fingerprint.ok()) return Malformed(origin, std::string(fingerprint.status().message()));
  SavedConfig saved{Config(space.size()), {}, {}, {}, {}};
  if (json.contains("target")) {
    absl::StatusOr<std::string> target = StringField(json, "target", "the configuration");
    if (!target.ok()) return Malformed(origin, std::string(target.status().message()));
    saved.target = machine::TargetId::Parse(*target);
    if (saved.target.kind != space.rules().name) {
      return absl::FailedPreconditionError(
          StrCat(origin, ": made for target `", *target, "`, and fused here for `", space.rules().name,
                 "`, whose code has other rules. Tune for this target, or use the configuration with its own."));
    }
  }
  for (const auto& [key, seconds] : {std::pair("predicted_seconds", &saved.predicted_seconds),
                                     std::pair("measured_seconds", &saved.measured_seconds)}) {
    if (absl::Status status = ReadSeconds(json, key, seconds); !status.ok()) {
      return Malformed(origin, std::string(status.message()));
    }
  }
  if (auto tiles = json.find("tiles"); tiles != json.end()) {
    if (!tiles->is_object()) return Malformed(origin, "`tiles` is no object");
    for (const auto& [hash, tile] : tiles->items()) {
      if (!Hash128::FromHex(hash) || !tile.is_string()) {
        return Malformed(origin, StrCat("the tile of `", hash, "` is no text, or that is no kernel hash"));
      }
      saved.tiles[hash] = tile.get<std::string>();
    }
  }
  auto decisions = json.find("decisions");
  if (decisions == json.end() || !decisions->is_array()) return Malformed(origin, "`decisions` is no list");

  const std::string advice =
      StrCat("The configuration names module ", *fingerprint, ", this one is ", space.fingerprint().ToHex(),
             ". Tune again, or pass the module that the configuration was made for.");
  const auto other_module = [&](absl::string_view difference) {
    return absl::FailedPreconditionError(
        StrCat(origin, ": made for another module: ", std::string(difference), ".\n", advice));
  };
  const Names names(space);
  for (size_t i = 0; i < decisions->size(); ++i) {
    const Json& entry = (*decisions)[i];
    const std::string where = StrCat("decision ", i);
    if (!entry.is_object()) return Malformed(origin, StrCat(where, " is no object"));
    absl::StatusOr<std::string> kind_name = StringField(entry, "kind", where);
    absl::StatusOr<std::string> computation = StringField(entry, "computation", where);
    if (!kind_name.ok()) return Malformed(origin, std::string(kind_name.status().message()));
    if (!computation.ok()) return Malformed(origin, std::string(computation.status().message()));
    std::optional<DecisionKind> kind;
    for (DecisionKind k : {DecisionKind::kEdge, DecisionKind::kShare, DecisionKind::kSibling}) {
      if (DecisionKindName(k) == *kind_name) kind = k;
    }
    if (!kind) return Malformed(origin, StrCat(where, " is of unknown kind `", *kind_name, "`"));
    const Ends ends = EndsOf(*kind);
    absl::StatusOr<std::string> first = StringField(entry, ends.first, where);
    absl::StatusOr<std::string> second = std::string();
    if (!ends.second.empty()) second = StringField(entry, ends.second, where);
    if (!first.ok()) return Malformed(origin, std::string(first.status().message()));
    if (!second.ok()) return Malformed(origin, std::string(second.status().message()));
    absl::StatusOr<int32_t> decision = names.Find(static_cast<int64_t>(i), *kind, *computation, *first, *second);
    if (!decision.ok()) return other_module(decision.status().message());
    saved.config.Set(*decision, true);
  }
  if (*fingerprint != space.fingerprint().ToHex()) {
    return other_module("its decisions name instructions of this one, but the two modules compute different things");
  }
  saved.config = Legalize(space, saved.config);
  return saved;
}

absl::Status SaveConfig(const std::string& path, const Space& space, const SavedConfig& saved) {
  return WriteFile(path, ConfigToJson(space, saved));
}

absl::StatusOr<SavedConfig> LoadConfig(const std::string& path, const Space& space) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(StrCat(path, ": cannot open the file: ", std::string(std::strerror(errno))));
  file.seekg(0, std::ios::end);
  const int64_t size = static_cast<int64_t>(file.tellg());
  if (size < 0 || size > kLargestFile) return Malformed(path, "not a file of a configuration's size");
  file.seekg(0);
  std::string text(static_cast<size_t>(size), '\0');
  file.read(text.data(), size);
  if (!file) return absl::DataLossError(StrCat(path, ": cannot read the file"));
  return ConfigFromJson(text, path, space);
}

}  // namespace smelt::fusion
