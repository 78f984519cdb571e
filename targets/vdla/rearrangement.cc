#include "targets/vdla/rearrangement.h"

#include <algorithm>
#include <utility>

#include "fusion/kernel.h"
#include "hlo/attributes.h"

namespace smelt::vdla {

using hlo::Instruction;
using hlo::Opcode;

Rearrangement::Rearrangement(const hlo::Shape& original)
    : original_(original.dimensions), dims_(original.dimensions.size()), sizes_(original.dimensions) {
  for (size_t d = 0; d < dims_.size(); ++d) {
    if (original_[d] != 1) dims_[d] = {{original_[d], static_cast<int64_t>(d), 1}};
  }
}

bool Rearrangement::Is(const Instruction& x) {
  return x.operand_count() == 1 && (x.opcode() == Opcode::kTranspose || fusion::KeepsBytes(x));
}

bool Rearrangement::Apply(const Instruction& x) {
  if (x.opcode() != Opcode::kTranspose) return Reshape(x.shape().dimensions);
  Transpose(x.attributes<hlo::DimensionsAttributes>().dimensions);
  return true;
}

bool Rearrangement::Undo(const Instruction& x) {
  if (x.opcode() != Opcode::kTranspose) return Reshape(x.operand(0)->shape().dimensions);
  const std::vector<int64_t>& permutation = x.attributes<hlo::DimensionsAttributes>().dimensions;
  std::vector<int64_t> back(permutation.size());
  for (size_t d = 0; d < permutation.size(); ++d) back[static_cast<size_t>(permutation[d])] = static_cast<int64_t>(d);
  Transpose(back);
  return true;
}

void Rearrangement::UndoBroadcast(const Instruction& x) {
  std::vector<std::vector<Factor>> dims;
  for (const int64_t d : x.attributes<hlo::DimensionsAttributes>().dimensions)
    dims.push_back(dims_[static_cast<size_t>(d)]);
  sizes_ = x.operand(0)->shape().dimensions;
  // A dimension of one element may be spread over a longer one.
  for (size_t d = 0; d < dims.size(); ++d) {
    if (sizes_[d] == 1) dims[d].clear();
  }
  dims_ = std::move(dims);
}

void Rearrangement::Transpose(absl::Span<const int64_t> permutation) {
  std::vector<std::vector<Factor>> dims;
  std::vector<int64_t> sizes;
  for (const int64_t d : permutation) {
    dims.push_back(dims_[static_cast<size_t>(d)]);
    sizes.push_back(sizes_[static_cast<size_t>(d)]);
  }
  dims_ = std::move(dims);
  sizes_ = std::move(sizes);
}

bool Rearrangement::Reshape(absl::Span<const int64_t> dimensions) {
  // All factors behind each other; where nothing is left of a dimension (a broadcast took it), the sizes tell of it.
  std::vector<Factor> all;
  for (size_t d = 0; d < dims_.size(); ++d) {
    if (dims_[d].empty() && sizes_[d] != 1) return false;
    all.insert(all.end(), dims_[d].begin(), dims_[d].end());
  }
  std::vector<std::vector<Factor>> dims(dimensions.size());
  for (size_t d = dimensions.size(); d-- > 0;) {
    for (int64_t left = dimensions[d]; left > 1;) {
      if (all.empty()) return false;
      Factor& last = all.back();
      if (left % last.size == 0) {
        dims[d].push_back(last);
        left /= last.size;
        all.pop_back();
      } else if (last.size % left == 0) {
        dims[d].push_back({left, last.dim, last.stride});
        last = {last.size / left, last.dim, last.stride * left};
        left = 1;
      } else {
        return false;
      }
    }
    std::reverse(dims[d].begin(), dims[d].end());
  }
  if (!all.empty()) return false;
  dims_ = std::move(dims);
  sizes_.assign(dimensions.begin(), dimensions.end());
  return true;
}

lower::Places Rearrangement::PlacesOf(absl::Span<const int64_t> original_dims) const {
  int64_t count = 1;
  for (const int64_t d : original_dims) count *= original_[static_cast<size_t>(d)];
  lower::Places places(static_cast<size_t>(count), 0);
  int64_t stride = 1;  // of the factor in the array as it is
  for (size_t d = dims_.size(); d-- > 0;) {
    int64_t inside = stride;
    for (auto factor = dims_[d].rbegin(); factor != dims_[d].rend(); ++factor) {
      // How far apart the indices of its dimension are among `original_dims`.
      int64_t apart = 1;
      bool found = false;
      for (size_t o = original_dims.size(); o-- > 0 && !found;) {
        found = original_dims[o] == factor->dim;
        if (!found) apart *= original_[static_cast<size_t>(original_dims[o])];
      }
      for (int64_t i = 0; found && i < count; ++i)
        places[static_cast<size_t>(i)] += i / (apart * factor->stride) % factor->size * inside;
      inside *= factor->size;
    }
    stride *= sizes_[d];
  }
  return places;
}

bool Rearrangement::Depends(int64_t original_dim) const {
  return std::any_of(dims_.begin(), dims_.end(), [&](const std::vector<Factor>& dim) {
    return std::any_of(dim.begin(), dim.end(), [&](const Factor& factor) { return factor.dim == original_dim; });
  });
}

}  // namespace smelt::vdla
