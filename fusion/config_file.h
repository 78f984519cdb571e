// Configuration files (`*.fusion.json`): a configuration by the names of instructions, with what was predicted and
// measured, to be replayed on the module that it was made for and on no other.
//
//   SaveConfig("best.fusion.json", space, {config, 0.0031, 0.0029}).IgnoreError();
//   SavedConfig saved = LoadConfig("best.fusion.json", space).value();
//
// The file is one JSON object: `format` (1), `module` (name), `fingerprint` (of the module before fusion), `target`
// (machine/target_id.h), `decisions` (those that are set: kind, computation, producer and consumer, or first and
// second), `predicted_seconds` and `measured_seconds` (numbers, where known), and `tiles` (kernel hash to tile, where
// some were tuned).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "machine/target_id.h"

namespace smelt::fusion {

struct SavedConfig {
  Config config;
  std::optional<double> predicted_seconds;
  std::optional<double> measured_seconds;
  // Tiles that differ from the default, by canonical kernel hash (32 hexadecimal digits): "1x8x32". The kernel compiler
  // reads them; to fusion they are text.
  std::map<std::string, std::string> tiles;
  // What it was made and measured for. Where nothing is known, a file that is written names the space's rules alone.
  machine::TargetId target;
};

// Writes a temporary file beside it and renames it, so that a reader sees the old or the new file. The file is equal
// for equal contents.
absl::Status SaveConfig(const std::string& path, const Space& space, const SavedConfig& saved);

// Reads and legalises. Errors, each one message that begins with the path: no such file; no valid JSON or a field of
// the wrong type (what was expected where); a format of a later version; made for another kind of target than the
// space's; made for another module, naming the first decision that this one does not have.
absl::StatusOr<SavedConfig> LoadConfig(const std::string& path, const Space& space);

// The same without a file; `origin` begins the messages.
std::string ConfigToJson(const Space& space, const SavedConfig& saved);
absl::StatusOr<SavedConfig> ConfigFromJson(const std::string& json, const std::string& origin, const Space& space);

}  // namespace smelt::fusion
