#include "runtime/deploy/plan_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/deploy/byte_stream.h"
#include "runtime/deploy/native_plan_bytes.h"

namespace smelt::runtime::deploy {
namespace {

using ::testing::HasSubstr;

DeployedPlan SamplePlan() {
  DeployedPlan plan;
  plan.module_name = "m";
  plan.architecture = "x86_64";
  plan.features = {"avx2", "fma"};
  plan.threads = 2;
  plan.inputs = {{"x", "f32", {4, 8}, 128}};
  plan.outputs = {{"out.0", "f32", {4, 8}, 128}, {"out.1", "pred", {}, 1}};
  plan.jobs.resize(2);
  plan.jobs[0].kernel = {"k0", 2, 1, {256}, 64, {{"k0_0", 3, {1}, {3}}, {"k0_1", 1, {0, 3}, {2}}}};
  plan.jobs[1].is_native = true;
  plan.jobs[1].native = native::SortPlan{.operands = {native::ElementType::kF32},
                                         .dimensions = {4, 8},
                                         .dimension = 1,
                                         .keys = {{0, {.descending = true}}}};
  plan.weights.bytes = 4096;
  using Kind = ProgramBuffer::Kind;
  Program& program = plan.program;
  program.arena_bytes = 1024;
  program.buffers = {{.kind = Kind::kInput, .bytes = 128},
                     {.kind = Kind::kConstant, .bytes = 4096},
                     {.kind = Kind::kArena, .bytes = 128, .offset = 64},
                     {.kind = Kind::kArena, .bytes = 256, .offset = 256},
                     {.kind = Kind::kOutput, .bytes = 128, .number = 0},
                     {.kind = Kind::kOutput, .bytes = 1, .number = 1},
                     {.kind = Kind::kArena, .bytes = 1, .offset = 0}};
  Step kernel{.kind = Step::Kind::kKernel, .job = 0, .reads = {0, 1}, .writes = {2, 3}, .skipped = 1};
  Step sort{.kind = Step::Kind::kNative, .job = 1, .reads = {2}, .writes = {4}};
  Step loop{.kind = Step::Kind::kWhile, .reads = {6}, .sequences = {{sort}, {kernel, sort}}};
  Step copy{.kind = Step::Kind::kCopy, .reads = {6}, .writes = {5}};
  Step repeat{.kind = Step::Kind::kRepeat, .sequences = {{sort}}, .trips = 7};
  program.steps = {kernel, loop, copy, repeat};
  return plan;
}

TEST(PlanFile, IsReadAsItWasWritten) {
  const std::string bytes = WritePlanFile(SamplePlan());
  DeployedPlan read;
  const Status status = ReadPlanFile(bytes, "plan.bin", &read);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(WritePlanFile(read), bytes);
  EXPECT_EQ(read.program.steps[1].sequences[1][0].skipped, 1);
  EXPECT_EQ(read.program.steps[3].trips, 7);
  EXPECT_EQ(std::get<native::SortPlan>(read.jobs[1].native).keys[0].order.descending, true);
}

TEST(PlanFile, EveryTruncationIsRefused) {
  const std::string bytes = WritePlanFile(SamplePlan());
  for (size_t size = 0; size < bytes.size(); ++size) {
    DeployedPlan read;
    const Status status = ReadPlanFile(std::string_view(bytes).substr(0, size), "plan.bin", &read);
    ASSERT_EQ(status.code, Status::Code::kDataLoss) << size;
    ASSERT_THAT(status.message, HasSubstr("plan.bin: ")) << size;
  }
}

TEST(PlanFile, EveryChangedByteIsRefused) {
  std::string bytes = WritePlanFile(SamplePlan());
  bytes += "x";
  DeployedPlan read;
  EXPECT_EQ(ReadPlanFile(bytes, "plan.bin", &read).code, Status::Code::kDataLoss) << "a byte too many";
  bytes.pop_back();
  for (char& byte : bytes) {
    byte = static_cast<char>(byte ^ 0x20);
    EXPECT_FALSE(ReadPlanFile(bytes, "plan.bin", &read).ok()) << &byte - bytes.data();
    byte = static_cast<char>(byte ^ 0x20);
  }
}

TEST(PlanFile, AnotherVersionSaysWhichItNeeds) {
  std::string bytes = WritePlanFile(SamplePlan());
  bytes[8] = 9;
  DeployedPlan read;
  const Status status = ReadPlanFile(bytes, "plan.bin", &read);
  EXPECT_EQ(status.code, Status::Code::kFailedPrecondition);
  EXPECT_THAT(status.message, HasSubstr("has version 9, and this library reads version 3"));
}

// What the checksum does not tell: whoever wrote it was wrong.
TEST(PlanFile, PartsThatDoNotFitEachOtherAreRefused) {
  const std::pair<const char*, void (*)(DeployedPlan&)> faults[] = {
      {"beyond the arena", [](DeployedPlan& plan) { plan.program.buffers[2].offset = 1000; }},
      {"beyond the weights", [](DeployedPlan& plan) { plan.weights.bytes = 100; }},
      {"negative", [](DeployedPlan& plan) { plan.program.buffers[2].bytes = -1; }},
      {"overflow", [](DeployedPlan& plan) { plan.program.buffers[2].offset = INT64_MAX; }},
      {"no such input", [](DeployedPlan& plan) { plan.program.buffers[0].number = 1; }},
      {"an input of another size", [](DeployedPlan& plan) { plan.inputs[0].bytes = 64; }},
      {"no such buffer", [](DeployedPlan& plan) { plan.program.steps[0].reads[0] = 7; }},
      {"no such job", [](DeployedPlan& plan) { plan.program.steps[0].job = 2; }},
      {"a kernel as a native operation", [](DeployedPlan& plan) { plan.program.steps[0].job = 1; }},
      {"too few buffers", [](DeployedPlan& plan) { plan.program.steps[0].writes.pop_back(); }},
      {"no such update", [](DeployedPlan& plan) { plan.program.steps[2].kind = Step::Kind::kUpdateSlice; }},
      {"the evaluator", [](DeployedPlan& plan) { plan.program.steps[2].kind = Step::Kind::kOpaque; }},
      {"a loop without a turn", [](DeployedPlan& plan) { plan.program.steps[3].trips = 0; }},
      {"a loop without a body", [](DeployedPlan& plan) { plan.program.steps[3].sequences.clear(); }},
      {"half a loop", [](DeployedPlan& plan) { plan.program.steps[1].sequences.pop_back(); }},
      {"no threads", [](DeployedPlan& plan) { plan.threads = 0; }},
      {"a copy of too much", [](DeployedPlan& plan) { plan.program.buffers[6].bytes = 0; }},
  };
  for (const auto& [what, spoil] : faults) {
    DeployedPlan plan = SamplePlan();
    spoil(plan);
    DeployedPlan read;
    const Status status = ReadPlanFile(WritePlanFile(plan), "plan.bin", &read);
    EXPECT_EQ(status.code, Status::Code::kDataLoss) << what;
    EXPECT_THAT(status.message, HasSubstr("is not consistent: ")) << what;
  }
}

TEST(NativePlanBytes, EveryPlanIsReadAsItWasWritten) {
  using native::ElementType;
  const native::Plan plans[] = {
      native::FftPlan{.kind = native::FftKind::kRealInverse, .f64 = true, .lengths = {3, 8}, .batch = 7},
      native::ScatterPlan{.arrays = {{ElementType::kF32, native::Combiner::kAdd}},
                          .operand = {4},
                          .updates = {2},
                          .indices = {2, 1},
                          .index_type = ElementType::kS64,
                          .update_window_dims = {},
                          .inserted_window_dims = {0},
                          .scatter_dims_to_operand_dims = {0},
                          .index_vector_dim = 1,
                          .unique_indices = true},
      native::SelectAndScatterPlan{
          .type = ElementType::kF64, .dimensions = {{8, 4, 2, 2, 1, 0}}, .comparison = native::Comparison::kLess},
      native::TopKPlan{.rows = 3, .columns = 9, .k = 2, .largest = false},
      native::CholeskyPlan{.batch = 2, .size = 5, .lower = false, .tells = true},
      native::TriangularSolvePlan{.size = 4, .vectors = 3, .left_side = false, .transpose = true},
      native::LuPlan{.f64 = true, .batch = 2, .rows = 5, .columns = 7},
      native::RandomBitsPlan{.three_fry = false, .state_words = 3, .element_bytes = 8, .dimensions = {5}},
  };
  for (const native::Plan& plan : plans) {
    ByteWriter writer;
    WritePlan(plan, &writer);
    ByteReader reader(writer.bytes());
    native::Plan read;
    ASSERT_TRUE(ReadPlan(&reader, &read)) << plan.index();
    EXPECT_TRUE(reader.done());
    ByteWriter again;
    WritePlan(read, &again);
    EXPECT_EQ(again.bytes(), writer.bytes()) << plan.index();
    EXPECT_NE(native::MakeOperation(read), nullptr) << plan.index();
  }
}

}  // namespace
}  // namespace smelt::runtime::deploy
