#include "targets/cpu/worker/input_pool.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace smelt::cpu {
namespace {

// An array's shape in the order of the file and of the formula.
hlo::Shape Plain(const hlo::Shape& shape) { return hlo::Shape::Array(shape.element_type, shape.dimensions); }

}  // namespace

absl::StatusOr<InputPool::Array> InputPool::Get(const hlo::Shape& shape, int64_t leaf, const hlo::InputRange& range,
                                                Pages pages) {
  const hlo::Shape plain = Plain(shape);
  std::string key =
      absl::StrCat(leaf, " ", plain.ToString(), " ", range.low, " ", range.high, " ", static_cast<int>(pages));
  if (auto known = arrays_.find(key); known != arrays_.end()) return known->second;
  SMELT_ASSIGN_OR_RETURN(const hlo::Literal value, hlo::MakeInput(plain, leaf, range));
  return Keep(std::move(key), value, leaf, pages);
}

absl::StatusOr<InputPool::Array> InputPool::Get(const hlo::Literal& value, int64_t leaf, Pages pages) {
  const Hash128 content = HashOf({static_cast<const char*>(value.raw()), static_cast<size_t>(value.byte_size())});
  std::string key =
      absl::StrCat(leaf, " ", value.shape().ToString(), " ", content.ToHex(), " ", static_cast<int>(pages));
  if (auto known = arrays_.find(key); known != arrays_.end()) return known->second;
  return Keep(std::move(key), value, leaf, pages);
}

absl::StatusOr<InputPool::Array> InputPool::Keep(std::string key, const hlo::Literal& value, int64_t leaf,
                                                 Pages pages) {
  if (bytes_ > kLimitBytes) {
    for (auto it = arrays_.begin(); it != arrays_.end();) {
      if (it->second.use_count() > 1) {
        ++it;
        continue;
      }
      bytes_ -= it->second->size();
      it = arrays_.erase(it);
    }
  }
  SMELT_ASSIGN_OR_RETURN(measure::PlacedArray array, measure::PlacedArray::Create(value.byte_size(), leaf, pages));
  if (array.size() > 0) std::memcpy(array.data(), value.raw(), array.size());
  bytes_ += array.size();
  return arrays_[std::move(key)] = std::make_shared<const measure::PlacedArray>(std::move(array));
}

bool InputPool::BlockKey::operator<(const BlockKey& other) const {
  const auto tied = [](const BlockKey& key) {
    const hlo::InputRange range = key.range.value_or(hlo::InputRange());
    return std::tuple(key.type, key.far, key.range.has_value(), range.low, range.high);
  };
  return tied(*this) < tied(other);
}

absl::StatusOr<std::shared_ptr<InputPool::Block>> InputPool::GetBlock(const BlockKey& key, int64_t bytes) {
  std::shared_ptr<Block>& block = blocks_[key];
  if (block != nullptr && block->values.size() >= bytes) return block;
  block = nullptr;  // what no program uses is free before the larger one is made
  SMELT_ASSIGN_OR_RETURN(measure::PlacedArray values, measure::PlacedArray::Create(bytes, 0, Pages::kUsual));
  if (key.range) {
    constexpr int64_t kPattern = 65521;  // elements, again and again: a number that no row length divides
    SMELT_ASSIGN_OR_RETURN(const hlo::Literal pattern,
                           hlo::MakeInput(hlo::Shape::Array(key.type, {kPattern}), /*leaf=*/0, *key.range));
    for (int64_t at = 0; at < bytes; at += pattern.byte_size())
      std::memcpy(values.data() + at, pattern.raw(), std::min(pattern.byte_size(), bytes - at));
  }
  block = std::make_shared<Block>(Block{std::move(values)});
  return block;
}

}  // namespace smelt::cpu
