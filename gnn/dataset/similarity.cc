#include "gnn/dataset/similarity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "hlo/opcode.h"

namespace smelt::gnn {
namespace {

// An edge of the tree that joins all programs by the likest pairs: each of these is the likest between what lies on its
// two sides.
struct Edge {
  size_t a = 0, b = 0;
  double likeness = 0;
};

struct Tree {
  std::vector<std::string> programs;  // sorted
  std::vector<Edge> edges;            // one fewer
};

// Roots of the shares of each opcode among a program's nodes: the product of two such is how far the shares overlap.
std::vector<std::vector<double>> RootsOfShares(const Dataset& data, const std::vector<std::string>& programs) {
  std::map<std::string, size_t> number;
  for (const std::string& program : programs) number.emplace(program, number.size());
  std::vector<std::vector<double>> shares(programs.size(), std::vector<double>(hlo::kOpcodeCount, 0));
  for (const Example& example : data.examples) {
    for (const int32_t opcode : example.graph.Opcodes()) ++shares[number[example.program]][static_cast<size_t>(opcode)];
  }
  for (std::vector<double>& of : shares) {
    const double all = std::max(std::accumulate(of.begin(), of.end(), 0.0), 1.0);
    for (double& share : of) share = std::sqrt(share / all);
  }
  return shares;
}

// Prim's algorithm.
Tree NearestTree(const Dataset& data) {
  Tree tree{.programs = data.Programs()};
  const std::vector<std::vector<double>> roots = RootsOfShares(data, tree.programs);
  const size_t n = tree.programs.size();
  std::vector<Edge> nearest(n, Edge{.likeness = -1});  // of each program outside to one inside
  std::vector<bool> inside(n, false);
  size_t last = 0;
  for (size_t taken = 1; taken < n; ++taken) {
    inside[last] = true;
    size_t next = n;
    for (size_t i = 0; i < n; ++i) {
      if (inside[i]) continue;
      const double likeness = std::inner_product(roots[i].begin(), roots[i].end(), roots[last].begin(), 0.0);
      if (likeness > nearest[i].likeness) nearest[i] = {last, i, likeness};
      if (next == n || nearest[i].likeness > nearest[next].likeness) next = i;
    }
    tree.edges.push_back(nearest[next]);
    last = next;
  }
  return tree;
}

// Groups of programs, each by its first program's number: what edges of at least that likeness join.
std::vector<size_t> Groups(const Tree& tree, double likeness) {
  std::vector<size_t> first(tree.programs.size());
  std::iota(first.begin(), first.end(), size_t{0});
  const auto find = [&](size_t i) {
    while (first[i] != i) i = first[i] = first[first[i]];
    return i;
  };
  for (const Edge& edge : tree.edges) {
    if (edge.likeness < likeness) continue;
    const size_t a = find(edge.a), b = find(edge.b);
    first[std::max(a, b)] = std::min(a, b);
  }
  for (size_t i = 0; i < first.size(); ++i) first[i] = find(i);
  return first;
}

}  // namespace

std::map<std::string, std::string> Families(const Dataset& data, double likeness) {
  const Tree tree = NearestTree(data);
  const std::vector<size_t> group = Groups(tree, likeness);
  std::map<std::string, std::string> families;
  for (size_t i = 0; i < group.size(); ++i) families[tree.programs[i]] = tree.programs[group[i]];
  return families;
}

std::vector<std::string> LeastSimilarPrograms(const Dataset& data, double share) {
  Tree tree = NearestTree(data);
  const size_t n = tree.programs.size();
  const size_t most = std::max(static_cast<size_t>(share * static_cast<double>(n)), size_t{n > 1 ? 1u : 0u});
  std::sort(tree.edges.begin(), tree.edges.end(), [](const Edge& x, const Edge& y) { return x.likeness < y.likeness; });
  std::vector<bool> held(n, false);
  size_t count = 0;
  // Edge after edge, the least alike first, the smaller side comes off where it still fits.
  for (const Edge& cut : tree.edges) {
    if (cut.likeness >= kFamilyLikeness || count == most) break;
    const std::vector<size_t> group = Groups(tree, std::nextafter(cut.likeness, 2));
    std::vector<size_t> sides[2];
    for (size_t i = 0; i < n; ++i) {
      if (held[i]) continue;
      if (group[i] == group[cut.a]) sides[0].push_back(i);
      if (group[i] == group[cut.b]) sides[1].push_back(i);
    }
    const std::vector<size_t>& smaller = sides[sides[1].size() < sides[0].size() ? 1 : 0];
    if (count + smaller.size() > most) continue;
    for (const size_t i : smaller) held[i] = true;
    count += smaller.size();
  }
  std::vector<std::string> programs;
  for (size_t i = 0; i < n; ++i) {
    if (held[i]) programs.push_back(tree.programs[i]);
  }
  return programs;
}

}  // namespace smelt::gnn
