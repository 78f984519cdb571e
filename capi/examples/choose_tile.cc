// A compiler pass in C++: it hands over a fused computation as HLO text and a machine of its own, and ranks tiles.
//
//   choose_tile_cc MODEL KERNEL.hlo
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "capi/score.h"

namespace {

struct Delete {
  void operator()(SmeltScorer* scorer) const { smelt_scorer_delete(scorer); }
  void operator()(SmeltKernel* kernel) const { smelt_kernel_delete(kernel); }
  void operator()(char* text) const { smelt_score_free(text); }
};
template <typename T>
using Owned = std::unique_ptr<T, Delete>;

// The machine that the pass compiles for: not the one that it runs on.
constexpr char kMachine[] = R"({"name": "smallcore", "vector_bytes": 16, "vector_registers": 32, "peak_flops_f32": 2e10,
  "levels": [{"scope": "l1", "bytes": 32768, "bytes_per_second": 5e10},
             {"scope": "l2", "bytes": 262144, "bytes_per_second": 2e10},
             {"scope": "memory", "bytes_per_second": 5e9}]})";

int Fail(char* error) {
  const Owned<char> owned(error);
  std::fprintf(stderr, "%s\n", owned == nullptr ? "no memory" : owned.get());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return Fail(nullptr);
  char* error = nullptr;
  const Owned<SmeltScorer> scorer(smelt_scorer_open(argv[1], kMachine, &error));
  if (scorer == nullptr) return Fail(error);
  std::ifstream file(argv[2], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Owned<SmeltKernel> kernel(smelt_kernel_read(scorer.get(), text.data(), text.size(), SMELT_KERNEL_TEXT, &error));
  if (kernel == nullptr) return Fail(error);
  std::vector<int64_t> dimensions(8);
  const int rank = smelt_kernel_dimensions(kernel.get(), dimensions.data(), 8);
  if (rank < 1 || rank > 8) {
    std::fprintf(stderr, "%s: has no tiles to rank\n", argv[2]);
    return 1;
  }
  dimensions.resize(static_cast<size_t>(rank));
  // Every tile of whole rows, and of parts of the last dimension.
  std::vector<int64_t> tiles;
  for (int64_t minor = 1; minor <= dimensions.back(); minor *= 2) {
    for (int i = 0; i + 1 < rank; ++i) tiles.push_back(1);
    tiles.push_back(minor);
  }
  std::vector<float> scores(tiles.size() / static_cast<size_t>(rank));
  if (smelt_score_tiles(kernel.get(), tiles.data(), static_cast<int64_t>(scores.size()), scores.data()) != 0) return 1;
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  for (const size_t i : order)
    std::printf("%8.3f  %lld\n", scores[i],
                static_cast<long long>(tiles[i * static_cast<size_t>(rank) + static_cast<size_t>(rank) - 1]));
  return 0;
}
