// Packs and unpacks module files whose names end in .gz (gzip) or .zst (zstd).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace smelt::hlo {

enum class Compression : uint8_t { kNone, kGzip, kZstd };

// Equal bytes give equal results.
absl::StatusOr<std::string> Compress(std::string_view bytes, Compression compression);

// InvalidArgument: the bytes are of another kind, damaged or cut short. ResourceExhausted: they unpack to more than
// UnpackedLimit(bytes.size()); memory grows with what is unpacked, never with what a header promises.
absl::StatusOr<std::string> Decompress(std::string_view bytes, Compression compression);

// 64 MiB or 200 times the packed size, whichever is more, and at most 4 GiB. Texts of modules shrink 5 to 30 times.
int64_t UnpackedLimit(int64_t packed_bytes);

}  // namespace smelt::hlo
