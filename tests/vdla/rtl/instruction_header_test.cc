// instruction.vh and the default parameters of vdla.v say what vdla/isa and vdla/configs/pynq.json do.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "vdla/isa/config.h"
#include "vdla/isa/encoding.h"
#include "vdla/rtl/test_bench.h"

namespace smelt::vdla::rtl {
namespace {

using isa::Opcode;

std::string ReadVerilog(const std::string& name) {
  std::ifstream file(absl::StrCat(SMELT_SOURCE_DIR, "/vdla/rtl/", name));
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// `define NAME VALUE, one a line.
std::map<std::string, std::string> Definitions() {
  std::map<std::string, std::string> definitions;
  const std::string text = ReadVerilog("instruction.vh");
  static const std::regex kDefine(R"(`define (\w+) (\S+))");
  for (std::sregex_iterator match(text.begin(), text.end(), kDefine), end; match != end; ++match)
    definitions[(*match)[1]] = (*match)[2];
  return definitions;
}

TEST(RtlInstructionHeader, HasEveryFieldAtItsBits) {
  const std::map<std::string, std::string> definitions = Definitions();
  for (const isa::Field& field : isa::Fields()) {
    std::string name = absl::AsciiStrToUpper(std::string(field.name));
    // Loops stand at other bits in a GEMM than in an ALU instruction.
    const bool moves = field.IsOf(Opcode::kLoad), all = moves && field.IsOf(Opcode::kGemm);
    if (!moves) name = absl::StrCat(field.IsOf(Opcode::kGemm) ? "GEMM_" : "ALU_", name);
    const std::string bits = field.bits() == 1 ? absl::StrCat(field.low) : absl::StrCat(field.high, ":", field.low);
    const auto definition = definitions.find(name);
    ASSERT_NE(definition, definitions.end()) << name << (all ? " of all" : "");
    EXPECT_EQ(definition->second, bits) << name;
  }
}

TEST(RtlInstructionHeader, HasEveryValueByItsName) {
  const std::map<std::string, std::string> definitions = Definitions();
  const auto expect = [&](std::string_view name, int value) {
    const auto definition = definitions.find(absl::AsciiStrToUpper(std::string(name)));
    ASSERT_NE(definition, definitions.end()) << name;
    EXPECT_EQ(definition->second.substr(definition->second.find('d') + 1), absl::StrCat(value)) << name;
  };
  for (int n = 0; n < isa::kOpcodes; ++n) expect(NameOf(static_cast<Opcode>(n)), n);
  for (int n = 0; n < isa::kMemories; ++n) expect(NameOf(static_cast<isa::Memory>(n)), n);
  for (int n = 0; n < isa::kGemmModes; ++n) expect(NameOf(static_cast<isa::GemmMode>(n)), n);
  for (int n = 0; n < isa::kAluOps; ++n) expect(NameOf(static_cast<isa::AluOp>(n)), n);
  for (int n = static_cast<int>(TrapCode::kDecode); n <= static_cast<int>(TrapCode::kTokens); ++n)
    expect(std::string("TRAP_") + std::string(NameOf(static_cast<TrapCode>(n))), n);
}

TEST(RtlInstructionHeader, DefaultParametersAreThoseOfPynq) {
  const isa::Config pynq = isa::Config::Named("pynq").value();
  const std::map<std::string, int64_t> expected = {
      {"BATCH", pynq.batch},
      {"BLOCK_IN", pynq.block_in},
      {"BLOCK_OUT", pynq.block_out},
      {"UOP_DEPTH", pynq.DepthOf(isa::Memory::kUop)},
      {"INP_DEPTH", pynq.DepthOf(isa::Memory::kInp)},
      {"WGT_DEPTH", pynq.DepthOf(isa::Memory::kWgt)},
      {"ACC_DEPTH", pynq.DepthOf(isa::Memory::kAcc)},
      {"COMMAND_DEPTH", pynq.command_queue_depth},
      {"TOKEN_DEPTH", pynq.token_queue_depth},
      {"GEMM_RAW_DISTANCE", pynq.timing.gemm_raw_distance},
      {"FETCH_INSTRUCTIONS", pynq.timing.fetch_instructions},
      {"BURST_BYTES", pynq.timing.burst_bytes},
  };
  const std::string text = ReadVerilog("vdla.v");
  for (const auto& [name, value] : expected)
    EXPECT_NE(text.find(absl::StrCat("parameter ", name, " = ", value, ",")), std::string::npos)
        << name << " " << value;
}

}  // namespace
}  // namespace smelt::vdla::rtl
