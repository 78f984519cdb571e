#include "hlo/file/compression.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "base/str_cat.h"

namespace smelt::hlo {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window; a gzip header
constexpr size_t kStep = size_t{1} << 16;
constexpr int kZstdLevel = 9;

absl::Status TooLarge(int64_t limit, size_t packed) {
  return absl::ResourceExhaustedError(
      StrCat("its ", packed, " bytes unpack to more than ", limit, ", which no module file does"));
}

absl::StatusOr<std::string> CompressGzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return absl::ResourceExhaustedError("no memory for gzip");
  }
  std::string out;
  std::string piece(kStep, '\0');
  size_t taken = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    const size_t next = std::min(bytes.size() - taken, size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    stream.avail_in = static_cast<uInt>(next);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    code = deflate(&stream, taken + next == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    taken += next - stream.avail_in;
    out.append(piece, 0, piece.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  if (code != Z_STREAM_END) return absl::InternalError(StrCat("gzip gave up with code ", code));
  return out;
}

// A file may be several gzip members one behind the other.
absl::StatusOr<std::string> DecompressGzip(std::string_view bytes) {
  const int64_t limit = UnpackedLimit(static_cast<int64_t>(bytes.size()));
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return absl::ResourceExhaustedError("no memory for gzip");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> closer(&stream, inflateEnd);
  std::string out;
  std::string piece(kStep, '\0');
  size_t taken = 0;
  for (;;) {
    const size_t next = std::min(bytes.size() - taken, size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    stream.avail_in = static_cast<uInt>(next);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    const size_t unpacked = piece.size() - stream.avail_out;
    const size_t used = next - stream.avail_in;
    taken += used;
    if (static_cast<int64_t>(out.size() + unpacked) > limit) return TooLarge(limit, bytes.size());
    out.append(piece, 0, unpacked);
    if (code == Z_STREAM_END) {
      if (taken == bytes.size()) return out;
      inflateReset(&stream);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return absl::InvalidArgumentError(
          StrCat("not gzip, or damaged at byte ", taken, stream.msg != nullptr ? StrCat(": ", stream.msg) : ""));
    } else if (used == 0 && unpacked == 0) {
      return absl::InvalidArgumentError(StrCat("gzip data cut short after ", bytes.size(), " bytes"));
    }
  }
}

absl::StatusOr<std::string> CompressZstd(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kZstdLevel);
  if (ZSTD_isError(size)) return absl::InternalError(StrCat("zstd: ", ZSTD_getErrorName(size)));
  out.resize(size);
  return out;
}

absl::StatusOr<std::string> DecompressZstd(std::string_view bytes) {
  const int64_t limit = UnpackedLimit(static_cast<int64_t>(bytes.size()));
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) return absl::ResourceExhaustedError("no memory for zstd");
  std::string out;
  std::string piece(kStep, '\0');
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (;;) {
    ZSTD_outBuffer to{piece.data(), piece.size(), 0};
    const size_t before = in.pos;
    const size_t left = ZSTD_decompressStream(context.get(), &to, &in);
    if (ZSTD_isError(left)) {
      return absl::InvalidArgumentError(StrCat("not zstd, or damaged at byte ", in.pos, ": ", ZSTD_getErrorName(left)));
    }
    if (static_cast<int64_t>(out.size() + to.pos) > limit) return TooLarge(limit, bytes.size());
    out.append(piece, 0, to.pos);
    if (left == 0 && in.pos == in.size) return out;
    if (to.pos == 0 && in.pos == before) {
      return absl::InvalidArgumentError(StrCat("zstd data cut short after ", bytes.size(), " bytes"));
    }
  }
}

}  // namespace

int64_t UnpackedLimit(int64_t packed_bytes) {
  return std::min(std::max(packed_bytes * 200, int64_t{64} << 20), int64_t{4} << 30);
}

absl::StatusOr<std::string> Compress(std::string_view bytes, Compression compression) {
  if (compression == Compression::kGzip) return CompressGzip(bytes);
  if (compression == Compression::kZstd) return CompressZstd(bytes);
  return std::string(bytes);
}

absl::StatusOr<std::string> Decompress(std::string_view bytes, Compression compression) {
  if (compression == Compression::kGzip) return DecompressGzip(bytes);
  if (compression == Compression::kZstd) return DecompressZstd(bytes);
  return std::string(bytes);
}

}  // namespace smelt::hlo
