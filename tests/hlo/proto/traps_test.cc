// What is easily read wrongly in a proto, a test each.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "hlo/evaluator/evaluator.h"
#include "hlo/fingerprint.h"
#include "hlo/literal.h"
#include "hlo/proto/hlo.pb.h"
#include "hlo/proto/reader.h"
#include "hlo/proto/writer.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"

namespace smelt::hlo {
namespace {

using testing::HasSubstr;

std::unique_ptr<Module> Parse(std::string_view text, bool verify = true) {
  ParseOptions options;
  options.verify = verify;
  auto module = ParseModule(text, options);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

proto::HloModuleProto ToProto(const Module& module) {
  proto::HloModuleProto to;
  EXPECT_TRUE(to.ParseFromString(*WriteProto(module, ProtoForm::kBinary)));
  return to;
}

absl::StatusOr<std::unique_ptr<Module>> Read(const proto::HloModuleProto& from, bool verify = true) {
  ProtoOptions options;
  options.verify = verify;
  return ReadProto(from.SerializeAsString(), options);
}

std::string TextOf(const absl::StatusOr<std::unique_ptr<Module>>& module) {
  return module.ok() ? ToText(**module) : std::string(module.status().message());
}

constexpr char kLoop[] = R"(HloModule loop

%body (p: (s32[], f32[2])) -> (s32[], f32[2]) {
  %p = (s32[], f32[2]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %x = f32[2]{0} get-tuple-element(%p), index=1
  %twice = f32[2]{0} add(%x, %x)
  ROOT %t = (s32[], f32[2]{0}) tuple(%next, %twice)
}

%condition (q: (s32[], f32[2])) -> pred[] {
  %q = (s32[], f32[2]{0}) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %three = s32[] constant(3)
  ROOT %less = pred[] compare(%j, %three), direction=LT
}

ENTRY %main (x0: f32[2]) -> f32[2] {
  %zero = s32[] constant(0)
  %x0 = f32[2]{0} parameter(0)
  %start = (s32[], f32[2]{0}) tuple(%zero, %x0)
  %loop = (s32[], f32[2]{0}) while(%start), condition=%condition, body=%body
  ROOT %result = f32[2]{0} get-tuple-element(%loop), index=1
}
)";

const proto::HloInstructionProto* Find(const proto::HloModuleProto& module, const std::string& opcode) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation.instructions()) {
      if (instruction.opcode() == opcode) return &instruction;
    }
  }
  return nullptr;
}

TEST(ProtoTraps, ReferencesCountByTheLowHalfOfIds) {
  const auto module = Parse(kLoop);
  proto::HloModuleProto from = ToProto(*module);
  // Older files have them so: no computation in the upper half of operands, some other one in that of roots.
  for (auto& computation : *from.mutable_computations()) {
    computation.set_root_id((computation.root_id() & 0xffffffff) | int64_t{77} << 32);
    for (auto& instruction : *computation.mutable_instructions()) {
      for (int64_t& id : *instruction.mutable_operand_ids()) id &= 0xffffffff;
    }
  }
  EXPECT_EQ(TextOf(Read(from)), ToText(*module));
}

TEST(ProtoTraps, IdsHoldTheComputationAbove) {
  const proto::HloModuleProto to = ToProto(*Parse(kLoop));
  for (const auto& computation : to.computations()) {
    for (const auto& instruction : computation.instructions()) EXPECT_EQ(instruction.id() >> 32, computation.id());
  }
}

TEST(ProtoTraps, AWhileCallsItsBodyThenItsCondition) {
  const proto::HloModuleProto to = ToProto(*Parse(kLoop));
  const auto* loop = Find(to, "while");
  ASSERT_NE(loop, nullptr);
  ASSERT_EQ(loop->called_computation_ids_size(), 2);
  EXPECT_EQ(to.computations(loop->called_computation_ids(0)).name(), "body");
  EXPECT_EQ(to.computations(loop->called_computation_ids(1)).name(), "condition");
}

TEST(ProtoTraps, ASelectAndScatterCallsSelectThenScatter) {
  const auto module = Parse(R"(HloModule m
greater { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=GE }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[2] parameter(1)
  z = f32[] constant(0)
  ROOT r = f32[4] select-and-scatter(x, y, z), window={size=2 stride=2}, select=greater, scatter=sum
}
)");
  const proto::HloModuleProto to = ToProto(*module);
  const auto* instruction = Find(to, "select-and-scatter");
  ASSERT_NE(instruction, nullptr);
  EXPECT_EQ(to.computations(instruction->called_computation_ids(0)).name(), "greater");
  EXPECT_EQ(to.computations(instruction->called_computation_ids(1)).name(), "sum");
  EXPECT_EQ(TextOf(Read(to)), ToText(*module));
}

TEST(ProtoTraps, ComputationsAndInstructionsComeInAnyOrder) {
  const auto module = Parse(kLoop);
  proto::HloModuleProto from = ToProto(*module);
  std::reverse(from.mutable_computations()->pointer_begin(), from.mutable_computations()->pointer_end());
  for (auto& computation : *from.mutable_computations()) {
    std::reverse(computation.mutable_instructions()->pointer_begin(),
                 computation.mutable_instructions()->pointer_end());
  }
  const auto back = Read(from);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(Fingerprint(**back), Fingerprint(*module));
}

TEST(ProtoTraps, BackendConfigurationsMayLieInThePayloads) {
  const auto module = Parse("HloModule m\nENTRY e { x = f32[2]{0} parameter(0)  ROOT y = f32[2]{0} negate(x) }");
  proto::HloModuleProto from = ToProto(*module);
  auto* root = from.mutable_computations(0)->mutable_instructions(1);
  from.add_payloads("unused");
  from.add_payloads(R"({"known": {"n": 1}})");
  root->mutable_backend_config_payload()->set_id(1);
  EXPECT_THAT(TextOf(Read(from)), HasSubstr(R"(negate(%x), backend_config={"known": {"n": 1}})"));
  root->mutable_backend_config_payload()->set_value("plain \"text\"");
  EXPECT_THAT(TextOf(Read(from)), HasSubstr(R"(backend_config="plain \"text\"")"));
  root->mutable_backend_config_payload()->set_id(2);
  EXPECT_THAT(TextOf(Read(from)), HasSubstr("payload 2, but the module has 2 payloads"));
}

TEST(ProtoTraps, OldComparisonsAreCompare) {
  const auto module = Parse(
      "HloModule m\nENTRY e { x = s32[2]{0} parameter(0)  y = s32[2]{0} parameter(1)  ROOT c = pred[2]{0} compare(x, "
      "y), "
      "direction=EQ }");
  const std::pair<const char*, const char*> kOld[] = {{"equal-to", "EQ"},     {"not-equal-to", "NE"},
                                                      {"greater-than", "GT"}, {"greater-than-or-equal-to", "GE"},
                                                      {"less-than", "LT"},    {"less-than-or-equal-to", "LE"}};
  for (const auto& [opcode, direction] : kOld) {
    proto::HloModuleProto from = ToProto(*module);
    auto* root = from.mutable_computations(0)->mutable_instructions(2);
    root->set_opcode(opcode);
    root->clear_comparison_direction();
    root->clear_comparison_type();
    EXPECT_THAT(TextOf(Read(from)), HasSubstr(std::string("compare(%x, %y), direction=") + direction));
  }
}

TEST(ProtoTraps, TheScheduleIsTheOrder) {
  const auto module = Parse(R"(HloModule m, is_scheduled=true

ENTRY %e (x: f32[2]) -> f32[2] {
  %x = f32[2]{0} parameter(0)
  %b = f32[2]{0} negate(%x)
  %a = f32[2]{0} abs(%x)
  ROOT %c = f32[2]{0} add(%a, %b)
}
)");
  proto::HloModuleProto from = ToProto(*module);
  ASSERT_EQ(from.schedule().sequences_size(), 1);
  // XLA lists instructions in post order beside it.
  from.mutable_computations(0)->mutable_instructions()->SwapElements(1, 2);
  EXPECT_EQ(TextOf(Read(from)), ToText(*module));
}

TEST(ProtoTraps, FusedComputationsHaveNoSchedule) {
  const proto::HloModuleProto to = ToProto(*Parse(R"(HloModule m, is_scheduled=true
f { x = f32[2]{0} parameter(0)  ROOT y = f32[2]{0} negate(x) }
ENTRY e { x = f32[2]{0} parameter(0)  ROOT y = f32[2]{0} fusion(x), kind=kLoop, calls=f }
)"));
  ASSERT_EQ(to.schedule().sequences_size(), 1);
  EXPECT_EQ(to.schedule().sequences(0).key(), to.entry_computation_id());
}

TEST(ProtoTraps, LiteralsFollowTheLayout) {
  const auto module = Parse("HloModule m\nENTRY e { ROOT c = f32[2,3]{0,1} constant({{1, 2, 3}, {4, 5, 6}}) }");
  const proto::HloModuleProto to = ToProto(*module);
  EXPECT_THAT(to.computations(0).instructions(0).literal().f32s(), testing::ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(TextOf(Read(to)), ToText(*module));
}

TEST(ProtoTraps, LiteralsHaveNoTilesOrElementSizes) {
  const auto module = Parse("HloModule m\nENTRY e { ROOT c = s4[3]{0:T(8)E(4)} constant({1, 2, 3}) }");
  const proto::HloModuleProto to = ToProto(*module);
  const proto::HloInstructionProto& constant = to.computations(0).instructions(0);
  EXPECT_EQ(constant.shape().layout().element_size_in_bits(), 4);
  EXPECT_EQ(constant.literal().shape().layout().element_size_in_bits(), 0);
  EXPECT_EQ(constant.literal().shape().layout().tiles_size(), 0);
  EXPECT_EQ(TextOf(Read(to)), ToText(*module));
}

TEST(ProtoTraps, ADomainsEntryIsTheExitOfTheProto) {
  const auto module = Parse(
      "HloModule m\nENTRY e { x = f32[] parameter(0)  ROOT d = f32[] domain(x), domain={kind=\"sharding\", "
      "entry={maximal device=1}, exit={manual}} }");
  const proto::HloModuleProto to = ToProto(*module);
  EXPECT_EQ(Find(to, "domain")->domain_exit_sharding().type(), proto::OpSharding::MAXIMAL);
  EXPECT_EQ(Find(to, "domain")->domain_entry_sharding().type(), proto::OpSharding::MANUAL);
  EXPECT_EQ(TextOf(Read(to)), ToText(*module));
}

TEST(ProtoTraps, SmallTypesTakeAByteWithTheOtherBitsClear) {
  const auto module = Parse("HloModule m\nENTRY e { ROOT c = s4[3]{0} constant({1, -8, -3}) }");
  const proto::HloModuleProto to = ToProto(*module);
  EXPECT_EQ(to.computations(0).instructions(0).literal().s4s(), std::string("\x01\x08\x0d"));
  EXPECT_EQ(TextOf(Read(to)), ToText(*module));
}

TEST(ProtoTraps, EveryTypeOfLiteralGivesItsBitsBack) {
  for (const char* type :
       {"s1",     "s2",        "s4",       "s8",       "s16",      "s32",           "s64",        "u1",
        "u2",     "u4",        "u8",       "u16",      "u32",      "u64",           "f16",        "bf16",
        "f32",    "f64",       "f8e5m2",   "f8e4m3",   "f8e4m3fn", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz",
        "f8e3m4", "f8e8m0fnu", "f4e2m1fn", "f6e3m2fn", "f6e2m3fn"}) {
    const bool one_bit = std::string_view(type) == "s1";
    const auto module = Parse(std::string("HloModule m\nENTRY e { ROOT c = ") + type + "[2,2]{0,1} constant({{" +
                              (one_bit ? "0, -1}, {-1, 0" : "1, 1}, {1, 1") + "}}) }");
    EXPECT_EQ(TextOf(Read(ToProto(*module))), ToText(*module)) << type;
  }
  const auto others = Parse(R"(HloModule m
ENTRY e {
  a = pred[2]{0} constant({true, false})
  b = c64[2]{0} constant({(1, -2), (inf, nan(0x400001))})
  c = c128[] constant((0.1, -0.0))
  d = (f32[], (s32[2]{0}, pred[])) constant((nan(0x1), ({1, 2}, true)))
  ROOT t = (pred[2]{0}, c64[2]{0}, c128[], (f32[], (s32[2]{0}, pred[]))) tuple(a, b, c, d)
}
)");
  EXPECT_EQ(TextOf(Read(ToProto(*others))), ToText(*others));
}

TEST(ProtoTraps, WrappersAreTriedInTurn) {
  const auto module = Parse(kLoop);
  proto::HloSnapshot snapshot;
  *snapshot.mutable_hlo()->mutable_hlo_module() = ToProto(*module);
  for (ProtoForm form : {ProtoForm::kBinary, ProtoForm::kText}) {
    const auto bytes = [&](const google::protobuf::Message& message) {
      std::string out;
      if (form == ProtoForm::kBinary) return message.SerializeAsString();
      google::protobuf::TextFormat::PrintToString(message, &out);
      return out;
    };
    ProtoOptions options;
    options.form = form;
    EXPECT_EQ(TextOf(ReadProto(bytes(snapshot), options)), ToText(*module));
    EXPECT_EQ(TextOf(ReadProto(bytes(snapshot.hlo()), options)), ToText(*module));
    EXPECT_EQ(TextOf(ReadProto(bytes(snapshot.hlo().hlo_module()), options)), ToText(*module));
  }
}

TEST(ProtoTraps, TextProtosOfNewerWritersMayHaveUnknownFields) {
  std::string text = *WriteProto(*Parse(kLoop), ProtoForm::kText);
  text += "field_of_tomorrow { a: 1 b { c: \"d\" } }\n";
  ProtoOptions options;
  options.form = ProtoForm::kText;
  EXPECT_TRUE(ReadProto(text, options).ok());
}

TEST(ProtoTraps, ACopyToAnotherFloatTypeConverts) {
  const auto module = Parse("HloModule m\nENTRY e { x = f32[2]{0} parameter(0)  ROOT y = f32[2]{0} copy(x) }");
  proto::HloModuleProto from = ToProto(*module);
  from.mutable_computations(0)->mutable_instructions(1)->mutable_shape()->set_element_type(proto::BF16);
  EXPECT_THAT(TextOf(Read(from)), HasSubstr("bf16[2]{0} convert(%x)"));
}

TEST(ProtoTraps, NamesThatNoTextCanHoldAreMadeTo) {
  const auto module = Parse("HloModule m\nENTRY e { x = f32[2]{0} parameter(0)  ROOT y = f32[2]{0} negate(x) }");
  proto::HloModuleProto from = ToProto(*module);
  from.set_name("two\nlines");
  from.mutable_computations(0)->mutable_instructions(0)->set_name("a b,\"c\"");
  from.mutable_computations(0)->mutable_instructions(1)->set_name("-");
  const auto back = Read(from);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToText(*Parse(ToText(**back))), ToText(**back));
}

// A proto as another program writes it, without what Smelt adds.
std::string OfPlainProto(const std::string& instruction) {
  const auto module =
      Parse("HloModule m\n\nENTRY e {\n  a = f32[4] parameter(0)\n  ROOT r = f32[4] " + instruction + "\n}\n", false);
  proto::HloModuleProto to = ToProto(*module);
  to.DiscardUnknownFields();
  return TextOf(Read(to, false));
}

TEST(ProtoTraps, AMeshAndItsAxesHaveASpaceBetween) {
  const std::string text = OfPlainProto("all-gather(a), replica_groups=mesh['x'=2,'y'=2]{'x'}, dimensions={0}");
  EXPECT_THAT(text, HasSubstr("replica_groups=mesh['x'=2,'y'=2] {'x'}"));
  EXPECT_THAT(ToText(*Parse(text, false), {}), HasSubstr("replica_groups=mesh['x'=2,'y'=2] {'x'}"));
}

TEST(ProtoTraps, AnAxisNameMayHoldAnyCharacter) {
  const std::string groups = "replica_groups=mesh['x {'=2,'y'=2] {'x {'}";
  const std::string text = OfPlainProto("all-gather(a), " + groups + ", dimensions={0}");
  EXPECT_THAT(text, HasSubstr(groups));
  const auto module = Parse(text, false);
  EXPECT_THAT(ToText(*module, {}), HasSubstr(groups));
  EXPECT_THAT(TextOf(Read(ToProto(*module), false)), HasSubstr(groups));
}

TEST(ProtoTraps, ACustomCallsLiteralMayBeATuple) {
  EXPECT_THAT(
      OfPlainProto(
          "custom-call(a), custom_call_target=\"t\", literal=( s32[2]{0} {4, 3}, pred[2]{0} {1, 0}, pred[] true )"),
      HasSubstr("literal=( s32[2]{0} {4, 3}, pred[2]{0} {1, 0}, pred[] true )"));
}

TEST(ProtoTraps, ACustomCallsLabelsMayLeaveDimensionsOut) {
  EXPECT_THAT(
      OfPlainProto("custom-call(a), custom_call_target=\"t\", window={size=2x2}, dim_labels=?b01f_0?1io->b01?f"),
      HasSubstr("dim_labels=?b01f_0?1io->b01?f"));
}

TEST(ProtoTraps, BytesOfUnknownFieldsCannotBecomeKnownOnes) {
  const auto module = Parse("HloModule m\n\nENTRY e {\n  ROOT a = f32[4] parameter(0)\n}\n");
  proto::HloModuleProto to = ToProto(*module);
  // Field 1, a name, and one that nobody knows.
  to.mutable_computations(0)->mutable_instructions(0)->mutable_smelt_kept()->set_unknown(std::string("\x0a\x05other") +
                                                                                         std::string("\xfa\x3e\x01x"));
  const auto first = Read(to);
  const std::string text = TextOf(first);
  EXPECT_THAT(text, HasSubstr("%a ="));
  EXPECT_EQ(TextOf(Read(ToProto(**first))), text);
}

}  // namespace
}  // namespace smelt::hlo
