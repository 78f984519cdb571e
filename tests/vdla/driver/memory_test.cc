// Which DRAM belongs to whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/vdla/driver/opened.h"
#include "vdla/driver/ports/dram_allocator.h"
#include "vdla/driver/vdla.h"

namespace smelt::vdla::driver {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DramAllocator, RangesAreAlignedApartAndComeBackWhole) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    constexpr uint64_t kBegin = 4096, kEnd = uint64_t{1} << 40;
    DramAllocator dram(kBegin, kEnd);
    std::map<uint64_t, uint64_t> taken;
    for (int i = 0; i < 1000; ++i) {
      if (taken.empty() || random() % 3 != 0) {
        const uint64_t bytes = 1 + random() % (uint64_t{1} << (random() % 39));
        const uint64_t alignment = 1 + random() % 5000;
        const absl::StatusOr<uint64_t> address = dram.Allocate(bytes, alignment);
        if (!address.ok()) {
          ASSERT_EQ(address.status().code(), absl::StatusCode::kResourceExhausted);
          ASSERT_LT(dram.largest_free_bytes(), bytes + alignment);
          continue;
        }
        ASSERT_EQ(*address % alignment, 0u);
        ASSERT_GE(*address, kBegin);
        ASSERT_LE(*address + bytes, kEnd);
        const auto next = taken.lower_bound(*address);
        if (next != taken.end()) {
          ASSERT_LE(*address + bytes, next->first);
        }
        if (next != taken.begin()) {
          ASSERT_LE(std::prev(next)->first + std::prev(next)->second, *address);
        }
        taken[*address] = bytes;
        EXPECT_TRUE(dram.Holds(*address, bytes));
        EXPECT_TRUE(dram.Holds(*address + bytes - 1, 1));
        EXPECT_FALSE(dram.Holds(*address, bytes + 1));
        if (bytes > 1) {
          EXPECT_FALSE(dram.Holds(*address + 1, bytes));
        }
      } else {
        const auto any = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
        ASSERT_TRUE(dram.Free(any->first).ok());
        ASSERT_FALSE(dram.Free(any->first).ok()) << "twice";
        taken.erase(any);
      }
    }
    for (const auto& [address, bytes] : taken) ASSERT_TRUE(dram.Free(address).ok());
    EXPECT_EQ(dram.largest_free_bytes(), kEnd - kBegin);
  }
}

TEST(DramAllocator, SizesNearTheEndOf64BitsDoNotWrap) {
  DramAllocator dram(4096, ~uint64_t{0});
  EXPECT_EQ(dram.Allocate(~uint64_t{0}, 64).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(dram.Allocate(1, ~uint64_t{0}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(dram.Allocate(0, 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(dram.Allocate(1, 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(dram.Free(1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(dram.Allocate(~uint64_t{0} - 4096, 4096).ok());
}

TEST(Buffers, KeepWhatIsWrittenAndNothingElse) {
  const Opened device("functional:machine=big");
  const VdlaBuffer a = device.NewBuffer(1000), b = device.NewBuffer(1000);
  const std::string ones(1000, '\1'), twos(1000, '\2');
  ASSERT_EQ(vdla_copy_to_device(a, 0, ones.data(), 1000), VDLA_OK);
  ASSERT_EQ(vdla_copy_to_device(b, 0, twos.data(), 1000), VDLA_OK);
  ASSERT_EQ(vdla_copy_to_device(a, 990, twos.data(), 10), VDLA_OK);
  std::string back(1000, '\0');
  ASSERT_EQ(vdla_copy_from_device(a, 0, back.data(), 1000), VDLA_OK);
  EXPECT_EQ(back, std::string(990, '\1') + std::string(10, '\2'));
  ASSERT_EQ(vdla_copy_from_device(b, 1, back.data(), 999), VDLA_OK);
  EXPECT_EQ(back.substr(0, 999), twos.substr(1));
  uint64_t size = 0;
  EXPECT_EQ(vdla_buffer_size(a, &size), VDLA_OK);
  EXPECT_EQ(size, 1000u);
}

TEST(Buffers, RangesOutsideAreRefused) {
  const Opened device("functional");
  const VdlaBuffer buffer = device.NewBuffer(100);
  char bytes[200] = {};
  EXPECT_EQ(vdla_copy_to_device(buffer, 0, bytes, 101), VDLA_INVALID);
  EXPECT_EQ(vdla_copy_to_device(buffer, 101, bytes, 0), VDLA_INVALID);
  EXPECT_EQ(vdla_copy_to_device(buffer, ~uint64_t{0}, bytes, 2), VDLA_INVALID);
  EXPECT_EQ(vdla_copy_from_device(buffer, 99, bytes, 2), VDLA_INVALID);
  EXPECT_EQ(vdla_copy_from_device(buffer, 1, bytes, ~uint64_t{0}), VDLA_INVALID);
  EXPECT_THAT(vdla_error(), HasSubstr("leave a buffer of 100 bytes"));
  EXPECT_EQ(vdla_copy_from_device(buffer, 100, bytes, 0), VDLA_OK);
  EXPECT_EQ(vdla_copy_to_device(buffer, 0, nullptr, 0), VDLA_OK);
}

TEST(Buffers, AllocationSaysWhatIsFree) {
  const Opened device("functional:dram=1M");
  VdlaBuffer buffer;
  EXPECT_EQ(vdla_buffer_allocate(device.handle, uint64_t{1} << 40, 0, &buffer), VDLA_MEMORY);
  EXPECT_THAT(vdla_error(), AllOf(HasSubstr("1099511627776 bytes"), HasSubstr("free buffers")));
  EXPECT_EQ(vdla_buffer_allocate(device.handle, 0, 0, &buffer), VDLA_INVALID);
  EXPECT_EQ(vdla_buffer_allocate(device.handle, 64, 48, &buffer), VDLA_INVALID);
  EXPECT_EQ(vdla_buffer_allocate(device.handle, 64, uint64_t{1} << 31, &buffer), VDLA_INVALID);
  EXPECT_EQ(vdla_buffer_allocate(device.handle, 64, 65536, &buffer), VDLA_OK);
}

TEST(Buffers, MemoryComesBackWhenTheLastUseIsOver) {
  const Opened device("functional:dram=1M");
  const VdlaStream stream = device.NewStream();
  constexpr uint64_t kLarge = 700 << 10;
  for (int i = 0; i < 5; ++i) {
    const VdlaBuffer large = device.NewBuffer(kLarge);
    const VdlaTransfer load = {VDLA_INP, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0};
    ASSERT_EQ(vdla_load(stream, large, &load), VDLA_OK);
    ASSERT_EQ(vdla_submit(stream), VDLA_OK);
    ASSERT_EQ(vdla_buffer_free(large), VDLA_OK);
    VdlaBuffer other;
    EXPECT_EQ(vdla_buffer_allocate(device.handle, kLarge, 0, &other), VDLA_MEMORY) << "queued work still reads it";
    if (i % 2 == 0) {
      ASSERT_EQ(vdla_synchronize(stream, 10, nullptr), VDLA_OK);
    } else {
      ASSERT_EQ(vdla_stream_clear(stream), VDLA_OK);
    }
  }
}

}  // namespace
}  // namespace smelt::vdla::driver
