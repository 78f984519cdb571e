#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

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
  for (const char* path : {"hlo/module.h", "README.md", ".ci/run", "models/resnet18.hlo", "capi/smelt.h",
                           "python/smelt/jax/door.py", "tests/structure/rules.cc"}) {
    EXPECT_TRUE(Repository().count(path)) << path;
  }
}

TEST(Repository, IncludesFollowThePipeline) { EXPECT_THAT(CheckFolderIncludes(Repository()), IsEmpty()); }

TEST(Repository, FoldersDoNotIncludeEachOtherInCircles) { EXPECT_THAT(CheckFolderCycles(Repository()), IsEmpty()); }

TEST(Repository, WhatServesEveryTargetNamesNone) { EXPECT_THAT(CheckTargetNames(Repository()), IsEmpty()); }

TEST(Repository, ThePythonPackageImportsFollowItsLayers) { EXPECT_THAT(CheckPythonImports(Repository()), IsEmpty()); }

TEST(Repository, HeavyDependenciesStayBehindTheirDoors) { EXPECT_THAT(CheckDependencyDoors(Repository()), IsEmpty()); }

TEST(Repository, EveryFolderHasAReadme) { EXPECT_THAT(CheckReadmes(Repository()), IsEmpty()); }

TEST(Repository, WhatIsShownIsTheCode) { EXPECT_THAT(CheckShownCode(Repository()), IsEmpty()); }

TEST(Repository, CommentsAreSentences) { EXPECT_THAT(CheckComments(Repository()), IsEmpty()); }

TEST(Repository, NamesNoPlaceOfOneMachine) { EXPECT_THAT(CheckAbsolutePaths(Repository()), IsEmpty()); }

TEST(Repository, FilesAreShort) { EXPECT_THAT(CheckFileLengths(Repository(), 700), IsEmpty()); }

TEST(Repository, FilesAreNamedForWhatTheyHold) { EXPECT_THAT(CheckFileNames(Repository()), IsEmpty()); }

TEST(Repository, HasNoMarkersOfUnfinishedWork) { EXPECT_THAT(CheckMarkers(Repository()), IsEmpty()); }

TEST(Repository, TestsShareNoFolder) { EXPECT_THAT(CheckTestFolders(Repository()), IsEmpty()); }

TEST(Repository, FilesAreAskedWithAnErrorCode) { EXPECT_THAT(CheckFileSystemCalls(Repository()), IsEmpty()); }

// Documents and help texts name them as commands. Whether a file may be executed is not in its text, so that this is no
// rule over a tree.
TEST(Repository, ScriptsMayBeExecuted) {
  for (const auto& [path, text] : Repository()) {
    if (text.rfind("#!", 0) != 0) continue;
    const std::filesystem::perms rights =
        std::filesystem::status(std::string(SMELT_SOURCE_DIR "/") + path).permissions();
    EXPECT_NE(rights & std::filesystem::perms::owner_exec, std::filesystem::perms::none)
        << path << " begins with #! and may not be executed";
  }
}

// --- The rules catch what they are for ---

TEST(FolderIncludes, CatchAFolderThatLooksAhead) {
  const SourceTree tree = {{"hlo/a.h", "#include \"fusion/space.h\"\n"},
                           {"gnn/b.cc", "#include <vector>\n#  include \"tuner/search.h\"\n"},
                           {"tuner/c.cc", "#include \"gnn/model.h\"\n#include \"tuner/search.h\"\n"},
                           {"tests/hlo/d.cc", "#include \"cli/main.h\"\n"}};
  EXPECT_THAT(CheckFolderIncludes(tree), ElementsAre(HasSubstr("gnn/b.cc:2: includes tuner/search.h"),
                                                     HasSubstr("hlo/a.h:1: includes fusion/space.h")));
}

TEST(FolderIncludes, CatchAFolderInsideOneWithALineOfItsOwn) {
  const SourceTree tree = {{"sim/a.cc", "#include \"vdla/isa/config.h\"\n#include \"vdla/driver/b.h\"\n"},
                           {"vdla/isa/c.cc", "#include \"base/check.h\"\n#include \"sim/a.h\"\n"},
                           {"vdla/lower/d.cc", "#include \"vdla/isa/config.h\"\n#include \"kernels/ir/stmt.h\"\n"}};
  EXPECT_THAT(CheckFolderIncludes(tree), ElementsAre(HasSubstr("sim/a.cc:2: includes vdla/driver/b.h"),
                                                     HasSubstr("vdla/isa/c.cc:2: includes sim/a.h")));
}

TEST(ShownCode, CatchesWhatNoFileHas) {
  const SourceTree tree = {{"docs/adding.md", "A\n```cpp\nint a;\n```\n```cpp\nint b;\n```\n"},
                           {"tests/a.cc", "// a\nint a;\n"}};
  EXPECT_THAT(CheckShownCode(tree), ElementsAre(HasSubstr("docs/adding.md:5: shows code that no file has")));
}

TEST(TargetNames, CatchABranchOnOneTarget) {
  const SourceTree tree = {{"targets/gpu/target.cc", ""},
                           {"targets/cpu/target.cc", ""},
                           {"tuner/a.cc", "// a GPU is a target\nif (options.gpu) return;\nint cpu = 0;\n"},
                           {"measure/b.h", "cpu::Target target;\n"},
                           {"cli/c.cc", "gpu::Open();\n"}};
  EXPECT_THAT(CheckTargetNames(tree), ElementsAre(HasSubstr("measure/b.h:1"), HasSubstr("tuner/a.cc:2")));
}

TEST(FolderIncludes, CatchAFolderWithoutARule) {
  const SourceTree tree = {{"hlo/a.h", ""}, {"workshop/b.cc", ""}, {"tools/c.py", ""}, {"docs/d.md", ""}};
  EXPECT_THAT(CheckFolderIncludes(tree),
              ElementsAre(HasSubstr("tools/c.py:1: no rule says"), HasSubstr("workshop/b.cc:1: no rule says")));
}

TEST(FolderCycles, CatchANewCircleAndAnEntryThatSaysTooMuch) {
  const SourceTree tree = {{"hlo/text/a.h", "#include \"hlo/proto/b.h\"\n"},
                           {"hlo/proto/b.h", "#include \"hlo/c.h\"\n"},
                           {"hlo/c.h", "#include \"hlo/text/a.h\"\n"},
                           {"hlo/d.cc", "#include \"hlo/text/a.h\"\n#include \"hlo/c.h\"\n"}};
  EXPECT_THAT(CheckFolderCycles(tree), ElementsAre(HasSubstr("hlo includes hlo/text includes hlo/proto includes hlo")));
}

TEST(PythonImports, CatchCirclesPrivateNamesAndPackages) {
  const SourceTree tree = {{"python/smelt/__init__.py", ""},
                           {"python/smelt/hlo.py", "from smelt import models\nimport numpy\n"},
                           {"python/smelt/models.py", "from smelt.hlo import Module\n"},
                           {"python/smelt/jax/__init__.py", "from smelt.jax import door, kernels\n"},
                           {"python/smelt/jax/door.py", "    from jax._src import compiler\n"},
                           {"python/smelt/jax/kernels.py", "import jax\nfrom jax._src import compiler\n"}};
  EXPECT_THAT(CheckPythonImports(tree),
              ElementsAre(HasSubstr("hlo.py:2: imports numpy"), HasSubstr("kernels.py:2: imports jax._src"),
                          HasSubstr("kernels.py:2: imports jax._src.compiler"),
                          HasSubstr("smelt.hlo imports smelt.models imports smelt.hlo: a circle")));
}

TEST(FolderIncludes, CatchAPathThatDoesNotStartAtTheRoot) {
  const SourceTree tree = {{"hlo/a.h", ""}, {"hlo/b.cc", "#include \"a.h\"\n"}, {"hlo/c.cc", "#include \"hlo/a.h\"\n"}};
  EXPECT_THAT(CheckFolderIncludes(tree), ElementsAre(HasSubstr("hlo/b.cc:1:")));
}

TEST(DependencyDoors, CatchADependencyOutsideItsDoor) {
  const SourceTree tree = {{"targets/cpu/codegen/emit.cc", "#include \"llvm/IR/Module.h\"\n"},
                           {"targets/cpu/program/run.cc", "#include <llvm/IR/Module.h>\n"},
                           {"gnn/torch/train.cc", "#include <torch/torch.h>\n"},
                           {"cli/train.cc", "#include <torch/torch.h>\n"},
                           {"measure/records/records.cc", "#include <sqlite3.h>\n"},
                           {"gnn/records.cc", "#include <sqlite3.h>\n"}};
  EXPECT_THAT(CheckDependencyDoors(tree), ElementsAre(HasSubstr("targets/cpu/program/run.cc:1"),
                                                      HasSubstr("cli/train.cc:1"), HasSubstr("gnn/records.cc:1")));
}

TEST(DependencyDoors, CatchAHeaderThatCarriesTheDependencyOut) {
  const SourceTree tree = {{"targets/cpu/codegen/inner.h", "#include \"llvm/IR/Module.h\"\n"},
                           {"targets/cpu/codegen/outer.h", "#include \"targets/cpu/codegen/inner.h\"\n"},
                           {"targets/cpu/codegen/emit.cc", "#include \"targets/cpu/codegen/outer.h\"\n"},
                           {"measure.cc", "#include <vector>\n#include \"targets/cpu/codegen/outer.h\"\n"}};
  EXPECT_THAT(CheckDependencyDoors(tree), ElementsAre(HasSubstr("measure.cc:2: sees LLVM through")));
}

TEST(Readmes, CatchAMissingAndAnEmptyOne) {
  const SourceTree tree = {
      {"hlo/a.h", ""}, {"fusion/b.cc", ""}, {"fusion/README.md", "# fusion\n"}, {"tests/hlo/c.cc", ""}};
  EXPECT_THAT(CheckReadmes(tree),
              ElementsAre(HasSubstr("fusion/README.md:1: says nothing"), HasSubstr("hlo/README.md:1: missing")));
}

TEST(Readmes, CatchAFolderThatNoReadmeNamesAndAFileThatIsNotThere) {
  const std::string text(200, 'x');
  const SourceTree tree = {{"hlo/README.md", text + "`text/`: `parser.h`\n`gone.h` and `hlo/text/parser.h`\n"},
                           {"hlo/text/parser.h", ""},
                           {"hlo/proto/reader.h", ""}};
  EXPECT_THAT(CheckReadmes(tree),
              ElementsAre(HasSubstr("hlo/proto/README.md:1: missing"), HasSubstr("hlo/README.md:2: names gone.h")));
}

TEST(Documents, NameFilesThatAreThereByAnyEndOfTheirPaths) {
  const SourceTree tree = {{"docs/adding.md", "`parser.h`, `text/parser.h`, `hlo/text/parser.h`\n`hlo/parser.h`\n"},
                           {"hlo/README.md", std::string(200, 'x') + "`text/`"},
                           {"hlo/text/parser.h", ""}};
  EXPECT_THAT(CheckReadmes(tree), ElementsAre(HasSubstr("docs/adding.md:2: names hlo/parser.h")));
}

TEST(Comments, CatchAnOpeningWithoutASubject) {
  const SourceTree tree = {
      {"hlo/a.h", "// Of two numbers.\nint Larger(int, int);\n// The larger\n// Of two numbers.\n"},
      {"hlo/b.cc", "  // Offsets by operand.\n  int x;\n  //\n  // By operand.\n"},
      {"bench/c.py", "x = 1\n# In order.\n"}};
  EXPECT_THAT(CheckComments(tree),
              ElementsAre(HasSubstr("bench/c.py:2:"), HasSubstr("hlo/a.h:1: a comment that opens with Of"),
                          HasSubstr("hlo/b.cc:4:")));
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

TEST(FileSystemCalls, CatchOneThatThrows) {
  const SourceTree tree = {{"hlo/a.cc",
                            "\nstd::filesystem::remove(Name(x, 1));\nfs::remove(Name(x, 1), error);\n"
                            "for (const auto& e : fs::directory_iterator(folder, ignored)) {}\nfs::path(folder);\n"},
                           {"tests/hlo/a_test.cc", "std::filesystem::remove(path);\n"}};
  EXPECT_THAT(CheckFileSystemCalls(tree), ElementsAre(HasSubstr("hlo/a.cc:2:")));
}

TEST(TestFolders, CatchOneThatTestsShare) {
  const SourceTree tree = {{"tests/hlo/a_test.cc", "\nconst std::string path = testing::TempDir() + \"/a\";\n"},
                           {"tests/scratch_folder.h", "testing::TempDir()\n"},
                           {"hlo/a.cc", "std::filesystem::temp_directory_path();\n"}};
  EXPECT_THAT(CheckTestFolders(tree), ElementsAre(HasSubstr("tests/hlo/a_test.cc:2:")));
}

TEST(Markers, CatchUnfinishedWork) {
  const SourceTree tree = {{"hlo/a.cc", std::string("int x;\n// TO") + "DO: more\n"},
                           {"docs/a.md", std::string("TO") + "DO\n"}};
  EXPECT_THAT(CheckMarkers(tree), ElementsAre(HasSubstr("hlo/a.cc:2:")));
}

}  // namespace
}  // namespace smelt::structure
