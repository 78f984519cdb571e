#include "hlo/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace smelt::hlo {
namespace {

constexpr PrimitiveType kSmallFloats[] = {
    PrimitiveType::kF16,      PrimitiveType::kBF16,       PrimitiveType::kF8E5M2,     PrimitiveType::kF8E4M3,
    PrimitiveType::kF8E4M3FN, PrimitiveType::kF8E5M2FNUZ, PrimitiveType::kF8E4M3FNUZ, PrimitiveType::kF8E4M3B11FNUZ,
    PrimitiveType::kF8E3M4,   PrimitiveType::kF8E8M0FNU,  PrimitiveType::kF4E2M1FN,   PrimitiveType::kF6E3M2FN,
    PrimitiveType::kF6E2M3FN,
};

int PatternCount(PrimitiveType type) { return 1 << BitWidth(type); }

TEST(SmallFloat, EveryPatternSurvivesDecodingAndEncoding) {
  for (PrimitiveType type : kSmallFloats) {
    for (int bits = 0; bits < PatternCount(type); ++bits) {
      const float value = DecodeFloat(type, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(DecodeFloat(type, EncodeFloat(type, value)))) << PrimitiveTypeName(type) << " " << bits;
      } else {
        EXPECT_EQ(EncodeFloat(type, value), bits) << PrimitiveTypeName(type) << " " << value;
      }
    }
  }
}

// Between two neighbours, everything below the middle goes down, everything above goes up and the middle goes to the
// even pattern.
TEST(SmallFloat, RoundsToNearestEvenBetweenAllNeighbours) {
  for (PrimitiveType type : kSmallFloats) {
    if (type == PrimitiveType::kF8E8M0FNU) continue;
    for (int bits = 0; bits + 1 < PatternCount(type) / 2; ++bits) {
      const double low = DecodeFloat(type, bits), high = DecodeFloat(type, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const double middle = (low + high) / 2;
      EXPECT_EQ(EncodeFloat(type, middle), bits % 2 == 0 ? bits : bits + 1) << PrimitiveTypeName(type) << " " << middle;
      EXPECT_EQ(EncodeFloat(type, std::nextafter(middle, 0)), bits) << PrimitiveTypeName(type) << " " << middle;
      EXPECT_EQ(EncodeFloat(type, std::nextafter(middle, 1e300)), bits + 1) << PrimitiveTypeName(type) << " " << middle;
    }
  }
}

// Found by comparing with XLA:CPU.
TEST(SmallFloat, PowersOfTwoAreRoundedUpFromTheMiddle) {
  const auto encoded = [](double value) { return EncodeFloat(PrimitiveType::kF8E8M0FNU, value); };
  for (int bits = 1; bits < 254; ++bits) {
    const double low = std::ldexp(1.0, bits - 127);
    EXPECT_EQ(encoded(low), bits);
    EXPECT_EQ(encoded(std::nextafter(1.5 * low, 0)), bits);
    EXPECT_EQ(encoded(1.5 * low), bits + 1);
  }
  EXPECT_EQ(encoded(std::ldexp(1.0, -127)), 0);
  EXPECT_EQ(encoded(std::ldexp(1.001, -127)), 1);
  EXPECT_EQ(encoded(std::ldexp(1.0, -140)), 0);
  EXPECT_EQ(encoded(std::ldexp(1.5, 127)), 255);
}

TEST(SmallFloat, OverflowFollowsTheFormat) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(DecodeFloat(PrimitiveType::kF8E5M2, EncodeFloat(PrimitiveType::kF8E5M2, 1e6)), infinity);
  EXPECT_TRUE(std::isnan(DecodeFloat(PrimitiveType::kF8E4M3FN, EncodeFloat(PrimitiveType::kF8E4M3FN, 480.0))));
  EXPECT_EQ(DecodeFloat(PrimitiveType::kF8E4M3FN, EncodeFloat(PrimitiveType::kF8E4M3FN, 464.0)), 448);
  EXPECT_TRUE(std::isnan(DecodeFloat(PrimitiveType::kF8E5M2FNUZ, EncodeFloat(PrimitiveType::kF8E5M2FNUZ, infinity))));
  EXPECT_EQ(DecodeFloat(PrimitiveType::kF4E2M1FN, EncodeFloat(PrimitiveType::kF4E2M1FN, infinity)), 6);
  EXPECT_EQ(DecodeFloat(PrimitiveType::kF6E3M2FN, EncodeFloat(PrimitiveType::kF6E3M2FN, -1e9)), -28);
  EXPECT_TRUE(std::isnan(DecodeFloat(PrimitiveType::kF8E8M0FNU, EncodeFloat(PrimitiveType::kF8E8M0FNU, -1.0))));
  EXPECT_TRUE(std::isnan(DecodeFloat(PrimitiveType::kF8E8M0FNU, EncodeFloat(PrimitiveType::kF8E8M0FNU, 0.0))));
  EXPECT_EQ(EncodeFloat(PrimitiveType::kF8E4M3FNUZ, -0.0), 0);
}

TEST(SmallFloat, FastPathsForBf16AndF16AgreeWithTheGeneralOne) {
  for (uint64_t i = 0; i < (uint64_t{1} << 32); i += 4099) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(i));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(BFloat16ToFloat(FloatToBFloat16(value))));
      EXPECT_TRUE(std::isnan(Float16ToFloat(FloatToFloat16(value))));
      continue;
    }
    ASSERT_EQ(FloatToBFloat16(value), EncodeFloat(PrimitiveType::kBF16, value)) << value;
    ASSERT_EQ(FloatToFloat16(value), EncodeFloat(PrimitiveType::kF16, value)) << value;
  }
}

TEST(SmallFloat, DoublesRoundOnce) {
  // Just above the middle of 1 and 1 + 2^-10: through f32 it would become the middle, and then 1.
  EXPECT_EQ(DecodeFloat(PrimitiveType::kF16, EncodeFloat(PrimitiveType::kF16, 1 + 0x1p-11 + 0x1p-40)), 1 + 0x1p-10f);
}

}  // namespace
}  // namespace smelt::hlo
