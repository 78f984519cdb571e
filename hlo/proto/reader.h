// Modules from protos: HloSnapshot, HloProto and HloModuleProto, tried in turn, as XLA, JAX and TensorFlow write them.
//
//   SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ReadProto(bytes, {.file_name = "module.pb"}));
//
// Ids are matched by their low 32 bits, computations and instructions may come in any order, and comparisons may be the
// opcodes that they once were. No input aborts, overflows the stack, or is given memory for values that it does not
// hold.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hlo/module.h"
#include "hlo/proto/writer.h"

namespace smelt::hlo {

struct ProtoOptions {
  std::string file_name = "<proto>";  // for errors
  ProtoForm form = ProtoForm::kBinary;
  bool verify = true;  // as ParseOptions::verify
};

// InvalidArgument, naming file, computation and instruction, what was expected and what was found.
absl::StatusOr<std::unique_ptr<Module>> ReadProto(std::string_view bytes, const ProtoOptions& options = {});

}  // namespace smelt::hlo
