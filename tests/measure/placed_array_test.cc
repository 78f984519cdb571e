#include "measure/placed_array.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace smelt::measure {
namespace {

TEST(PlacedArray, LiesAtThePlaceOfItsNumberAndIsZero) {
  std::set<uintptr_t> places;
  for (int64_t number = 0; number < 64; ++number) {
    const absl::StatusOr<PlacedArray> array = PlacedArray::Create(10000, number, Pages::kUsual);
    ASSERT_TRUE(array.ok()) << array.status();
    const uintptr_t address = reinterpret_cast<uintptr_t>(array->data());
    EXPECT_EQ(address % 64, 0);
    places.insert(address % 4096);
    EXPECT_TRUE(
        std::all_of(array->data(), array->data() + array->size(), [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(PlacedArray::Create(50, number, Pages::kUsual)->data()) % 4096,
              address % 4096);
  }
  EXPECT_EQ(places.size(), 64);
}

TEST(PlacedArray, WithoutMemoryIsAnError) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer ends the process where there is no memory";
#endif
  EXPECT_EQ(PlacedArray::Create(int64_t{1} << 60, 0, Pages::kLarge).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace smelt::measure
