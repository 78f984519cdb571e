#include "sim/dram.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/str_cat.h"

namespace smelt::sim {
namespace {

absl::Status Outside(uint64_t address, uint64_t bytes, uint64_t size) {
  return absl::OutOfRangeError(
      StrCat(bytes, " bytes at address ", address, " are outside the ", size, " bytes of DRAM"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dram>> Dram::Create(int64_t bytes) {
  if (bytes <= 0) return absl::InvalidArgumentError("DRAM must have a byte at least");
  void* const data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return absl::ResourceExhaustedError(StrCat("there is no address space for ", bytes, " bytes of simulated DRAM"));
  return std::unique_ptr<Dram>(new Dram(static_cast<uint8_t*>(data), static_cast<uint64_t>(bytes)));
}

Dram::~Dram() { munmap(data_, size_); }

absl::Status Dram::Write(uint64_t address, std::string_view bytes) {
  if (!Holds(address, bytes.size())) return Outside(address, bytes.size(), size_);
  if (!bytes.empty()) std::memcpy(data_ + address, bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::StatusOr<std::string> Dram::Read(uint64_t address, uint64_t bytes) const {
  if (!Holds(address, bytes)) return Outside(address, bytes, size_);
  return std::string(reinterpret_cast<const char*>(data_ + address), bytes);
}

absl::Status Dram::Zero(uint64_t address, uint64_t bytes) {
  if (!Holds(address, bytes)) return Outside(address, bytes, size_);
  // Whole pages are given back, and are zero when they are next touched; the rest is written.
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t first = (address + page - 1) / page * page, last = (address + bytes) / page * page;
  if (first >= last || madvise(data_ + first, last - first, MADV_DONTNEED) != 0) {
    std::memset(data_ + address, 0, bytes);
    return absl::OkStatus();
  }
  std::memset(data_ + address, 0, first - address);
  std::memset(data_ + last, 0, address + bytes - last);
  return absl::OkStatus();
}

}  // namespace smelt::sim
