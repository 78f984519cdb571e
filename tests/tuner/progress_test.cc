#include "tuner/progress.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace smelt::tuner {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::string Content(std::FILE* file) {
  std::string text(static_cast<size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

// What the file holds after some work and an error that is told once the work is over.
std::string Written(bool terminal) {
  const File file(std::tmpfile(), std::fclose);
  {
    Progress progress(file.get(), terminal);
    progress.Update("1 of 9");
    progress.Say("found one");
    progress.Say("found two");
    Progress(file.get(), terminal).Update("other work");
  }
  std::fputs("an error\n", file.get());
  return Content(file.get());
}

TEST(Progress, IsPlainLinesWhereNobodyWatches) {
  EXPECT_EQ(Written(false), "1 of 9\nfound one\nfound two\nother work\nan error\n");
}

TEST(Progress, OnATerminalIsALineThatIsWrittenOverAndEnded) {
  EXPECT_EQ(Written(true), "\r1 of 9\033[K\r\033[Kfound one\nfound two\n\rother work\033[K\nan error\n");
}

TEST(Progress, FloodsNoFile) {
  const File file(std::tmpfile(), std::fclose);
  const auto start = std::chrono::steady_clock::now();
  {
    Progress progress(file.get(), /*terminal=*/false);
    for (int i = 0; i < 100000; ++i) progress.Update(absl::StrCat(i, " of 100000"));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::vector<std::string> lines = absl::StrSplit(Content(file.get()), '\n', absl::SkipEmpty());
  EXPECT_EQ(lines[0], "0 of 100000");
  EXPECT_LE(lines.size(), 1 + seconds / 5);  // one at once, then one every five seconds
}

}  // namespace
}  // namespace smelt::tuner
