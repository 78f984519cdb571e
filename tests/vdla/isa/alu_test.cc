// Each operation of the ALU at the ends of its operands, beside its definition in exact integers of any size.
#include "vdla/isa/alu.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace smelt::vdla::isa {
namespace {

using Exact = __int128;

Exact FloorOfPower(Exact value, int power) {  // floor(value / 2^power); power below 120
  const Exact divisor = Exact{1} << power;
  const Exact quotient = value / divisor;
  return quotient * divisor > value ? quotient - 1 : quotient;
}
int32_t Modulo(Exact value) {
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<unsigned __int128>(value)));
}

// x * 2^amount modulo 2^32 for amounts of any size.
int32_t Left(int32_t x, int64_t amount) { return amount >= 64 ? 0 : Modulo(Exact{x} * (Exact{1} << amount)); }
// floor(x / 2^amount): from 100 on, what is left of x is its sign.
int32_t Right(int32_t x, int64_t amount) {
  return static_cast<int32_t>(FloorOfPower(x, static_cast<int>(std::min<int64_t>(amount, 100))));
}
int32_t Rounded(int32_t x, int64_t amount) {
  const int power = static_cast<int>(std::min<int64_t>(amount, 100));
  return static_cast<int32_t>(FloorOfPower(Exact{x} + (Exact{1} << (power - 1)), power));
}

int32_t Definition(AluOp op, int32_t x, int32_t y) {
  switch (op) {
    case AluOp::kMin:
      return std::min(x, y);
    case AluOp::kMax:
      return std::max(x, y);
    case AluOp::kAdd:
      return Modulo(Exact{x} + y);
    case AluOp::kSub:
      return Modulo(Exact{x} - y);
    case AluOp::kMul:
      return Modulo(Exact{x} * y);
    case AluOp::kShr:
      return y >= 0 ? Right(x, y) : Left(x, -int64_t{y});
    case AluOp::kRshr:
      return y >= 1 ? Rounded(x, y) : Left(x, -int64_t{y});
    case AluOp::kShl:
      return y >= 0 ? Left(x, y) : Right(x, -int64_t{y});
    case AluOp::kClip:
      return std::min(std::max(x, Modulo(-Exact{y} - 1)), y);
    case AluOp::kMulShift: {
      const Exact product = Exact{x} * static_cast<Exact>(FloorOfPower(y, 8));
      const int shift = static_cast<int>(static_cast<uint32_t>(y) % 256);
      const Exact scaled =
          shift == 0 ? product : FloorOfPower(product + (Exact{1} << (std::min(shift, 110) - 1)), std::min(shift, 110));
      return static_cast<int32_t>(std::min<Exact>(std::max<Exact>(scaled, INT32_MIN), INT32_MAX));
    }
    case AluOp::kMov:
      return y;
  }
  return 0;
}

std::vector<int32_t> Extremes() {
  std::vector<int32_t> values = {INT32_MIN, INT32_MIN + 1, INT32_MAX, INT32_MAX - 1, -32768, 32767,
                                 -129,      -128,          127,       128,           255,    256};
  for (int32_t small = -70; small <= 70; ++small) values.push_back(small);
  for (int bit = 7; bit < 31; ++bit) {
    for (const int32_t around : {-1, 0, 1}) {
      values.push_back((1 << bit) + around);
      values.push_back(-(1 << bit) + around);
    }
  }
  return values;
}

TEST(Alu, FollowsItsDefinitionAtTheEndsOfItsOperands) {
  const std::vector<int32_t> values = Extremes();
  for (int op = 0; op < kAluOps; ++op) {
    for (const int32_t x : values) {
      for (const int32_t y : values) {
        ASSERT_EQ(ApplyAlu(static_cast<AluOp>(op), x, y), Definition(static_cast<AluOp>(op), x, y))
            << NameOf(static_cast<AluOp>(op)) << " " << x << " " << y;
      }
    }
  }
}

TEST(Alu, FollowsItsDefinitionAtRandom) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300000; ++round) {
    const auto op = static_cast<AluOp>(round % kAluOps);
    const auto x = static_cast<int32_t>(random()),
               y = static_cast<int32_t>(static_cast<int32_t>(random()) >> random() % 32);
    ASSERT_EQ(ApplyAlu(op, x, y), Definition(op, x, y)) << NameOf(op) << " " << x << " " << y;
  }
}

TEST(Alu, MulShiftCoversEveryShift) {
  for (const int32_t multiplier : {-(1 << 23), -1, 0, 1, 77, (1 << 23) - 1}) {
    for (int shift = 0; shift < 256; ++shift) {
      const int32_t y = MulShiftOperand(multiplier, shift).value();
      for (const int32_t x : Extremes())
        ASSERT_EQ(ApplyAlu(AluOp::kMulShift, x, y), Definition(AluOp::kMulShift, x, y))
            << x << " " << multiplier << " " << shift;
    }
  }
  EXPECT_FALSE(MulShiftOperand(1 << 23, 0).has_value());
  EXPECT_FALSE(MulShiftOperand(-(1 << 23) - 1, 0).has_value());
  EXPECT_FALSE(MulShiftOperand(0, 256).has_value());
  EXPECT_FALSE(MulShiftOperand(0, -1).has_value());
}

// The examples that a reader of the document may check by hand.
TEST(Alu, ShiftsRoundAsTheDocumentSays) {
  EXPECT_EQ(ApplyAlu(AluOp::kShr, -5, 1), -3);
  EXPECT_EQ(ApplyAlu(AluOp::kRshr, -5, 1), -2);
  EXPECT_EQ(ApplyAlu(AluOp::kRshr, 5, 1), 3);
  EXPECT_EQ(ApplyAlu(AluOp::kShr, 1, -31), INT32_MIN);
  EXPECT_EQ(ApplyAlu(AluOp::kShl, 1, 32), 0);
  EXPECT_EQ(ApplyAlu(AluOp::kShr, -1, INT32_MAX), -1);
  EXPECT_EQ(ApplyAlu(AluOp::kShl, -1, INT32_MIN), -1);
  EXPECT_EQ(ApplyAlu(AluOp::kClip, -200, 127), -128);
  EXPECT_EQ(ApplyAlu(AluOp::kClip, 5, -1), -1);
  EXPECT_EQ(ApplyAlu(AluOp::kMulShift, INT32_MIN, MulShiftOperand(-(1 << 23), 0).value()), INT32_MAX);
}

TEST(Alu, StoresSaturate) {
  EXPECT_EQ(SaturateToInt8(INT32_MIN), -128);
  EXPECT_EQ(SaturateToInt8(-129), -128);
  EXPECT_EQ(SaturateToInt8(-128), -128);
  EXPECT_EQ(SaturateToInt8(127), 127);
  EXPECT_EQ(SaturateToInt8(128), 127);
  EXPECT_EQ(SaturateToInt8(INT32_MAX), 127);
}

}  // namespace
}  // namespace smelt::vdla::isa
