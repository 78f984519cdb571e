#include "kernels/lower/copies.h"

#include "absl/strings/str_cat.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Buffer> CopiesOf(const ir::Buffer& buffer, int64_t count) {
  constexpr int64_t kLargest = int64_t{1} << 36;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(buffer->ByteSize(), count, &bytes) || bytes > buffer->scope.capacity_bytes ||
      buffer->ElementCount() > kLargest / count)
    return absl::InvalidArgumentError(absl::StrCat("stage `", buffer->name, "` would take ", count, " times ",
                                                   buffer->ByteSize(), " bytes of ", std::string(buffer->scope.name),
                                                   " memory, one for each thread or step; at most ",
                                                   buffer->scope.capacity_bytes, " are allowed"));
  ir::BufferNode node = *buffer;
  node.shape.insert(node.shape.begin(), count);
  return std::make_shared<const ir::BufferNode>(std::move(node));
}

}  // namespace smelt::kernels::lower
