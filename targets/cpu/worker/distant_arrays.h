// Operands and results that lie as far away as a program leaves them: in other memory in each run of a kernel that is
// timed alone.
//
//   InputPool pool;
//   DistantArrays distant(pool, /*far_bytes=*/64 << 20);
//   const void* input = nullptr;
//   distant.AddInput(shape, {-1, 1}, /*distance=*/8 << 20, shape.ByteSize(), &input);
//   distant.Prepare().ok();
//   distant.Next();   // before each run: `input` is another place
//
// Such an array is a window on a block of values, which moves on before each run and comes back after all windows of
// the kernel together have passed over as many bytes as the program touches in between (hlo/passes/reuse_distance.h).
// More than the caches hold need not pass: then they come from memory in any case.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "hlo/golden/inputs.h"
#include "hlo/shape.h"
#include "targets/cpu/worker/input_pool.h"

namespace smelt::cpu {

class DistantArrays {
 public:
  // `pool` must outlive it. `far_bytes`: what is at least so far away comes from memory.
  DistantArrays(InputPool& pool, int64_t far_bytes) : pool_(pool), far_bytes_(far_bytes) {}

  // Array leaves of the parameters or of the results, `distance` bytes away. Next writes their places to `pointer`,
  // which must outlive this. `read_bytes`: how many of its bytes the kernel reads.
  void AddInput(const hlo::Shape& shape, const hlo::InputRange& range, int64_t distance, int64_t read_bytes,
                const void** pointer);
  void AddOutput(const hlo::Shape& shape, int64_t distance, void** pointer);
  // After all were added, before the first Next. ResourceExhausted: no memory.
  absl::Status Prepare();
  void Next();

 private:
  struct Window {
    InputPool::BlockKey key;
    int64_t bytes = 0;
    int64_t touched_bytes = 0;  // by one run: it moves on by so much
    int64_t distance = 0;
    int64_t place = 0;             // in a unit
    int64_t unit = 0;              // a page, or a line
    const void** input = nullptr;  // one of the two
    void** output = nullptr;
    std::shared_ptr<InputPool::Block> block;
    // Its part of the block, and how far it has come there. All that are far share one part and one cursor, which goes
    // on from kernel to kernel: what was not touched for the longest time comes first.
    int64_t begin = 0, end = 0, cursor = 0;
    bool far = false;
  };
  Window& Add(const InputPool::BlockKey& key, const hlo::Shape& shape, int64_t distance);
  static int64_t StepBytes(const Window& window);

  InputPool& pool_;
  const int64_t far_bytes_;
  std::vector<Window> windows_;
};

}  // namespace smelt::cpu
