// Every opcode on every element type that the evaluator takes, compiled: a loop nest with the same values. Narrow types
// meet all their bit patterns, wide ones their special values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/inputs.h"
#include "hlo/small_float.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/program/executable.h"
#include "tests/targets/cpu/compile/run_compiled.h"

namespace smelt::cpu {
namespace {

using hlo::PrimitiveType;

constexpr int64_t kCount = 289;  // 17 special values paired with each other; more than the patterns of a byte

const Target& HostTarget() {
  static const Target* const target = new Target(DetectTarget(/*measure=*/false));
  return *target;
}

std::vector<PrimitiveType> RealTypes() {
  std::vector<PrimitiveType> types;
  for (int i = 0; i <= static_cast<int>(PrimitiveType::kF6E2M3FN); ++i) types.push_back(static_cast<PrimitiveType>(i));
  return types;
}

std::string Name(PrimitiveType type) { return std::string(hlo::PrimitiveTypeName(type)); }

// Operand 0 runs through the values slowly, operand 1 fast.
hlo::Literal Values(PrimitiveType type, int operand) {
  hlo::Literal literal(hlo::Shape::Array(type, {kCount}));
  const double infinity = std::numeric_limits<double>::infinity();
  const double kReals[17] = {0,  -0.0,  1,   -1,  0.5,  -2.5,  3.25,     1e-3,        -7e-2,
                             88, -90.5, 1.5, 2.5, 1e30, -1e30, infinity, std::nan("")};
  // 597688321 becomes another bf16 by way of f32 than at once.
  const int64_t kIntegers[17] = {0,  1,         -1,   2,   3,       -7,        5,         8,        31,
                                 64, 597688321, -128, 127, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN};
  for (int64_t i = 0; i < kCount; ++i) {
    const int64_t at = operand == 0 ? i / 17 : i % 17;
    if (hlo::BitWidth(type) <= 8 && type != PrimitiveType::kPred) {
      const int64_t patterns = int64_t{1} << hlo::BitWidth(type);
      const int64_t pattern = (operand == 0 ? i : i * 37 + i / patterns) % patterns;
      if (hlo::IsFloat(type)) {
        // 2^-127, the first of f8e8m0fnu, is a subnormal f32: whether it counts as zero depends on what is folded.
        literal.data<uint8_t>()[i] =
            static_cast<uint8_t>(type == PrimitiveType::kF8E8M0FNU && pattern == 0 ? 1 : pattern);
      } else {
        literal.SetInteger(i, hlo::IsSigned(type) ? pattern - patterns / 2 : pattern);
      }
    } else if (hlo::IsFloat(type)) {
      literal.SetDouble(i, kReals[at]);
    } else {
      literal.SetInteger(i, type == PrimitiveType::kPred ? at % 2 : kIntegers[at]);
    }
  }
  return literal;
}

// How close floats must be: equal; equal but for the sign of zero, which the processor's maximum leaves open; or one
// unit in the last place.
enum class Match { kEqual, kEqualNumber, kClose };

struct Opcode {
  const char* text;
  Match match = Match::kEqual;
};
constexpr Opcode kUnary[] = {
    {"abs"},
    {"negate"},
    {"sign"},
    {"floor"},
    {"ceil"},
    {"not"},
    {"popcnt"},
    {"copy"},
    {"real"},
    {"imag"},
    {"sqrt"},
    {"count-leading-zeros"},
    {"round-nearest-even"},
    {"round-nearest-afz"},
    {"rsqrt", Match::kClose},
    {"cbrt", Match::kClose},
    {"exponential", Match::kClose},
    {"exponential-minus-one", Match::kClose},
    {"log", Match::kClose},
    {"log-plus-one", Match::kClose},
    {"tanh", Match::kClose},
    {"logistic", Match::kClose},
    {"sine", Match::kClose},
    {"cosine", Match::kClose},
    {"tan", Match::kClose},
    {"erf", Match::kClose},
    {"asin", Match::kClose},
    {"acos", Match::kClose},
    {"asinh", Match::kClose},
    {"acosh", Match::kClose},
    {"atanh", Match::kClose},
    {"sinh", Match::kClose},
    {"cosh", Match::kClose},
};
constexpr Opcode kBinary[] = {
    {"add"},
    {"subtract"},
    {"multiply"},
    {"divide"},
    {"remainder"},
    {"maximum", Match::kEqualNumber},
    {"minimum", Match::kEqualNumber},
    {"and"},
    {"or"},
    {"xor"},
    {"shift-left"},
    {"shift-right-logical"},
    {"shift-right-arithmetic"},
    {"mulhi"},
    {"power", Match::kClose},
    {"atan2", Match::kClose},
};

struct Line {
  std::string text;  // with the result type in front
  Match match;
};

std::unique_ptr<hlo::Module> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(text);
  if (!module.ok() || !hlo::VerifyModule(**module).ok()) return nullptr;
  return std::move(*module);
}

std::unique_ptr<hlo::Module> ModuleOf(PrimitiveType type, const std::vector<Line>& lines) {
  std::string text = absl::StrCat("HloModule m\nENTRY e {\n  x = ", Name(type), "[", kCount,
                                  "] parameter(0)\n  y = ", Name(type), "[", kCount, "] parameter(1)\n");
  std::vector<std::string> names;
  for (size_t i = 0; i < lines.size(); ++i) {
    names.push_back(absl::StrCat("r", i));
    absl::StrAppend(&text, "  r", i, " = ", lines[i].text, "\n");
  }
  absl::StrAppend(&text, "  ROOT t = tuple(", absl::StrJoin(names, ", "), ")\n}\n");
  return Parse(text);
}

absl::StatusOr<std::vector<hlo::Literal>> Evaluated(const hlo::Module& module,
                                                    const std::vector<hlo::Literal>& inputs) {
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : inputs) arguments.push_back(&input);
  absl::StatusOr<hlo::Literal> result = hlo::Evaluate(module, arguments);
  if (!result.ok()) return result.status();
  return std::move(result->elements());
}

double UnitInTheLastPlace(PrimitiveType type) { return std::ldexp(1.0, -hlo::GetFloatFormat(type).mantissa_bits); }

// Empty, or the first difference.
std::string Difference(const hlo::Literal& got, const hlo::Literal& want, Match match) {
  const PrimitiveType type = want.shape().element_type;
  for (int64_t i = 0; i < want.element_count(); ++i) {
    if (!hlo::IsFloat(type)) {
      if (got.GetInteger(i) == want.GetInteger(i)) continue;
      return absl::StrCat("element ", i, " is ", got.GetInteger(i), ", expected ", want.GetInteger(i));
    }
    const double g = got.GetDouble(i), w = want.GetDouble(i);
    if (std::isnan(g) && std::isnan(w)) continue;
    if (g == w && (match != Match::kEqual || std::signbit(g) == std::signbit(w))) continue;
    // Transcendental functions of f32 and f64 have a few units of error of their own; subnormal results may be lost.
    const double units = hlo::BitWidth(type) >= 32 ? 64 : 1.01;
    const double bound = units * UnitInTheLastPlace(type) * std::max(std::abs(g), std::abs(w)) + 1e-37;
    if (match == Match::kClose && std::abs(g - w) <= bound) continue;
    return absl::StrCat("element ", i, " is ", g, ", expected ", w);
  }
  return "";
}

// Those lines that the evaluator takes, compiled as one kernel.
void CheckLines(PrimitiveType type, const std::vector<Line>& all) {
  std::vector<hlo::Literal> inputs;
  inputs.push_back(Values(type, 0));
  inputs.push_back(Values(type, 1));
  std::vector<Line> lines;
  for (const Line& line : all) {
    const std::unique_ptr<hlo::Module> module = ModuleOf(type, {line});
    if (module != nullptr && Evaluated(*module, inputs).ok()) lines.push_back(line);
  }
  if (lines.empty()) return;
  const std::unique_ptr<hlo::Module> module = ModuleOf(type, lines);
  ASSERT_NE(module, nullptr);
  const auto want = Evaluated(*module, inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  const absl::StatusOr<CompiledRun> run = RunCompiled(*module, inputs, HostTarget(), {});
  ASSERT_TRUE(run.ok()) << Name(type) << ": " << run.status();
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string difference = Difference(run->outputs[i], (*want)[i], lines[i].match);
    EXPECT_EQ(difference, "") << lines[i].text << " of " << inputs[0].shape().ToString();
  }
}

class TypeMatrix : public ::testing::TestWithParam<PrimitiveType> {
 protected:
  PrimitiveType type() const { return GetParam(); }
  std::string Shaped(PrimitiveType of) const { return absl::StrCat(Name(of), "[", kCount, "]"); }
};

TEST_P(TypeMatrix, UnaryOpcodes) {
  std::vector<Line> lines;
  for (const Opcode& opcode : kUnary) {
    lines.push_back({absl::StrCat(Shaped(type()), " ", opcode.text, "(x)"), opcode.match});
  }
  lines.push_back({absl::StrCat(Shaped(PrimitiveType::kPred), " is-finite(x)"), Match::kEqual});
  lines.push_back(
      {absl::StrCat(Shaped(type()), " reduce-precision(x), exponent_bits=4, mantissa_bits=2"), Match::kEqual});
  lines.push_back(
      {absl::StrCat(Shaped(type()), " reduce-precision(x), exponent_bits=8, mantissa_bits=10"), Match::kEqual});
  CheckLines(type(), lines);
}

TEST_P(TypeMatrix, BinaryOpcodes) {
  std::vector<Line> lines;
  for (const Opcode& opcode : kBinary) {
    lines.push_back({absl::StrCat(Shaped(type()), " ", opcode.text, "(x, y)"), opcode.match});
  }
  lines.push_back({absl::StrCat(Shaped(type()), " clamp(x, y, x)"), Match::kEqualNumber});
  for (const char* direction : {"EQ", "NE", "LT", "LE", "GT", "GE"}) {
    const std::string compare = absl::StrCat(Shaped(PrimitiveType::kPred), " compare(x, y), direction=", direction);
    lines.push_back({compare, Match::kEqual});
    lines.push_back({absl::StrCat(compare, ", type=TOTALORDER"), Match::kEqual});
  }
  CheckLines(type(), lines);
}

TEST_P(TypeMatrix, ConversionsToEveryType) {
  std::vector<Line> lines;
  for (PrimitiveType to : RealTypes()) lines.push_back({absl::StrCat(Shaped(to), " convert(x)"), Match::kEqual});
  for (PrimitiveType to : RealTypes()) {
    if (hlo::BitWidth(to) == hlo::BitWidth(type())) {
      lines.push_back({absl::StrCat(Shaped(to), " bitcast-convert(x)"), Match::kEqual});
    }
  }
  CheckLines(type(), lines);
}

// Movement, reductions and contractions: one kernel an instruction.
TEST_P(TypeMatrix, StructuredOpcodesAreLoopNests) {
  const char* kText = R"(HloModule m
add { a = T[] parameter(0)  b = T[] parameter(1)  ROOT r = T[] add(a, b) }
mul { a = T[] parameter(0)  b = T[] parameter(1)  ROOT r = T[] multiply(a, b) }
max { a = T[] parameter(0)  b = T[] parameter(1)  ROOT r = T[] maximum(a, b) }
min { a = T[] parameter(0)  b = T[] parameter(1)  ROOT r = T[] minimum(a, b) }
ENTRY e {
  x = T[5,21] parameter(0)
  y = T[21,18] parameter(1)
  v = T[] parameter(2)
  i = s32[] parameter(3)
  k = s32[7,1] parameter(4)
  c = T[1,6,7,3] parameter(5)
  w = T[3,3,3,17] parameter(6)
  r0 = T[5,21,2] broadcast(x), dimensions={0,1}
  r1 = T[21,5] transpose(x), dimensions={1,0}
  r2 = T[2,11] slice(x), slice={[1:5:2], [3:14]}
  r3 = T[5,21] reverse(x), dimensions={1}
  r4 = T[7,19] pad(x, v), padding=1_1x-1_-1
  r5 = T[10,21] concatenate(x, x), dimensions={0}
  r6 = T[2,4] dynamic-slice(x, i, i), dynamic_slice_sizes={2,4}
  r7 = T[7,21] gather(x, k), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,21}
  r8 = T[5] reduce(x, v), dimensions={1}, to_apply=add
  r9 = T[21] reduce(x, v), dimensions={0}, to_apply=max
  r10 = T[5] reduce(x, v), dimensions={1}, to_apply=min
  r11 = T[21] reduce(x, v), dimensions={0}, to_apply=mul
  r12 = T[5,10] reduce-window(x, v), window={size=1x3 stride=1x2}, to_apply=max
  r13 = T[5,18] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r14 = T[1,6,7,17] convolution(c, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  r15 = T[5,21] iota(), iota_dimension=1
  r16 = T[105] reshape(x)
  ROOT t = tuple(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15, r16)
})";
  const std::unique_ptr<hlo::Module> module = Parse(absl::StrReplaceAll(kText, {{"T[", Name(type()) + "["}}));
  if (module == nullptr) GTEST_SKIP() << "HLO has no arithmetic on " << Name(type());
  const auto inputs = hlo::MakeInputs(*module);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto want = Evaluated(*module, *inputs);
  if (!want.ok()) GTEST_SKIP() << want.status();
  const auto executable = cpu::Executable::Compile(*module, HostTarget(), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  for (const cpu::KernelInfo& kernel : (*executable)->kernels()) {
    EXPECT_FALSE(kernel.opaque) << kernel.name << ": " << kernel.opaque_reason;
  }
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : *inputs) arguments.push_back(&input);
  const auto got = (*executable)->Run(arguments);
  ASSERT_TRUE(got.ok()) << got.status();
  for (size_t i = 0; i < want->size(); ++i) {
    if (i == 14 && type() == PrimitiveType::kF8E8M0FNU) continue;  // has no zero to pad with
    const Match match = i < 8 || i > 14                ? Match::kEqual
                        : i == 9 || i == 10 || i == 12 ? Match::kEqualNumber
                                                       : Match::kClose;
    EXPECT_EQ(Difference((*got)[i], (*want)[i], match), "") << "r" << i << " of " << Name(type());
  }
}

TEST_P(TypeMatrix, BitcastConvertBetweenWidths) {
  for (PrimitiveType to : RealTypes()) {
    const int from_bits = hlo::BitWidth(type()), to_bits = hlo::BitWidth(to);
    const int parts = std::max(from_bits, to_bits) / std::min(from_bits, to_bits);
    if (from_bits <= to_bits || from_bits != parts * to_bits || to == PrimitiveType::kPred) continue;
    for (bool narrow : {true, false}) {
      const std::string wide_shape = absl::StrCat(Name(type()), "[5]");
      const std::string narrow_shape = absl::StrCat(Name(to), "[5,", parts, "]");
      const std::unique_ptr<hlo::Module> module = Parse(absl::StrCat(
          "HloModule m\nENTRY e { x = ", narrow ? wide_shape : narrow_shape,
          " parameter(0)  r = ", narrow ? narrow_shape : wide_shape, " bitcast-convert(x)  ROOT t = tuple(r) }"));
      if (module == nullptr) continue;
      const auto inputs = hlo::MakeInputs(*module);
      if (!inputs.ok()) continue;
      const auto want = Evaluated(*module, *inputs);
      if (!want.ok()) continue;
      const absl::StatusOr<CompiledRun> run = RunCompiled(*module, *inputs, HostTarget(), {});
      if (!run.ok()) {
        EXPECT_TRUE(from_bits == 6 || to_bits == 6) << run.status();  // have no integers of their width
        continue;
      }
      EXPECT_EQ(Difference(run->outputs[0], (*want)[0], Match::kEqual), "") << wide_shape << " and " << narrow_shape;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TypeMatrix, ::testing::ValuesIn(RealTypes()),
                         [](const auto& info) { return Name(info.param); });

}  // namespace
}  // namespace smelt::cpu
