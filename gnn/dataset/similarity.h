// Programs by how alike they are: a model is judged honestly by programs that are like none it learned from.
//
//   std::vector<std::string> judges = LeastSimilarPrograms(data, 0.1);
//
// The papers held out programs chosen by hand for that (Kaufman et al., MLSys 2021, Section 5: the manual split). Here
// a program is the shares of the opcodes in its kernels, and two programs are as alike as these shares overlap
// (Bhattacharyya coefficient): batch sizes and shapes do not count, names do not either.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gnn/dataset/dataset.h"

namespace smelt::gnn {

// Two programs this alike are of one family: one network in several sizes, or a training step and its twin.
inline constexpr double kFamilyLikeness = 0.99;

// Each program's family, by the name of its first program: programs that a chain of pairs at least `likeness` alike
// joins. Likeness is 1 for equal shares of opcodes, 0 for none in common.
std::map<std::string, std::string> Families(const Dataset& data, double likeness = kFamilyLikeness);

// At most this share of the programs, or one: the groups that are least like everything else, no family in two. Sorted;
// empty where all programs are one family. A group comes off where the tree of the likest pairs has its least like
// pair, and so on.
std::vector<std::string> LeastSimilarPrograms(const Dataset& data, double share);

}  // namespace smelt::gnn
