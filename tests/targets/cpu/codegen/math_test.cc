// Accuracy of the vector mathematics against libm in double precision: bit patterns spread over all floats, a dense
// sample where each function changes, and the special values.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "targets/cpu/codegen/codegen.h"
#include "tests/targets/cpu/codegen/vector_kernel.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::PrimitiveType;
using kernels::te::UnaryOp;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Distance in units in the last place of the exact result's float neighbourhood.
double UlpError(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInfinity;
  const float rounded = static_cast<float>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    // The largest finite value and infinity are neighbours.
    const float largest = std::numeric_limits<float>::max();
    return std::fabs(got) == largest || std::fabs(rounded) == largest ? 1 : kInfinity;
  }
  const int exponent = std::max(std::ilogb(rounded == 0 ? std::numeric_limits<float>::min() : rounded), -126);
  return std::fabs(static_cast<double>(got) - want) / std::ldexp(1.0, exponent - 23);
}

struct Function {
  const char* name;
  UnaryOp op;
  double (*reference)(double);
  float low, high;  // where it is sampled densely
  double ulps;
};

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }
double Rsqrt(double x) { return 1 / std::sqrt(x); }

const Function kFunctions[] = {
    {"exp", UnaryOp::kExp, std::exp, -104, 90, 2},
    {"expm1", UnaryOp::kExpm1, std::expm1, -20, 90, 2},
    {"log", UnaryOp::kLog, std::log, 0, 4, 2},
    {"log1p", UnaryOp::kLog1p, std::log1p, -1, 3, 3},
    {"tanh", UnaryOp::kTanh, std::tanh, -10, 10, 4},
    {"logistic", UnaryOp::kLogistic, Logistic, -105, 20, 4},
    {"erf", UnaryOp::kErf, std::erf, -4.5, 4.5, 4},
    {"sin", UnaryOp::kSin, std::sin, -400, 400, 2},
    {"cos", UnaryOp::kCos, std::cos, -400, 400, 2},
    {"tan", UnaryOp::kTan, std::tan, -4, 4, 2},
    {"sqrt", UnaryOp::kSqrt, std::sqrt, 0, 100, 0.5},
    {"rsqrt", UnaryOp::kRsqrt, Rsqrt, 0, 100, 2},
    {"cbrt", UnaryOp::kCbrt, std::cbrt, -10, 10, 2},
    {"asin", UnaryOp::kAsin, std::asin, -1, 1, 2},
    {"acos", UnaryOp::kAcos, std::acos, -1, 1, 2},
    {"atan", UnaryOp::kAtan, std::atan, -10, 10, 2},
    {"sinh", UnaryOp::kSinh, std::sinh, -90, 90, 2},
    {"cosh", UnaryOp::kCosh, std::cosh, -90, 90, 2},
    {"asinh", UnaryOp::kAsinh, std::asinh, -10, 10, 2},
    {"acosh", UnaryOp::kAcosh, std::acosh, 0.5, 10, 2},
    {"atanh", UnaryOp::kAtanh, std::atanh, -1.5, 1.5, 2},
};

std::vector<float> Samples(const Function& function, int64_t count) {
  std::vector<float> samples = {0.0f,
                                -0.0f,
                                1.0f,
                                -1.0f,
                                kInfinity,
                                -kInfinity,
                                kNan,
                                1e-40f,
                                -1e-40f,
                                1e-45f,
                                std::numeric_limits<float>::min(),
                                -std::numeric_limits<float>::min(),
                                std::numeric_limits<float>::max(),
                                -std::numeric_limits<float>::max(),
                                88.72284f,
                                88.72283f,
                                -103.97f,
                                -103.98f,
                                -87.3f,
                                0.5f,
                                -0.5f,
                                1.0000001f,
                                0.99999994f,
                                3.1415927f,
                                1.5707964f,
                                1e5f,
                                3e8f,
                                -1e30f,
                                2.7e8f};
  std::mt19937_64 random(20240611);
  std::uniform_real_distribution<float> dense(function.low, function.high);
  std::uniform_real_distribution<float> exponent(-40, 20);
  while (static_cast<int64_t>(samples.size()) < count) {
    switch (samples.size() % 3) {
      case 0:
        samples.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
        break;
      case 1:
        samples.push_back(dense(random));
        break;
      default:
        samples.push_back(std::exp2(exponent(random)) * (random() & 1 ? 1.0f : -1.0f));
    }
  }
  return samples;
}

class VectorMathTest : public testing::TestWithParam<Function> {};

TEST_P(VectorMathTest, StaysWithinItsUlpsOnEverySample) {
  const Function& function = GetParam();
  constexpr int64_t kCount = 1 << 19;
  const std::vector<float> samples = Samples(function, kCount);
  Array<float> in(kCount), out(kCount), scalar(kCount);
  for (int64_t i = 0; i < kCount; ++i) in[i] = samples[i];
  auto body = [&](const std::vector<kernels::te::Expr>& x) { return kernels::te::Unary(function.op, x[0]); };
  auto vectors = CompileForHost(Elementwise({PrimitiveType::kF32}, PrimitiveType::kF32, kCount, 16, body));
  auto scalars = CompileForHost(Elementwise({PrimitiveType::kF32}, PrimitiveType::kF32, kCount, 1, body));
  ASSERT_NE(vectors, nullptr);
  ASSERT_NE(scalars, nullptr);
  Execute(*vectors, {in.data(), out.data()});
  Execute(*scalars, {in.data(), scalar.data()});
  double worst = 0;
  float worst_at = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double want = function.reference(in[i]);
    const double error = UlpError(out[i], want);
    if (error > worst) {
      worst = error;
      worst_at = in[i];
    }
    ASSERT_TRUE(std::bit_cast<uint32_t>(out[i]) == std::bit_cast<uint32_t>(scalar[i]) ||
                (std::isnan(out[i]) && std::isnan(scalar[i])))
        << function.name << "(" << in[i] << "): " << out[i] << " in a vector, " << scalar[i] << " alone";
    if (want == 0 && out[i] == 0) {
      ASSERT_EQ(std::signbit(out[i]), std::signbit(want)) << function.name << "(" << in[i] << ")";
    }
  }
  EXPECT_LE(worst, function.ulps) << function.name << " at " << worst_at << " (" << std::hexfloat << worst_at << ")";
  RecordProperty("worst_ulp", std::to_string(worst));
  std::printf("%s: %.2f ulp at %g\n", function.name, worst, worst_at);
}

INSTANTIATE_TEST_SUITE_P(Functions, VectorMathTest, testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

struct FunctionF64 {
  const char* name;
  UnaryOp op;
  long double (*reference)(long double);
  double low, high;  // where it is sampled densely
  double ulps;
};

const FunctionF64 kFunctionsF64[] = {
    {"exp", UnaryOp::kExp, std::exp, -750, 712, 1.5}, {"expm1", UnaryOp::kExpm1, std::expm1, -40, 712, 2},
    {"log", UnaryOp::kLog, std::log, 0, 4, 1.5},      {"log1p", UnaryOp::kLog1p, std::log1p, -1, 3, 2},
    {"tanh", UnaryOp::kTanh, std::tanh, -20, 20, 4},  {"sin", UnaryOp::kSin, std::sin, -400, 400, 1.5},
    {"cos", UnaryOp::kCos, std::cos, -400, 400, 1.5},
};

double UlpErrorF64(double got, long double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInfinity;
  const auto rounded = static_cast<double>(want);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : kInfinity;
  const int exponent = std::max(std::ilogb(rounded == 0 ? std::numeric_limits<double>::min() : rounded), -1022);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / std::ldexp(1.0L, exponent - 52));
}

class VectorMathF64Test : public testing::TestWithParam<FunctionF64> {};

TEST_P(VectorMathF64Test, StaysWithinItsUlpsOnEverySample) {
  const FunctionF64& function = GetParam();
  constexpr int64_t kCount = 1 << 18;
  Array<double> in(kCount), out(kCount), scalar(kCount);
  const double special[] = {0.0,     -0.0,    1.0,      -1.0,   kInfinity,   -kInfinity,  kNan,      5e-324,
                            -5e-324, 1e-310,  2.3e-308, 1e308,  -1e308,      709.78,      709.79,    -708.4,
                            -745.13, -745.14, 0.5,      -0.5,   1 + 0x1p-52, 1 - 0x1p-53, 1048575.9, 1048576.0,
                            1e15,    -1e300,  1e-17,    -1e-17, 0x1p-54};
  int64_t n = 0;
  for (const double x : special) in[n++] = x;
  std::mt19937_64 random(20240611);
  std::uniform_real_distribution<double> dense(function.low, function.high), exponent(-60, 20);
  for (; n < kCount; ++n) {
    in[n] = n % 4 == 0   ? std::bit_cast<double>(random())
            : n % 4 == 1 ? dense(random)
            : n % 4 == 2 ? std::exp2(exponent(random)) * (random() & 1 ? 1.0 : -1.0)
                         : std::round(dense(random)) * 1.5707963267948966;  // where sine or cosine all but vanish
  }
  const auto body = [&](const std::vector<kernels::te::Expr>& x) { return kernels::te::Unary(function.op, x[0]); };
  const auto vectors = CompileForHost(Elementwise({PrimitiveType::kF64}, PrimitiveType::kF64, kCount, 8, body));
  const auto scalars = CompileForHost(Elementwise({PrimitiveType::kF64}, PrimitiveType::kF64, kCount, 1, body));
  ASSERT_TRUE(vectors != nullptr && scalars != nullptr);
  Execute(*vectors, {in.data(), out.data()});
  Execute(*scalars, {in.data(), scalar.data()});
  double worst = 0, worst_at = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const long double want = function.reference(in[i]);
    const double error = UlpErrorF64(out[i], want);
    if (error > worst) {
      worst = error;
      worst_at = in[i];
    }
    ASSERT_TRUE(std::bit_cast<uint64_t>(out[i]) == std::bit_cast<uint64_t>(scalar[i]) ||
                (std::isnan(out[i]) && std::isnan(scalar[i])))
        << function.name << "(" << in[i] << "): " << out[i] << " in a vector, " << scalar[i] << " alone";
    ASSERT_TRUE(want != 0 || out[i] != 0 || std::signbit(out[i]) == std::signbit(want)) << in[i];
  }
  EXPECT_LE(worst, function.ulps) << function.name << " at " << worst_at << " (" << std::hexfloat << worst_at << ")";
  std::printf("%s: %.2f ulp at %g\n", function.name, worst, worst_at);
}

INSTANTIATE_TEST_SUITE_P(Functions, VectorMathF64Test, testing::ValuesIn(kFunctionsF64),
                         [](const auto& info) { return std::string(info.param.name); });

// Pairs of special values, then random ones near each other in size and far apart.
void FillPairs(int64_t count, Array<float>* x, Array<float>* y) {
  const float special[] = {0.0f,       -0.0f, 1.0f,   -1.0f,   2.0f,  -2.0f,  0.5f,   3.0f,   -3.0f, kInfinity,
                           -kInfinity, kNan,  1e-40f, -1e-40f, 1e38f, -1e38f, 1e-38f, 1e-30f, 3e30f, 16777217.0f};
  int64_t n = 0;
  for (float a : special) {
    for (float b : special) {
      (*x)[n] = a;
      (*y)[n++] = b;
    }
  }
  std::mt19937_64 random(11);
  std::uniform_real_distribution<float> exponent(-12, 12);
  for (; n < count; ++n) {
    const auto any = [&] { return std::bit_cast<float>(static_cast<uint32_t>(random())); };
    const auto near = [&] { return std::exp2(exponent(random)) * (random() & 1 ? 1.0f : -1.0f); };
    (*x)[n] = n % 4 == 0 ? any() : near();
    (*y)[n] = n % 8 == 0 ? any() : near();
    if (n % 5 == 0) (*x)[n] = (*y)[n] * std::round(near());
  }
}

TEST(VectorMathOfTwo, ArcsAreWithinAUnitAndRemaindersExact) {
  constexpr int64_t kCount = 1 << 19;
  Array<float> x(kCount), y(kCount), arc(kCount), rest(kCount);
  FillPairs(kCount, &x, &y);
  const auto compile = [&](kernels::te::BinaryOp op, int lanes) {
    return CompileForHost(
        Elementwise({PrimitiveType::kF32, PrimitiveType::kF32}, PrimitiveType::kF32, kCount, lanes,
                    [op](const std::vector<kernels::te::Expr>& v) { return kernels::te::Binary(op, v[0], v[1]); }));
  };
  for (const int lanes : {1, 16}) {
    const auto atan2 = compile(kernels::te::BinaryOp::kAtan2, lanes),
               fmod = compile(kernels::te::BinaryOp::kRem, lanes);
    ASSERT_TRUE(atan2 != nullptr && fmod != nullptr);
    Execute(*atan2, {x.data(), y.data(), arc.data()});
    Execute(*fmod, {x.data(), y.data(), rest.data()});
    for (int64_t i = 0; i < kCount; ++i) {
      const double want = std::atan2(static_cast<double>(x[i]), static_cast<double>(y[i]));
      ASSERT_LE(UlpError(arc[i], want), 1) << "atan2(" << x[i] << ", " << y[i] << ") = " << arc[i] << ", not " << want;
      ASSERT_TRUE(std::isnan(want) || std::signbit(arc[i]) == std::signbit(want)) << x[i] << ", " << y[i];
      const float left = std::fmod(x[i], y[i]);
      ASSERT_TRUE(std::bit_cast<uint32_t>(rest[i]) == std::bit_cast<uint32_t>(left) ||
                  (std::isnan(rest[i]) && std::isnan(left)))
          << "fmod(" << x[i] << ", " << y[i] << ") = " << rest[i] << ", not " << left;
    }
  }
}

TEST(VectorPower, AgreesWithLibmAndItsSpecialCases) {
  constexpr int64_t kCount = 1 << 19;
  Array<float> x(kCount), y(kCount), out(kCount);
  const float special[] = {0.0f,  -0.0f,  1.0f,        -1.0f,       2.0f,       -2.0f,      0.5f,
                           -0.5f, 3.0f,   -3.0f,       kInfinity,   -kInfinity, kNan,       1e-40f,
                           1e38f, -1e38f, 16777217.0f, -8388609.0f, 1e-30f,     33554432.0f};
  int64_t n = 0;
  for (float a : special) {
    for (float b : special) {
      x[n] = a;
      y[n++] = b;
    }
  }
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> exponent(-20, 20), any(-30, 30);
  for (; n < kCount; ++n) {
    x[n] = n % 4 == 0 ? std::bit_cast<float>(static_cast<uint32_t>(random())) : std::exp2(exponent(random));
    y[n] = n % 5 == 0 ? std::round(any(random)) : any(random);
    if (n % 7 == 0) x[n] = -x[n];
  }
  auto code = CompileForHost(Elementwise({PrimitiveType::kF32, PrimitiveType::kF32}, PrimitiveType::kF32, kCount, 16,
                                         [](const std::vector<kernels::te::Expr>& v) {
                                           return kernels::te::Binary(kernels::te::BinaryOp::kPower, v[0], v[1]);
                                         }));
  ASSERT_NE(code, nullptr);
  Execute(*code, {x.data(), y.data(), out.data()});
  for (int64_t i = 0; i < kCount; ++i) {
    const double want = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
    ASSERT_LE(UlpError(out[i], want), 1) << "pow(" << x[i] << ", " << y[i] << ") = " << out[i] << ", not " << want;
    if (want == 0) {
      ASSERT_EQ(std::signbit(out[i]), std::signbit(want)) << "pow(" << x[i] << ", " << y[i] << ")";
    }
  }
}

template <typename T>
void CheckPowersOfHalves(PrimitiveType type, int lanes) {
  constexpr int64_t kCount = 1 << 14;
  const T least = std::numeric_limits<T>::denorm_min(), most = std::numeric_limits<T>::max();
  std::vector<T> special = {0, -T{0}, 1, -1, T(kInfinity), T(-kInfinity), T(kNan), least, -least, most, -most};
  Array<T> x(kCount), out(kCount);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(std::log2(double{std::numeric_limits<T>::min()}), std::log2(most));
  for (int64_t i = 0; i < kCount; ++i) {
    x[i] = i < static_cast<int64_t>(special.size()) ? special[i] : static_cast<T>(std::exp2(exponent(random)));
  }
  for (const double power : {0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, -3.5}) {
    auto code = CompileForHost(Elementwise({type}, type, kCount, lanes, [&](const std::vector<kernels::te::Expr>& v) {
      const kernels::te::Expr constant = kernels::te::FloatConst(v[0].type(), power);
      return kernels::te::Binary(kernels::te::BinaryOp::kPower, v[0], constant);
    }));
    ASSERT_NE(code, nullptr);
    Execute(*code, {x.data(), out.data()});
    for (int64_t i = 0; i < kCount; ++i) {
      const T want = static_cast<T>(std::pow(static_cast<long double>(x[i]), static_cast<long double>(power)));
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(out[i])) << "pow(" << x[i] << ", " << power << ") = " << out[i];
        continue;
      }
      const T tolerance = std::isfinite(want) ? 3 * std::numeric_limits<T>::epsilon() * want + 3 * least : 0;
      ASSERT_TRUE(out[i] == want || std::abs(out[i] - want) <= tolerance)
          << "pow(" << x[i] << ", " << power << ") = " << out[i] << ", not " << want;
      ASSERT_EQ(std::signbit(out[i]), std::signbit(want)) << "pow(" << x[i] << ", " << power << ")";
    }
  }
}

TEST(VectorPower, HalvesAreRootsAndProducts) {
  CheckPowersOfHalves<float>(PrimitiveType::kF32, 16);
  CheckPowersOfHalves<double>(PrimitiveType::kF64, 8);
}

}  // namespace
}  // namespace smelt::cpu::codegen
