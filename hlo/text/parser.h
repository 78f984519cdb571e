// Parses HLO text into modules.
//
//   ParseOptions options;
//   options.file_name = "resnet18.hlo";
//   absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text, options);
//
// Reads whole modules, computations without a module header, and single instructions (whose unknown operands become
// parameters). Attributes that Smelt does not know are kept and printed again. Missing shapes are inferred. An error is
// one line, then the text's line and a caret:
//
//   resnet18.hlo:3:21: expected an instruction that is defined above, found `%y`
//     %sum = f32[] add(%x, %y)
//                          ^
//
// No text aborts, overflows the stack, or takes more than a small multiple of its size (elided constants: 512 MiB in
// all). Linear in the text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

struct ParseOptions {
  std::string file_name = "text";
  // Checks what was read with VerifyModule, so that its complaints carry a position. Without it only what the text's
  // grammar demands is sure: passes, evaluation and lowering expect a module that verifies.
  bool verify = true;
};

absl::StatusOr<std::unique_ptr<Module>> ParseModule(std::string_view text, const ParseOptions& options = {});

// One shape, for example `f32[2,3]{1,0}`.
absl::StatusOr<Shape> ParseShape(std::string_view text);

}  // namespace smelt::hlo
