// Programs as text and as files, and any bytes in their place.
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/scratch_folder.h"
#include "tests/vdla/isa/random_instruction.h"
#include "vdla/isa/assembly.h"
#include "vdla/isa/program_file.h"

namespace smelt::vdla::isa {
namespace {

using ::testing::HasSubstr;

Program RandomProgram(std::mt19937_64& random) {
  Program program{.name = "random.1", .config = Config::Named(random() % 2 == 0 ? "pynq" : "big").value()};
  if (random() % 3 == 0)
    program.config.timing.gemm_drain = static_cast<int64_t>(random() % 100);  // a machine of its own
  if (random() % 3 == 0) program.config.timing.dram_bytes_per_cycle = 0.001 * static_cast<double>(1 + random() % 9999);
  for (uint64_t i = random() % 20; i > 0; --i) {
    Instruction instruction = RandomInstruction(random);
    if (instruction.opcode != Opcode::kFinish) program.instructions.push_back(instruction);
  }
  program.instructions.push_back({.opcode = Opcode::kFinish, .pop_next = random() % 2 == 0});
  uint64_t address = 0;
  for (uint64_t s = 0; s < random() % 5; ++s) {
    Segment segment{.name = "s" + std::to_string(s),
                    .role = static_cast<Role>(random() % kRoles),
                    .address = address,
                    .size = random() % 300};
    segment.bytes.resize(random() % (segment.size + 1));
    for (char& byte : segment.bytes) byte = static_cast<char>(random());
    address += segment.size + random() % 64;
    program.segments.push_back(segment);
  }
  return program;
}

TEST(Programs, ComeBackFromTextAndFromFiles) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const Program program = RandomProgram(random);
    const absl::StatusOr<Program> text = Assemble(Disassemble(program), "text");
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(*text, program);
    const absl::StatusOr<Program> file = ParseProgram(SerializeProgram(program).value(), "file");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(*file, program);
  }
}

TEST(Programs, EachInstructionComesBackFromItsLine) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 5000; ++round) {
    const Instruction instruction = RandomInstruction(random);
    const std::string line = DisassembleInstruction(instruction);
    const absl::StatusOr<Instruction> back = AssembleInstruction(line);
    ASSERT_TRUE(back.ok()) << line << ": " << back.status();
    EXPECT_EQ(*back, instruction) << line;
  }
  EXPECT_EQ(
      DisassembleInstruction(
          {.opcode = Opcode::kAlu, .pop_next = true, .use_imm = true, .op = AluOp::kRshr, .uop_count = 1, .imm = -3}),
      "ALU RSHR pop_next use_imm uop_count=1 imm=-3");
}

Program Small() {
  Program program{.name = "small", .config = Config::Named("pynq").value()};
  program.instructions = {{.opcode = Opcode::kLoad, .memory = Memory::kInp, .y_size = 1, .x_size = 2, .x_stride = 2},
                          {.opcode = Opcode::kFinish}};
  program.segments = {{"x", Role::kInput, 4096, 64, "abc"}};
  return program;
}

TEST(ProgramFiles, EveryTruncationAndEveryFlippedBitIsAnError) {
  const std::string bytes = SerializeProgram(Small()).value();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(ParseProgram(bytes.substr(0, size), "torn").ok()) << size;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(ParseProgram(damaged, "damaged").ok()) << bit;
  }
  EXPECT_THAT(std::string(ParseProgram(bytes.substr(0, 30), "torn").status().message()), HasSubstr("torn: ends "));
  EXPECT_THAT(std::string(ParseProgram(bytes.substr(0, 12), "torn").status().message()),
              HasSubstr("within its header"));
  EXPECT_THAT(std::string(ParseProgram(bytes + "x", "long").status().message()),
              HasSubstr("1 bytes stand after its end"));
  EXPECT_THAT(std::string(ParseProgram("\x7f"
                                       "ELF and more",
                                       "tool")
                              .status()
                              .message()),
              HasSubstr("tool: is no program of VDLA"));
  EXPECT_THAT(std::string(ParseProgram("", "empty").status().message()), HasSubstr("is no program"));
  std::string newer = bytes;
  newer[8] = 2;
  EXPECT_THAT(std::string(ParseProgram(newer, "newer").status().message()),
              HasSubstr("has version 2 of the format, and this tool reads version 1"));
  std::string damaged = bytes;
  damaged.back() = static_cast<char>(damaged.back() + 1);
  EXPECT_THAT(std::string(ParseProgram(damaged, "damaged").status().message()), HasSubstr("its checksum differs"));
}

TEST(ProgramFiles, AreReadFromDisk) {
  const ScratchFolder folder;
  const std::string path = folder.In("small.vdla"), text = folder.In("small.text");
  ASSERT_TRUE(WriteProgramFile(path, Small()).ok());
  EXPECT_EQ(ReadProgramFile(path).value(), Small());
  std::ofstream(text) << Disassemble(Small());
  EXPECT_EQ(ReadProgramFile(text).value(), Small());
  EXPECT_EQ(ReadProgramFile(folder.In("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(ReadProgramFile(folder.path().string()).ok());
}

TEST(Programs, SegmentsMustFitDramAndEachOther) {
  const auto refused = [](const Segment& segment) {
    Program program = Small();
    program.segments.push_back(segment);
    return std::string(CheckProgram(program).message());
  };
  EXPECT_THAT(refused({"y", Role::kOutput, 4100, 8, ""}), HasSubstr("segments `x` and `y` overlap"));
  EXPECT_THAT(refused({"x", Role::kOutput, 8192, 8, ""}), HasSubstr("two segments are called `x`"));
  EXPECT_THAT(refused({"y z", Role::kOutput, 8192, 8, ""}), HasSubstr("the name of a segment"));
  EXPECT_THAT(refused({"y", Role::kOutput, 8192, 2, "abc"}), HasSubstr("brings 3 bytes, and is 2 bytes large"));
  EXPECT_THAT(refused({"y", Role::kOutput, UINT64_MAX, 2, ""}), HasSubstr("are outside the 536870912 bytes of DRAM"));
  EXPECT_THAT(refused({"y", Role::kOutput, 8, UINT64_MAX, ""}), HasSubstr("are outside"));
  EXPECT_EQ(refused({"y", Role::kResult, 4096, 64, ""}), "");  // what is expected of x
}

struct BadText {
  const char* text;
  const char* error;
};
TEST(Assembler, NamesTheLineAndTheWord) {
  const std::string head = ".vdla 1\n.machine pynq\n";
  const BadText cases[] = {
      {"JUMP\n", "bad.vdla:3: `JUMP` is no instruction"},
      {"LOAD\n", "bad.vdla:3: LOAD must name its memory"},
      {"LOAD INP INP\n", "bad.vdla:3: `memory` stands twice"},
      {"LOAD INP fast\n", "bad.vdla:3: `fast` is no flag and no name of LOAD"},
      {"LOAD INP y_size=8192\n", "bad.vdla:3: `y_size` is 8192; it must be from 0 to 8191"},
      {"LOAD INP y_size=x\n", "bad.vdla:3: `x` of `y_size` is no whole number"},
      {"LOAD INP imm=1\n", "bad.vdla:3: LOAD has no number `imm`"},
      {"LOAD INP pop_prev\n", "bad.vdla:3: instruction 0 (LOAD): pop_prev is set"},
      {"GEMM\n", "bad.vdla:3: GEMM must name its mode"},
      {"ALU MIN imm=40000 use_imm\n", "bad.vdla:3: `imm` is 40000; it must be from -32768 to 32767"},
      {".align 4\n", "bad.vdla:3: `.align` is no directive"},
      {".bytes 00\n", "bad.vdla:3: `.bytes` stands before any `.segment`"},
      {".segment input x address=0 size=2\n.bytes 000000\n",
       "bad.vdla:4: there are more data than the 2 bytes of segment `x`"},
      {".segment input x address=0 size=2\n.bytes 0g\n", "bad.vdla:4: `.bytes` takes pairs of hexadecimal digits"},
      {".segment input x address=0 size=2\n.int8 200\n", "bad.vdla:4: `200` is no number of `.int8`"},
      {".segment input x address=0 size=4\n.uop dst=4096\n", "bad.vdla:4: dst and src of a micro-op are below 4096"},
      {".segment inputs x address=0 size=2\n", "bad.vdla:3: `inputs` is no role"},
      {".segment input x address=no size=2\n", "bad.vdla:3: `address=no` must be address=NUMBER"},
      {".machine zynq\n", "bad.vdla:3: no machine is called `zynq`"},
      {".machine {\"name\": 1}\n", "bad.vdla:3: .machine: has no text `name`"},
      {"LOAD INP\n", "bad.vdla: instruction 0 (LOAD): is the last one, and that must be FINISH"},
  };
  for (const BadText& bad : cases)
    EXPECT_THAT(std::string(Assemble(head + bad.text, "bad.vdla").status().message()), HasSubstr(bad.error))
        << bad.text;
  EXPECT_THAT(std::string(Assemble("FINISH\n", "bad.vdla").status().message()),
              HasSubstr("bad.vdla:1: the text must begin with `.vdla 1`"));
  EXPECT_THAT(std::string(Assemble(".vdla 2\n", "bad.vdla").status().message()), HasSubstr("is no text of version 1"));
  EXPECT_THAT(std::string(Assemble(".vdla 1\nFINISH\n", "bad.vdla").status().message()),
              HasSubstr("has no `.machine`"));
  EXPECT_THAT(std::string(Assemble("", "bad.vdla").status().message()), HasSubstr("is empty"));
}

TEST(Assembler, ReadsNumbersNamesAndRemarksInAnyForm) {
  const Program program = Assemble(
                              ".vdla 1\n.machine pynq\n.segment constant a address=0x10 size=0x20\n.int32 -1 ; minus "
                              "one\n.int8 -128 127\n.zero 2\n"
                              "\n  load inp  Y_PAD=1",
                              "text")
                              .value_or(Program{});
  EXPECT_EQ(program, Program{});  // fields have one name, in small letters
  const Program good = Assemble(
                           ".vdla 1\r\n.machine pynq\r\n.segment constant a address=0x10 size=0x20\n.int32 -1 ; minus "
                           "one\n.int8 -128 127\n.zero 2\n"
                           "\n\t load inp  y_size=0x10;remark\nfinish",
                           "text")
                           .value();
  EXPECT_EQ(good.segments[0].address, 16u);
  EXPECT_EQ(good.segments[0].bytes, std::string("\xff\xff\xff\xff\x80\x7f\0\0", 8));
  EXPECT_EQ(good.instructions[0].y_size, 16u);
}

TEST(Programs, AnyBytesAreReadWithoutHarm) {
  std::mt19937_64 random(3);
  const std::string file = SerializeProgram(Small()).value(), text = Disassemble(Small());
  const auto change = [&](std::string bytes) {
    for (uint64_t changes = 1 + random() % 8; changes > 0; --changes) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 8);
          break;
        case 2:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 40));
          break;
        default:
          bytes.insert(at, 1, " \n.={}09-;"[random() % 10]);
      }
      if (bytes.empty()) bytes = "x";
    }
    return bytes;
  };
  for (int round = 0; round < 20000; ++round) {
    ParseProgram(change(file), "bytes").status().IgnoreError();
    const absl::StatusOr<Program> program = Assemble(change(text), "text");
    if (program.ok()) {
      EXPECT_EQ(Assemble(Disassemble(*program), "again").value(), *program);
    }
    std::string noise(random() % 64, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    EXPECT_FALSE(ParseProgram(noise, "noise").ok());
    Assemble(noise, "noise").status().IgnoreError();
    AssembleInstruction(noise).status().IgnoreError();
    Config::Parse(noise, "noise").status().IgnoreError();
  }
}

}  // namespace
}  // namespace smelt::vdla::isa
