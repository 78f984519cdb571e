#include "gnn/dataset/dataset.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "gnn/corpus/corpus.h"

namespace smelt::gnn {
namespace {

namespace fs = std::filesystem;

class DatasetTest : public ::testing::Test {
 protected:
  DatasetTest() : folder_(fs::path(::testing::TempDir()) / "dataset") { fs::remove_all(folder_); }
  ~DatasetTest() override { fs::remove_all(folder_); }

  std::string Corpus(const std::string& name, std::vector<Measurement> measurements) {
    KernelExample example;
    example.program = "program";
    example.kernel_text =
        "HloModule k\n\nENTRY e {\n  p = f32[64,64] parameter(0)\n  ROOT r = f32[64,64] add(p, p)\n}\n";
    example.hash = hlo::HashOf("kernel");
    example.measurements = std::move(measurements);
    const std::string folder = (folder_ / name).string();
    EXPECT_TRUE(CorpusWriter::Open(folder).value()->Append(example).ok());
    return folder;
  }
  fs::path folder_;
};

TEST_F(DatasetTest, AKernelOfAFusionAndOfATileCorpusIsOneExampleForBothTasks) {
  fs::create_directories(folder_);
  const std::string fusion = Corpus("fusion", {{{{8, 64}}, true, {3e-6, 2e-6}, ""}});
  const std::string tile =
      Corpus("tile", {{{{8, 64}}, true, {4e-6}, ""}, {{{4, 64}}, false, {5e-6}, ""}, {{{1, 64}}, false, {9e-6}, ""}});
  const kernels::Target target = kernels::Target::Parse("cpu:threads=1").value();
  for (const std::string& folders : {fusion + "," + tile, tile + "," + fusion}) {
    const Dataset data = LoadDataset(folders, target, {}).value();
    ASSERT_EQ(data.examples.size(), 1u) << folders;
    EXPECT_EQ(data.examples[0].tile_seconds, (std::vector<double>{4e-6, 5e-6, 9e-6})) << folders;
  }
  // Of two times of the default tile, the first corpus has the word.
  EXPECT_EQ(LoadDataset(fusion + "," + tile, target, {})->examples[0].seconds, 2e-6);
  EXPECT_EQ(LoadDataset(tile + "," + fusion, target, {})->examples[0].seconds, 4e-6);
}

}  // namespace
}  // namespace smelt::gnn
