// Matrices that rows share: what is asked for ahead of the arithmetic, and how wide tiles are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::nests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNextStrip[] = "prefetch p1 dot_0.local r0";

// A machine whose second cache holds this many bytes.
machine::Machine MachineOf(int64_t second_cache) {
  machine::Machine machine;
  machine.levels[0].bytes = second_cache / 4;
  machine.levels[1].bytes = second_cache;
  return machine;
}

struct Product {
  int64_t batches, rows, steps, columns;
};

Structure NestsOf(const Product& p) {
  const std::string batch = p.batches > 1 ? absl::StrCat(p.batches, ",") : "";
  const int first = p.batches > 1 ? 1 : 0;
  const std::string text =
      absl::StrCat("ENTRY e { a = f32[", batch, p.rows, ",", p.steps, "] parameter(0) b = f32[", batch, p.steps, ",",
                   p.columns, "] parameter(1) ROOT d = f32[", batch, p.rows, ",", p.columns, "] dot(a, b)",
                   p.batches > 1 ? ", lhs_batch_dims={0}, rhs_batch_dims={0}" : "", ", lhs_contracting_dims={",
                   first + 1, "}, rhs_contracting_dims={", first, "} }");
  return AnalyseStructure(te::FromHlo(*hlo::ParseModule(text).value()->entry()).value());
}

schedule::Schedule Preferred(const Structure& structure, const machine::Machine& machine) {
  const std::vector<int64_t> tile = PreferredTiles(structure.main_nest(), machine).front();
  return ScheduleStructure(structure, tile, machine).value();
}

std::string TextOf(const Product& product, const machine::Machine& machine = MachineOf(1 << 20)) {
  return Preferred(NestsOf(product), machine).ToString();
}

TEST(Strips, FewRowsAskForTheNextStripOfTheirMatrix) {
  for (const int64_t rows : {8, 16, 32}) EXPECT_THAT(TextOf({1, rows, 256, 512}), HasSubstr(kNextStrip)) << rows;
  // Many rows pass over each strip again and again, and a small matrix is near.
  EXPECT_THAT(TextOf({1, 128, 256, 512}), Not(HasSubstr(kNextStrip)));
  EXPECT_THAT(TextOf({1, 16, 64, 256}), Not(HasSubstr(kNextStrip)));
  // The next strip of a batch is another one's, or none.
  EXPECT_THAT(TextOf({16, 16, 128, 128}), Not(HasSubstr(kNextStrip)));
  EXPECT_THAT(TextOf({1, 16, 4096, 32}), Not(HasSubstr(kNextStrip)));
}

TEST(Strips, WhatIsAskedForAheadChangesNoResult) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>(8, 160), {20, 96}, {17, 75}}) {
    const Structure structure = NestsOf({1, rows, 40, columns});
    const schedule::Schedule schedule = Preferred(structure, MachineOf(64 << 10));
    EXPECT_THAT(schedule.ToString(), HasSubstr(kNextStrip)) << rows;
    EXPECT_EQ(lower::Difference(schedule, lower::RandomInputs(schedule.graph())), "") << rows;
  }
}

TEST(Strips, LinesOfAPageGoInWideTiles) {
  const auto columns = [](const Product& product) {
    return PreferredTiles(NestsOf(product).main_nest(), MachineOf(1 << 20)).front().back();
  };
  EXPECT_EQ(columns({1, 64, 512, 2048}), 256);
  EXPECT_EQ(columns({1, 64, 512, 512}), 32);
  EXPECT_EQ(columns({1, 64, 64, 1024}), 32);  // near
}

}  // namespace
}  // namespace smelt::kernels::nests
