// Module files.
//
//   absl::StatusOr<std::unique_ptr<Module>> module = ReadModuleFile("resnet18.hlo");
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

// Reads an HLO text (.hlo, .txt). Binary and text protos (.pb, .pbtxt) and compressed files (.gz, .zst) are refused by
// name.
absl::StatusOr<std::unique_ptr<Module>> ReadModuleFile(const std::string& path, bool verify = true);

// The whole file, or an error that names it and the reason.
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

}  // namespace smelt::hlo
