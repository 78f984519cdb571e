#include "kernels/te/hlo/index.h"

namespace smelt::kernels::te {

Expr Linearize(Indices indices, absl::Span<const int64_t> dimensions) {
  Expr flat(0);
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] == 1) continue;
    flat = flat * dimensions[i] + indices[i];
  }
  return flat;
}

std::vector<Expr> ReshapeIndices(Indices indices, absl::Span<const int64_t> from, absl::Span<const int64_t> to) {
  std::vector<Expr> result(to.size(), Expr(0));
  size_t i = 0;
  size_t j = 0;
  while (true) {
    while (i < from.size() && from[i] == 1) ++i;
    while (j < to.size() && to[j] == 1) ++j;
    if (i >= from.size() || j >= to.size()) break;
    // The shortest run of dimensions on both sides with equal products.
    size_t from_end = i + 1;
    size_t to_end = j + 1;
    int64_t from_product = from[i];
    int64_t to_product = to[j];
    while (from_product != to_product) {
      if (from_product < to_product) {
        from_product *= from[from_end++];
      } else {
        to_product *= to[to_end++];
      }
    }
    Expr flat = Linearize(indices.subspan(i, from_end - i), from.subspan(i, from_end - i));
    for (size_t k = to_end; k-- > j;) {
      if (to[k] == 1) continue;
      if (k == j) {
        result[k] = flat;
      } else {
        result[k] = FloorMod(flat, to[k]);
        flat = FloorDiv(flat, to[k]);
      }
    }
    i = from_end;
    j = to_end;
  }
  return result;
}

}  // namespace smelt::kernels::te
