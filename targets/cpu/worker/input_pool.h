// The inputs of all programs and kernels of a measuring child.
//
//   InputPool pool;
//   InputPool::Array array = pool.Get(shape, /*leaf=*/0, {-1, 1}, Pages::kUsual).value();
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "hlo/golden/inputs.h"
#include "hlo/literal.h"
#include "measure/placed_array.h"

namespace smelt::cpu {

// Inputs, made once for all programs and kernels that have the same ones in the same pages.
class InputPool {
 public:
  using Array = std::shared_ptr<const measure::PlacedArray>;
  // Values by the formula, for the `leaf`-th array leaf of the parameters.
  absl::StatusOr<Array> Get(const hlo::Shape& shape, int64_t leaf, const hlo::InputRange& range, Pages pages);
  // These values for it.
  absl::StatusOr<Array> Get(const hlo::Literal& value, int64_t leaf, Pages pages);

  // Values of one type and range one behind the other, on which inputs of any size are windows; without a range, what
  // results are written to. `far`: those that nobody else touches.
  struct BlockKey {
    hlo::PrimitiveType type;
    std::optional<hlo::InputRange> range;
    bool far = false;
    bool operator<(const BlockKey& other) const;
  };
  struct Block {
    measure::PlacedArray values;
    int64_t cursor = 0;  // the byte that no window was on for the longest time
  };
  // A block of at least so many bytes.
  absl::StatusOr<std::shared_ptr<Block>> GetBlock(const BlockKey& key, int64_t bytes);

 private:
  absl::StatusOr<Array> Keep(std::string key, const hlo::Literal& value, int64_t leaf, Pages pages);

  static constexpr int64_t kLimitBytes = int64_t{1} << 30;  // beyond it, what no program uses goes
  std::map<std::string, Array> arrays_;
  std::map<BlockKey, std::shared_ptr<Block>> blocks_;
  int64_t bytes_ = 0;
};

}  // namespace smelt::cpu
