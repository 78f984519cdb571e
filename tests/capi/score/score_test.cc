// libsmelt_score.so through its header, and what it links.
#include "capi/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/scratch_folder.h"

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::atomic<int64_t> allocations = 0;

}  // namespace

// The whole program allocates by these, the library too: it shows no operator of its own. Inlined, a pair of them would
// be taken for one that does not belong together.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

constexpr char kModel[] = SMELT_SOURCE_DIR "/models/cpu.smeltmodel";
constexpr char kProduct[] = R"(HloModule m
ENTRY e {
  a = f32[96,70]{1,0} parameter(0)
  b = f32[70,130]{1,0} parameter(1)
  d = f32[96,130]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[96,130]{1,0} tanh(d)
}
)";

struct Free {
  void operator()(char* text) const { smelt_score_free(text); }
  void operator()(SmeltScorer* scorer) const { smelt_scorer_delete(scorer); }
  void operator()(SmeltKernel* kernel) const { smelt_kernel_delete(kernel); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

Owned<SmeltScorer> Open(const char* model = kModel) {
  return Owned<SmeltScorer>(smelt_scorer_open(model, nullptr, nullptr));
}
Owned<SmeltKernel> Read(const SmeltScorer* scorer, const std::string& text, std::string* why = nullptr) {
  char* error = nullptr;
  Owned<SmeltKernel> kernel(smelt_kernel_read(scorer, text.data(), text.size(), SMELT_KERNEL_TEXT, &error));
  if (why != nullptr && error != nullptr) *why = error;
  smelt_score_free(error);
  return kernel;
}

std::string Output(const std::string& command, int* code = nullptr) {
  std::string text;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> part;
  for (size_t got; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), got);
  const int status = ::pclose(pipe);
  if (code != nullptr) *code = WEXITSTATUS(status);
  return text;
}

TEST(Score, AKernelBuiltNodeByNodeIsTheOneThatIsRead) {
  const Owned<SmeltScorer> scorer = Open();
  ASSERT_NE(scorer, nullptr);
  const Owned<SmeltKernel> read = Read(scorer.get(), kProduct);
  ASSERT_NE(read, nullptr);
  SmeltKernelBuilder* b = smelt_kernel_begin("product");
  const int operands[] = {smelt_kernel_parameter(b, "f32[96,70]{1,0}"), smelt_kernel_parameter(b, "f32[70,130]{1,0}")};
  const int d =
      smelt_kernel_add(b, "dot", "f32[96,130]{1,0}", operands, 2, "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  EXPECT_EQ(smelt_kernel_add(b, "tanh", "f32[96,130]{1,0}", &d, 1, nullptr), 3);
  char* error = nullptr;
  const Owned<SmeltKernel> built(smelt_kernel_finish(b, scorer.get(), &error));
  ASSERT_NE(built, nullptr) << error;
  const int64_t tiles[] = {1, 64, 6, 32, 96, 130};
  float one[3], other[3];
  EXPECT_EQ(smelt_score_tiles(read.get(), tiles, 3, one), 0);
  EXPECT_EQ(smelt_score_tiles(built.get(), tiles, 3, other), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(one[i], other[i]);
  EXPECT_NE(one[0], one[1]);
  EXPECT_EQ(smelt_kernel_seconds(read.get(), nullptr), smelt_kernel_seconds(built.get(), nullptr));
  EXPECT_GT(smelt_kernel_seconds(read.get(), nullptr), 1e-7);
  EXPECT_LT(smelt_kernel_seconds(read.get(), nullptr), 1e-2);
}

TEST(Score, ReductionsConstantsAndSeveralResultsAreNodes) {
  const Owned<SmeltScorer> scorer = Open("analytical");
  SmeltKernelBuilder* b = smelt_kernel_begin("rows");
  const int x = smelt_kernel_parameter(b, "f32[64,128]{1,0}");
  const int zero = smelt_kernel_add(b, "constant", "f32[]", nullptr, 0, "0");
  const int operands[] = {x, zero};
  const int sum = smelt_kernel_add(b, "reduce", "f32[64]{0}", operands, 2, "dimensions={1}, to_apply=add");
  const int both[] = {sum, smelt_kernel_add(b, "negate", "f32[64]{0}", &sum, 1, nullptr)};
  EXPECT_GE(smelt_kernel_result(b, both, 2), 0);
  char* error = nullptr;
  const Owned<SmeltKernel> kernel(smelt_kernel_finish(b, scorer.get(), &error));
  ASSERT_NE(kernel, nullptr) << error;
  int64_t dimension = 0;
  EXPECT_EQ(smelt_kernel_dimensions(kernel.get(), &dimension, 1), 1);
  EXPECT_EQ(dimension, 64);
}

// What is wrong is told by finish, in words about the node.
struct WrongNode {
  const char* name;
  void (*add)(SmeltKernelBuilder* b);
  const char* message;
};
const WrongNode kWrongNodes[] = {
    {"nothing", [](SmeltKernelBuilder*) {}, "has no node"},
    {"a later operand",
     [](SmeltKernelBuilder* b) {
       const int later = 7;
       EXPECT_EQ(smelt_kernel_add(b, "negate", "f32[8]", &later, 1, nullptr), -1);
     },
     "operand 0 is node 7"},
    {"no shape", [](SmeltKernelBuilder* b) { EXPECT_EQ(smelt_kernel_parameter(b, "f32[8"), -1); },
     "`f32[8` is no shape"},
    {"more than attributes",
     [](SmeltKernelBuilder* b) {
       const int x = smelt_kernel_parameter(b, "f32[8]");
       EXPECT_EQ(smelt_kernel_add(b, "negate", "f32[8]", &x, 1, "a=1\n  ROOT evil = f32[8] add(n0, n0)"), -1);
     },
     "no attributes on one line"},
    {"no such reducer",
     [](SmeltKernelBuilder* b) {
       const int x = smelt_kernel_parameter(b, "f32[8]");
       smelt_kernel_add(b, "reduce", "f32[]", &x, 1, "dimensions={0}, to_apply=evil");
     },
     "to_apply names `evil`"},
    {"what HLO refuses",
     [](SmeltKernelBuilder* b) {
       const int x = smelt_kernel_parameter(b, "f32[8]");
       smelt_kernel_add(b, "negate", "f32[9]", &x, 1, nullptr);
     },
     "f32[9]"},
};

TEST(Score, WrongNodesAreToldByFinish) {
  const Owned<SmeltScorer> scorer = Open("analytical");
  for (const WrongNode& wrong : kWrongNodes) {
    SCOPED_TRACE(wrong.name);
    SmeltKernelBuilder* b = smelt_kernel_begin("wrong");
    wrong.add(b);
    char* error = nullptr;
    EXPECT_EQ(smelt_kernel_finish(b, scorer.get(), &error), nullptr);
    EXPECT_THAT(std::string(error == nullptr ? "" : error), HasSubstr(wrong.message));
    smelt_score_free(error);
  }
}

TEST(Score, WhatIsWrongIsNullAndAMessage) {
  for (const auto& [model, machine, message] :
       {std::tuple("/nowhere", (const char*)nullptr, "/nowhere"), std::tuple(kModel, "{}x", "is no JSON object"),
        std::tuple(kModel, R"({"levels": [{"scope": "l1"}]})", "fewer than two levels"),
        std::tuple(kModel, R"({"threads": 0})", "expected a whole number from 1 to 1024"),
        std::tuple("analytical", R"({"speed": 1})", "`speed`, which is no field")}) {
    char* error = nullptr;
    EXPECT_EQ(smelt_scorer_open(model, machine, &error), nullptr);
    EXPECT_THAT(std::string(error == nullptr ? "" : error), HasSubstr(message));
    smelt_score_free(error);
    EXPECT_EQ(smelt_scorer_open(model, machine, nullptr), nullptr);
  }
  const Owned<SmeltScorer> scorer = Open();
  std::string why;
  EXPECT_EQ(Read(scorer.get(), "HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }", &why), nullptr);
  EXPECT_THAT(why, HasSubstr("nothing in it runs as a kernel"));
  EXPECT_EQ(Read(scorer.get(), "nonsense", &why), nullptr);
}

TEST(Score, AMachineOfTheCallersChangesTheScores) {
  char* error = nullptr;
  const Owned<SmeltScorer> small(smelt_scorer_open(
      kModel, R"({"vector_bytes": 16, "levels": [{"scope": "l1", "bytes": 8192, "bytes_per_second": 1e10},
                 {"scope": "l2", "bytes": 65536, "bytes_per_second": 5e9}, {"scope": "l3", "bytes": 1048576, "bytes_per_second": 3e9},
                 {"scope": "memory", "bytes_per_second": 1e9}]})",
      &error));
  ASSERT_NE(small, nullptr) << error;
  const Owned<SmeltScorer> usual = Open();
  const int64_t tiles[] = {6, 32};
  float a, b;
  smelt_score_tiles(Read(small.get(), kProduct).get(), tiles, 1, &a);
  smelt_score_tiles(Read(usual.get(), kProduct).get(), tiles, 1, &b);
  EXPECT_NE(a, b);
}

TEST(Score, NoTileCostsMemoryAndEveryThreadGetsTheSameScores) {
  const Owned<SmeltScorer> scorer = Open();
  const Owned<SmeltKernel> kernel = Read(scorer.get(), kProduct);
  std::vector<int64_t> tiles;
  for (int64_t i = 0; i < 1000; ++i) tiles.insert(tiles.end(), {1 + i % 96, 1 + i % 130});
  std::vector<float> expected(1000);
  ASSERT_EQ(smelt_score_tiles(kernel.get(), tiles.data(), 1000, expected.data()), 0);
  const int64_t before = allocations;
  ASSERT_EQ(smelt_score_tiles(kernel.get(), tiles.data(), 1000, expected.data()), 0);
  EXPECT_EQ(allocations - before, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      std::vector<float> scores(1000);
      for (int round = 0; round < 5; ++round) {
        EXPECT_EQ(smelt_score_tiles(kernel.get(), tiles.data(), 1000, scores.data()), 0);
        EXPECT_EQ(scores, expected);
        EXPECT_NE(Read(scorer.get(), kProduct), nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ScoreLibrary, LinksNoCompilerNoDatabaseAndNoTrainingLibraryAndShowsItsHeaderAlone) {
  const std::string library = SMELT_BINARY_DIR "/libsmelt_score.so";
  EXPECT_THAT(Output("ldd " + library),
              AllOf(Not(HasSubstr("LLVM")), Not(HasSubstr("sqlite")), Not(HasSubstr("torch"))));
  const std::string symbols = Output("nm -D --defined-only " + library);
  ASSERT_THAT(symbols, HasSubstr("smelt_score_tiles"));
  for (size_t begin = 0; begin < symbols.size();) {
    const size_t end = symbols.find('\n', begin);
    const std::string line = symbols.substr(begin, end - begin);
    EXPECT_THAT(line, HasSubstr(" T smelt_"));
    begin = end == std::string::npos ? symbols.size() : end + 1;
  }
}

TEST(ScoreExamples, ThePassesInCAndInCppRun) {
  int code = -1;
  const std::string folder = SMELT_BINARY_DIR "/capi/";
  EXPECT_THAT(Output(folder + "choose_tile_c " + kModel, &code), HasSubstr("tiles: "));
  EXPECT_EQ(code, 0);
  EXPECT_THAT(Output(folder + "choose_tile_c /nowhere", &code), HasSubstr("/nowhere"));
  EXPECT_EQ(code, 1);
  const smelt::ScratchFolder scratch;
  const std::string kernel = scratch.In("product.hlo");
  FILE* file = std::fopen(kernel.c_str(), "w");
  std::fputs(kProduct, file);
  std::fclose(file);
  EXPECT_THAT(Output(folder + "choose_tile_cc " + std::string(kModel) + " " + kernel, &code), HasSubstr("  64\n"));
  EXPECT_EQ(code, 0);
}

}  // namespace
