// Operations that move elements, or make them from nothing.
#include <algorithm>

#include "fuzz/generate/rules.h"

namespace smelt::fuzz {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;
using enum hlo::Opcode;

bool AddBroadcast(Draft& draft, Opcode opcode) {
  const Value x = draft.Any(AnyElement, 0, 3);
  Shape shape = x.shape();
  std::vector<int64_t> dimensions(shape.rank());
  for (int64_t d = 0; d < shape.rank(); ++d) dimensions[d] = d;
  for (int64_t added = draft.random.Chance(0.05) ? 0 : draft.random.Between(1, 2); added > 0 && shape.rank() < 5;
       --added) {
    const int64_t at = draft.random.Between(0, shape.rank());
    int64_t size = draft.AnySize();
    if (size * shape.ElementCount() > draft.palette.largest) size = 1;
    shape.dimensions.insert(shape.dimensions.begin() + at, size);
    for (int64_t& d : dimensions) d += d >= at;
  }
  // Now and then the dimensions change their order too.
  if (dimensions.size() > 1 && draft.random.Chance(0.2)) {
    std::swap(dimensions[0], dimensions.back());
    std::swap(shape.dimensions[dimensions[0]], shape.dimensions[dimensions.back()]);
  }
  draft.KeepShaped(opcode, shape, {x}, hlo::DimensionsAttributes{dimensions}, x.exact, x.magnitude);
  return true;
}

// Another way to cut the same number of elements into dimensions.
std::vector<int64_t> Recut(Draft& draft, const Shape& shape) {
  std::vector<int64_t> dimensions = shape.dimensions;
  for (int64_t changes = draft.random.Between(1, 3); changes > 0; --changes) {
    const int64_t rank = static_cast<int64_t>(dimensions.size());
    const int64_t kind = draft.random.Below(3);
    if (kind == 0 && rank >= 2) {  // join two neighbours
      const int64_t d = draft.random.Below(rank - 1);
      dimensions[d] *= dimensions[d + 1];
      dimensions.erase(dimensions.begin() + d + 1);
    } else if (kind == 1 && rank >= 1 && rank < 5) {  // split one
      const int64_t d = draft.random.Below(rank);
      for (int64_t factor : {2, 3, 5, 7}) {
        if (dimensions[d] > factor && dimensions[d] % factor == 0) {
          dimensions[d] /= factor;
          dimensions.insert(dimensions.begin() + d + draft.random.Below(2), factor);
          break;
        }
      }
    } else if (rank < 5) {  // a dimension of one element
      const auto one = std::find(dimensions.begin(), dimensions.end(), 1);
      if (one != dimensions.end() && draft.random.Chance(0.5)) {
        dimensions.erase(one);
      } else {
        dimensions.insert(dimensions.begin() + draft.random.Between(0, rank), 1);
      }
    }
  }
  return dimensions;
}

bool AddReshape(Draft& draft, Opcode opcode) {
  const Value x = draft.Any(AnyElement);
  draft.KeepShaped(opcode, Shape::Array(x.type(), Recut(draft, x.shape())), {x}, {}, x.exact, x.magnitude);
  return true;
}

bool AddTranspose(Draft& draft, Opcode opcode) {
  const Value x = draft.EmptyList() ? draft.Any(AnyElement, 0, 1) : draft.Any(AnyElement, 2);
  std::vector<int64_t> permutation(x.shape().rank());
  for (size_t d = 0; d < permutation.size(); ++d) permutation[d] = static_cast<int64_t>(d);
  draft.random.Shuffle(permutation);
  draft.Keep(opcode, {x}, hlo::DimensionsAttributes{permutation}, x.exact, x.magnitude);
  return true;
}

bool AddSlice(Draft& draft, Opcode opcode) {
  const Value x = draft.Array(AnyElement);
  hlo::SliceAttributes attributes;
  for (int64_t size : x.shape().dimensions) {
    hlo::SliceDimension slice{0, size, 1};
    if (size > 0 && draft.random.Chance(0.6)) {
      slice.start = draft.random.Below(size);
      slice.limit = draft.random.Between(draft.random.Chance(0.03) ? slice.start : slice.start + 1, size);
      if (draft.random.Chance(0.3)) slice.stride = draft.random.Between(2, 3);
    }
    attributes.dimensions.push_back(slice);
  }
  draft.Keep(opcode, {x}, attributes, x.exact, x.magnitude);
  return true;
}

bool AddPad(Draft& draft, Opcode opcode) {
  const Value x = draft.Array(AnyElement);
  const Value padding = draft.OfShape(Shape::Scalar(x.type()));
  hlo::PadAttributes attributes;
  int64_t elements = 1;
  for (int64_t size : x.shape().dimensions) {
    hlo::PadDimension pad;
    if (draft.random.Chance(0.6)) {
      pad.interior = draft.random.Chance(0.25) ? draft.random.Between(1, 2) : 0;
      pad.low = draft.random.Between(-2, 3);
      pad.high = draft.random.Between(-2, 3);
    }
    const auto padded = [&] { return size + std::max<int64_t>(size - 1, 0) * pad.interior + pad.low + pad.high; };
    const int64_t least = draft.random.Chance(0.03) ? 0 : 1;
    if (padded() < least || elements * padded() > 4 * draft.palette.largest) pad = {};
    elements *= std::max<int64_t>(padded(), 1);
    attributes.dimensions.push_back(pad);
  }
  draft.Keep(opcode, {x, padding}, attributes, x.exact && padding.exact, std::max(x.magnitude, padding.magnitude));
  return true;
}

bool AddConcatenate(Draft& draft, Opcode opcode) {
  const Value x = draft.Any(AnyElement, 1);
  const int64_t dimension = draft.random.Below(x.shape().rank());
  std::vector<Value> parts = {x};
  for (int64_t more = draft.EmptyList() ? 0 : draft.random.Between(1, 3); more > 0; --more) {
    Shape shape = Shape::Array(x.type(), x.shape().dimensions);
    if (draft.random.Chance(0.4)) shape.dimensions[dimension] = draft.PartSize(5);
    if (shape.ElementCount() > draft.palette.largest) shape.dimensions[dimension] = 1;
    parts.push_back(draft.OfShape(shape));
  }
  draft.random.Shuffle(parts);
  draft.Keep(opcode, parts, hlo::DimensionsAttributes{{dimension}}, AllExact(parts), LargestMagnitude(parts));
  return true;
}

bool AddReverse(Draft& draft, Opcode opcode) {
  const Value x = draft.Array(AnyElement);
  std::vector<int64_t> dimensions;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (draft.random.Chance(0.5)) dimensions.push_back(d);
  }
  draft.Keep(opcode, {x}, hlo::DimensionsAttributes{dimensions}, x.exact, x.magnitude);
  return true;
}

bool AddIota(Draft& draft, Opcode opcode) {
  const Shape shape = draft.AnyShape(NumberElement, 1, 3);
  const int64_t dimension = draft.random.Below(shape.rank());
  draft.KeepShaped(opcode, shape, {}, hlo::IotaAttributes{dimension}, true,
                   static_cast<double>(shape.dimensions[dimension]));
  return true;
}

bool AddConstant(Draft& draft, Opcode) {
  draft.RandomConstant(draft.AnyShape(AnyElement, 0, 3));
  return true;
}

bool AddParameter(Draft& draft, Opcode) {
  draft.Parameter(draft.AnyShape(AnyElement, 0, 4));
  return true;
}

bool AddBarrier(Draft& draft, Opcode opcode) {
  if (draft.random.Chance(0.5)) {
    const Value x = draft.Any(AnyElement);
    draft.Keep(opcode, {x}, {}, x.exact, x.magnitude);
    return true;
  }
  const Value tuple = draft.Tuple({draft.Any(AnyElement), draft.Any(AnyElement)});
  draft.Keep(opcode, {tuple}, {}, tuple.exact, tuple.magnitude);
  return true;
}

bool AddDependency(Draft& draft, Opcode opcode) {
  const Value token = draft.Keep(kAfterAll, {}, {}, true, 0);
  const Value x = draft.Any(AnyElement);
  draft.KeepShaped(opcode, x.shape(), {x, token}, {}, x.exact, x.magnitude);
  return true;
}

bool AddDimensionSize(Draft& draft, Opcode opcode) {
  const Value x = draft.Any(AnyElement, 1);
  draft.Keep(opcode, {x}, hlo::DimensionsAttributes{{draft.random.Below(x.shape().rank())}}, true, 1024);
  return true;
}

const OpcodeRule kMovementRules[] = {
    {kBroadcast, 8, AddBroadcast},
    {kReshape, 6, AddReshape},
    {kBitcast, 2, AddReshape},
    {kTranspose, 5, AddTranspose},
    {kSlice, 5, AddSlice},
    {kPad, 4, AddPad},
    {kConcatenate, 4, AddConcatenate},
    {kReverse, 3, AddReverse},
    {kIota, 3, AddIota},
    {kConstant, 2, AddConstant},
    {kParameter, 3, AddParameter, false},
    {kOptimizationBarrier, 1, AddBarrier},
    {kAddDependency, 1, AddDependency},
    {kGetDimensionSize, 1, AddDimensionSize},
};

}  // namespace

absl::Span<const OpcodeRule> MovementRules() { return kMovementRules; }

}  // namespace smelt::fuzz
