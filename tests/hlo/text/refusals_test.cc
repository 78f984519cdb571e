// What attributes may hold: each line is a value that XLA does not read, and what our error says of it.
#include <gtest/gtest.h>

#include <string>

#include "base/str_cat.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"

namespace smelt::hlo {
namespace {

std::string Error(const std::string& text, bool verify = true) {
  ParseOptions options;
  options.file_name = "f.hlo";
  options.verify = verify;
  return std::string(ParseModule(text, options).status().message());
}

// An instruction after parameters p, q, w of shapes that most of them can use.
std::string With(const std::string& instruction) {
  return StrCat("HloModule m\nadd { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n",
                "one { x = f32[4,4] parameter(0) ROOT s = f32[4,4] negate(x) }\n",
                "ENTRY e { p = f32[4,4] parameter(0) q = f32[1,8,8,4] parameter(1) w = f32[3,3,4,6] parameter(2)\n",
                "s = u64[2] parameter(3) t = token[] parameter(4) z = f32[] parameter(5) ROOT r = ", instruction,
                "\n}");
}

struct Refused {
  const char* instruction;
  const char* expected;  // part of the message
};

class AttributeTest : public testing::TestWithParam<Refused> {};

TEST_P(AttributeTest, IsRefusedWithItsPlace) {
  const std::string error = Error(With(GetParam().instruction));
  EXPECT_NE(error.find(GetParam().expected), std::string::npos) << error;
  EXPECT_TRUE(error.starts_with("f.hlo:5:")) << error;
  EXPECT_TRUE(error.ends_with("^")) << error;
}

#define DOT "f32[4,4] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
#define CONVOLUTION "f32[1,8,8,6] convolution(q, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
#define CALL "f32[4,4] custom-call(p), custom_call_target=\"c\", "
#define NEGATE "f32[4,4] negate(p), "

INSTANTIATE_TEST_SUITE_P(
    Words, AttributeTest,
    testing::Values(
        Refused{DOT "operand_precision={default,bogus}", "expected one of default, high, highest, found `bogus`"},
        Refused{DOT "operand_precision=7", "expected `{`"},
        Refused{DOT "algorithm=dot_f99_f99_f99", "expected one of unset, "},
        Refused{CONVOLUTION "convolution_kind=FPROP", "expected one of unset, fprop, dgrad, wgrad"},
        Refused{CONVOLUTION "sparsity_config={bogus}", "expected `=`"},
        Refused{"f32[4,4] exponential(p), result_accuracy={mode=high}", "expected one of default, highest"},
        Refused{"f32[4,4] exponential(p), result_accuracy={bogus=1}", "expected mode or tolerance"},
        Refused{"f32[4,4] exponential(p), result_accuracy={tolerance={atol=-1}}", "a tolerance of 0 or more"},
        Refused{"f32[4,4] all-reduce(p), to_apply=add, mode=bogus", "expected one of cross_replica, "},
        Refused{"f32[4,4] all-reduce(p), to_apply=add, mode=CROSS_REPLICA", "expected one of cross_replica, "},
        Refused{"f32[4,4] all-to-all(p), dimensions={}", "expected one dimension, found 0 dimensions"},
        Refused{"f32[4,4] all-to-all(p), dimensions={0,1}", "expected one dimension, found 2 dimensions"},
        Refused{CONVOLUTION "sparsity_config={rhs={sparsity=-1x4 dimension=0 stride=1}}", "such as 2x4, found `-1x4"},
        Refused{"f32[4,4]{1,0:T(-1)} negate(p)", "expected the size of a tile or `*`, found `-1"},
        Refused{"f32[0] constant(1)", "expected `{`: there are no values of f32[0]"},
        Refused{CALL "schedule=bogus", "expected one of SCHEDULE_NONE, "},
        Refused{CALL "api_version=API_VERSION_UNSPECIFIED", "expected one of API_VERSION_ORIGINAL, "},
        Refused{CALL "padding_type=padding_same", "expected one of PADDING_INVALID, "},
        Refused{CALL "dim_labels=bb_io->bf", "each dimension once"},
        Refused{CALL "output_to_operand_aliasing={{}: (0, {}, may-alias)}", "expected `)`"},
        Refused{CALL "custom_call_has_side_effect=1", "expected `true` or `false`"},
        Refused{"f32[4,4] fusion(p), calls=one, kind=kloop", "expected one of kLoop, "},
        Refused{"f32[4,4] domain(p), domain={kind=\"other\", entry={}, exit={}}", "the one kind of domain"},
        Refused{"f32[4,4] domain(p), domain={kind=\"sharding\", entry={}}", "a value with exit"},
        Refused{"f32[4,4] domain(p)", "attribute domain of domain"}));

INSTANTIATE_TEST_SUITE_P(
    Parts, AttributeTest,
    testing::Values(
        Refused{NEGATE "metadata={op_name=7}", "a string in double quotes"},
        Refused{NEGATE "metadata={source_line=\"7\"}", "an integer"},
        Refused{NEGATE "metadata={source_line=2147483648}", "at most 32 bits"},
        Refused{NEGATE "metadata={op_name=\"a\" op_name=\"b\"}", "expected op_name once"},
        Refused{NEGATE "metadata={op_name=\"a\" channel_id=1}", "expected one of op_type, "},
        Refused{NEGATE "metadata={profile_type={9}}", "profile types below 4"},
        Refused{NEGATE "frontend_attributes={a=1}", "a string in double quotes"},
        Refused{NEGATE "frontend_attributes={a}", "expected `=`"},
        Refused{NEGATE "statistics={visualizing_index=1,b=\"c\"}", "a number"},
        Refused{NEGATE "origin={bogus}", "expected `{`"},
        Refused{NEGATE "parameter_replication={true}", "an attribute that negate takes"},
        Refused{NEGATE "control-predecessors={}", "an instruction that is defined above"},
        Refused{NEGATE "control-predecessors={p}, control-predecessors={p}", "attribute control-predecessors once"},
        Refused{NEGATE "metadata ={}", "expected `=`, found white space"},
        Refused{NEGATE "replica_count=2", "an attribute that negate takes"},
        Refused{"f32[4,4] collective-permute(p)", "attribute source_target_pairs"},
        Refused{"f32[4,4] collective-permute(p), source_target_pairs={{0,1,2}}", "a pair such as {0,1}"},
        Refused{"(f32[4,4], f32[4], f32[4]) batch-norm-training(p, p, p), epsilon=inf, feature_index=1",
                "within the range of f32"},
        Refused{"(f32[4,4], f32[4], f32[4]) batch-norm-training(p, p, p), epsilon=.5, feature_index=1", "a number"},
        Refused{
            "(f32[4,4], f32[4], f32[4]) batch-norm-training(p, p, p), epsilon=99999999999999999999, feature_index=1",
            "a number of at most 64 bits, or one with an exponent"},
        Refused{"f32[] constant(-9223372036854777857)", "of at most 64 bits, or one with an exponent"},
        Refused{NEGATE "statistics={visualizing_index=0,time=99999999999999999999}", "of at most 64 bits"},
        Refused{CALL "window={size=-1x3}", "a number of 0 or more in such a list"},
        Refused{CALL "window={size=3x3 rhs_reversal=1x-1}", "a number of 0 or more in such a list"}));

INSTANTIATE_TEST_SUITE_P(
    Shardings, AttributeTest,
    testing::Values(
        Refused{NEGATE "sharding={bogus}", "a sharding such as replicated"},
        Refused{NEGATE "sharding={maximal}", "device=N with maximal"},
        Refused{NEGATE "sharding={replicated device=1}", "no devices with replicated"},
        Refused{NEGATE "sharding={shard_as 1}", "a sharding such as replicated"},
        Refused{NEGATE "sharding={devices=[2,2]<=[2,2]}", "expected `T`"},
        Refused{NEGATE "sharding={devices=[1,1]0}", "more than one device"},
        Refused{NEGATE "sharding={devices=[2,2]<=[4] last_tile_dims={bogus}}", "expected one of maximal, "},
        Refused{NEGATE "sharding={devices=[2,2]<=[4] last_tile_dims={manual,replicated,manual}}",
                "at most 2 last_tile_dims"},
        Refused{NEGATE "sharding={mesh['x'=2,'x'=2], [{'x'}, {}]}", "each axis of the mesh once"},
        Refused{NEGATE "sharding={mesh['x'=2], [{'y'}, {}]}", "an axis of the mesh"},
        Refused{NEGATE "sharding={mesh['x'=2], [{'x'}, {'x'}]}", "each axis once"},
        Refused{NEGATE "sharding={mesh['x'=4], [{'x':(1)3}, {}]}", "a part of 'x', which has 4 devices"},
        Refused{NEGATE "sharding={mesh['x'=2], [{?,'x'}, {}]}", "expected `}`"},
        Refused{NEGATE "sharding={mesh['x'=2], device_ids=(1,1), [{'x'}, {}]}", "each number below 2 once"},
        Refused{NEGATE "sharding={mesh['x'=2], [{'x'}, {}], bogus={}}", "replicated, unreduced, manual or metadata"},
        Refused{"f32[4,4] all-reduce(p), to_apply=add, replica_groups=[4]<=[4]", "groups of two dimensions"},
        Refused{"f32[4,4] all-reduce(p), to_apply=add, replica_groups=mesh['a'=4] {'b'}", "an axis of the mesh"}));

INSTANTIATE_TEST_SUITE_P(
    Contradictions, AttributeTest,
    testing::Values(
        Refused{"f32[4,4] all-reduce(p), to_apply=add, use_global_device_ids=true", "a channel_id with use_global"},
        Refused{"token[] send-done((f32[4,4], u32[], token[]) send(p, t)), channel_id=2", "no channel_id"},
        Refused{CALL "operand_layout_constraints={f32[4,5]{1,0}}", "operand layout constraint 0 of shape f32[4,4]"},
        Refused{CALL "operand_layout_constraints={f32[4,4]{1,1}}", "each of the 2 dimensions once in the layout"},
        Refused{"f32[4,4]{0} negate(p)", "each of the 2 dimensions once in the layout"},
        Refused{"f32[4,4]{-1,0} negate(p)", "each of the 2 dimensions once in the layout"},
        Refused{"f32[4,4]{1,0:P(f32[16]{0})} negate(p)", "no physical shape"},
        Refused{"f32[4,5] dynamic-reshape(p, s32[] constant(4), s32[] constant(5))", "as many elements as"},
        Refused{"c64[2] constant({(1, 2), (3, 1e300)})", "a value within the range of c64, found `1e300`"},
        Refused{"f32[] constant(INF)", "expected a number, found `INF`"}));

TEST(Signatures, HaveTheirColonsDirectlyBehindTheNames) {
  const auto error = [](const char* parameter) {
    return Error(StrCat("HloModule m\nENTRY e (", parameter, ") -> f32[] { ROOT p = f32[] parameter(0) }"));
  };
  for (const char* good : {"p: f32[]", "p:f32[]", "p f32[]"}) EXPECT_EQ(error(good), "") << good;
  EXPECT_NE(error("p : f32[]"), "");
}

TEST(Names, AreNoWordsOfTheLanguage) {
  const auto error = [](const std::string& module, const std::string& computation, const std::string& instruction) {
    return Error(
        StrCat("HloModule ", module, "\nENTRY ", computation, " {\n ", instruction, " = f32[] parameter(0)\n}"));
  };
  EXPECT_EQ(error("m", "%ENTRY", "%f32"), "");
  EXPECT_EQ(error("m", "tuple", "add"), "");
  for (const char* word : {"ENTRY", "ROOT", "true", "nan", "pred", "f8e4m3fn", "last_tile_dim_replicate"}) {
    EXPECT_NE(error(word, "e", "x").find("f.hlo:1:11: expected the name of the module"), std::string::npos) << word;
    EXPECT_NE(error("m", word, "x").find("f.hlo:2:7: expected a computation"), std::string::npos) << word;
    EXPECT_NE(error("m", "e", StrCat("ROOT ", word)).find("f.hlo:3:7: expected the name of an instruction"),
              std::string::npos)
        << word;
  }
  EXPECT_NE(
      Error("HloModule\n\nENTRY e {\n x = f32[] parameter(0)\n}").find("f.hlo:3:1: expected the name of the module"),
      std::string::npos);
}

TEST(Shapes, MayStandApartFromTheirSizes) {
  EXPECT_EQ(
      Error("HloModule m\nENTRY e {\n x = f32/* wide */ [2] parameter(0)\n ROOT y = f32 [2] negate(f32 [2] x)\n}"), "");
}

TEST(AsyncThreads, AreThoseOfTheirBeginning) {
  const std::string text =
      "HloModule m\nENTRY e {\n  p = f32[8] parameter(0)\n"
      "  a = ((f32[8]), f32[8], s32[]) negate-start(p), async_execution_thread=\"one\"\n"
      "  ROOT b = f32[8] negate-done(a), async_execution_thread=\"two\"\n}";
  EXPECT_TRUE(Error(text).starts_with("f.hlo:5:19: expected async_execution_thread=\"one\", as `a` has"))
      << Error(text);
}

class HeaderTest : public testing::TestWithParam<Refused> {};

TEST_P(HeaderTest, IsRefusedWithItsPlace) {
  const std::string error = Error(StrCat("HloModule m, ", GetParam().instruction,
                                         "\nENTRY e { p = f32[4] parameter(0) ROOT r = f32[4] negate(p) }"));
  EXPECT_NE(error.find(GetParam().expected), std::string::npos) << error;
  EXPECT_TRUE(error.starts_with("f.hlo:")) << error;
}

INSTANTIATE_TEST_SUITE_P(
    All, HeaderTest,
    testing::Values(Refused{"is_scheduled=1", "expected `true` or `false`"},
                    Refused{"replica_count=two", "expected an integer"},
                    Refused{"num_partitions={2}", "expected an integer"},
                    Refused{"replica_count=2, replica_count=2", "expected replica_count once"},
                    Refused{"input_output_alias={ {}: (zero, {}) }", "expected the number of a parameter"},
                    Refused{"input_output_alias={ {}: (0, {}, might-alias) }", "expected one of may-alias, must-alias"},
                    Refused{"buffer_donor={ (0, {zero}) }", "expected an integer"},
                    Refused{"buffer_donor={ (7, {}) }", "names parameter 7"},
                    Refused{"frontend_attributes={a=b}", "a string in double quotes"},
                    Refused{"allow_spmd_sharding_propagation_to_output={1}", "expected `true` or `false`"},
                    Refused{"entry_computation_layout={f32[4]->f32[4]}", "expected `(`"},
                    Refused{"entry_computation_layout={(f32[4])->f32[5]}",
                            "must have the shapes of the entry computation"},
                    Refused{"entry_computation_layout={()->f32[4]}", "must have the shapes of the entry computation"},
                    Refused{"to_apply=e", "expected one of is_scheduled, "}));

TEST(Tables, AreAllThereWithAllTheirParts) {
  const auto error = [](const std::string& tables) {
    return Error(StrCat("HloModule m\n", tables, "\nENTRY e { ROOT p = f32[] parameter(0) }"));
  };
  EXPECT_EQ(error("FileNames\n1 \"a\"\nFunctionNames\n1 \"f\"\nFileLocations\nStackFrames"), "");
  EXPECT_NE(error("FileNames\n1 \"a\"").find("expected `FunctionNames`"), std::string::npos);
  EXPECT_NE(error("FileNames\n1 a\nFunctionNames\nFileLocations\nStackFrames").find("a string"), std::string::npos);
  EXPECT_NE(error("FileNames\nFunctionNames\nFileLocations\n1 {line=1}\nStackFrames").find("a value with file_name_id"),
            std::string::npos);
  EXPECT_NE(error("FileNames\nFunctionNames\nFileLocations\nStackFrames\n1 {parent_frame_id=1 bogus=1}")
                .find("expected one of"),
            std::string::npos);
}

// What XLA reads is read, and words are printed as it prints them.
TEST(Attributes, KeepWhatIsAllowed) {
  for (const char* instruction :
       {CALL "schedule=schedule_latest", DOT "operand_precision={DEFAULT,Highest}", DOT "algorithm=DOT_F32_F32_F32",
        NEGATE "metadata={op_name=\"a\" source_column=1, later_name=\"b\" metadata_payload=\"c\"}",
        NEGATE "sharding={}", NEGATE "sharding={mesh['x'=2,'y'=2], [{'x', ?}, {}], unreduced=max{'y'}}",
        NEGATE "sharding={mesh['x'=4], [{'x':(1)2}, {'x':(2)2}]}", NEGATE "sharding={mesh['x'=2], unreduced}",
        NEGATE "origin={({\"a\"}, ({\"b\" {1}}, {}))}", NEGATE "attribute_of_tomorrow={a=1}",
        CONVOLUTION "sparsity_config={rhs={sparsity=2x4 dimension=0 stride=1}}"}) {
    ParseOptions options;
    const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(With(instruction), options);
    ASSERT_TRUE(module.ok()) << module.status();
    const std::string printed = ToText(**module);
    EXPECT_EQ(printed.find("schedule_latest"), std::string::npos);
    EXPECT_EQ(printed.find("Highest"), std::string::npos);
    const absl::StatusOr<std::unique_ptr<Module>> again = ParseModule(printed, options);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(ToText(**again), printed);
  }
}

}  // namespace
}  // namespace smelt::hlo
