// Modules as protos that XLA reads, and that give the same text when they are read here.
//
//   SMELT_ASSIGN_OR_RETURN(std::string bytes, WriteProto(module, ProtoForm::kBinary));
//
// The result is an HloModuleProto. What a text says that its fields cannot hold stands in fields of ours, which XLA
// skips in a binary file; its reader of text protos refuses them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

enum class ProtoForm : uint8_t { kBinary, kText };

// ResourceExhausted: the proto would have 2 GiB or more, which protobuf does not write.
absl::StatusOr<std::string> WriteProto(const Module& module, ProtoForm form);

}  // namespace smelt::hlo
