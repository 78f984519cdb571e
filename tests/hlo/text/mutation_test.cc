// Broken texts: whatever is cut, flipped, doubled or moved, the parser answers, and what it accepts can be printed and
// read again.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "base/str_cat.h"
#include "hlo/file/read.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "tests/hlo/text/corpus.h"

namespace smelt::hlo {
namespace {

constexpr const char* kSeeds[] = {
    R"(HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2]{0}}, input_output_alias={ {}: (0, {}) }

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y), metadata={op_name="a\"b"}
}

ENTRY e {
  p = f32[2,3]{1,0:T(8,128)S(1)} parameter(0), sharding={devices=[2,1]<=[2]}
  c = f32[] constant(-1.5e3)
  k = (c64[2], s4[1,2], pred[]) constant(({(1, -2), (inf, nan(0x1))}, {{-8, 7}}, true))
  b = f32[2,3] broadcast(c), dimensions={}
  w = f32[2,3] reduce-window(p, c), window={size=1x2 stride=1x1 pad=0_0x1_0}, to_apply=add
  i = s32[4,2] iota(), iota_dimension=0
  sl = f32[1,3] slice(p), slice={[0:1], [0:3:1]}
  pd = f32[4,3] pad(p, c), padding=1_1_0x0_0_0
  call = f32[2,3] call(p), to_apply={ q = f32[2,3] parameter(0)
    ROOT n = f32[2,3] negate(q) }
  cc = (f32[2], token[]) custom-call(p, call), custom_call_target="t", backend_config={"a": {"b": 1}}
  cv = f32[2] convert(cc#0)
  ROOT r = f32[2] reduce(w, c), dimensions={1}, to_apply=add
})",
    R"(%convolution = f32[1,2,1]{2,0,1} convolution(f32[1,2,1]{2,0,1} %copy, f32[1,1,1]{2,1,0} %filter), window={size=1}, dim_labels=b0f_0io->b0f)",
    R"(ENTRY e { a = f32[8] parameter(0)
 s = ((f32[8]), f32[8], u32[]) negate-start(a)
 u = ((f32[8]), f32[8], u32[]) negate-update(s)
 ROOT d = f32[8] negate-done(u) })",
};

// Texts small enough for thousands of tries.
std::vector<std::string> SeedTexts() {
  std::vector<std::string> texts(std::begin(kSeeds), std::end(kSeeds));
  for (const char* folder : {"xla/parser_ok", "xla/parser_bad", "xla/lit", "xla/exec"}) {
    for (const auto& file : CorpusFiles(folder)) {
      absl::StatusOr<std::string> text = ReadTextFile(file.string());
      if (text.ok() && text->size() < 20'000) texts.push_back(*std::move(text));
    }
  }
  return texts;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string Mutate(const std::string& text, const std::string& other) {
    std::string result = text;
    const int changes = 1 + static_cast<int>(Below(4));
    for (int i = 0; i < changes && !result.empty(); ++i) {
      const size_t at = Below(result.size());
      const size_t length = Below(std::min<size_t>(result.size() - at, 40)) + 1;
      switch (Below(8)) {
        case 0:
          result.resize(at);
          break;
        case 1:
          result[at] = static_cast<char>(Below(256));
          break;
        case 2:
          result.erase(at, length);
          break;
        case 3:
          result.insert(at, result.substr(at, length));
          break;
        case 4:
          result.insert(Below(result.size()), result.substr(at, length));
          break;
        case 5:
          result[at] = "(){}[]<>,=#%\"'/*-0123456789xab_"[Below(31)];
          break;
        case 6:
          result.insert(at, kTokens[Below(std::size(kTokens))]);
          break;
        case 7:
          if (!other.empty()) result.insert(at, other.substr(Below(other.size()), 60));
          break;
      }
    }
    return result;
  }

 private:
  static constexpr const char* kTokens[] = {"-1",
                                            "9223372036854775807",
                                            "-9223372036854775808",
                                            "99999999999999999999",
                                            "{...}",
                                            "f32[",
                                            "((((",
                                            "nan(0x0)",
                                            "ROOT ",
                                            "0",
                                            "1e999",
                                            "<=",
                                            "?",
                                            "{",
                                            "}",
                                            "\n",
                                            "/*",
                                            "s4[3]"};
  size_t Below(size_t n) { return n == 0 ? 0 : random_() % n; }
  std::mt19937_64 random_;
};

TEST(MutatedTexts, AreAnsweredAndWhatIsAcceptedPrints) {
  const std::vector<std::string> texts = SeedTexts();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  int accepted = 0, refused = 0;
  for (uint64_t seed = 1; std::chrono::steady_clock::now() < deadline && seed <= 200'000; ++seed) {
    Mutator mutator(seed);
    const std::string text = mutator.Mutate(texts[seed % texts.size()], texts[seed * 7 % texts.size()]);
    SCOPED_TRACE(StrCat("seed ", seed));
    ParseOptions options;
    options.verify = seed % 3 != 0;
    const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text, options);
    if (!module.ok()) {
      ++refused;
      ASSERT_TRUE(std::string(module.status().message()).starts_with("text:")) << module.status();
      continue;
    }
    ++accepted;
    const std::string printed = ToText(**module);
    const absl::StatusOr<std::unique_ptr<Module>> again = ParseModule(printed, options);
    ASSERT_TRUE(again.ok()) << again.status() << "\n--- from\n" << text << "\n--- printed\n" << printed;
    ASSERT_EQ(ToText(**again), printed) << text;
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 50);
}

TEST(HostileTexts, AreRefusedAtOnce) {
  const auto repeat = [](const std::string& text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) result += text;
    return result;
  };
  const std::string texts[] = {
      "HloModule m ENTRY e { ROOT p = " + repeat("(", 100'000) + "f32[]" + repeat(")", 100'000) + " parameter(0) }",
      repeat("f32[] negate(", 100'000) + "f32[] constant(0)" + repeat(")", 100'000),
      "ENTRY e { ROOT c = " + repeat("(", 150) + "f32[]" + repeat(")", 150) + " constant(" + repeat("(", 100'000) +
          "0) }",
      "ENTRY e { p = f32[] parameter(0) ROOT r = " +
          repeat("f32[] call(p), to_apply={ p = f32[] parameter(0) ROOT r = ", 100'000),
      "ENTRY e { ROOT c = f32[1000000,1000000,1000] constant({...}) }",
      "ENTRY e { ROOT c = f32[100000000] constant({1}) }",
      "ENTRY e { ROOT c = f32[9223372036854775807,9223372036854775807] parameter(0) }",
      "ENTRY e { ROOT c = f32[1000000000] constant(1) }",
      "ENTRY e { p = f32[8] parameter(0) c = f32[] constant(0) ROOT r = pad(p, c), "
      "padding=9223372036854775807_1_9223372036854775807 }",
      "ENTRY e { ROOT p = f32[] parameter(2147483647) }",
      repeat("{", 1'000'000),
      repeat("/*", 1'000'000),
      "HloModule m, x=" + repeat("{\"", 500'000),
  };
  for (const std::string& text : texts) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(ParseModule(text).ok()) << text.substr(0, 200);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2)) << text.substr(0, 200);
  }
}

}  // namespace
}  // namespace smelt::hlo
