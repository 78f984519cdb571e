// Reads module files of every form: texts, protos, packed or not.
//
//   absl::StatusOr<std::unique_ptr<Module>> module = ReadModuleFile("resnet18.hlo");
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

// Reads what the name says (hlo/file/format.h); other names are HLO text. Errors name the file. Memory stays within a
// small multiple of the file's size, or of what a packed file may unpack to.
absl::StatusOr<std::unique_ptr<Module>> ReadModuleFile(const std::string& path, bool verify = true);

// The whole file, or an error that names it and the reason.
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

}  // namespace smelt::hlo
