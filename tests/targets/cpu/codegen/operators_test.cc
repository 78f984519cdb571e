// Every operator on every type: generated code, alone and in vectors, against te/scalar.h, on special and random
// values.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/te/scalar.h"
#include "tests/targets/cpu/codegen/vector_kernel.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::BinaryOp;
using kernels::te::PrimitiveType;
using kernels::te::Scalar;
using kernels::te::UnaryOp;

constexpr PrimitiveType kTypes[] = {
    PrimitiveType::kPred, PrimitiveType::kS8,  PrimitiveType::kS16, PrimitiveType::kS32, PrimitiveType::kS64,
    PrimitiveType::kU8,   PrimitiveType::kU16, PrimitiveType::kU32, PrimitiveType::kU64, PrimitiveType::kF16,
    PrimitiveType::kBF16, PrimitiveType::kF32, PrimitiveType::kF64};
constexpr int64_t kCount = 2048;

std::vector<Scalar> Values(PrimitiveType type, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Scalar> values;
  if (hlo::IsFloat(type)) {
    const double special[] = {0.0,
                              -0.0,
                              1.0,
                              -1.0,
                              0.5,
                              -0.5,
                              1.5,
                              -1.5,
                              2.5,
                              -2.5,
                              3.0,
                              1e-40,
                              1e-3,
                              100.0,
                              127.5,
                              -129,
                              65504,
                              7e4,
                              3e38,
                              -3e38,
                              1e10,
                              -1e19,
                              2147483648.0,
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()};
    for (double a : special) values.push_back({0, a});
    std::normal_distribution<double> normal(0, 4);
    while (values.size() < kCount) values.push_back({0, normal(random) * (random() % 8 == 0 ? 1000 : 1)});
  } else {
    for (int64_t a : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{7}, int64_t{8}, int64_t{31}, int64_t{32},
                      int64_t{63}, int64_t{64}, int64_t{127}, int64_t{-128}, int64_t{32767}, int64_t{-32768},
                      int64_t{INT32_MAX}, int64_t{INT32_MIN}, INT64_MAX, INT64_MIN, int64_t{-3}}) {
      values.push_back({a, 0});
    }
    while (values.size() < kCount) {
      values.push_back({static_cast<int64_t>(random() >> (random() % 64)) * (random() % 2 ? 1 : -1), 0});
    }
  }
  // Another seed gives another order, so that pairs of special values meet.
  std::shuffle(values.begin(), values.begin() + kCount, random);
  for (Scalar& value : values) value = kernels::te::RoundTo(type, value);
  return values;
}

// All pairs of the first specials against each other take place because both lists are shuffled differently many times.
struct Data {
  explicit Data(PrimitiveType type, uint32_t seed) : type(type), memory(kCount * 8) {
    const std::vector<Scalar> values = Values(type, seed);
    for (int64_t i = 0; i < kCount; ++i) kernels::te::StoreElement(type, memory.data(), i, values[i]);
  }
  Scalar operator[](int64_t i) { return kernels::te::LoadElement(type, memory.data(), i); }
  PrimitiveType type;
  Array<char> memory;
};

// Distance in units of the type's precision; exact for integers and pred.
bool Same(PrimitiveType type, Scalar got, Scalar want, double ulps) {
  if (!hlo::IsFloat(type)) return got.i == want.i;
  if (std::isnan(want.f)) return std::isnan(got.f);
  if (got.f == want.f) return true;
  const double digits = type == PrimitiveType::kF16    ? 11
                        : type == PrimitiveType::kBF16 ? 8
                        : type == PrimitiveType::kF32  ? 24
                                                       : 53;
  const double smallest = type == PrimitiveType::kF16 ? 0x1p-14 : type == PrimitiveType::kF64 ? 0x1p-1022 : 0x1p-126;
  const double unit = std::max(std::fabs(want.f), smallest) * std::exp2(-digits + 1);
  return std::fabs(got.f - want.f) <= ulps * unit;
}

std::string Show(PrimitiveType type, Scalar value) {
  return hlo::IsFloat(type) ? std::to_string(value.f) : std::to_string(value.i);
}

void CheckOperator(const std::string& what, const std::vector<PrimitiveType>& inputs, PrimitiveType output, double ulps,
                   const std::function<kernels::te::Expr(const std::vector<kernels::te::Expr>&)>& body,
                   const std::function<Scalar(const std::vector<Scalar>&)>& reference) {
  for (int lanes : {1, 16}) {
    auto code = CompileForHost(Elementwise(inputs, output, kCount, lanes, body));
    ASSERT_NE(code, nullptr) << what;
    for (uint32_t seed : {1u, 2u, 3u}) {
      std::vector<Data> data;
      std::vector<void*> buffers;
      for (size_t i = 0; i < inputs.size(); ++i) data.emplace_back(inputs[i], seed * 10 + static_cast<uint32_t>(i));
      Array<char> out(kCount * 8);
      for (Data& d : data) buffers.push_back(d.memory.data());
      buffers.push_back(out.data());
      Execute(*code, buffers);
      for (int64_t i = 0; i < kCount; ++i) {
        std::vector<Scalar> x;
        std::string arguments;
        for (Data& d : data) {
          x.push_back(d[i]);
          arguments += Show(d.type, x.back()) + " ";
        }
        const Scalar want = reference(x);
        const Scalar got = kernels::te::LoadElement(output, out.data(), i);
        ASSERT_TRUE(Same(output, got, want, ulps)) << what << " of " << arguments << "gives " << Show(output, got)
                                                   << ", not " << Show(output, want) << " (" << lanes << " lanes)";
      }
    }
  }
}

std::string Name(PrimitiveType type) { return std::string(hlo::PrimitiveTypeName(type)); }

class OperatorTest : public testing::TestWithParam<PrimitiveType> {};

TEST_P(OperatorTest, UnaryMeansWhatItSays) {
  const PrimitiveType type = GetParam();
  std::vector<UnaryOp> operators = {UnaryOp::kNegate, UnaryOp::kAbs, UnaryOp::kSign, UnaryOp::kIsFinite};
  if (hlo::IsFloat(type)) {
    for (UnaryOp op :
         {UnaryOp::kFloor, UnaryOp::kCeil, UnaryOp::kRoundEven, UnaryOp::kRoundAfz, UnaryOp::kSqrt, UnaryOp::kRsqrt,
          UnaryOp::kCbrt, UnaryOp::kExp, UnaryOp::kExpm1, UnaryOp::kLog, UnaryOp::kLog1p, UnaryOp::kTanh,
          UnaryOp::kLogistic, UnaryOp::kSin, UnaryOp::kCos, UnaryOp::kTan, UnaryOp::kErf, UnaryOp::kAtan}) {
      operators.push_back(op);
    }
  } else {
    for (UnaryOp op : {UnaryOp::kNot, UnaryOp::kPopcount, UnaryOp::kClz}) operators.push_back(op);
    if (type == PrimitiveType::kPred) operators = {UnaryOp::kNot};
  }
  for (UnaryOp op : operators) {
    const PrimitiveType output = op == UnaryOp::kIsFinite ? PrimitiveType::kPred : type;
    CheckOperator(
        "unary " + std::to_string(static_cast<int>(op)) + " on " + Name(type), {type}, output, 4,
        [&](const std::vector<kernels::te::Expr>& x) { return kernels::te::Unary(op, x[0]); },
        [&](const std::vector<Scalar>& x) { return kernels::te::EvaluateUnary(op, type, x[0]); });
  }
}

TEST_P(OperatorTest, BinaryMeansWhatItSays) {
  const PrimitiveType type = GetParam();
  std::vector<BinaryOp> operators = {BinaryOp::kAdd, BinaryOp::kMul, BinaryOp::kMin, BinaryOp::kMax};
  if (type != PrimitiveType::kPred) {
    for (BinaryOp op : {BinaryOp::kSub, BinaryOp::kDiv, BinaryOp::kRem, BinaryOp::kPower}) operators.push_back(op);
  }
  if (hlo::IsFloat(type)) {
    operators.push_back(BinaryOp::kAtan2);
  } else {
    for (BinaryOp op : {BinaryOp::kAnd, BinaryOp::kOr, BinaryOp::kXor}) operators.push_back(op);
    if (type != PrimitiveType::kPred) {
      for (BinaryOp op : {BinaryOp::kShiftLeft, BinaryOp::kShiftRightLogical, BinaryOp::kShiftRightArithmetic}) {
        operators.push_back(op);
      }
    }
  }
  for (BinaryOp op : operators) {
    CheckOperator(
        "binary " + std::to_string(static_cast<int>(op)) + " on " + Name(type), {type, type}, type, 2,
        [&](const std::vector<kernels::te::Expr>& x) { return kernels::te::Binary(op, x[0], x[1]); },
        [&](const std::vector<Scalar>& x) { return kernels::te::EvaluateBinary(op, type, x[0], x[1]); });
  }
}

TEST_P(OperatorTest, ComparisonsAndSelectMeanWhatTheySay) {
  const PrimitiveType type = GetParam();
  for (kernels::te::CompareOp op :
       {kernels::te::CompareOp::kEq, kernels::te::CompareOp::kNe, kernels::te::CompareOp::kLt,
        kernels::te::CompareOp::kLe, kernels::te::CompareOp::kGt, kernels::te::CompareOp::kGe}) {
    CheckOperator(
        "compare " + std::to_string(static_cast<int>(op)) + " on " + Name(type), {type, type}, PrimitiveType::kPred, 0,
        [&](const std::vector<kernels::te::Expr>& x) { return kernels::te::Compare(op, x[0], x[1]); },
        [&](const std::vector<Scalar>& x) {
          return Scalar{kernels::te::EvaluateCompare(op, type, x[0], x[1]), 0};
        });
  }
  CheckOperator(
      "select on " + Name(type), {PrimitiveType::kPred, type, type}, type, 0,
      [&](const std::vector<kernels::te::Expr>& x) { return kernels::te::Select(x[0], x[1], x[2]); },
      [&](const std::vector<Scalar>& x) { return x[0].i ? x[1] : x[2]; });
}

TEST_P(OperatorTest, CastsToEveryType) {
  const PrimitiveType from = GetParam();
  for (PrimitiveType to : kTypes) {
    CheckOperator(
        "cast " + Name(from) + " to " + Name(to), {from}, to, 0,
        [&](const std::vector<kernels::te::Expr>& x) {
          return kernels::te::Cast({to, x[0].type().lanes}, x[0]);
        },
        [&](const std::vector<Scalar>& x) { return kernels::te::EvaluateCast(from, to, x[0]); });
    if (hlo::BitWidth(from) == hlo::BitWidth(to) && from != PrimitiveType::kPred && to != PrimitiveType::kPred) {
      CheckOperator(
          "bitcast " + Name(from) + " to " + Name(to), {from}, to, 0,
          [&](const std::vector<kernels::te::Expr>& x) {
            return kernels::te::BitCast({to, x[0].type().lanes}, x[0]);
          },
          [&](const std::vector<Scalar>& x) { return kernels::te::EvaluateBitCast(from, to, x[0]); });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, OperatorTest, testing::ValuesIn(kTypes),
                         [](const auto& info) { return Name(info.param); });

// The points where one mistake is easy, spelled out instead of taken from the shared definition.
TEST(Operators, DivideIntegersAsHloDoes) {
  auto code = CompileForHost(Elementwise(
      {PrimitiveType::kS32, PrimitiveType::kS32}, PrimitiveType::kS32, 16, 16,
      [](const std::vector<kernels::te::Expr>& x) { return kernels::te::Binary(BinaryOp::kDiv, x[0], x[1]); }));
  ASSERT_NE(code, nullptr);
  Array<int32_t> a(16), b(16), out(16);
  a[0] = 7, b[0] = 0;
  a[1] = INT32_MIN, b[1] = -1;
  a[2] = -7, b[2] = 2;
  for (int i = 3; i < 16; ++i) b[i] = 1;
  Execute(*code, {a.data(), b.data(), out.data()});
  EXPECT_EQ(out[0], -1);
  EXPECT_EQ(out[1], INT32_MIN);
  EXPECT_EQ(out[2], -3);
}

// Vectors are divided as floating-point numbers: where a quotient is closest to the next integer, and the largest ones.
TEST(Operators, QuotientsNextToAnIntegerAreRoundedDown) {
  for (const PrimitiveType type : {PrimitiveType::kS32, PrimitiveType::kU32, PrimitiveType::kS16, PrimitiveType::kU16,
                                   PrimitiveType::kS8, PrimitiveType::kU8}) {
    for (const BinaryOp op : {BinaryOp::kDiv, BinaryOp::kRem}) {
      auto code = CompileForHost(Elementwise({type, type}, type, 64, 16, [&](const std::vector<kernels::te::Expr>& x) {
        return kernels::te::Binary(op, x[0], x[1]);
      }));
      ASSERT_NE(code, nullptr);
      const int bits = static_cast<int>(hlo::StorageBytes(type)) * 8;
      const int64_t largest = (int64_t{1} << (hlo::IsSigned(type) ? bits - 1 : bits)) - 1;
      for (int64_t first = 1; first < largest; first = first * 3 + 1) {
        Array<char> a(64 * 4), b(64 * 4), out(64 * 4);
        for (int64_t i = 0; i < 64; ++i) {
          // One less than a multiple of the divisor, the largest one first.
          const int64_t divisor = std::min(first + i % 8, largest);
          const int64_t dividend = std::max<int64_t>(largest / divisor * divisor - i / 8 * divisor - 1, 0);
          kernels::te::StoreElement(type, a.data(), i, {.i = dividend});
          kernels::te::StoreElement(type, b.data(), i, {.i = divisor});
        }
        Execute(*code, {a.data(), b.data(), out.data()});
        for (int64_t i = 0; i < 64; ++i) {
          const int64_t x = kernels::te::LoadElement(type, a.data(), i).i;
          const int64_t y = kernels::te::LoadElement(type, b.data(), i).i;
          EXPECT_EQ(kernels::te::LoadElement(type, out.data(), i).i, op == BinaryOp::kDiv ? x / y : x % y)
              << Name(type) << " " << x << " by " << y;
        }
      }
    }
  }
}

TEST(Operators, MaximumKeepsNanOnEitherSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (bool constant : {false, true}) {
    auto code = CompileForHost(Elementwise(
        {PrimitiveType::kF32, PrimitiveType::kF32}, PrimitiveType::kF32, 16, 16,
        [&](const std::vector<kernels::te::Expr>& x) {
          const kernels::te::Expr other =
              constant ? kernels::te::Splat(kernels::te::FloatConst({PrimitiveType::kF32, 1}, 0), 16) : x[1];
          return kernels::te::Binary(BinaryOp::kMax, x[0], other);
        }));
    ASSERT_NE(code, nullptr);
    Array<float> a(16), b(16), out(16);
    a[0] = nan, b[0] = 1, a[1] = 1, b[1] = nan, a[2] = -2, b[2] = 0, a[3] = 3, b[3] = 0;
    Execute(*code, {a.data(), b.data(), out.data()});
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(std::isnan(out[1]), !constant);
    EXPECT_EQ(out[2], 0);
    EXPECT_EQ(out[3], 3);
  }
}

TEST(Operators, RoundEveryBFloat16Operation) {
  // 1 + 2^-8 is a tie in bf16 and goes to 1; another 2^-8 added in float would have made 1.0078125.
  auto code = CompileForHost(Elementwise({PrimitiveType::kBF16, PrimitiveType::kBF16}, PrimitiveType::kBF16, 16, 16,
                                         [](const std::vector<kernels::te::Expr>& x) {
                                           return kernels::te::Binary(
                                               BinaryOp::kAdd, kernels::te::Binary(BinaryOp::kAdd, x[0], x[1]), x[1]);
                                         }));
  ASSERT_NE(code, nullptr);
  Array<uint16_t> a(16), b(16), out(16);
  for (int i = 0; i < 16; ++i) {
    kernels::te::StoreElement(PrimitiveType::kBF16, a.data(), i, {0, 1});
    kernels::te::StoreElement(PrimitiveType::kBF16, b.data(), i, {0, 0x1p-8});
  }
  Execute(*code, {a.data(), b.data(), out.data()});
  EXPECT_EQ(kernels::te::LoadElement(PrimitiveType::kBF16, out.data(), 0).f, 1);
}

}  // namespace
}  // namespace smelt::cpu::codegen
