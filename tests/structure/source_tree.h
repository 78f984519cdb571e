#ifndef TESTS_STRUCTURE_SOURCE_TREE_H_
#define TESTS_STRUCTURE_SOURCE_TREE_H_

#include <map>
#include <string>
#include <vector>

namespace smelt::structure {

// The text files of a repository by path from its root, with '/' between the parts. A map and not a folder on disk, so
// that the rules can be shown to catch what they are for.
using SourceTree = std::map<std::string, std::string>;

// Reads what a person wrote: sources, scripts, documents and build files, of every folder on disk. What version control
// ignores, build folders and binary files stay out.
SourceTree ReadSourceTree(const std::string& root);

// Each rule returns one line per violation, "path:line: what is wrong and what the rule asks"; none when the rule
// holds.

// A code folder includes only the folders below it in the pipeline, by paths from the root. A top-level folder with
// code for which no rule is written is a violation.
std::vector<std::string> CheckFolderIncludes(const SourceTree& tree);

// No folder includes another that includes it again, over however many folders between; sub-folders count apart.
std::vector<std::string> CheckFolderCycles(const SourceTree& tree);

// What serves every target names none: no name or text outside of comments has the name of a folder of targets/ in it.
// Heuristics may be named after the compiler that they follow. For `cpu`, which is also a core, the namespace counts.
std::vector<std::string> CheckTargetNames(const SourceTree& tree);

// The modules of the Python package import each other without a circle, need no package outside of smelt.jax, and only
// door.py there knows private names of JAX.
std::vector<std::string> CheckPythonImports(const SourceTree& tree);

// A heavy dependency is included behind its door only, and no header that includes it is seen from outside the door.
std::vector<std::string> CheckDependencyDoors(const SourceTree& tree);

// Every top-level folder that holds code says in a README.md what it is; a folder inside has a README.md of its own, or
// stands in that of the folder around it. Files that a README.md or a document of docs/ or the root names are there.
std::vector<std::string> CheckReadmes(const SourceTree& tree);

// C++ that docs/adding.md shows is code of ours, letter by letter: it compiles and its tests run.
std::vector<std::string> CheckShownCode(const SourceTree& tree);

// Comments are sentences with a subject and a verb. None opens with a bare Of, By, As or In, which need what stands
// below to be understood, or nothing at all.
std::vector<std::string> CheckComments(const SourceTree& tree);

// No file names a place of one machine.
std::vector<std::string> CheckAbsolutePaths(const SourceTree& tree);

// No source file or document is longer than `limit` lines.
std::vector<std::string> CheckFileLengths(const SourceTree& tree, int limit);

// A file is named for what it holds, so none is called utils, helpers, common or misc.
std::vector<std::string> CheckFileNames(const SourceTree& tree);

// Files and folders are asked with an error_code: the other forms throw, and a user's disk would end the process.
std::vector<std::string> CheckFileSystemCalls(const SourceTree& tree);

// A test writes into a folder of its own: those that share one race for it.
std::vector<std::string> CheckTestFolders(const SourceTree& tree);

// Unfinished work is not marked in the sources: it is finished, or refused with an error.
std::vector<std::string> CheckMarkers(const SourceTree& tree);

}  // namespace smelt::structure

#endif  // TESTS_STRUCTURE_SOURCE_TREE_H_
