// The bits of instructions, beside what docs/vdla.md says of them.
#include "vdla/isa/encoding.h"

#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vdla/isa/random_instruction.h"

namespace smelt::vdla::isa {
namespace {

using ::testing::HasSubstr;

std::string ReadDocument(const std::string& name) {
  std::ifstream file(std::string(SMELT_SOURCE_DIR) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void Flip(EncodedInstruction& bits, int bit) {
  bits[static_cast<size_t>(bit / 8)] ^= static_cast<uint8_t>(1 << bit % 8);
}

std::string ErrorOf(const EncodedInstruction& bits) { return std::string(Decode(bits, 7).status().message()); }

TEST(Encoding, TheDocumentHasTheTableOfFields) {
  EXPECT_THAT(ReadDocument("docs/vdla.md"), HasSubstr(EncodingTable()));
}

TEST(Encoding, EveryFieldComesBackAtItsEnds) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    const Instruction instruction = RandomInstruction(random);
    const absl::StatusOr<EncodedInstruction> bits = Encode(instruction);
    ASSERT_TRUE(bits.ok()) << bits.status();
    const absl::StatusOr<Instruction> back = Decode(*bits, 0);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, instruction);
  }
}

// One literal of each kind, written out by hand from the document.
TEST(Encoding, PutsBitsWhereTheDocumentSays) {
  const Instruction load{.opcode = Opcode::kLoad,
                         .pop_next = true,
                         .push_next = true,
                         .memory = Memory::kInp,
                         .sram_base = 5,
                         .dram_base = 0x89abcdef,
                         .y_size = 3,
                         .x_size = 7,
                         .x_stride = 0xfffff,
                         .y_pad_before = 1,
                         .y_pad_after = 2,
                         .x_pad_before = 3,
                         .x_pad_after = 4,
                         .pad_value = -1};
  unsigned __int128 want = 0;
  const auto put = [&](int low, uint64_t value) { want |= static_cast<unsigned __int128>(value) << low; };
  put(0, 0), put(4, 1), put(6, 1), put(7, 2), put(10, 5), put(24, 0x89abcdef), put(56, 3), put(69, 7), put(82, 0xfffff),
      put(102, 1), put(106, 2), put(110, 3), put(114, 4), put(118, 0xff);
  EncodedInstruction bytes = Encode(load).value();
  for (int b = 0; b < kInstructionBytes; ++b)
    EXPECT_EQ(bytes[static_cast<size_t>(b)], static_cast<uint8_t>(want >> (8 * b))) << b;

  const Instruction alu{.opcode = Opcode::kAlu,
                        .use_imm = true,
                        .op = AluOp::kClip,
                        .uop_begin = 1,
                        .uop_count = 2,
                        .iter_out = 3,
                        .iter_in = 4,
                        .dst_out = 5,
                        .dst_in = 6,
                        .src_out = 7,
                        .src_in = 8,
                        .imm = -2};
  want = 0;
  put(0, 4), put(7, 1), put(8, 8), put(12, 1), put(26, 2), put(39, 3), put(51, 4), put(63, 5), put(75, 6), put(87, 7),
      put(99, 8), put(111, 0xfffe);
  bytes = Encode(alu).value();
  for (int b = 0; b < kInstructionBytes; ++b)
    EXPECT_EQ(bytes[static_cast<size_t>(b)], static_cast<uint8_t>(want >> (8 * b))) << b;

  const Instruction gemm{.opcode = Opcode::kGemm,
                         .mode = GemmMode::kOverwrite,
                         .uop_begin = 1,
                         .uop_count = 2,
                         .iter_out = 3,
                         .iter_in = 4,
                         .dst_out = 5,
                         .dst_in = 6,
                         .src_out = 7,
                         .src_in = 8,
                         .wgt_out = 9,
                         .wgt_in = 10};
  want = 0;
  put(0, 2), put(7, 2), put(9, 1), put(23, 2), put(36, 3), put(48, 4), put(60, 5), put(72, 6), put(84, 7), put(96, 8),
      put(108, 9), put(116, 10);
  bytes = Encode(gemm).value();
  for (int b = 0; b < kInstructionBytes; ++b)
    EXPECT_EQ(bytes[static_cast<size_t>(b)], static_cast<uint8_t>(want >> (8 * b))) << b;
}

TEST(Encoding, EachReservedBitThatIsSetIsAnError) {
  for (int opcode = 0; opcode < kOpcodes; ++opcode) {
    Instruction instruction{.opcode = static_cast<Opcode>(opcode)};
    if (instruction.opcode == Opcode::kStore) instruction.memory = Memory::kAcc;
    for (int bit = 0; bit < 128; ++bit) {
      bool named = false;
      for (const Field& field : Fields())
        named = named || (field.IsOf(instruction.opcode) && bit >= field.low && bit <= field.high);
      if (named) continue;
      EncodedInstruction bits = Encode(instruction).value();
      Flip(bits, bit);
      EXPECT_THAT(ErrorOf(bits), HasSubstr("instruction 7 (" + std::string(NameOf(instruction.opcode)) + "): bit " +
                                           std::to_string(bit) + " is reserved"));
    }
  }
}

TEST(Encoding, IllegalValuesAreErrorsThatNameTheInstruction) {
  EncodedInstruction bits{};
  for (uint8_t opcode = 5; opcode < 8; ++opcode) {
    bits = {opcode};
    EXPECT_THAT(ErrorOf(bits), HasSubstr("instruction 7: opcode " + std::to_string(opcode)));
  }
  bits = Encode({.opcode = Opcode::kLoad}).value();
  bits[0] |= 0x80, bits[1] |= 0x02;  // memory 5
  EXPECT_THAT(ErrorOf(bits), HasSubstr("instruction 7 (LOAD): memory is 5"));
  bits = Encode({.opcode = Opcode::kGemm, .mode = GemmMode::kReset}).value();
  bits[1] |= 0x01;  // mode 3
  EXPECT_THAT(ErrorOf(bits), HasSubstr("instruction 7 (GEMM): mode is 3"));
  for (uint8_t op = 11; op < 16; ++op) {
    bits = Encode({.opcode = Opcode::kAlu}).value();
    bits[1] |= op;
    EXPECT_THAT(ErrorOf(bits), HasSubstr("instruction 7 (ALU): op is " + std::to_string(op)));
  }
}

struct Refused {
  Instruction instruction;
  const char* why;
};
TEST(Encoding, WhatDoesNotFitTogetherIsRefusedByBothWays) {
  const Refused cases[] = {
      {{.opcode = Opcode::kLoad, .pop_prev = true, .memory = Memory::kInp},
       "pop_prev is set, and the load unit has no unit before it"},
      {{.opcode = Opcode::kLoad, .push_prev = true, .memory = Memory::kWgt},
       "push_prev is set, and the load unit has no unit before it"},
      {{.opcode = Opcode::kStore, .pop_next = true, .memory = Memory::kAcc},
       "pop_next is set, and the store unit has no unit after it"},
      {{.opcode = Opcode::kStore, .push_next = true, .memory = Memory::kAcc8},
       "push_next is set, and the store unit has no unit after it"},
      {{.opcode = Opcode::kFinish, .push_prev = true}, "pushes a token, and nothing runs after it"},
      {{.opcode = Opcode::kStore, .memory = Memory::kInp}, "only ACC and ACC8 can be stored"},
      {{.opcode = Opcode::kStore, .memory = Memory::kUop}, "only ACC and ACC8 can be stored"},
      {{.opcode = Opcode::kStore, .memory = Memory::kAcc, .y_pad_after = 1}, "a store has none"},
      {{.opcode = Opcode::kStore, .memory = Memory::kAcc, .pad_value = 1}, "a store has none"},
      {{.opcode = Opcode::kLoad, .memory = Memory::kUop, .x_pad_before = 1}, "pads micro-ops"},
  };
  for (const Refused& refused : cases) {
    EXPECT_THAT(std::string(Encode(refused.instruction, 3).status().message()), HasSubstr(refused.why));
    EncodedInstruction bits{};
    for (const Field& field : Fields()) {
      if (!field.IsOf(refused.instruction.opcode)) continue;
      for (int bit = field.low; bit <= field.high; ++bit) {
        if ((field.get(refused.instruction) >> (bit - field.low) & 1) != 0) Flip(bits, bit);
      }
    }
    EXPECT_THAT(ErrorOf(bits), HasSubstr(refused.why));
  }
  EXPECT_THAT(std::string(Encode({.opcode = Opcode::kLoad, .sram_base = 1 << 14}).status().message()),
              HasSubstr("sram_base is 16384; it has 14 bits"));
  EXPECT_THAT(std::string(Encode({.opcode = Opcode::kFinish, .imm = 1}).status().message()),
              HasSubstr("sets a field that this opcode does not have"));
  EXPECT_THAT(std::string(Encode({.opcode = static_cast<Opcode>(9)}).status().message()), HasSubstr("no opcode"));
}

TEST(Encoding, AProgramEndsWithItsOnlyFinish) {
  const Instruction work{.opcode = Opcode::kLoad}, finish{.opcode = Opcode::kFinish};
  EXPECT_TRUE(CheckInstructions({work, finish}).ok());
  EXPECT_THAT(std::string(CheckInstructions({finish, work}).message()),
              HasSubstr("instruction 0 (FINISH): stands before the end"));
  EXPECT_THAT(std::string(CheckInstructions({work, work}).message()),
              HasSubstr("instruction 1 (LOAD): is the last one"));
  EXPECT_THAT(std::string(CheckInstructions({}).message()), HasSubstr("no instructions"));
  EXPECT_FALSE(CheckInstructions({finish, finish}).ok());
}

TEST(Encoding, AnyBytesAreAnInstructionOrAnError) {
  std::mt19937_64 random(2);
  int legal = 0;
  for (int round = 0; round < 200000; ++round) {
    EncodedInstruction bits;
    for (uint8_t& byte : bits) byte = static_cast<uint8_t>(random() & random() & (round % 3 == 0 ? random() : ~0u));
    const absl::StatusOr<Instruction> instruction = Decode(bits, 0);
    if (!instruction.ok()) continue;
    ++legal;
    EXPECT_EQ(Encode(*instruction).value(), bits);
  }
  EXPECT_GT(legal, 100);
}

TEST(Encoding, MicroOpsKeepAllTheirBits) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 1000; ++round) {
    const auto bits = static_cast<uint32_t>(random());
    EXPECT_EQ(EncodeMicroOp(DecodeMicroOp(bits)), bits);
  }
  EXPECT_EQ(EncodeMicroOp({.dst = 1, .src = 2, .wgt = 3}), 0x03002001u);
}

TEST(Encoding, InstructionsThatEndInTheMiddleAreAnError) {
  const std::string bytes = EncodeAll({{.opcode = Opcode::kLoad}, {.opcode = Opcode::kFinish}}).value();
  EXPECT_EQ(DecodeAll(bytes).value().size(), 2u);
  for (size_t size = 1; size < bytes.size(); ++size)
    EXPECT_EQ(DecodeAll(bytes.substr(0, size)).ok(), size == 16) << size;
}

}  // namespace
}  // namespace smelt::vdla::isa
