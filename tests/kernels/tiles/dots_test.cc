// Products of a few rows with a matrix that lies along the sum: dot products beside each other, nothing transposed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::nests {
namespace {

// `rows` x `terms` times the transpose of `columns` x `terms`; `epilogue`: of the result `d`.
Structure Product(int64_t rows, int64_t columns, int64_t terms, const std::string& epilogue = "") {
  const std::string out = absl::StrCat("f32[", rows, ",", columns, "]");
  const std::string text = absl::StrCat(
      "ENTRY e {\n x = f32[", rows, ",", terms, "] parameter(0)\n w = f32[", columns, ",", terms, "] parameter(1)\n ",
      epilogue.empty() ? "ROOT " : "", "d = ", out, " dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n",
      epilogue.empty() ? "" : absl::StrCat(" ROOT r = ", out, " ", epilogue, "(d)\n"), "}\n");
  return AnalyseStructure(te::FromHlo(*hlo::ParseModule(text).value()->entry()).value());
}

schedule::Schedule DefaultOf(const Structure& structure, const machine::Machine& machine) {
  const std::vector<int64_t> tile = PreferredTiles(structure.main_nest(), machine).front();
  return ScheduleStructure(structure, tile, machine).value();
}

TEST(Dots, BlocksFillTheRegisters) {
  machine::Machine machine;
  const auto block = [&](int64_t rows, int64_t columns, int64_t terms) {
    const Structure structure = Product(rows, columns, terms);
    const std::optional<DotBlock> found = DotBlockOf(structure.main_nest(), machine);
    EXPECT_TRUE(!found || FormOf(structure.main_nest(), machine) == TiledForm::kDots);
    return found ? absl::StrCat(found->rows, "x", found->columns) : "";
  };
  EXPECT_EQ(block(2, 1300, 2600), "2x12");
  EXPECT_EQ(block(16, 1300, 2600), "4x6");
  EXPECT_EQ(block(64, 1300, 2600), "4x6");
  EXPECT_EQ(block(5, 1300, 2600), "5x4") << "no row is left over";
  EXPECT_EQ(block(128, 1300, 2600), "") << "rows enough for a copy that is transposed";
  EXPECT_EQ(block(16, 1300, 64), "") << "a short sum is not worth adding lanes";
  machine.vector_registers = 16;
  machine.vector_bytes = 32;
  EXPECT_EQ(block(16, 1300, 2600), "") << "too few registers";
}

TEST(Dots, NothingIsCopied) {
  const machine::Machine machine;
  for (const int64_t rows : {2, 5, 16}) {
    const std::string trace = DefaultOf(Product(rows, 1300, 2600, "tanh"), machine).ToString();
    EXPECT_FALSE(absl::StrContains(trace, "cache_read")) << trace;
  }
}

// Two rows leave the processor time to look ahead by itself.
TEST(Dots, TheNextBlockOfAFarMatrixIsAskedFor) {
  const machine::Machine machine;
  EXPECT_TRUE(absl::StrContains(DefaultOf(Product(4, 1300, 2600), machine).ToString(), "prefetch p1 "));
  EXPECT_FALSE(absl::StrContains(DefaultOf(Product(2, 1300, 2600), machine).ToString(), "prefetch"));
  EXPECT_FALSE(absl::StrContains(DefaultOf(Product(4, 130, 260), machine).ToString(), "prefetch")) << "it is near";
}

// Rows and columns left over, terms that fill no vector, what follows in the kernel, one and two threads.
TEST(Dots, ComputeWhatTheSumDoes) {
  for (const int threads : {1, 2}) {
    machine::Machine machine;
    machine.threads = threads;
    for (const auto& [rows, columns, terms] :
         {std::tuple(5, 50, 130), std::tuple(2, 16, 128), std::tuple(7, 49, 136)}) {
      for (const std::string epilogue : {"", "negate"}) {
        const Structure structure = Product(rows, columns, terms, epilogue);
        ASSERT_EQ(FormOf(structure.main_nest(), machine), TiledForm::kDots);
        for (const std::vector<int64_t>& tile : std::vector<std::vector<int64_t>>{
                 PreferredTiles(structure.main_nest(), machine).front(), {1, 16}, {3, 7}}) {
          const schedule::Schedule schedule = ScheduleStructure(structure, tile, machine).value();
          EXPECT_EQ(kernels::lower::Difference(schedule, kernels::lower::RandomInputs(schedule.graph())), "");
        }
      }
    }
  }
}

}  // namespace
}  // namespace smelt::kernels::nests
