// One custom call to LAPACK: its operands and results as matrices by columns, and its options.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/evaluator/evaluation.h"
#include "hlo/evaluator/lapack/library.h"
#include "hlo/evaluator/type_of.h"
#include "hlo/lapack_call.h"

namespace smelt::hlo {

template <typename T>
struct RealPart {
  using Type = T;
};
template <typename R>
struct RealPart<std::complex<R>> {
  using Type = R;
};
template <typename T>
using Real = typename RealPart<T>::Type;
template <typename T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

class LapackJob {
 public:
  // Makes the results. InvalidArgument: operands that are no matrices, or too large for LAPACK's 32-bit integers.
  static absl::StatusOr<LapackJob> Create(const Call& call, LapackCall lapack);

  const std::string& routine() const { return lapack_.routine; }
  template <typename Function>
  absl::StatusOr<Function*> Find() const {
    const absl::StatusOr<void*> found = LapackRoutine(routine());
    if (!found.ok()) return found.status();
    return reinterpret_cast<Function*>(*found);
  }
  // These are sizes of the first operand, whose leading dimensions count matrices.
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int64_t matrices() const { return matrices_; }
  absl::Status CheckLimits() const { return call_->evaluation.CheckLimits(); }

  int Option(absl::string_view name, int otherwise) const { return lapack_.Option(name, otherwise); }

  // Dimensions of an operand or of a result, after those that count matrices; empty where there are fewer.
  std::vector<int64_t> Dimensions(size_t operand) const;
  std::vector<int64_t> ResultDimensions(size_t result) const;
  absl::Status ExpectOperands(size_t count) const;
  absl::Status ExpectSquare() const;
  // Refuses operands and results of other shapes than a routine reads and writes. `dimensions`: after those that count.
  absl::Status ExpectOperand(size_t operand, PrimitiveType type, const std::vector<int64_t>& dimensions) const;
  absl::Status ExpectResults(
      const std::vector<std::pair<PrimitiveType, std::vector<int64_t>>>& types_and_dimensions) const;

  // Matrix (or vector, with one column) number `index`, by columns.
  template <typename T>
  std::vector<T> Read(size_t operand, int64_t index, int64_t rows, int64_t columns) const {
    std::vector<T> values(rows * columns);
    const T* from = call_->operands[operand].data<T>() + index * rows * columns;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) values[j * rows + i] = from[i * columns + j];
    }
    return values;
  }
  template <typename T>
  void Write(size_t result, int64_t index, const std::vector<T>& values, int64_t rows, int64_t columns) {
    T* to = static_cast<T*>(results_[result]->raw()) + index * rows * columns;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = values[j * rows + i];
    }
  }
  void WriteInteger(size_t result, int64_t index, int value) { results_[result]->SetInteger(index, value); }

  Value TakeResult();

 private:
  const Call* call_ = nullptr;
  LapackCall lapack_;
  int rows_ = 0, columns_ = 0;
  int64_t matrices_ = 0;
  std::vector<int64_t> batch_;
  std::vector<std::shared_ptr<Literal>> results_;
};

// Calls `run(work, length)` twice: with a length of -1 LAPACK answers with the length that it wants.
template <typename T, typename Run>
void WithWorkSpace(const Run& run) {
  T wanted = 0;
  run(&wanted, -1);
  std::vector<T> work(std::max<int64_t>(static_cast<int64_t>(std::real(wanted)), 1));
  run(work.data(), static_cast<int>(work.size()));
}

// Iterations on NaN and infinity might never end: such a matrix is answered with NaN and this, as jaxlib does.
inline constexpr int kNotFinite = -4;
template <typename T>
bool IsFinite(const std::vector<T>& values) {
  for (const T& value : values) {
    if constexpr (kIsComplex<T>) {
      if (!std::isfinite(value.real()) || !std::isfinite(value.imag())) return false;
    } else if (!std::isfinite(value)) {
      return false;
    }
  }
  return true;
}

}  // namespace smelt::hlo
