#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/scalar_function.h"
#include "hlo/small_float.h"

namespace smelt::hlo {
namespace {

// Stable, and at peace with comparators that are no order at all (NaN, random ones): it never leaves its range.
template <typename Less>
void MergeSort(std::vector<int64_t>* order, std::vector<int64_t>* scratch, Less less) {
  constexpr int64_t kRun = 12;
  const int64_t count = static_cast<int64_t>(order->size());
  for (int64_t start = 0; start < count; start += kRun) {
    const int64_t end = std::min(count, start + kRun);
    for (int64_t i = start + 1; i < end; ++i) {
      const int64_t value = (*order)[i];
      int64_t j = i;
      for (; j > start && less(value, (*order)[j - 1]); --j) (*order)[j] = (*order)[j - 1];
      (*order)[j] = value;
    }
  }
  scratch->resize(count);
  for (int64_t width = kRun; width < count; width *= 2) {
    for (int64_t start = 0; start < count; start += 2 * width) {
      const int64_t middle = std::min(count, start + width), end = std::min(count, start + 2 * width);
      int64_t left = start, right = middle;
      for (int64_t k = start; k < end; ++k) {
        const bool take_right = right < end && (left == middle || less((*order)[right], (*order)[left]));
        (*scratch)[k] = take_right ? (*order)[right++] : (*order)[left++];
      }
    }
    std::swap(*order, *scratch);
  }
}

int64_t TotalOrder(double value) {
  const int64_t bits = std::bit_cast<int64_t>(value);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

// Keys of every element of a line, in a type that holds those of any key type exactly.
struct Keys {
  std::vector<double> floats;
  std::vector<int64_t> integers;  // signed, predicates, and floats in total order
  std::vector<uint64_t> unsigneds;
};

enum class KeyKind { kFloat, kInteger, kUnsigned };

KeyKind KindOf(const ScalarProgram::KeyComparison& comparison) {
  if (IsFloat(comparison.key_type))
    return comparison.attributes.type == ComparisonType::kFloatTotalOrder ? KeyKind::kInteger : KeyKind::kFloat;
  return IsUnsigned(comparison.key_type) ? KeyKind::kUnsigned : KeyKind::kInteger;
}

void AppendKeys(KeyKind kind, PrimitiveType type, const void* elements, int64_t count, Keys* keys) {
  Literal line(Shape::Array(type, {count}));
  std::memcpy(line.raw(), elements, line.byte_size());
  for (int64_t i = 0; i < count; ++i) {
    switch (kind) {
      case KeyKind::kFloat:
        keys->floats.push_back(line.GetDouble(i));
        break;
      case KeyKind::kInteger:
        keys->integers.push_back(IsFloat(type) ? TotalOrder(line.GetDouble(i)) : line.GetInteger(i));
        break;
      case KeyKind::kUnsigned:
        keys->unsigneds.push_back(static_cast<uint64_t>(line.GetInteger(i)));
    }
  }
}

template <typename T>
void SortByKeys(ComparisonDirection direction, const std::vector<T>& first, const std::vector<T>& second,
                std::vector<int64_t>* order, std::vector<int64_t>* scratch) {
  switch (direction) {
    case ComparisonDirection::kLt:
      return MergeSort(order, scratch, [&](int64_t a, int64_t b) { return first[a] < second[b]; });
    case ComparisonDirection::kGt:
      return MergeSort(order, scratch, [&](int64_t a, int64_t b) { return first[a] > second[b]; });
    case ComparisonDirection::kLe:
      return MergeSort(order, scratch, [&](int64_t a, int64_t b) { return first[a] <= second[b]; });
    case ComparisonDirection::kGe:
      return MergeSort(order, scratch, [&](int64_t a, int64_t b) { return first[a] >= second[b]; });
    case ComparisonDirection::kEq:
      return MergeSort(order, scratch, [&](int64_t a, int64_t b) { return first[a] == second[b]; });
    case ComparisonDirection::kNe:
      return MergeSort(order, scratch, [&](int64_t a, int64_t b) { return first[a] != second[b]; });
  }
}

// Finds the order of one line, whose arrays are contiguous.
class LineSorter {
 public:
  LineSorter(Evaluation& evaluation, const Computation& comparator, const ScalarProgram* program,
             std::vector<int64_t> bytes)
      : function_(evaluation, comparator, program), program_(program), bytes_(std::move(bytes)) {
    if (program != nullptr) lanes_.emplace(*program);
  }

  absl::Status Sort(const std::vector<const char*>& lines, std::vector<int64_t>* order) {
    const ScalarProgram::KeyComparison* keys = program_ == nullptr ? nullptr : program_->AsKeyComparison();
    if (keys != nullptr) {
      SortKeyed(*keys, lines, order);
      return absl::OkStatus();
    }
    absl::Status status;
    std::vector<const void*> parameters(2 * lines.size());
    uint8_t result = 0;
    MergeSort(order, &scratch_, [&](int64_t a, int64_t b) {
      if (!status.ok()) return false;
      for (size_t k = 0; k < lines.size(); ++k) {
        parameters[2 * k] = lines[k] + a * bytes_[k];
        parameters[2 * k + 1] = lines[k] + b * bytes_[k];
      }
      status.Update(function_.Apply(parameters, {static_cast<void*>(&result)}, 1));
      return result != 0;
    });
    return status;
  }

 private:
  void SortKeyed(const ScalarProgram::KeyComparison& comparison, const std::vector<const char*>& lines,
                 std::vector<int64_t>* order) {
    const KeyKind kind = KindOf(comparison);
    Keys first, second;
    const int64_t count = static_cast<int64_t>(order->size());
    std::vector<const void*> parameters(2 * lines.size());
    uint8_t ignored[ScalarProgram::kLanes];
    for (int64_t start = 0; start < count; start += ScalarProgram::kLanes) {
      const int64_t lanes = std::min(ScalarProgram::kLanes, count - start);
      for (size_t k = 0; k < lines.size(); ++k)
        parameters[2 * k] = parameters[2 * k + 1] = lines[k] + start * bytes_[k];
      lanes_->Run(parameters, {static_cast<void*>(ignored)}, lanes);
      AppendKeys(kind, comparison.key_type, lanes_->Register(comparison.first), lanes, &first);
      AppendKeys(kind, comparison.key_type, lanes_->Register(comparison.second), lanes, &second);
    }
    const ComparisonDirection direction = comparison.attributes.direction;
    if (kind == KeyKind::kFloat) SortByKeys(direction, first.floats, second.floats, order, &scratch_);
    if (kind == KeyKind::kInteger) SortByKeys(direction, first.integers, second.integers, order, &scratch_);
    if (kind == KeyKind::kUnsigned) SortByKeys(direction, first.unsigneds, second.unsigneds, order, &scratch_);
  }

  ScalarFunction function_;
  const ScalarProgram* program_;
  std::optional<ScalarProgram::Lanes> lanes_;
  std::vector<int64_t> bytes_;
  std::vector<int64_t> scratch_;
};

void CopyLine(const char* source, int64_t source_stride, char* target, int64_t count, int64_t bytes) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(target + i * bytes, source + i * source_stride * bytes, bytes);
}

}  // namespace

absl::StatusOr<Value> EvaluateSort(const Call& call) {
  const int64_t dimension = call.instruction.attributes<SortAttributes>().dimension;
  const Shape shape = call.operand(0).shape();
  const size_t arrays = call.operands.size();
  const int64_t size = shape.rank() == 0 ? 1 : shape.dimensions[dimension];
  const int64_t stride = shape.rank() == 0 ? 1 : shape.Strides()[dimension];
  std::vector<std::shared_ptr<Literal>> results;
  std::vector<int64_t> bytes;
  for (const Value& operand : call.operands) {
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(operand.shape()));
    results.push_back(std::move(result));
    bytes.push_back(StorageBytes(operand.shape().element_type));
  }
  const int64_t lines = size == 0 ? 0 : shape.ElementCount() / size;
  const ScalarProgram* program = call.step.programs[0].get();
  absl::Status status;
  std::atomic<bool> failed{false};
  auto sort_lines = [&](int64_t begin, int64_t end) {
    LineSorter sorter(call.evaluation, *call.instruction.called(0), program, bytes);
    std::vector<std::vector<char>> buffers(arrays);
    std::vector<const char*> line(arrays);
    std::vector<int64_t> order(size);
    for (size_t k = 0; k < arrays; ++k) buffers[k].resize(static_cast<size_t>(size * bytes[k]));
    for (int64_t l = begin; l < end; ++l) {
      const int64_t base = l / stride * stride * size + l % stride;
      for (size_t k = 0; k < arrays; ++k) {
        CopyLine(call.operands[k].data<char>() + base * bytes[k], stride, buffers[k].data(), size, bytes[k]);
        line[k] = buffers[k].data();
      }
      std::iota(order.begin(), order.end(), 0);
      absl::Status sorted = sorter.Sort(line, &order);
      if (!sorted.ok()) {
        if (!failed.exchange(true)) status = std::move(sorted);
        return;
      }
      for (size_t k = 0; k < arrays; ++k) {
        char* target = static_cast<char*>(results[k]->raw()) + base * bytes[k];
        for (int64_t i = 0; i < size; ++i)
          std::memcpy(target + i * stride * bytes[k], line[k] + order[i] * bytes[k], bytes[k]);
      }
    }
  };
  if (program != nullptr) {
    call.evaluation.ParallelFor(lines, static_cast<double>(size) * 200e-9, sort_lines);
  } else {
    sort_lines(0, lines);
  }
  SMELT_RETURN_IF_ERROR(status);
  if (!call.shape().IsTuple()) return Value(std::move(results[0]));
  std::vector<Value> elements;
  for (std::shared_ptr<Literal>& result : results) elements.push_back(Value(std::move(result)));
  return Value(std::move(elements));
}

// (values, indices) of the k largest or smallest along the last dimension, best first, equal ones in order of index.
// NaN counts as the largest.
absl::StatusOr<Value> EvaluateTopK(const Call& call) {
  const auto& attributes = call.instruction.attributes<TopKAttributes>();
  const Literal& operand = call.operand(0).array();
  const int64_t size = operand.shape().dimensions.back();
  const int64_t lines = size == 0 ? 0 : operand.element_count() / size;
  if (!call.shape().IsTuple() || call.shape().tuple_shapes.size() != 2)
    return absl::InvalidArgumentError("must give values and indices");
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> values, call.evaluation.NewArray(call.shape().tuple_shapes[0]));
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> indices, call.evaluation.NewArray(call.shape().tuple_shapes[1]));
  const int64_t k = values->shape().dimensions.back();
  if (k > size) return absl::InvalidArgumentError(absl::StrCat("asks for ", k, " of ", size, " elements"));
  const PrimitiveType type = operand.shape().element_type;
  const int64_t bytes = StorageBytes(type);
  const KeyKind kind = IsFloat(type) ? KeyKind::kInteger : IsUnsigned(type) ? KeyKind::kUnsigned : KeyKind::kInteger;
  for (int64_t l = 0; l < lines; ++l) {
    SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
    Keys keys;
    AppendKeys(kind, type, call.operand(0).data<char>() + l * size * bytes, size, &keys);
    std::vector<int64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    auto select = [&](const auto& list) {
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        if (list[a] != list[b]) return attributes.largest ? list[a] > list[b] : list[a] < list[b];
        return a < b;
      });
    };
    if (kind == KeyKind::kUnsigned)
      select(keys.unsigneds);
    else
      select(keys.integers);
    for (int64_t i = 0; i < k; ++i) {
      std::memcpy(static_cast<char*>(values->raw()) + (l * k + i) * bytes,
                  call.operand(0).data<char>() + (l * size + order[i]) * bytes, bytes);
      indices->SetInteger(l * k + i, order[i]);
    }
  }
  return Value(std::vector<Value>{Value(std::move(values)), Value(std::move(indices))});
}

}  // namespace smelt::hlo
