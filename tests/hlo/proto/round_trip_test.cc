// Text → proto → text is the identity, for all that a text can say.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/str_cat.h"
#include "hlo/fingerprint.h"
#include "hlo/proto/hlo.pb.h"
#include "hlo/proto/reader.h"
#include "hlo/proto/writer.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "tests/hlo/text/corpus.h"

namespace smelt::hlo {
namespace {

// What is wrong with the way through a proto; nothing if all is well.
std::string Problem(std::string_view text, ProtoForm form) {
  ParseOptions options;
  options.verify = false;
  const auto module = ParseModule(text, options);
  if (!module.ok()) return std::string(module.status().message());
  const auto bytes = WriteProto(**module, form);
  if (!bytes.ok()) return std::string(bytes.status().message());
  ProtoOptions proto_options;
  proto_options.form = form;
  proto_options.verify = false;
  const auto back = ReadProto(*bytes, proto_options);
  if (!back.ok()) return std::string(back.status().message());
  if (ToText(**back) != ToText(**module)) return "from\n" + ToText(**module) + "to\n" + ToText(**back);
  const auto again = WriteProto(**back, form);
  return again.ok() && *again == *bytes ? "" : "the proto changed";
}

// One instruction with the given attributes in a module.
std::string WithAttributes(const std::string& attributes) {
  return "HloModule m\nENTRY e { x = f32[2]{0} parameter(0)  ROOT y = f32[2]{0} exponential(x)" + attributes + " }";
}

TEST(ProtoRoundTrip, KeepsTheAttributesOfAnyInstruction) {
  for (const char* attributes : {
           ", metadata={op_type=\"t\" op_name=\"a\\\"b\" source_file=\"f.py\" source_line=3 source_end_line=4 "
           "source_column=5 source_end_column=6 profile_type={1} deduplicated_name=\"d\" scheduling_name=\"s\" "
           "stack_frame_id=2}",
           ", metadata={source_line=3, op_name=\"in another order\"}",
           ", metadata={of_tomorrow={1,{2}}}",
           ", sharding={replicated}",
           ", sharding={maximal device=3}",
           ", sharding={manual shard_as 1}",
           ", sharding={devices=[2]<=[2]}",
           ", sharding={devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}",
           ", sharding={devices=[2,2]0,1,2,3 last_tile_dims={manual, replicated}}",
           ", sharding={{replicated}, {devices=[2]0,1 metadata={op_name=\"u\"}}}",
           ", sharding={mesh['x'=2,'y'=4], [{'y':(2)2, ?}], replicated={'x'}}",
           ", sharding={mesh['x'=2,'y'=2], device_ids=(3,2,1,0), [{'x', 'y'}], unreduced={}}",
           ", sharding={mesh['x'=2,'y'=2], [{'x'}], unreduced=max{'y'}}",
           ", frontend_attributes={a=\"1\",b={x=2},c=\"q\\\"\"}",
           ", statistics={visualizing_index=1,nan=2,inf=1.5}",
           ", origin={({\"x\"}, {\"y\" {1}}, ())}",
           ", origin={[synthetic_call]}",
           ", result_accuracy={mode=highest}",
           ", result_accuracy={tolerance={rtol=0.5, atol=1.0, ulps=2}}",
           ", backend_config={\"a\": {\"b\": [1]}}",
           ", backend_config=\"{\\\"quoted\\\": 1}\"",
           ", backend_config=\"any \\\\ text\"",
           ", attribute_of_tomorrow={1,2}, metadata={op_name=\"after\"}",
           ", metadata={op_name=\"before\"}, sharding={manual}",
       }) {
    for (ProtoForm form : {ProtoForm::kBinary, ProtoForm::kText}) {
      EXPECT_EQ(Problem(WithAttributes(attributes), form), "") << attributes;
    }
  }
}

TEST(ProtoRoundTrip, KeepsShapes) {
  for (const char* shape :
       {"f32[2]", "f32[]", "f32[2,3]{0,1}", "f32[2,3]{1,0:T(8,128)(2,1)E(4)S(3)}", "f32[<=8,3]{1,0}", "f32[?,3]",
        "f32[2,2]{1,0:D(D,C+~)L(4)#(u32)*(u16)SC(1:50,200)M(1024)}", "bf16[4]{0:T(*,2)}", "(f32[2]{0}, (), token[])",
        "(f32[2]{0}, (s32[], opaque[]))", "b(f32[8]{0})", "f32[0,4]{1,0}"}) {
    EXPECT_EQ(Problem(StrCat("HloModule m\nENTRY e { ROOT x = ", shape, " parameter(0) }"), ProtoForm::kBinary), "");
  }
}

TEST(ProtoRoundTrip, KeepsHeaders) {
  for (const char* header :
       {"", ", is_scheduled=true", ", input_output_alias={ {}: (0, {}, may-alias) }",
        ", input_output_alias={ {}: (0, {}, must-alias) }", ", buffer_donor={ (0, {}) }",
        ", entry_computation_layout={(f32[2]{0})->f32[2]{0}}", ", entry_computation_layout={(f32[2])->f32[2]}",
        ", allow_spmd_sharding_propagation_to_output={true}, replica_count=2, num_partitions=4",
        ", frontend_attributes={a=\"1\",b={x=2}}", ", attribute_of_tomorrow={1}, is_scheduled=true"}) {
    const std::string text =
        StrCat("HloModule m", header,
               "\n\nFileNames\n1 \"a.py\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n1 {file_name_id=1 ",
               "function_name_id=1 line=3 end_line=4 column=5 end_column=6}\n\nStackFrames\n1 {file_location_id=1 ",
               "parent_frame_id=1}\n2 {file_location_id=1 parent_frame_id=2}\n\nENTRY e { x = f32[2]{0} parameter(0)  "
               "ROOT y = ",
               "f32[2]{0} negate(x) }");
    EXPECT_EQ(Problem(text, ProtoForm::kBinary), "") << header;
  }
}

TEST(ProtoRoundTrip, KeepsWhatATextMaySayInTwoWays) {
  const std::string head = "HloModule m\nENTRY e { x = s32[2]{0} parameter(0)  p = pred[] parameter(1)  ";
  for (const char* root :
       {"ROOT y = pred[2]{0} compare(x, x), direction=LT, type=SIGNED }",
        "ROOT y = pred[2]{0} compare(x, x), direction=LT }",
        "ROOT y = pred[2]{0} compare(x, x), direction=LT, type=UNSIGNED }", "ROOT y = s32[1000]{0} constant({...}) }",
        "ROOT y = (s32[2]{0}) tuple(x), control-predecessors={p} }",
        "ROOT y = s32[2]{0} reshape(x), inferred_dimension=0 }"}) {
    EXPECT_EQ(Problem(head + root, ProtoForm::kBinary), "") << root;
  }
}

class ProtoCorpusTest : public testing::TestWithParam<const char*> {};

TEST_P(ProtoCorpusTest, IsGivenBack) {
  const auto files = CorpusFiles(GetParam());
  if (files.empty()) GTEST_SKIP() << "no corpus at ../shared/corpora/" << GetParam();
  for (const auto& file : files) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    if (text.str().size() > 50'000) continue;  // enough of the same
    ParseOptions options;
    options.verify = false;
    if (!ParseModule(text.str(), options).ok()) continue;
    EXPECT_EQ(Problem(text.str(), ProtoForm::kBinary), "") << file;
  }
}

INSTANTIATE_TEST_SUITE_P(Xla, ProtoCorpusTest, testing::Values("xla/parser_ok", "xla/lit", "xla/exec", "programs"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '/' ? '_' : c;
                           return name;
                         });

// XLA's protos say more than its texts, and more every month.
TEST(ProtoRoundTrip, KeepsFieldsThatNoTextHas) {
  const auto module = ParseModule("HloModule m\nENTRY e { x = f32[2]{0} parameter(0)  ROOT y = f32[2]{0} negate(x) }");
  ASSERT_TRUE(module.ok());
  const std::string plain = *WriteProto(**module, ProtoForm::kBinary);
  proto::HloModuleProto proto;
  ASSERT_TRUE(proto.ParseFromString(plain));
  const auto unknown = [](auto* message) { return message->GetReflection()->MutableUnknownFields(message); };
  unknown(&proto)->AddLengthDelimited(10, "\n\x01\x01");  // cross_program_prefetches
  unknown(&proto)->AddVarint(16, 1);                      // use_auto_spmd_partitioning
  unknown(proto.mutable_computations(0))->AddVarint(4000, 5);
  unknown(proto.mutable_computations(0)->mutable_instructions(1))->AddFixed32(4001, 7);
  const auto back = ReadProto(proto.SerializeAsString(), {});
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*WriteProto(**back, ProtoForm::kBinary), proto.SerializeAsString());
  EXPECT_EQ(*WriteProto(*(*back)->Clone(), ProtoForm::kBinary), proto.SerializeAsString());
  const auto from_text = ReadProto(*WriteProto(**back, ProtoForm::kText), {.form = ProtoForm::kText});
  ASSERT_TRUE(from_text.ok()) << from_text.status();
  EXPECT_EQ(*WriteProto(**from_text, ProtoForm::kBinary), proto.SerializeAsString());
  EXPECT_EQ(ToText(**back), ToText(**module));
  EXPECT_EQ(Fingerprint(**back), Fingerprint(**module));
}

}  // namespace
}  // namespace smelt::hlo
