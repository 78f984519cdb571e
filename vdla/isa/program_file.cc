#include "vdla/isa/program_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/write_file.h"
#include "vdla/isa/assembly.h"
#include "vdla/isa/encoding.h"

namespace smelt::vdla::isa {
namespace {

constexpr std::string_view kMagic("VDLAPROG", 8);
constexpr uint32_t kFormat = 1;
constexpr size_t kHeader = 8 + 4 + 4 + 8;  // magic, version, checksum, bytes that follow
constexpr size_t kLargestFile = size_t{4} << 30;

// The checksum of zlib, PNG and Ethernet: polynomial 0xEDB88320, reflected.
uint32_t Crc32(std::string_view bytes) {
  static const std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table;
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xEDB88320u : 0);
      table[i] = value;
    }
    return table;
  }();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

template <typename Value>
void Put(std::string* out, Value value) {
  for (size_t b = 0; b < sizeof(Value); ++b) out->push_back(static_cast<char>(value >> (8 * b)));
}
void PutText(std::string* out, std::string_view text) {
  Put<uint64_t>(out, text.size());
  out->append(text.data(), text.size());
}

// Takes values from the front; what is not there is an error.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <typename Value>
  absl::StatusOr<Value> Take() {
    SMELT_ASSIGN_OR_RETURN(const std::string_view raw, TakeBytes(sizeof(Value)));
    Value value = 0;
    for (size_t b = 0; b < sizeof(Value); ++b)
      value = static_cast<Value>(value | static_cast<Value>(static_cast<uint8_t>(raw[b])) << (8 * b));
    return value;
  }
  absl::StatusOr<std::string_view> TakeBytes(uint64_t size) {
    if (size > bytes_.size()) return absl::InvalidArgumentError("a length in it is larger than the file");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  absl::StatusOr<std::string_view> TakeText() {
    SMELT_ASSIGN_OR_RETURN(const uint64_t size, Take<uint64_t>());
    return TakeBytes(size);
  }
  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

absl::StatusOr<Program> ReadPayload(std::string_view payload) {
  Reader reader(payload);
  Program program;
  SMELT_ASSIGN_OR_RETURN(program.name, reader.TakeText());
  SMELT_ASSIGN_OR_RETURN(const std::string_view machine, reader.TakeText());
  SMELT_ASSIGN_OR_RETURN(program.config, Config::Parse(machine, "its machine"));
  SMELT_ASSIGN_OR_RETURN(const std::string_view instructions, reader.TakeText());
  SMELT_ASSIGN_OR_RETURN(program.instructions, DecodeAll(instructions));
  SMELT_ASSIGN_OR_RETURN(const uint64_t segments, reader.Take<uint64_t>());
  for (uint64_t i = 0; i < segments; ++i) {  // each takes bytes of the file, so that it ends
    Segment segment;
    SMELT_ASSIGN_OR_RETURN(const uint8_t role, reader.Take<uint8_t>());
    segment.role = static_cast<Role>(role);
    SMELT_ASSIGN_OR_RETURN(segment.name, reader.TakeText());
    SMELT_ASSIGN_OR_RETURN(segment.address, reader.Take<uint64_t>());
    SMELT_ASSIGN_OR_RETURN(segment.size, reader.Take<uint64_t>());
    SMELT_ASSIGN_OR_RETURN(segment.bytes, reader.TakeText());
    program.segments.push_back(std::move(segment));
  }
  if (reader.left() != 0)
    return absl::InvalidArgumentError(StrCat(reader.left(), " bytes stand after its last segment"));
  SMELT_RETURN_IF_ERROR(CheckProgram(program));
  return program;
}

}  // namespace

absl::StatusOr<std::string> SerializeProgram(const Program& program) {
  SMELT_RETURN_IF_ERROR(CheckProgram(program));
  SMELT_ASSIGN_OR_RETURN(const std::string instructions, EncodeAll(program.instructions));
  std::string payload;
  PutText(&payload, program.name);
  PutText(&payload, program.config.ToJson());
  PutText(&payload, instructions);
  Put<uint64_t>(&payload, program.segments.size());
  for (const Segment& segment : program.segments) {
    Put<uint8_t>(&payload, static_cast<uint8_t>(segment.role));
    PutText(&payload, segment.name);
    Put<uint64_t>(&payload, segment.address);
    Put<uint64_t>(&payload, segment.size);
    PutText(&payload, segment.bytes);
  }
  std::string bytes(kMagic);
  Put<uint32_t>(&bytes, kFormat);
  Put<uint32_t>(&bytes, Crc32(payload));
  PutText(&bytes, payload);
  return bytes;
}

absl::StatusOr<Program> ParseProgram(std::string_view bytes, std::string_view origin) {
  const auto refuse = [&](std::string_view what) { return absl::InvalidArgumentError(StrCat(origin, ": ", what)); };
  if (bytes.substr(0, kMagic.size()) != kMagic.substr(0, bytes.size()) || bytes.empty())
    return refuse("is no program of VDLA: it does not begin with VDLAPROG");
  if (bytes.size() < kHeader)
    return refuse(StrCat("ends after ", bytes.size(), " bytes, within its header; it was not written whole"));
  Reader reader(bytes.substr(kMagic.size()));
  SMELT_ASSIGN_OR_RETURN(const uint32_t format, reader.Take<uint32_t>());
  if (format != kFormat)
    return refuse(StrCat("has version ", format, " of the format, and this tool reads version ", kFormat));
  SMELT_ASSIGN_OR_RETURN(const uint32_t crc, reader.Take<uint32_t>());
  SMELT_ASSIGN_OR_RETURN(const uint64_t size, reader.Take<uint64_t>());
  if (size > reader.left())
    return refuse(StrCat("ends ", size - reader.left(), " bytes too early; it was not written whole"));
  if (size < reader.left()) return refuse(StrCat(reader.left() - size, " bytes stand after its end"));
  const std::string_view payload = bytes.substr(kHeader);
  if (Crc32(payload) != crc) return refuse("its checksum differs; it is damaged");
  absl::StatusOr<Program> program = ReadPayload(payload);
  if (!program.ok()) return refuse(std::string(program.status().message()));
  return program;
}

absl::Status WriteProgramFile(const std::string& path, const Program& program) {
  SMELT_ASSIGN_OR_RETURN(const std::string bytes, SerializeProgram(program));
  return WriteFile(path, bytes);
}

absl::StatusOr<Program> ReadProgramFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) return absl::NotFoundError(StrCat(path, ": cannot be read: ", std::strerror(errno)));
  std::string bytes;
  char block[1 << 16];
  for (size_t got; (got = std::fread(block, 1, sizeof(block), file.get())) > 0;) {
    if (bytes.size() + got > kLargestFile)
      return absl::InvalidArgumentError(StrCat(path, ": is too large for a program"));
    bytes.append(block, got);
  }
  if (std::ferror(file.get()) != 0)
    return absl::NotFoundError(StrCat(path, ": cannot be read: ", std::strerror(errno)));
  if (std::string_view(bytes).substr(0, 5) == ".vdla") return Assemble(bytes, path);
  return ParseProgram(bytes, path);
}

}  // namespace smelt::vdla::isa
