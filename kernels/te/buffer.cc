#include "kernels/te/buffer.h"

namespace smelt::kernels::te {

int64_t BufferNode::ElementCount() const {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

int64_t BufferNode::ByteSize() const { return ElementCount() * hlo::StorageBytes(type); }

}  // namespace smelt::kernels::te
