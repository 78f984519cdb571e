// Tokens replayed without time: what ends, what waits for ever, with the depths of the machine.
#include "vdla/isa/token_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace smelt::vdla::isa {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Config Pynq() { return Config::Named("pynq").value(); }

TEST(TokenReplay, DepthsOfTheMachineCount) {
  // 65 tokens, one after the other, before the first is taken: fine, as the pusher waits for room.
  std::vector<Instruction> program(65, {.opcode = Opcode::kLoad, .push_next = true, .memory = Memory::kInp});
  program.insert(program.end(), 65, {.opcode = Opcode::kLoad, .pop_prev = true, .memory = Memory::kAcc});
  program.push_back({.opcode = Opcode::kFinish});
  EXPECT_TRUE(ReplayTokens(program, Pynq()).ok()) << ReplayTokens(program, Pynq());

  // Load waits for a credit that compute gives only behind more loads than the queue holds: they never get there.
  Config shallow = Pynq();
  shallow.command_queue_depth = 4;
  program.assign(6, {.opcode = Opcode::kLoad, .memory = Memory::kInp});
  program[0].pop_next = true;
  program.push_back({.opcode = Opcode::kLoad, .push_prev = true, .memory = Memory::kAcc});
  program.push_back({.opcode = Opcode::kFinish});
  EXPECT_TRUE(ReplayTokens(program, Pynq()).ok());
  EXPECT_THAT(
      std::string(ReplayTokens(program, shallow).message()),
      AllOf(HasSubstr("instruction 0 (LOAD) waits for a token of compute->load"), HasSubstr("waits behind 4 others")));
}

TEST(TokenReplay, CirclesAreNamedUnitByUnit) {
  const std::vector<Instruction> program = {
      {.opcode = Opcode::kLoad, .pop_next = true, .push_next = true, .memory = Memory::kInp},
      {.opcode = Opcode::kLoad, .pop_prev = true, .push_prev = true, .memory = Memory::kAcc},
      {.opcode = Opcode::kFinish}};
  EXPECT_THAT(std::string(ReplayTokens(program, Pynq()).message()),
              AllOf(HasSubstr("instruction 0 (LOAD) waits for a token of compute->load"),
                    HasSubstr("instruction 1 (LOAD) waits for a token of load->compute")));
}

}  // namespace
}  // namespace smelt::vdla::isa
