// A value during evaluation: an array, a tuple of values, or a token, shared by reference count.
//
// Counts are what makes updates in place possible: an operation that holds the last reference to an operand may write
// its result there.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "hlo/literal.h"

namespace smelt::hlo {

class Value {
 public:
  Value() = default;  // a token
  explicit Value(std::shared_ptr<Literal> array) : array_(std::move(array)) {}
  explicit Value(std::vector<Value> elements) : elements_(std::make_shared<std::vector<Value>>(std::move(elements))) {}

  bool IsArray() const { return array_ != nullptr; }
  bool IsTuple() const { return elements_ != nullptr; }

  const Literal& array() const { return *array_; }
  const std::vector<Value>& elements() const { return *elements_; }

  const Shape& shape() const { return array_->shape(); }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(std::as_const(*array_).raw());
  }

  // Sizes known only at run time, one per dimension, of an array whose shape gives their bounds; nullptr when the shape
  // says it all. Elements beyond them are there but mean nothing.
  const std::vector<int64_t>* runtime_sizes() const { return runtime_sizes_.get(); }
  void set_runtime_sizes(std::vector<int64_t> sizes) {
    runtime_sizes_ = std::make_shared<const std::vector<int64_t>>(std::move(sizes));
  }

  void clear_runtime_sizes() { runtime_sizes_.reset(); }

  // Whether this is the only reference to the array, so that it may be written.
  bool IsUnique() const { return array_.use_count() == 1; }
  // The array itself, leaving this empty; write to it only where IsUnique() held.
  std::shared_ptr<Literal> TakeArray() { return std::move(array_); }
  // Whether nobody else holds the tuple, so that its elements may be moved out.
  bool IsUniqueTuple() const { return elements_.use_count() == 1; }
  std::vector<Value>& mutable_elements() { return *elements_; }

 private:
  std::shared_ptr<Literal> array_;
  std::shared_ptr<std::vector<Value>> elements_;
  std::shared_ptr<const std::vector<int64_t>> runtime_sizes_;
};

}  // namespace smelt::hlo
