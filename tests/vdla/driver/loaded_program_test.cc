// Programs of a compiler, through vdla.h: moved to where there is room, checked, run as often as wanted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/vdla/driver/opened.h"
#include "vdla/driver/vdla.h"
#include "vdla/isa/encoding.h"
#include "vdla/isa/program.h"
#include "vdla/isa/program_file.h"

namespace smelt::vdla::driver {
namespace {

using isa::Instruction;
using isa::Memory;
using isa::Opcode;
using isa::Role;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t kElements = 4;

std::string Words(const std::vector<uint32_t>& words) {
  return std::string(reinterpret_cast<const char*>(words.data()), words.size() * 4);
}

Instruction MoveOf(Opcode opcode, Memory memory, uint32_t sram, uint64_t address, uint32_t elements) {
  const uint64_t bytes = memory == Memory::kUop ? 4 : 64;
  return {.opcode = opcode,
          .memory = memory,
          .sram_base = sram,
          .dram_base = static_cast<uint32_t>(address / bytes),
          .y_size = 1,
          .x_size = elements,
          .x_stride = elements};
}

// y = x + sum + 5, and sum = y, where `sum` is scratch: zero at the start of each run.
isa::Program AddsFive() {
  constexpr uint64_t kX = 1 << 20, kSum = kX + 4096, kY = kX + 8192, kUops = kX + 64 * 300;
  isa::Program program{.name = "adds_five", .config = isa::Config::Named("pynq").value()};
  std::vector<uint32_t> micro_ops;
  for (uint32_t i = 0; i < kElements; ++i) micro_ops.push_back(isa::EncodeMicroOp({.dst = i, .src = kElements + i}));
  program.segments = {{"x", Role::kInput, kX, 64 * kElements, ""},
                      {"sum", Role::kScratch, kSum, 64 * kElements, ""},
                      {"y", Role::kOutput, kY, 64 * kElements, ""},
                      {"micro_ops", Role::kConstant, kUops, 4096, Words(micro_ops)}};
  Instruction add{.opcode = Opcode::kAlu, .op = isa::AluOp::kAdd, .uop_count = kElements, .iter_out = 1, .iter_in = 1};
  Instruction add_five = add;
  add_five.use_imm = true;
  add_five.imm = 5;
  add_five.push_next = true;
  program.instructions = {MoveOf(Opcode::kLoad, Memory::kUop, 0, kUops, kElements),
                          MoveOf(Opcode::kLoad, Memory::kAcc, 0, kX, kElements),
                          MoveOf(Opcode::kLoad, Memory::kAcc, kElements, kSum, kElements),
                          add,
                          add_five,
                          MoveOf(Opcode::kStore, Memory::kAcc, 0, kY, kElements),
                          MoveOf(Opcode::kStore, Memory::kAcc, 0, kSum, kElements),
                          {.opcode = Opcode::kFinish}};
  program.instructions[5].pop_prev = true;
  return program;
}

VdlaCode Load(const Opened& device, const isa::Program& program, VdlaProgram* loaded) {
  const absl::StatusOr<std::string> bytes = isa::SerializeProgram(program);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return vdla_program_load(device.handle, bytes->data(), bytes->size(), loaded);
}

TEST(LoadedProgram, RunsAsOftenAsWantedWithZeroedScratch) {
  for (const char* port : {"functional", "cycle", "xrt:xclbin=works,plugin=" FAKE_CARD}) {
    SCOPED_TRACE(port);
    const Opened device(port);
    device.NewBuffer(12345);  // so that it has to move
    VdlaProgram program;
    ASSERT_EQ(Load(device, AddsFive(), &program), VDLA_OK) << vdla_error();
    VdlaBuffer x, y, sum;
    ASSERT_EQ(vdla_program_segment(program, "x", &x), VDLA_OK);
    ASSERT_EQ(vdla_program_segment(program, "y", &y), VDLA_OK);
    ASSERT_EQ(vdla_program_segment(program, "sum", &sum), VDLA_OK);
    const VdlaStream stream = device.NewStream();
    for (uint32_t run = 0; run < 3; ++run) {
      std::vector<uint32_t> values(16 * kElements), back(16 * kElements);
      for (uint32_t i = 0; i < values.size(); ++i) values[i] = 1000 * run + i;
      ASSERT_EQ(vdla_copy_to_device(x, 0, values.data(), values.size() * 4), VDLA_OK);
      ASSERT_EQ(vdla_submit_program(stream, program), VDLA_OK) << vdla_error();
      VdlaStatistics statistics = {};
      ASSERT_EQ(vdla_synchronize(stream, 60, &statistics), VDLA_OK) << vdla_error();
      EXPECT_EQ(statistics.instructions, 8u);
      ASSERT_EQ(vdla_copy_from_device(y, 0, back.data(), back.size() * 4), VDLA_OK);
      for (uint32_t& value : values) value += 5;
      EXPECT_EQ(back, values) << run;
    }
    // Twice in one go: scratch is zeroed between.
    ASSERT_EQ(vdla_submit_program(stream, program), VDLA_OK);
    ASSERT_EQ(vdla_submit_program(stream, program), VDLA_OK);
    ASSERT_EQ(vdla_program_free(program), VDLA_OK) << "what is queued still runs";
    ASSERT_EQ(vdla_synchronize(stream, 60, nullptr), VDLA_OK) << vdla_error();
    uint32_t first = 0;
    ASSERT_EQ(vdla_copy_from_device(y, 0, &first, 4), VDLA_OK) << "segments live on";
    EXPECT_EQ(first, 2005u);
  }
}

TEST(LoadedProgram, TwoOfThemDoNotMeet) {
  const Opened device("functional");
  VdlaProgram one, two;
  ASSERT_EQ(Load(device, AddsFive(), &one), VDLA_OK);
  ASSERT_EQ(Load(device, AddsFive(), &two), VDLA_OK);
  VdlaBuffer x[2], y[2];
  const VdlaStream stream = device.NewStream();
  const VdlaProgram programs[] = {one, two};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(vdla_program_segment(programs[i], "x", &x[i]), VDLA_OK);
    ASSERT_EQ(vdla_program_segment(programs[i], "y", &y[i]), VDLA_OK);
    const uint32_t value = 100 * i;
    ASSERT_EQ(vdla_copy_to_device(x[i], 0, &value, 4), VDLA_OK);
    ASSERT_EQ(vdla_submit_program(stream, programs[i]), VDLA_OK);
  }
  ASSERT_EQ(vdla_synchronize(stream, 60, nullptr), VDLA_OK);
  for (int i = 0; i < 2; ++i) {
    uint32_t value = 0;
    ASSERT_EQ(vdla_copy_from_device(y[i], 0, &value, 4), VDLA_OK);
    EXPECT_EQ(value, 100u * i + 5);
  }
}

TEST(LoadedProgram, SegmentsAreKnownByNameAndSize) {
  const Opened device("functional");
  VdlaProgram program;
  ASSERT_EQ(Load(device, AddsFive(), &program), VDLA_OK);
  VdlaBuffer buffer;
  EXPECT_EQ(vdla_program_segment(program, "z", &buffer), VDLA_NOT_FOUND);
  EXPECT_THAT(vdla_error(), HasSubstr("it has x, sum, y, micro_ops"));
  ASSERT_EQ(vdla_program_segment(program, "micro_ops", &buffer), VDLA_OK);
  uint64_t size = 0;
  ASSERT_EQ(vdla_buffer_size(buffer, &size), VDLA_OK);
  EXPECT_EQ(size, 4096u);
  std::string bytes(4096, 'x');
  ASSERT_EQ(vdla_copy_from_device(buffer, 0, bytes.data(), 4096), VDLA_OK);
  EXPECT_EQ(bytes.substr(16), std::string(4080, '\0')) << "zero behind what the program brings";
  EXPECT_EQ(vdla_copy_from_device(buffer, 4096, bytes.data(), 1), VDLA_INVALID);
}

TEST(LoadedProgram, OfAnotherMachineIsRefused) {
  const Opened device("functional:machine=big");
  VdlaProgram program;
  EXPECT_EQ(Load(device, AddsFive(), &program), VDLA_MACHINE);
  EXPECT_THAT(vdla_error(),
              AllOf(HasSubstr("made for machine `pynq`, with 16 lanes of an input"), HasSubstr("`big`, with 32")));
}

TEST(LoadedProgram, InstructionsOutsideOfItsSegmentsAreRefusedByNumber) {
  const Opened device("functional");
  VdlaProgram loaded;
  for (const size_t number : {size_t{0}, size_t{2}, size_t{6}}) {
    for (const uint32_t base : {0u, 0x7fffffu, ~0u}) {
      isa::Program program = AddsFive();
      program.instructions[number].dram_base = base;
      EXPECT_EQ(Load(device, program, &loaded), VDLA_INVALID);
      EXPECT_THAT(vdla_error(), AllOf(HasSubstr("instruction " + std::to_string(number) + " ("),
                                      HasSubstr("outside of its segments")));
    }
  }
  isa::Program program = AddsFive();
  program.segments.clear();
  EXPECT_EQ(Load(device, program, &loaded), VDLA_INVALID);
  program.instructions = {{.opcode = Opcode::kFinish}};
  EXPECT_EQ(Load(device, program, &loaded), VDLA_OK) << vdla_error();
}

TEST(LoadedProgram, TokensThatDoNotAddUpAreRefusedBeforeAnyRun) {
  const Opened device("functional");
  isa::Program program = AddsFive();
  program.instructions[5].pop_prev = false;
  VdlaProgram loaded;
  EXPECT_EQ(Load(device, program, &loaded), VDLA_PROGRAM);
  EXPECT_THAT(vdla_error(), HasSubstr("instruction 4 (ALU) pushed"));
}

TEST(LoadedProgram, TrapOfTheMachineNamesSubmissionAndInstruction) {
  const Opened device("functional");
  isa::Program program = AddsFive();
  program.instructions[3].iter_out = 600;
  program.instructions[3].dst_out = 4;
  VdlaProgram loaded;
  ASSERT_EQ(Load(device, program, &loaded), VDLA_OK) << vdla_error();
  const VdlaStream stream = device.NewStream();
  ASSERT_EQ(vdla_submit_program(stream, loaded), VDLA_OK);
  EXPECT_EQ(vdla_synchronize(stream, 60, nullptr), VDLA_PROGRAM);
  EXPECT_THAT(vdla_stream_error(stream),
              AllOf(HasSubstr("submission 0 (program adds_five)"), HasSubstr("instruction 3")));
}

TEST(LoadedProgram, BytesAndFilesThatAreNoneAreRefused) {
  const Opened device("functional");
  VdlaProgram loaded;
  EXPECT_EQ(vdla_program_load(device.handle, "nonsense", 8, &loaded), VDLA_INVALID);
  EXPECT_EQ(vdla_program_load_file(device.handle, "no/such/file.vdla", &loaded), VDLA_NOT_FOUND);
  std::string bytes = isa::SerializeProgram(AddsFive()).value();
  for (const size_t size : {size_t{0}, size_t{1}, bytes.size() / 2, bytes.size() - 1})
    EXPECT_EQ(vdla_program_load(device.handle, bytes.data(), size, &loaded), VDLA_INVALID) << size;
}

TEST(LoadedProgram, OfAnotherDeviceIsRefusedByAStream) {
  const Opened one("functional"), two("functional");
  VdlaProgram program;
  ASSERT_EQ(Load(one, AddsFive(), &program), VDLA_OK);
  const VdlaStream stream = two.NewStream();
  EXPECT_EQ(vdla_submit_program(stream, program), VDLA_INVALID);
  EXPECT_THAT(vdla_stream_error(stream), HasSubstr("another device"));
}

}  // namespace
}  // namespace smelt::vdla::driver
