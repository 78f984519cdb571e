// Named arrays and text in one file: the safetensors format (eight bytes of header length, a JSON header, raw
// little-endian data).
//
//   SafetensorsFile file;
//   file.metadata["metric"] = "rms";
//   file.tensors.push_back({"out.0", literal});
//   WriteSafetensors("result.safetensors", file);
//   ReadSafetensors("result.safetensors")->Find("out.0")
//
// A file that is torn, that is not of this format, or that points outside itself is one InvalidArgument error naming
// the file and the reason.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo/literal.h"

namespace smelt::hlo {

struct NamedTensor {
  std::string name;
  Literal literal;
};

struct SafetensorsFile {
  std::map<std::string, std::string> metadata;
  std::vector<NamedTensor> tensors;  // in the order of their data

  const Literal* Find(std::string_view name) const;  // nullptr when there is none
};

absl::StatusOr<SafetensorsFile> ReadSafetensors(const std::string& path);

// Replaces the file at once (written beside it, then renamed). Element types that the format lacks are stored as
// ToStorable has them.
absl::Status WriteSafetensors(const std::string& path, const SafetensorsFile& file);

// The same values in a type of the format: 4-bit and smaller integers as s8 or u8, small floats other than bf16, f16,
// f8e5m2 and f8e4m3fn as f32, complex with one more dimension of 2 (real, imaginary). The literal must be an array.
Literal ToStorable(const Literal& literal);
// The way back to an array of `shape`; an error when type or dimensions are not those that ToStorable makes of it.
absl::StatusOr<Literal> FromStorable(const Literal& stored, const Shape& shape);

}  // namespace smelt::hlo
