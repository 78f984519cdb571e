// Operations that the runtime has natively, beside the evaluator: random shapes, and what is easily forgotten.
#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/golden.h"
#include "hlo/text/parser.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/program/executable.h"

namespace smelt::cpu {
namespace {

constexpr absl::string_view kScalars = R"(
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(b, a) }
multiply { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] multiply(a, b) }
minimum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] minimum(a, b) }
maximum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
replace { a = f32[] parameter(0)  ROOT b = f32[] parameter(1) }
ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }
lt { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
gt { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(b, a), direction=LT }
le { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LE }
total { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }
lt_2 { a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)  ROOT r = pred[] compare(a, b), direction=LT }
jax { a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
  zero = f32[] constant(0)  none = f32[] constant(nan)
  an = pred[] compare(a, a), direction=NE  az = pred[] compare(a, zero), direction=EQ
  a0 = f32[] select(az, zero, a)  a1 = f32[] select(an, none, a0)
  bn = pred[] compare(b, b), direction=NE  bz = pred[] compare(b, zero), direction=EQ
  b0 = f32[] select(bz, zero, b)  b1 = f32[] select(bn, none, b0)
  ROOT r = pred[] compare(a1, b1), direction=LT, type=TOTALORDER }
two_keys { a = s32[] parameter(0)  b = s32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
  l = pred[] compare(a, b), direction=LT  e = pred[] compare(a, b), direction=EQ
  m = pred[] compare(c, d), direction=GT  n = pred[] and(e, m)  ROOT r = pred[] or(l, n) }
)";

class NativeOperations : public ::testing::TestWithParam<int> {
 protected:
  // Random bytes of a kind for each parameter leaf.
  hlo::Literal Random(const hlo::Shape& shape) {
    hlo::Literal literal = hlo::Literal::Create(shape).value();
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      const double value = Value();
      if (hlo::IsComplex(shape.element_type)) {
        literal.SetComplex(i, {value, Value()});
      } else if (hlo::IsFloat(shape.element_type)) {
        literal.SetDouble(i, value);
      } else {
        literal.SetInteger(i, static_cast<int64_t>(random_() % 13) - (hlo::IsUnsigned(shape.element_type) ? 0 : 3));
      }
    }
    return literal;
  }

  // Ties are frequent, zeros have signs, and a few are no numbers.
  double Value() {
    const auto roll = random_() % 40;
    if (special_ && roll == 0) return std::nan("");
    if (special_ && roll == 1) return -std::numeric_limits<double>::infinity();
    if (special_ && roll < 6) return roll % 2 == 0 ? -0.0 : 0.0;
    if (roll < 20) return static_cast<double>(random_() % 8) - 4;
    return std::uniform_real_distribution<double>(-2, 2)(random_);
  }

  // Compiled, where `name` must run natively, and by the evaluator; errors are root mean squares, 0: the same bits.
  void Check(const std::string& body, double tolerance = 0) {
    const std::string text = absl::StrCat("HloModule m\n", kScalars, body);
    SCOPED_TRACE(absl::StrCat("seed ", seed_, "\n", body));
    auto module = hlo::ParseModule(text);
    ASSERT_TRUE(module.ok()) << module.status();
    std::vector<hlo::Literal> inputs;
    for (const hlo::Instruction* parameter : (*module)->entry()->Parameters())
      inputs.push_back(Random(parameter->shape()));
    std::vector<const hlo::Literal*> arguments;
    for (const hlo::Literal& input : inputs) arguments.push_back(&input);
    auto want = hlo::Evaluate(**module, arguments);
    ASSERT_TRUE(want.ok()) << want.status();
    std::vector<const hlo::Literal*> expected;
    if (want->IsArray()) expected.push_back(&*want);
    for (const hlo::Literal& element : want->elements()) expected.push_back(&element);
    for (int threads : {1, 3}) {
      Target target = DetectTarget(/*measure=*/false);
      target.threads = threads;
      auto executable = Executable::Compile(**module, target, {});
      ASSERT_TRUE(executable.ok()) << executable.status();
      for (const KernelInfo& kernel : (*executable)->kernels()) {
        // An empty array has no loops.
        if (kernel.bytes > 0) {
          EXPECT_FALSE(kernel.opaque) << kernel.opaque_reason;
        }
      }
      auto got = (*executable)->Run(arguments);
      ASSERT_TRUE(got.ok()) << got.status();
      ASSERT_EQ(got->size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        if (tolerance == 0) {
          EXPECT_TRUE(SameBits((*got)[i], *expected[i])) << "output " << i << ", " << threads << " threads";
        } else {
          const auto error = hlo::ComparisonError(*expected[i], (*got)[i], hlo::GoldenMetric::kRms);
          ASSERT_TRUE(error.ok()) << error.status();
          EXPECT_LE(*error, tolerance) << "output " << i << ", " << threads << " threads";
        }
      }
    }
  }

  // NaN is NaN, whatever its bits.
  static bool SameBits(const hlo::Literal& a, const hlo::Literal& b) {
    for (int64_t i = 0; i < a.element_count(); ++i) {
      const auto x = a.GetComplex(i), y = b.GetComplex(i);
      const auto same = [](double p, double q) {
        return std::isnan(p) ? std::isnan(q) : p == q && std::signbit(p) == std::signbit(q);
      };
      if (!same(x.real(), y.real()) || !same(x.imag(), y.imag())) return false;
    }
    return a.element_count() == b.element_count();
  }

  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  const int seed_ = GetParam();
  std::mt19937_64 random_{static_cast<uint64_t>(seed_)};
  bool special_ = false;
};

TEST_P(NativeOperations, TransformsEveryLengthForwardAndBack) {
  const int64_t length = seed_ % 4 == 3 ? Between(90, 700) : 1 + seed_, batch = Between(1, 20);
  const int64_t half = length / 2 + 1;
  for (const char* types : {"f32 c64 1e-6", "f64 c128 1e-13"}) {
    char real[8], complex[8];
    double tolerance = 0;
    ASSERT_EQ(std::sscanf(types, "%7s %7s %lf", real, complex, &tolerance), 3);
    const std::string r = absl::StrCat(real, "[", batch, ",", length, "]"),
                      c = absl::StrCat(complex, "[", batch, ",", length, "]"),
                      h = absl::StrCat(complex, "[", batch, ",", half, "]"), l = absl::StrCat("{", length, "}");
    Check(
        absl::StrCat("ENTRY e { x = ", c, " parameter(0)  ROOT y = ", c, " fft(x), fft_type=FFT, fft_length=", l, " }"),
        tolerance);
    Check(absl::StrCat("ENTRY e { x = ", c, " parameter(0)  ROOT y = ", c, " fft(x), fft_type=IFFT, fft_length=", l,
                       " }"),
          tolerance);
    Check(absl::StrCat("ENTRY e { x = ", r, " parameter(0)  ROOT y = ", h, " fft(x), fft_type=RFFT, fft_length=", l,
                       " }"),
          tolerance);
    Check(absl::StrCat("ENTRY e { x = ", h, " parameter(0)  ROOT y = ", r, " fft(x), fft_type=IRFFT, fft_length=", l,
                       " }"),
          tolerance);
  }
}

TEST_P(NativeOperations, TransformsSeveralDimensions) {
  const int64_t a = Between(1, 12), b = Between(1, 40), c = Between(1, 18), half = c / 2 + 1;
  const std::string full = absl::StrCat("[2,", a, ",", b, ",", c, "]"),
                    part = absl::StrCat("[2,", a, ",", b, ",", half, "]"),
                    lengths = absl::StrCat("{", a, ",", b, ",", c, "}");
  Check(absl::StrCat("ENTRY e { x = c64", full, " parameter(0)  ROOT y = c64", full,
                     " fft(x), fft_type=FFT, fft_length=", lengths, " }"),
        1e-6);
  Check(absl::StrCat("ENTRY e { x = f32", full, " parameter(0)  ROOT y = c64", part,
                     " fft(x), fft_type=RFFT, fft_length=", lengths, " }"),
        1e-6);
  Check(absl::StrCat("ENTRY e { x = c64", part, " parameter(0)  ROOT y = f32", full,
                     " fft(x), fft_type=IRFFT, fft_length=", lengths, " }"),
        1e-6);
  Check("ENTRY e { x = c64[0,8] parameter(0)  ROOT y = c64[0,8] fft(x), fft_type=FFT, fft_length={8} }");
}

// Indices are often out of bounds (from -3 to 9), and often the same.
TEST_P(NativeOperations, ScattersRowsInOrder) {
  special_ = seed_ % 2 == 0;
  const int64_t rows = Between(1, 9), columns = Between(0, 40), updates = Between(0, 600);
  const char* combiners[] = {"add", "multiply", "minimum", "maximum", "replace"};
  const char* combiner = combiners[seed_ % 5];
  Check(absl::StrCat("ENTRY e { x = f32[", rows, ",", columns, "] parameter(0)  i = s32[", updates,
                     ",1] parameter(1)  u = f32[", updates, ",", columns, "] parameter(2)  ROOT y = f32[", rows, ",",
                     columns,
                     "] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
                     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=",
                     combiner, " }"));
  // Columns: a window's elements lie apart. The index vector comes first, and windows do not fit at the end.
  const int64_t width = Between(1, 4);
  Check(absl::StrCat("ENTRY e { x = f32[", rows, ",10,3] parameter(0)  i = s64[2,", updates, "] parameter(1)  u = f32[",
                     width, ",", updates, ",3] parameter(2)  ROOT y = f32[", rows,
                     ",10,3] scatter(x, i, u), update_window_dims={0,2}, inserted_window_dims={0}, "
                     "scatter_dims_to_operand_dims={1,0}, index_vector_dim=0, to_apply=",
                     combiner, " }"));
  Check(absl::StrCat("ENTRY e { x = f32[", rows, ",7] parameter(0)  i = u8[", rows, ",5,1] parameter(1)  u = f32[",
                     rows, ",5] parameter(2)  ROOT y = f32[", rows,
                     ",7] scatter(x, i, u), update_window_dims={}, "
                     "inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
                     "scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=",
                     combiner, " }"));
}

// Elements alone, whose places one component says: counts, and sums by segment.
TEST_P(NativeOperations, ScattersElementsInOrder) {
  special_ = seed_ % 2 == 0;
  const char* combiners[] = {"add", "multiply", "minimum", "maximum", "replace"};
  const int64_t bins = Between(1, 9), updates = Between(0, 900), others = Between(1, 3);
  Check(absl::StrCat("ENTRY e { x = f32[", bins, "] parameter(0)  i = s32[", updates, ",1] parameter(1)  u = f32[",
                     updates, "] parameter(2)  ROOT y = f32[", bins,
                     "] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, "
                     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=",
                     combiners[seed_ % 5], " }"));
  // One list for each of several arrays.
  Check(absl::StrCat("ENTRY e { x = f32[", others, ",", bins, "] parameter(0)  i = s32[", others, ",", updates,
                     ",1] parameter(1)  u = f32[", others, ",", updates, "] parameter(2)  ROOT y = f32[", others, ",",
                     bins,
                     "] scatter(x, i, u), update_window_dims={}, inserted_window_dims={1}, "
                     "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, "
                     "index_vector_dim=2, to_apply=",
                     combiners[seed_ % 5], " }"));
}

// Frames of a signal, and of several at a time: places that follow each other, from before the array's begin to beyond
// its end.
TEST_P(NativeOperations, ScattersFramesInOrder) {
  special_ = seed_ % 2 == 0;
  const char* combiners[] = {"add", "multiply", "minimum", "maximum", "replace"};
  const int64_t frames = Between(1, 12), length = Between(1, 90), hop = Between(1, 40), before = Between(0, 30);
  const int64_t signals = Between(1, 5), size = Between(1, frames * hop + length);
  const std::string table = absl::StrCat("s32[", frames, ",", length, "]"), count = absl::StrCat(frames * length);
  const std::string places = absl::StrCat(
      "f = ", table, " iota(), iota_dimension=0  l = ", table, " iota(), iota_dimension=1  hop = s32[] constant(", hop,
      ")  hops = ", table, " broadcast(hop), dimensions={}  before = s32[] constant(", before, ")  befores = ", table,
      " broadcast(before), dimensions={}  at = ", table, " multiply(f, hops)  from = ", table,
      " subtract(at, befores)  place = ", table, " add(from, l)  i = s32[", count, ",1] reshape(place)  ");
  Check(absl::StrCat("ENTRY e { x = f32[", size, "] parameter(0)  u = f32[", count, "] parameter(1)  ", places,
                     "ROOT y = f32[", size,
                     "] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, "
                     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=",
                     combiners[seed_ % 5], " }"));
  Check(absl::StrCat("ENTRY e { x = f32[", signals, ",", size, "] parameter(0)  u = f32[", signals, ",", count,
                     "] parameter(1)  ", places, "ROOT y = f32[", signals, ",", size,
                     "] scatter(x, i, u), update_window_dims={0}, inserted_window_dims={1}, "
                     "scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=",
                     combiners[seed_ % 5], " }"));
}

// The array that is updated is needed again, and is an argument.
TEST_P(NativeOperations, ScattersIntoACopyWhereTheArrayLivesOn) {
  Check(R"(ENTRY e { x = f32[8,16] parameter(0)  i = s32[5,1] parameter(1)  u = f32[5,16] parameter(2)
  n = f32[8,16] negate(x)
  y = f32[8,16] scatter(n, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  z = f32[8,16] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  w = f32[8,16] scatter(y, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=replace
  s = f32[8,16] add(n, w)
  ROOT t = (f32[8,16], f32[8,16], f32[8,16], f32[8,16]) tuple(s, y, z, w) })");
}

TEST_P(NativeOperations, SelectsAndScattersInOrder) {
  special_ = seed_ % 3 == 0;
  const int64_t channels = Between(1, 40), height = Between(3, 12), width = Between(3, 12), batch = Between(1, 3);
  const int64_t h = (height + 1 - 3) / 2 + 1, w = (width - 2) / 1 + 1;
  const char* select = seed_ % 2 == 0 ? "ge" : "gt";
  Check(absl::StrCat("ENTRY e { x = f32[", batch, ",", height, ",", width, ",", channels, "] parameter(0)  s = f32[",
                     batch, ",", h, ",", w, ",", channels, "] parameter(1)  c = f32[] constant(0.5)  ROOT y = f32[",
                     batch, ",", height, ",", width, ",", channels,
                     "] select-and-scatter(x, s, c), window={size=1x3x2x1 stride=1x2x1x1 pad=0_0x1_0x0_0x0_0}, select=",
                     select, ", scatter=add }"));
  Check(absl::StrCat("ENTRY e { x = f32[", batch, ",", channels, ",", width, "] parameter(0)  s = f32[", batch, ",",
                     channels, ",", w, "] parameter(1)  c = f32[] constant(0)  ROOT y = f32[", batch, ",", channels,
                     ",", width, "] select-and-scatter(x, s, c), window={size=1x1x2}, select=", select,
                     ", scatter=add }"));
}

// Lines of every length class: insertion, comparisons, digits; NaN, both zeros and many ties.
TEST_P(NativeOperations, SortsStably) {
  special_ = true;
  const int64_t sizes[] = {0, 1, 2, 9, 31, 33, 150, 300, 5000};
  const int64_t size = sizes[seed_ % 9], lines = Between(1, 5);
  const std::string shape = absl::StrCat("[", lines, ",", size, "]"), turned = absl::StrCat("[", size, ",", lines, "]");
  for (const char* order : {"lt", "gt", "le", "ge", "total"}) {
    Check(absl::StrCat("ENTRY e { x = f32", shape, " parameter(0)  ROOT y = f32", shape,
                       " sort(x), dimensions={1}, is_stable=true, to_apply=", order, " }"));
    if (size > 0 && size < 300) {
      Check(absl::StrCat("ENTRY e { x = f32", turned, " parameter(0)  ROOT y = f32", turned,
                         " sort(x), dimensions={0}, is_stable=true, to_apply=", order, " }"));
    }
  }
  for (const char* order : {"lt_2", "jax"}) {
    for (bool special : {false, true}) {
      special_ = special;
      Check(absl::StrCat("ENTRY e { x = f32", shape, " parameter(0)  i = s32", shape,
                         " iota(), iota_dimension=1  ROOT y = (f32", shape, ", s32", shape,
                         ") sort(x, i), dimensions={1}, is_stable=true, to_apply=", order, " }"));
    }
  }
  Check(absl::StrCat("ENTRY e { x = s32", shape, " parameter(0)  z = s32", shape, " parameter(1)  ROOT y = (s32", shape,
                     ", s32", shape, ") sort(x, z), dimensions={1}, is_stable=true, to_apply=two_keys }"));
}

// Without NaN, zeros and infinities, short lines beside each other go through a network.
TEST_P(NativeOperations, SortsShortLinesBesideEachOther) {
  const int64_t size = 1 + seed_ % 30, lanes = Between(2, 150);
  const std::string shape = absl::StrCat("[2,", size, ",", lanes, "]");
  for (const char* order : {"lt", "gt", "total"}) {
    Check(absl::StrCat("ENTRY e { x = f32", shape, " parameter(0)  e = f32", shape, " exponential(x)  ROOT y = f32",
                       shape, " sort(e), dimensions={1}, is_stable=true, to_apply=", order, " }"),
          1e-6);
  }
}

TEST_P(NativeOperations, TakesTheLargestInOrderOfTheirIndex) {
  special_ = true;
  const int64_t size = Between(1, 900), k = seed_ % 2 == 0 ? std::min<int64_t>(size, Between(1, 10)) : Between(0, size);
  for (const char* largest : {"true", "false"}) {
    for (const char* type : {"f32", "s32", "f64", "bf16", "u8"}) {
      Check(absl::StrCat("ENTRY e { x = ", type, "[3,", size, "] parameter(0)  ROOT y = (", type, "[3,", k, "], s32[3,",
                         k, "]) topk(x), k=", k, ", largest=", largest, " }"));
    }
  }
}

// The same bits as the evaluator: which matrices have a factor depends on the rounding.
TEST_P(NativeOperations, FactorisesAsTheEvaluatorDoes) {
  const int64_t n = 1 + seed_ * 3 % 70, batch = Between(1, 3), vectors = Between(1, 40);
  for (const char* type : {"f32", "f64"}) {
    const std::string square = absl::StrCat(type, "[", batch, ",", n, ",", n, "]");
    // Diagonals beside which the rest is small, but for some seeds.
    const std::string strong = absl::StrCat(
        "x = ", square, " parameter(0)  r = s32[", batch, ",", n, ",", n, "] iota(), iota_dimension=1  c = s32[", batch,
        ",", n, ",", n, "] iota(), iota_dimension=2  d = pred[", batch, ",", n, ",", n,
        "] compare(r, c), direction=EQ  v = ", type, "[] constant(", seed_ % 5 == 4 ? 3 : 4 * n, ")  s = ", square,
        " broadcast(v), dimensions={}  a = ", square, " select(d, s, x)  ");
    for (const char* lower : {"true", "false"}) {
      Check(absl::StrCat("ENTRY e { ", strong, "ROOT y = ", square, " cholesky(a), lower=", lower, " }"));
      for (const char* transpose : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
        const double tolerance = std::string_view(type) == "f32" ? 1e-6 : 1e-12;
        const std::string left = absl::StrCat(type, "[", batch, ",", n, ",", vectors, "]"),
                          right = absl::StrCat(type, "[", batch, ",", vectors, ",", n, "]");
        if (seed_ % 5 == 4) continue;
        Check(absl::StrCat("ENTRY e { ", strong, "b = ", left, " parameter(1)  ROOT y = ", left,
                           " triangular-solve(a, b), left_side=true, lower=", lower, ", transpose_a=", transpose, " }"),
              tolerance);
        Check(
            absl::StrCat("ENTRY e { ", strong, "b = ", right, " parameter(1)  ROOT y = ", right,
                         " triangular-solve(a, b), left_side=false, lower=", lower, ", transpose_a=", transpose, " }"),
            tolerance);
      }
    }
  }
}

// What JAX hands to LAPACK. The evaluator asks the system's; another order of sums rounds otherwise.
TEST_P(NativeOperations, FactorsAndSolvesInThePlaceOfLapack) {
  const int64_t n = 1 + seed_ * 5 % 47, columns = Between(1, 60), batch = Between(1, 3);
  for (const auto& [type, letter, tolerance] : {std::tuple("f32", 's', 2e-5), std::tuple("f64", 'd', 1e-12)}) {
    const auto array = [&, t = type](int64_t rows, int64_t width) {
      return absl::StrCat(t, "[", batch, ",", rows, ",", width, "]");
    };
    const auto call = [&, c = letter](absl::string_view result, absl::string_view operands, absl::string_view family,
                                      absl::string_view options) {
      return absl::StrCat(result, " custom-call(", operands, "), custom_call_target=\"lapack_", std::string(1, c),
                          family, "_ffi\", api_version=API_VERSION_TYPED_FFI, backend_config={", options, "}");
    };
    const std::string each = absl::StrCat("s32[", batch, "]");
    const std::string pivots = absl::StrCat("s32[", batch, ",", std::min(n, columns), "]");
    Check(
        absl::StrCat("ENTRY e { x = ", array(n, columns), " parameter(0)  e = ", array(n, columns),
                     " exponential(x)  ROOT y = ",
                     call(absl::StrCat("(", array(n, columns), ", ", pivots, ", ", each, ")"), "e", "getrf", ""), " }"),
        100 * tolerance);
    // Diagonals beside which the rest is small.
    const std::string index = absl::StrCat("s32[", batch, ",", n, ",", n, "]");
    const std::string strong =
        absl::StrCat("x = ", array(n, n), " parameter(0)  r = ", index, " iota(), iota_dimension=1  c = ", index,
                     " iota(), iota_dimension=2  d = pred[", batch, ",", n, ",", n,
                     "] compare(r, c), direction=EQ  v = ", type, "[] constant(", 4 * n, ")  s = ", array(n, n),
                     " broadcast(v), dimensions={}  a = ", array(n, n), " select(d, s, x)  ");
    for (const char triangle : {'L', 'U'}) {
      const std::string uplo = absl::StrCat("uplo = ", static_cast<int>(triangle), " : ui8");
      Check(absl::StrCat("ENTRY e { ", strong,
                         "ROOT y = ", call(absl::StrCat("(", array(n, n), ", ", each, ")"), "a", "potrf", uplo), " }"),
            tolerance);
      for (const char side : {'L', 'R'}) {
        for (const char transpose : {'N', 'T', 'C'}) {
          for (const char diagonal : {'N', 'U'}) {
            if (diagonal == 'U' && n > 8) continue;  // such a system grows without bound
            const std::string b = side == 'L' ? array(n, columns) : array(columns, n);
            Check(absl::StrCat("ENTRY e { ", strong, "b = ", b, " parameter(1)  ROOT y = ",
                               call(b, "a, b", "trsm",
                                    absl::StrCat(uplo, ", side = ", static_cast<int>(side),
                                                 " : ui8, trans_x = ", static_cast<int>(transpose),
                                                 " : ui8, diag = ", static_cast<int>(diagonal), " : ui8")),
                               " }"),
                  diagonal == 'U' ? 100 * tolerance : tolerance);
          }
        }
      }
    }
  }
}

TEST_P(NativeOperations, DrawsTheSameBits) {
  const std::string shape = absl::StrCat("[", Between(0, 9), ",", Between(1, 600), ",", Between(1, 3), "]");
  for (const char* type : {"u32", "u64", "u16", "u8", "s32"}) {
    for (const char* algorithm : {"rng_three_fry", "rng_philox", "rng_default"}) {
      Check(absl::StrCat("ENTRY e { s = u64[2] parameter(0)  ROOT y = (u64[2], ", type, shape,
                         ") rng-bit-generator(s), algorithm=", algorithm, " }"));
    }
    Check(absl::StrCat("ENTRY e { s = u64[3] parameter(0)  ROOT y = (u64[3], ", type, shape,
                       ") rng-bit-generator(s), algorithm=rng_philox }"));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, NativeOperations, ::testing::Range(0, 20));

// What a factorisation tells of matrices that have no factor.
TEST(NativePlan, TellsOfSingularMatricesAsLapackDoes) {
  const auto run = [](const std::string& call, const std::vector<float>& values) {
    const auto module =
        hlo::ParseModule("HloModule m\nENTRY e { a = f32[2,2] parameter(0)  ROOT f = " + call + " }").value();
    const hlo::Literal a = hlo::Literal::FromValues<float>(hlo::PrimitiveType::kF32, {2, 2}, values);
    auto executable = Executable::Compile(*module, DetectTarget(/*measure=*/false), {});
    EXPECT_FALSE((*executable)->kernels()[0].opaque);
    return std::move((*executable)->Run({&a})).value();
  };
  const std::string lu =
      "(f32[2,2], s32[2], s32[]) custom-call(a), custom_call_target=\"lapack_sgetrf_ffi\", backend_config={}";
  const auto singular = run(lu, {1, 2, 2, 4});
  EXPECT_EQ(singular[1].GetInteger(0), 2) << "the larger pivot is the second row's";
  EXPECT_EQ(singular[2].GetInteger(0), 2);
  EXPECT_EQ(singular[0].data<float>()[2], 0.5f);
  EXPECT_EQ(singular[0].data<float>()[3], 0.0f);
  const std::string cholesky =
      "(f32[2,2], s32[]) custom-call(a), custom_call_target=\"lapack_spotrf_ffi\", backend_config={uplo = 76 : ui8}";
  EXPECT_EQ(run(cholesky, {4, 7, 2, 5})[1].GetInteger(0), 0);
  EXPECT_EQ(run(cholesky, {4, 7, 2, 5})[0].data<float>()[1], 7) << "the other triangle stays";
  EXPECT_EQ(run(cholesky, {4, 7, 2, 1})[1].GetInteger(0), 2);
}

TEST(NativePlan, LeavesOtherShapesThanLapacksToTheEvaluatorWhichRefusesThem) {
  const auto module = hlo::ParseModule(R"(HloModule m
ENTRY e { a = f32[3,2] parameter(0)
  ROOT f = (f32[3,2], s32[3], s32[]) custom-call(a), custom_call_target="lapack_sgetrf_ffi", backend_config={} })")
                          .value();
  auto executable = Executable::Compile(*module, DetectTarget(/*measure=*/false), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_TRUE((*executable)->kernels()[0].opaque);
  EXPECT_NE((*executable)->kernels()[0].opaque_reason.find("sgetrf"), std::string::npos);
  const hlo::Literal a = hlo::Literal::Create(hlo::Shape::Array(hlo::PrimitiveType::kF32, {3, 2})).value();
  EXPECT_FALSE((*executable)->Run({&a}).ok());
}

TEST(NativePlan, LeavesUnknownComparatorsToTheEvaluatorAndSaysWhy) {
  auto module = hlo::ParseModule(R"(HloModule m
odd { a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] multiply(a, b)  d = f32[] add(a, b)  ROOT r = pred[] compare(c, d), direction=LT }
ENTRY e { x = f32[16] parameter(0)  ROOT y = f32[16] sort(x), dimensions={0}, to_apply=odd })");
  ASSERT_TRUE(module.ok()) << module.status();
  auto executable = Executable::Compile(**module, DetectTarget(/*measure=*/false), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  ASSERT_EQ((*executable)->kernels().size(), 1);
  EXPECT_TRUE((*executable)->kernels()[0].opaque);
  EXPECT_NE((*executable)->kernels()[0].opaque_reason.find("`odd`"), std::string::npos)
      << (*executable)->kernels()[0].opaque_reason;
}

}  // namespace
}  // namespace smelt::cpu
