// Every snippet under several tiles, lowered and run by the loop IR's interpreter, which checks every access: what the
// schedules mean is what the evaluator computes.
#include <gtest/gtest.h>

#include "kernels/ir/interpret.h"
#include "kernels/lower/lower.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"
#include "kernels/tiles/tiles.h"
#include "tests/kernels/agreement/agreement.h"
#include "tests/kernels/agreement/snippets.h"

namespace smelt::kernels {
namespace {

class LoweredSnippet : public ::testing::TestWithParam<Snippet> {};

void ExpectAgreement(const schedule::Schedule& schedule, const Reference& reference, const std::string& what) {
  const absl::StatusOr<ir::Function> function = lower::Lower(schedule, {});
  ASSERT_TRUE(function.ok()) << what << ": " << function.status() << "\n" << schedule.ToString();
  std::vector<hlo::Literal> outputs;
  std::vector<void*> arguments;
  for (const hlo::Literal& input : reference.inputs) arguments.push_back(const_cast<void*>(input.raw()));
  for (const hlo::Literal& want : reference.outputs) outputs.emplace_back(want.shape());
  for (hlo::Literal& output : outputs) arguments.push_back(output.raw());
  const absl::Status status = ir::Interpret(*function, arguments, {.reverse_parallel = true});
  ASSERT_TRUE(status.ok()) << what << ": " << status << "\n" << schedule.ToString() << ir::ToString(*function);
  ASSERT_EQ(Difference(outputs, reference.outputs), "") << what << "\n"
                                                        << schedule.ToString() << ir::ToString(*function);
}

TEST_P(LoweredSnippet, AgreesWithTheEvaluatorUnderEveryTile) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(GetParam());
  const Reference reference = MakeReference(*module);
  const machine::Machine target;
  const std::vector<nests::Tile> tiles = nests::EnumerateTiles(*module->entry(), target, 5).value();
  for (const nests::Tile& tile : tiles) {
    const absl::StatusOr<schedule::Schedule> schedule = nests::ScheduleForTile(*module->entry(), tile, target);
    ASSERT_TRUE(schedule.ok()) << tile.ToString() << ": " << schedule.status();
    ExpectAgreement(*schedule, reference, "tile " + tile.ToString());
    if (HasFailure()) return;
  }
}

TEST_P(LoweredSnippet, AgreesWithTheEvaluatorUnderTheFallback) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(GetParam());
  const machine::Machine target;
  const nests::Structure structure = nests::AnalyseStructure(te::FromHlo(*module->entry()).value());
  const absl::StatusOr<schedule::Schedule> schedule = nests::FallbackSchedule(structure, target);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  ExpectAgreement(*schedule, MakeReference(*module), "fallback");
}

INSTANTIATE_TEST_SUITE_P(All, LoweredSnippet, ::testing::ValuesIn(Snippets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace smelt::kernels
