#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/structure/source_tree.h"

namespace smelt::structure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const SourceTree& Repository() {
  static const SourceTree* const tree = new SourceTree(ReadSourceTree(SMELT_SOURCE_DIR));
  return *tree;
}

// --- The repository keeps the rules ---

TEST(Repository, IsReadWithItsSourcesAndDocuments) {
  for (const char* path : {"hlo/module.h", "README.md", ".ci/run", "models/resnet18.hlo"}) {
    EXPECT_TRUE(Repository().count(path)) << path;
  }
}

TEST(Repository, IncludesFollowThePipeline) { EXPECT_THAT(CheckFolderIncludes(Repository()), IsEmpty()); }

TEST(Repository, HeavyDependenciesStayBehindTheirDoors) { EXPECT_THAT(CheckDependencyDoors(Repository()), IsEmpty()); }

TEST(Repository, EveryFolderHasAReadme) { EXPECT_THAT(CheckReadmes(Repository()), IsEmpty()); }

TEST(Repository, NamesNoPlaceOfOneMachine) { EXPECT_THAT(CheckAbsolutePaths(Repository()), IsEmpty()); }

TEST(Repository, FilesAreShort) { EXPECT_THAT(CheckFileLengths(Repository(), 700), IsEmpty()); }

TEST(Repository, FilesAreNamedForWhatTheyHold) { EXPECT_THAT(CheckFileNames(Repository()), IsEmpty()); }

TEST(Repository, HasNoMarkersOfUnfinishedWork) { EXPECT_THAT(CheckMarkers(Repository()), IsEmpty()); }

// --- The rules catch what they are for ---

TEST(FolderIncludes, CatchAFolderThatLooksAhead) {
  const SourceTree tree = {{"hlo/a.h", "#include \"fusion/space.h\"\n"},
                           {"gnn/b.cc", "#include <vector>\n#  include \"tuner/search.h\"\n"},
                           {"tuner/c.cc", "#include \"gnn/model.h\"\n#include \"tuner/search.h\"\n"},
                           {"tests/hlo/d.cc", "#include \"cli/main.h\"\n"}};
  EXPECT_THAT(CheckFolderIncludes(tree), ElementsAre(HasSubstr("gnn/b.cc:2: includes tuner/search.h"),
                                                     HasSubstr("hlo/a.h:1: includes fusion/space.h")));
}

TEST(FolderIncludes, CatchAPathThatDoesNotStartAtTheRoot) {
  const SourceTree tree = {{"hlo/a.h", ""}, {"hlo/b.cc", "#include \"a.h\"\n"}, {"hlo/c.cc", "#include \"hlo/a.h\"\n"}};
  EXPECT_THAT(CheckFolderIncludes(tree), ElementsAre(HasSubstr("hlo/b.cc:1:")));
}

TEST(DependencyDoors, CatchADependencyOutsideItsDoor) {
  const SourceTree tree = {{"kernels/codegen/emit.cc", "#include \"llvm/IR/Module.h\"\n"},
                           {"kernels/runtime/run.cc", "#include <llvm/IR/Module.h>\n"},
                           {"gnn/torch/train.cc", "#include <torch/torch.h>\n"},
                           {"cli/train.cc", "#include <torch/torch.h>\n"},
                           {"tuner/records.cc", "#include <sqlite3.h>\n"},
                           {"gnn/records.cc", "#include <sqlite3.h>\n"}};
  EXPECT_THAT(CheckDependencyDoors(tree), ElementsAre(HasSubstr("kernels/runtime/run.cc:1"),
                                                      HasSubstr("cli/train.cc:1"), HasSubstr("gnn/records.cc:1")));
}

TEST(DependencyDoors, CatchAHeaderThatCarriesTheDependencyOut) {
  const SourceTree tree = {{"kernels/codegen/inner.h", "#include \"llvm/IR/Module.h\"\n"},
                           {"kernels/codegen/outer.h", "#include \"kernels/codegen/inner.h\"\n"},
                           {"kernels/codegen/emit.cc", "#include \"kernels/codegen/outer.h\"\n"},
                           {"tuner/measure.cc", "#include <vector>\n#include \"kernels/codegen/outer.h\"\n"}};
  EXPECT_THAT(CheckDependencyDoors(tree), ElementsAre(HasSubstr("tuner/measure.cc:2: sees LLVM through")));
}

TEST(Readmes, CatchAMissingAndAnEmptyOne) {
  const SourceTree tree = {
      {"hlo/a.h", ""}, {"fusion/b.cc", ""}, {"fusion/README.md", "# fusion\n"}, {"tests/hlo/c.cc", ""}};
  EXPECT_THAT(CheckReadmes(tree),
              ElementsAre(HasSubstr("fusion/README.md:1: says nothing"), HasSubstr("hlo/README.md:1: missing")));
}

TEST(AbsolutePaths, CatchPlacesOfOneMachineAndNothingElse) {
  const std::string home = std::string("/") + "home/someone/x";
  const SourceTree tree = {{"docs/a.md", "first\nsee " + home + "\n"},
                           {"docs/b.md", "https://example.org" + home + " and build" + home + "\n"}};
  EXPECT_THAT(CheckAbsolutePaths(tree), ElementsAre(HasSubstr("docs/a.md:2:")));
}

TEST(FileLengths, CatchOneLineTooMany) {
  const SourceTree tree = {{"hlo/a.h", "1\n2\n3\n"}, {"hlo/b.h", "1\n2\n3\n4\n"}, {"models/c.hlo", "1\n2\n3\n4\n5\n"}};
  EXPECT_THAT(CheckFileLengths(tree, 3), ElementsAre(HasSubstr("hlo/b.h:4: has 4 lines")));
}

TEST(FileNames, CatchVagueOnes) {
  const SourceTree tree = {{"hlo/shape_utils.h", ""}, {"gnn/common/a.h", ""}, {"hlo/common_subexpressions.h", ""}};
  EXPECT_THAT(CheckFileNames(tree), ElementsAre(HasSubstr("gnn/common/a.h"), HasSubstr("hlo/shape_utils.h")));
}

TEST(Markers, CatchUnfinishedWork) {
  const SourceTree tree = {{"hlo/a.cc", std::string("int x;\n// TO") + "DO: more\n"},
                           {"docs/a.md", std::string("TO") + "DO\n"}};
  EXPECT_THAT(CheckMarkers(tree), ElementsAre(HasSubstr("hlo/a.cc:2:")));
}

}  // namespace
}  // namespace smelt::structure
