// What a user's limits and a user's absurd modules do to the tool: a clear error, in time, in bounded memory.
#include <sys/resource.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsLimited = false;
#else
constexpr bool kMemoryIsLimited = true;
#endif

std::string Entry(const std::string& body, const std::string& before = "") {
  return absl::StrCat("HloModule m\n", before, "ENTRY e {\n", body, "}\n");
}

std::string Repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

struct Case {
  std::string name, text, message;
};

std::vector<std::string> FilesIn(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path().filename());
  return files;
}

constexpr char kLoop[] = R"(HloModule m
always { p = s32[] parameter(0)
  ROOT r = pred[] constant(true) }
body { p = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT r = s32[] add(p, one) }
ENTRY e { p = s32[] parameter(0)
  ROOT w = s32[] while(p), condition=always, body=body }
)";

TEST(Limits, TimeLimitEndsAnEndlessLoopInEitherEngine) {
  const auto folder = FreshFolder("time");
  WriteFile(folder / "m.hlo", kLoop);
  for (const char* engine : {"evaluator", "compiled"}) {
    const ToolResult result = RunTool({"run", (folder / "m.hlo").string(), absl::StrCat("--engine=", engine),
                                       "--time-limit=0.5", absl::StrCat("--outputs=", (folder / "o").string())});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("not done after the 0.5 seconds of --time-limit"));
    EXPECT_FALSE(std::filesystem::exists(folder / "o"));
  }
}

TEST(Limits, MemoryLimitSaysWhatDoesNotFit) {
  if (!kMemoryIsLimited) GTEST_SKIP() << "sanitizers need terabytes of their own";
  const auto folder = FreshFolder("memory");
  WriteFile(folder / "m.hlo", Entry("  p = f32[] parameter(0)\n  wide = f32[65536,16384] broadcast(p), dimensions={}\n"
                                    "  ROOT s = f32[65536,16384] sort(wide), dimensions={1}, to_apply=less\n",
                                    "less { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                                    "  ROOT c = pred[] compare(a, b), direction=LT }\n"));
  const auto run = [&](const std::string& engine) {
    return RunTool({"run", (folder / "m.hlo").string(), "--engine=" + engine, "--memory-limit=1G"});
  };
  const ToolResult evaluated = run("evaluator");
  EXPECT_EQ(evaluated.exit_code, 1);
  EXPECT_THAT(evaluated.err,
              HasSubstr("instruction `wide`: a value of shape f32[65536,16384] is larger than the limit"));
  const ToolResult compiled = run("compiled");
  EXPECT_EQ(compiled.exit_code, 1);
  EXPECT_THAT(compiled.err, HasSubstr("no memory for 4294968384 bytes of the program's values"));
}

TEST(Limits, MemoryLimitCoversReading) {
  if (!kMemoryIsLimited) GTEST_SKIP() << "sanitizers need terabytes of their own";
  const auto folder = FreshFolder("reading");
  std::string body = "  p = f32[] parameter(0)\n  n0 = f32[] negate(p)\n";
  for (int i = 1; i < 100000; ++i) absl::StrAppend(&body, "  n", i, " = f32[] negate(n", i - 1, ")\n");
  WriteFile(folder / "m.hlo", Entry(body));
  const ToolResult result =
      RunTool({"opt", (folder / "m.hlo").string(), "--memory-limit=24M", "-o", (folder / "o.hlo").string()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.signal, 0);
  EXPECT_THAT(result.err, HasSubstr("smelt opt: needs more memory than --memory-limit=25165824 allows"));
  EXPECT_EQ(FilesIn(folder).size(), 1u);
}

TEST(Limits, RefusesNonsenseValues) {
  EXPECT_EQ(RunTool({"run", "m.hlo", "--time-limit=-1"}).exit_code, 2);
  EXPECT_EQ(RunTool({"run", "m.hlo", "--memory-limit=lots"}).exit_code, 2);
}

// Counts all processes that were waited for. A busy machine makes nothing slower by this clock.
double ChildrensProcessorSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) { return time.tv_sec + 1e-6 * time.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Every verb that reads a module refuses these with the file's name and the cause, or takes them; none hangs.
TEST(AbsurdModules, AreRefusedAtOnce) {
  const std::string sum = "sum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b) }\n";
  const auto window = [&](const std::string& shape, const std::string& window) {
    return Entry(absl::StrCat("  p = f32[8] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = ", shape,
                              " reduce-window(p, z), window={", window, "}, to_apply=sum\n"),
                 sum);
  };
  const auto chain = [](int levels, const std::string& call) {
    std::string text = "level0 { p = f32[] parameter(0)\n  ROOT r = f32[] negate(p) }\n";
    for (int i = 1; i < levels; ++i)
      absl::StrAppend(&text, "level", i, " { p = f32[] parameter(0)\n  ROOT r = f32[] ", call, "level", i - 1, " }\n");
    return Entry(absl::StrCat("  p = f32[] parameter(0)\n  ROOT r = f32[] ", call, "level", levels - 1, "\n"), text);
  };
  const auto doubling = [](int levels, const std::string& call) {
    std::string text = "level0 { p = f32[] parameter(0)\n  ROOT r = f32[] negate(p) }\n";
    for (int i = 1; i < levels; ++i) {
      absl::StrAppend(&text, "level", i, " { p = f32[] parameter(0)\n  x = f32[] ", call, "level", i - 1,
                      "\n  y = f32[] ", call, "level", i - 1, "\n  ROOT r = f32[] add(x, y) }\n");
    }
    return Entry(absl::StrCat("  p = f32[] parameter(0)\n  ROOT r = f32[] ", call, "level", levels - 1, "\n"), text);
  };
  std::string deep_tuples = "  p = f32[] parameter(0)\n  t0 = tuple(p)\n";
  for (int i = 1; i < 5000; ++i) absl::StrAppend(&deep_tuples, "  t", i, " = tuple(t", i - 1, ")\n");
  std::string wide_tuples = "  p = f32[] parameter(0)\n  t0 = tuple(p)\n";
  for (int i = 1; i < 60; ++i) absl::StrAppend(&wide_tuples, "  t", i, " = tuple(t", i - 1, ", t", i - 1, ")\n");
  const int n = 100000;
  const Case cases[] = {
      {"size", Entry("  ROOT p = f32[4294967296,4294967296,16] parameter(0)\n"), "2^60 bytes"},
      {"stride", window("f32[8]", "size=1 stride=0"), "positive stride"},
      {"dilation", window("f32[8]", "size=1 lhs_dilate=4611686018427387904"), "cannot be padded"},
      {"negative window", window("f32[8]", "size=-1"), "must have a size of 0 or more"},
      {"tuple shapes", Entry("  ROOT p = " + Repeat("(", n) + "f32[]" + Repeat(")", n) + " parameter(0)\n"),
       "at most 200 nested tuples"},
      {"tuples", Entry(deep_tuples), "tuples may be nested 200 levels deep"},
      {"wide tuples", Entry(wide_tuples), "a tuple of tuples may have 131072 leaves"},
      {"literal", Entry("  ROOT c = f32[2] constant(" + Repeat("{", n) + "1" + Repeat("}", n) + ")\n"),
       "levels of braces"},
      {"bodies",
       Entry("  p = f32[] parameter(0)\n  ROOT r = f32[] " +
             Repeat("call(p), to_apply={ p = f32[] parameter(0)\n ROOT r = f32[] ", 10000) + "negate(p)" +
             Repeat("}", 10000) + "\n"),
       "at most 200 levels"},
      {"call chain", chain(n, "call(p), to_apply="), "500 levels deep"},
      {"fusion chain", chain(n, "fusion(p), kind=kLoop, calls="), "500 levels deep"},
      {"map chain", chain(n, "map(p), to_apply="), "500 levels deep"},
      {"fusions of fusions", doubling(60, "fusion(p), kind=kLoop, calls="), "4194304 instructions"},
      {"operands in a circle", Entry("  a = f32[] negate(b)\n  ROOT b = f32[] negate(a)\n"), "defined above"},
      {"calls in a circle", "HloModule m\nc { p = f32[] parameter(0)\n  ROOT r = f32[] call(p), to_apply=c }\n",
       "defined above"},
      {"fill", Entry("  ROOT c = f32[1073741824] constant(1)\n"), "at most 512 MiB in all"},
      {"elided", Entry("  ROOT c = f32[1099511627776] constant({...})\n"), "at most 512 MiB in all"},
  };
  const auto folder = FreshFolder("absurd");
  for (const Case& c : cases) {
    WriteFile(folder / "m.hlo", c.text);
    const double before = ChildrensProcessorSeconds();
    const ToolResult result = RunTool({"opt", (folder / "m.hlo").string(), "--passes=default", "--memory-limit=1G",
                                       "-o", (folder / "o.hlo").string()});
    EXPECT_EQ(result.exit_code, 1) << c.name;
    EXPECT_THAT(result.err, HasSubstr(c.message)) << c.name;
    EXPECT_THAT(result.err, HasSubstr("m.hlo:")) << c.name;
    EXPECT_LT(ChildrensProcessorSeconds() - before, 30) << c.name;
  }
}

// Deep, wide or large, and still a program.
TEST(AbsurdModules, WhatIsOnlyLargeIsTaken) {
  std::string body = "  p = f32[] parameter(0)\n  n0 = f32[] negate(p)\n";
  for (int i = 1; i < 100000; ++i) absl::StrAppend(&body, "  n", i, " = f32[] negate(n", i - 1, ")\n");
  const Case cases[] = {
      {"operands", Entry(absl::StrCat(body, "  ROOT r = f32[] negate(n99999)\n")), ""},
      {"attribute", Entry("  ROOT p = f32[] parameter(0), unknown=" + Repeat("{", 100000) + Repeat("}", 100000) + "\n"),
       ""},
      {"operand list",
       Entry("  p = f32[1] parameter(0)\n  ROOT c = f32[100000] concatenate(p" + Repeat(",p", 99999) +
             "), dimensions={0}\n"),
       ""},
  };
  const auto folder = FreshFolder("large");
  for (const Case& c : cases) {
    WriteFile(folder / "m.hlo", c.text);
    const ToolResult result = RunTool({"opt", (folder / "m.hlo").string(), "-o", (folder / "o.hlo").string()});
    EXPECT_EQ(result.exit_code, 0) << c.name << result.err;
    EXPECT_THAT(result.err, IsEmpty());
  }
}

TEST(AbsurdModules, WorkWithoutEndIsStoppedByTheTimeLimit) {
  const auto folder = FreshFolder("work");
  const Case cases[] = {
      {"window",
       Entry(
           "  p = f32[2048,2048] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[2048,2048] reduce-window(p, z), "
           "window={size=2047x2047 pad=1023_1023x1023_1023}, to_apply=sum\n",
           "sum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b) }\n"),
       ""},
      {"tap",
       Entry("  p = f32[8] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[8] reduce-window(p, z), "
             "window={size=1099511627776 pad=549755813888_549755813887}, to_apply=sum\n",
             "sum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b) }\n"),
       ""},
      {"factorisation", Entry("  p = f32[4000,4000] parameter(0)\n  ROOT f = f32[4000,4000] cholesky(p), lower=true\n"),
       ""},
  };
  for (const Case& c : cases) {
    WriteFile(folder / "m.hlo", c.text);
    for (const char* engine : {"evaluator", "compiled"}) {
      const ToolResult result = RunTool({"run", (folder / "m.hlo").string(), absl::StrCat("--engine=", engine),
                                         "--time-limit=1", "--memory-limit=1G"});
      EXPECT_EQ(result.exit_code, 1) << c.name << " " << engine;
      EXPECT_EQ(result.signal, 0) << c.name << " " << engine;
    }
  }
}

}  // namespace
}  // namespace smelt::cli
