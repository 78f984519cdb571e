#include "base/aligned_buffer.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "base/large_pages.h"
#include "gtest/gtest.h"

namespace smelt {
namespace {

uintptr_t Address(const AlignedBuffer& buffer) { return reinterpret_cast<uintptr_t>(buffer.data()); }

TEST(AlignedBuffer, LargeOnesStartAtALargePageAndMayBeWrittenWhole) {
  for (const int64_t bytes :
       {int64_t{1}, int64_t{65}, kLeastBytesInLargePages - 1, kLeastBytesInLargePages, 3 * kLargePageBytes + 5}) {
    const AlignedBuffer buffer(bytes);
    ASSERT_NE(buffer.data(), nullptr) << bytes;
    EXPECT_EQ(Address(buffer) % 64, 0u) << bytes;
    if (bytes >= kLeastBytesInLargePages) {
      EXPECT_EQ(Address(buffer) % static_cast<uintptr_t>(kLargePageBytes), 0u) << bytes;
    }
    std::memset(buffer.data(), 1, static_cast<size_t>(bytes));
  }
}

TEST(AlignedBuffer, IsNullWithoutASizeOrWithoutMemory) {
  EXPECT_EQ(AlignedBuffer(0).data(), nullptr);
  EXPECT_EQ(AlignedBuffer(-1).data(), nullptr);
  EXPECT_EQ(AlignedBuffer(INT64_MAX).data(), nullptr);
  EXPECT_EQ(AlignedBuffer(INT64_MAX - kLargePageBytes).data(), nullptr);
}

TEST(AlignedBuffer, MovesToAnotherOwner) {
  AlignedBuffer first(kLargePageBytes);
  char* const data = first.data();
  AlignedBuffer second(std::move(first));
  EXPECT_EQ(second.data(), data);
  AlignedBuffer third;
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
}

}  // namespace
}  // namespace smelt
