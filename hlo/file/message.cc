#include "hlo/file/message.h"

#include "absl/strings/escaping.h"
#include "base/str_cat.h"
#include "hlo/proto/reader.h"
#include "hlo/proto/writer.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"

namespace smelt::hlo {
namespace {

// No text begins so: a module's begins with a header.
constexpr char kProtoMark[] = "proto:";
constexpr size_t kProtoMarkSize = sizeof(kProtoMark) - 1;
constexpr int64_t kMostBytesAsText = 64 << 10;  // of constants

int64_t BytesOfConstants(const Module& module) {
  int64_t bytes = 0;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* instruction : computation->Instructions()) {
      if (instruction->opcode() == Opcode::kConstant) bytes += instruction->shape().ByteSize();
    }
  }
  return bytes;
}

}  // namespace

std::string ToMessage(const Module& module) {
  if (BytesOfConstants(module) > kMostBytesAsText) {
    // Text has no limit where protobuf has one.
    const absl::StatusOr<std::string> proto = WriteProto(module, ProtoForm::kBinary);
    if (proto.ok()) return StrCat(kProtoMark, absl::Base64Escape(*proto));
  }
  return ToText(module, {.stand_ins = true});
}

absl::StatusOr<std::unique_ptr<Module>> FromMessage(std::string_view message, const std::string& name) {
  if (!message.starts_with(kProtoMark)) return ParseModule(message, {.file_name = name});
  std::string proto;
  if (!absl::Base64Unescape({message.data() + kProtoMarkSize, message.size() - kProtoMarkSize}, &proto))
    return absl::InvalidArgumentError(StrCat(name, ": what stands behind `", kProtoMark, "` is no base64"));
  return ReadProto(proto, {.file_name = name});
}

}  // namespace smelt::hlo
