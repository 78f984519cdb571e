#include "hlo/golden/inputs.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/small_float.h"

namespace smelt::hlo {
namespace {

constexpr int64_t kMaxTupleDepth = 1000;

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// The formula of float elements in arithmetic of type T. The product is rounded before the sum on every machine: a
// fused multiply-add would give other numbers.
template <typename T>
struct FloatFormula {
  T low;
  T extent;
  explicit FloatFormula(const InputRange& range)
      : low(static_cast<T>(range.low)), extent(static_cast<T>(range.high) - low) {}
  T operator()(uint64_t h) const {
    const T u = static_cast<T>(h >> 40) * static_cast<T>(0x1p-24);
    volatile T product = u * extent;
    return low + product;
  }
};

absl::Status FillIntegers(uint64_t stream, const InputRange& range, Literal* literal) {
  const double span = range.high - range.low;
  if (!(span >= 1) || span > 0x1p63 || std::abs(range.low) > 0x1p63) {
    return absl::InvalidArgumentError(absl::StrCat("a range of integers from ", range.low, " to ", range.high,
                                                   " (not reached) is empty or too wide"));
  }
  const bool exponent_only = literal->shape().element_type == PrimitiveType::kF8E8M0FNU;
  const uint64_t low =
      static_cast<uint64_t>(static_cast<int64_t>(std::clamp(range.low, -0x1p63, 0x1.fffffffffffffp62)));
  const uint64_t extent = static_cast<uint64_t>(static_cast<int64_t>(std::min(span, 0x1.fffffffffffffp62)));
  for (int64_t i = 0; i < literal->element_count(); ++i) {
    const uint64_t value = low + Mix(stream + static_cast<uint64_t>(i)) % extent;
    if (exponent_only) {
      literal->data<uint8_t>()[i] = static_cast<uint8_t>(127 + value);
    } else {
      literal->SetInteger(i, static_cast<int64_t>(value));
    }
  }
  return absl::OkStatus();
}

template <typename T>
void FillFloats(uint64_t stream, const FloatFormula<T>& formula, Literal* literal) {
  const PrimitiveType type = literal->shape().element_type;
  const int64_t count = literal->element_count();
  if (IsComplex(type)) {
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<uint64_t>(2 * i);
      literal->SetComplex(
          i, {static_cast<double>(formula(Mix(stream + at))), static_cast<double>(formula(Mix(stream + at + 1)))});
    }
  } else {
    constexpr int64_t kBlock = 512;
    T block[kBlock];
    for (int64_t start = 0; start < count; start += kBlock) {
      const int64_t size = std::min(kBlock, count - start);
      for (int64_t i = 0; i < size; ++i) block[i] = formula(Mix(stream + static_cast<uint64_t>(start + i)));
      if (type == PrimitiveType::kF32) {
        std::copy_n(block, size, literal->data<float>().data() + start);
      } else if (type == PrimitiveType::kF64) {
        std::copy_n(block, size, literal->data<double>().data() + start);
      } else {
        EncodeFloats(type, block, static_cast<char*>(literal->raw()) + start * StorageBytes(type), size);
      }
    }
  }
}

struct LeafMaker {
  absl::Span<const InputRange> ranges;
  const InputOptions& options;
  int64_t next_leaf = 0;

  absl::StatusOr<Literal> Make(const Shape& shape, int64_t depth) {
    if (depth > kMaxTupleDepth) return absl::InvalidArgumentError("a parameter's tuples are nested too deep");
    if (shape.IsTuple()) {
      std::vector<Literal> elements;
      for (const Shape& element : shape.tuple_shapes) {
        SMELT_ASSIGN_OR_RETURN(Literal literal, Make(element, depth + 1));
        elements.push_back(std::move(literal));
      }
      return Literal::Tuple(std::move(elements));
    }
    if (shape.IsToken()) return Literal::Create(shape);
    if (!shape.IsArray()) return absl::UnimplementedError(absl::StrCat("a parameter of shape ", shape.ToString()));
    const int64_t leaf = next_leaf++;
    if (!ranges.empty() && leaf >= static_cast<int64_t>(ranges.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("ranges are given for ", ranges.size(), " parameter leaves, and the module has more"));
    }
    return MakeInput(shape, leaf, ranges.empty() ? DefaultInputRange(shape.element_type) : ranges[leaf], options);
  }
};

}  // namespace

InputRange DefaultInputRange(PrimitiveType type) {
  if (!IsInteger(type)) return type == PrimitiveType::kF8E8M0FNU ? InputRange{-4, 4} : InputRange{-1, 1};
  const int value_bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  return {0, std::min(8.0, std::exp2(value_bits))};
}

absl::StatusOr<Literal> MakeInput(const Shape& shape, int64_t leaf, const InputRange& range,
                                  const InputOptions& options) {
  Shape plain = Shape::Array(shape.element_type, shape.dimensions);
  for (int64_t dimension : plain.dimensions) {
    if (dimension < 0)
      return absl::UnimplementedError(absl::StrCat("a parameter of unbounded shape ", shape.ToString()));
  }
  SMELT_ASSIGN_OR_RETURN(Literal literal, Literal::Create(std::move(plain)));
  const uint64_t stream = 0x9E3779B97F4A7C15 * (static_cast<uint64_t>(leaf) + options.first_stream);
  const PrimitiveType type = shape.element_type;
  if (type == PrimitiveType::kPred) {
    auto values = literal.data<uint8_t>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = Mix(stream + i) >> 40 & 1;
  } else if (IsInteger(type) || type == PrimitiveType::kF8E8M0FNU) {
    SMELT_RETURN_IF_ERROR(FillIntegers(stream, range, &literal));
  } else if (options.double_arithmetic && (type == PrimitiveType::kF64 || type == PrimitiveType::kC128)) {
    FillFloats(stream, FloatFormula<double>(range), &literal);
  } else {
    FillFloats(stream, FloatFormula<float>(range), &literal);
  }
  return literal;
}

absl::StatusOr<std::vector<Literal>> MakeInputs(const Module& module, absl::Span<const InputRange> ranges,
                                                const InputOptions& options) {
  LeafMaker maker{ranges, options};
  std::vector<Literal> inputs;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (parameter == nullptr) return absl::InvalidArgumentError("the entry computation lacks a parameter number");
    SMELT_ASSIGN_OR_RETURN(Literal literal, maker.Make(parameter->shape(), 0));
    inputs.push_back(std::move(literal));
  }
  if (!ranges.empty() && maker.next_leaf != static_cast<int64_t>(ranges.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("ranges are given for ", ranges.size(), " parameter leaves, the module has ", maker.next_leaf));
  }
  return inputs;
}

}  // namespace smelt::hlo
