#include "hlo/golden/golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "hlo/text/parser.h"
#include "tests/scratch_folder.h"

namespace smelt::hlo {
namespace {

using ::testing::HasSubstr;

std::string ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void WriteBytes(const std::string& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST(Inputs, FollowTheDocumentedFormula) {
  const Shape shape = Shape::Array(PrimitiveType::kF32, {3});
  const Literal one = MakeInput(shape, 0, {-1, 1}, {.first_stream = 1}).value();
  EXPECT_EQ(one.data<float>()[0], 0.76662159f);
  EXPECT_EQ(one.data<float>()[1], 0.13312304f);
  EXPECT_EQ(one.data<float>()[2], 0.182379365f);
  const Literal two = MakeInput(shape, 0, {-1, 1}, {.first_stream = 2}).value();
  EXPECT_EQ(two.data<float>()[0], -0.13694406f);
  EXPECT_EQ(two.data<float>()[1], 0.49156344f);
  EXPECT_EQ(two.data<float>()[2], 0.49829936f);
}

TEST(Inputs, IntegersStayBelowHigh) {
  const Literal literal = MakeInput(Shape::Array(PrimitiveType::kS8, {1000}), 3, {-2, 5}).value();
  int64_t low = 100, high = -100;
  for (int64_t i = 0; i < 1000; ++i) {
    low = std::min(low, literal.GetInteger(i));
    high = std::max(high, literal.GetInteger(i));
  }
  EXPECT_EQ(low, -2);
  EXPECT_EQ(high, 4);
}

TEST(Inputs, NumberLeavesThroughTuples) {
  auto module = ParseModule(R"(ENTRY e { t = (f32[2], (s32[3], token[])) parameter(0)  p = f32[2] parameter(1)
    ROOT r = (f32[2]) tuple(p) })");
  ASSERT_TRUE(module.ok()) << module.status();
  auto inputs = MakeInputs(**module);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  ASSERT_EQ(inputs->size(), 2);
  EXPECT_TRUE((*inputs)[1] == MakeInput(Shape::Array(PrimitiveType::kF32, {2}), 2, {-1, 1}).value());
  EXPECT_FALSE(MakeInputs(**module, {{0, 1}}).ok());
}

TEST(Safetensors, RoundTripsEveryArrayType) {
  const ScratchFolder folder;
  const std::string path = folder.In("types.safetensors");
  SafetensorsFile file;
  file.metadata["note"] = "text with \"quotes\"\n";
  std::vector<Literal> originals;
  for (int i = 0; i < static_cast<int>(PrimitiveType::kTuple); ++i) {
    const auto type = static_cast<PrimitiveType>(i);
    Literal literal = MakeInput(Shape::Array(type, {2, 3}), i, DefaultInputRange(type)).value();
    originals.push_back(literal);
    file.tensors.push_back({"t" + std::to_string(i), std::move(literal)});
  }
  ASSERT_TRUE(WriteSafetensors(path, file).ok());
  auto read = ReadSafetensors(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->metadata, file.metadata);
  for (size_t i = 0; i < originals.size(); ++i) {
    const Literal* stored = read->Find("t" + std::to_string(i));
    ASSERT_NE(stored, nullptr);
    auto back = FromStorable(*stored, originals[i].shape());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(*back == originals[i]) << originals[i].shape().ToString();
  }
}

TEST(Safetensors, TruncationAtEveryByteIsOneError) {
  const ScratchFolder folder;
  const std::string path = folder.In("torn.safetensors");
  SafetensorsFile file;
  file.metadata["a"] = "b";
  file.tensors.push_back({"x", Literal::FromValues<float>(PrimitiveType::kF32, {3}, {1, 2, 3})});
  ASSERT_TRUE(WriteSafetensors(path, file).ok());
  const std::string bytes = ReadBytes(path);
  for (size_t length = 0; length < bytes.size(); ++length) {
    WriteBytes(path, bytes.substr(0, length));
    auto read = ReadSafetensors(path);
    ASSERT_FALSE(read.ok()) << length;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(path));
  }
}

TEST(Safetensors, RefusesHeadersThatPointElsewhere) {
  const ScratchFolder folder;
  const std::string path = folder.In("hostile.safetensors");
  const char* headers[] = {
      R"({"x":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})",
      R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[18446744073709551615,4],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})",
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
      R"({"__metadata__":{"a":1}})",
      R"([1,2])",
      R"({"x")",
  };
  for (const char* header : headers) {
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(std::string_view(header).size() & 0xff);
    bytes += header;
    bytes += std::string(12, '\0');
    WriteBytes(path, bytes);
    EXPECT_FALSE(ReadSafetensors(path).ok()) << header;
  }
  WriteBytes(path, std::string(8, '\xff') + "{}");
  EXPECT_FALSE(ReadSafetensors(path).ok());
}

// A golden file for `ROOT tuple(f32[4], s32[4])` made here.
SafetensorsFile MakeGoldenFile(const std::string& metric, const std::string& tolerances) {
  SafetensorsFile file;
  file.metadata = {{"inputs", R"([{"type":"f32","dims":[4],"low":-1,"high":1}])"},
                   {"outputs", R"([{"type":"f32","dims":[4]},{"type":"s32","dims":[4]}])"},
                   {"first_stream", "2"},
                   {"metric", metric},
                   {"tolerance", "0.001"},
                   {"integer_mismatch", "0.25"}};
  if (!tolerances.empty()) file.metadata["tolerances"] = tolerances;
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  file.tensors.push_back({"out.0.index", Literal::FromValues<int64_t>(PrimitiveType::kS64, {3}, {3, 0, 1})});
  file.tensors.push_back({"out.0.value", Literal::FromValues<float>(PrimitiveType::kF32, {3}, {nan, 100, -infinity})});
  file.tensors.push_back({"out.1", Literal::FromValues<int32_t>(PrimitiveType::kS32, {4}, {1, 2, 3, 4})});
  return file;
}

Literal MakeResult(float first, int32_t last) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  std::vector<Literal> elements;
  elements.push_back(Literal::FromValues<float>(PrimitiveType::kF32, {4}, {first, -infinity, 7, nan}));
  elements.push_back(Literal::FromValues<int32_t>(PrimitiveType::kS32, {4}, {1, 2, 3, last}));
  return Literal::Tuple(std::move(elements));
}

TEST(Golden, ComparesSampledOutputsAndIntegersByShare) {
  const ScratchFolder folder;
  const std::string path = folder.In("golden.safetensors");
  for (const char* metric : {"elementwise", "rms"}) {
    ASSERT_TRUE(WriteSafetensors(path, MakeGoldenFile(metric, "")).ok());
    auto golden = Golden::Load(path);
    ASSERT_TRUE(golden.ok()) << golden.status();
    auto good = golden->Compare(MakeResult(100.05f, 5));
    ASSERT_TRUE(good.ok()) << good.status();
    EXPECT_TRUE((*good)[0].ok);
    EXPECT_NEAR((*good)[0].error, metric[0] == 'r' ? 0.0005 / std::sqrt(3) : 0.0005, 2e-6);
    EXPECT_TRUE((*good)[1].ok);
    EXPECT_EQ((*good)[1].error, 0.25);
    EXPECT_FALSE((*golden->Compare(MakeResult(101, 4)))[0].ok);
    EXPECT_FALSE((*golden->Compare(MakeResult(std::numeric_limits<float>::quiet_NaN(), 4)))[0].ok);
  }
}

TEST(Golden, SubnormalNumbersAreEqualWhereProcessorsTakeThemForZero) {
  const auto error = [](PrimitiveType type, float want, float got) {
    return ComparisonError(Literal::FromValues<float>(type, {1}, {want}), Literal::FromValues<float>(type, {1}, {got}),
                           GoldenMetric::kRms)
        .value();
  };
  EXPECT_EQ(error(PrimitiveType::kF32, 1e-40f, 0), 0);
  EXPECT_EQ(error(PrimitiveType::kF32, -1e-40f, 1e-41f), 0);
  EXPECT_GT(error(PrimitiveType::kF32, 1e-40f, 2e-38f), 0);
  EXPECT_GT(error(PrimitiveType::kF32, 2e-38f, 0), 0);
}

TEST(Golden, NullToleranceChecksTheShapeOnly) {
  const ScratchFolder folder;
  const std::string path = folder.In("golden_null.safetensors");
  ASSERT_TRUE(WriteSafetensors(path, MakeGoldenFile("rms", "[null, 0.5]")).ok());
  auto golden = Golden::Load(path);
  ASSERT_TRUE(golden.ok()) << golden.status();
  auto comparisons = golden->Compare(MakeResult(-5, 4));
  ASSERT_TRUE(comparisons.ok());
  EXPECT_TRUE((*comparisons)[0].ok);
  EXPECT_FALSE((*comparisons)[0].tolerance.has_value());
  EXPECT_FALSE(golden->Compare(Literal(Shape::Array(PrimitiveType::kF32, {4}))).ok());
}

TEST(Golden, IsRefusedForAnotherModule) {
  const ScratchFolder folder;
  const std::string path = folder.In("golden_other.safetensors");
  ASSERT_TRUE(WriteSafetensors(path, MakeGoldenFile("rms", "")).ok());
  auto golden = Golden::Load(path);
  ASSERT_TRUE(golden.ok());
  auto right = ParseModule("ENTRY e { ROOT p = f32[4] parameter(0) }");
  auto wrong = ParseModule("ENTRY e { ROOT p = f32[5] parameter(0) }");
  ASSERT_TRUE(right.ok() && wrong.ok());
  EXPECT_TRUE(golden->MakeInputs(**right).ok());
  auto refused = golden->MakeInputs(**wrong);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("another module"));
}

TEST(Golden, BrokenMetadataIsAnError) {
  const ScratchFolder folder;
  const std::string path = folder.In("golden_broken.safetensors");
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"inputs", "[{}]"},
                                                                                   {"inputs", R"([{"type": 7}])"},
                                                                                   {"outputs", "nonsense"},
                                                                                   {"metric", "guess"},
                                                                                   {"tolerance", "small"},
                                                                                   {"tolerances", "[1]"},
                                                                                   {"first_stream", "-1"},
                                                                                   {"f64_arithmetic", "quad"}}) {
    SafetensorsFile file = MakeGoldenFile("rms", "");
    file.metadata[key] = value;
    ASSERT_TRUE(WriteSafetensors(path, file).ok());
    EXPECT_FALSE(Golden::Load(path).ok()) << key;
  }
}

}  // namespace
}  // namespace smelt::hlo
