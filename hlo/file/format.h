// What a module file's name says about its content.
//
//   FormatOf("m.hlo.pb.gz")     // {kBinaryProto, kGzip}
#pragma once

#include <optional>
#include <string_view>

#include "hlo/file/compression.h"

namespace smelt::hlo {

enum class ModuleForm : uint8_t { kText, kBinaryProto, kTextProto };

struct FileFormat {
  ModuleForm form;
  Compression compression;
  bool operator==(const FileFormat&) const = default;
};

// Absent: an extension that is none of kExtensions.
std::optional<FileFormat> FormatOf(std::string_view path);

inline constexpr char kExtensions[] =
    ".hlo and .txt (HLO text), .pb (binary proto), .pbtxt, .textproto and .txtpb (text proto), each with .gz or .zst "
    "behind it";

}  // namespace smelt::hlo
