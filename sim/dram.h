// The DRAM of a simulated machine: all of its bytes are there and zero at the start, and only those that are written
// take memory of this process.
//
//   std::unique_ptr<Dram> dram = Dram::Create(int64_t{4} << 30).value();
//   absl::Status written = dram->Write(4096, "weights");
//   std::string back = dram->Read(4096, 7).value();
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace smelt::sim {

class Dram {
 public:
  // ResourceExhausted: this process may not have so much address space.
  static absl::StatusOr<std::unique_ptr<Dram>> Create(int64_t bytes);
  ~Dram();
  Dram(const Dram&) = delete;
  Dram& operator=(const Dram&) = delete;

  uint64_t size() const { return size_; }
  bool Holds(uint64_t address, uint64_t bytes) const { return bytes <= size_ && address <= size_ - bytes; }
  // OutOfRange: a part of it is outside.
  absl::Status Write(uint64_t address, std::string_view bytes);
  absl::StatusOr<std::string> Read(uint64_t address, uint64_t bytes) const;
  // So many bytes are 0 again, however many they are. OutOfRange: a part of them is outside.
  absl::Status Zero(uint64_t address, uint64_t bytes);

  // `size()` bytes; for who has asked Holds.
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }

 private:
  Dram(uint8_t* data, uint64_t size) : data_(data), size_(size) {}
  uint8_t* const data_;
  const uint64_t size_;
};

}  // namespace smelt::sim
