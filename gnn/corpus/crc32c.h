// CRC-32C (Castagnoli) and the mask that the TFRecord framing puts over it.
#pragma once

#include <cstdint>
#include <string_view>

namespace smelt::gnn {

uint32_t Crc32c(std::string_view bytes);
// Rotated and offset, so that a checksum of data that holds checksums stays useful.
inline uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace smelt::gnn
