#ifndef TESTS_STRUCTURE_SOURCE_TREE_H_
#define TESTS_STRUCTURE_SOURCE_TREE_H_

#include <map>
#include <string>
#include <vector>

namespace smelt::structure {

// The text files of a repository by path from its root, with '/' between the parts. A map and not a folder on disk, so
// that the rules can be shown to catch what they are for.
using SourceTree = std::map<std::string, std::string>;

// Reads what a person wrote: sources, scripts, documents and build files of the known top-level folders and of the
// root. Build folders, version control and binary files stay out.
SourceTree ReadSourceTree(const std::string& root);

// Each rule returns one line per violation, "path:line: what is wrong and what the rule asks"; none when the rule
// holds.

// A code folder includes only the folders below it in the pipeline, by paths from the root.
std::vector<std::string> CheckFolderIncludes(const SourceTree& tree);

// A heavy dependency is included behind its door only, and no header that includes it is seen from outside the door.
std::vector<std::string> CheckDependencyDoors(const SourceTree& tree);

// Every top-level folder that holds code says in a README.md what it is.
std::vector<std::string> CheckReadmes(const SourceTree& tree);

// No file names a place of one machine.
std::vector<std::string> CheckAbsolutePaths(const SourceTree& tree);

// No source file or document is longer than `limit` lines.
std::vector<std::string> CheckFileLengths(const SourceTree& tree, int limit);

// A file is named for what it holds, so none is called utils, helpers, common or misc.
std::vector<std::string> CheckFileNames(const SourceTree& tree);

// Unfinished work is not marked in the sources: it is finished, or refused with an error.
std::vector<std::string> CheckMarkers(const SourceTree& tree);

}  // namespace smelt::structure

#endif  // TESTS_STRUCTURE_SOURCE_TREE_H_
