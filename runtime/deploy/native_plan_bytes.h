// Plans of native operations as bytes.
#pragma once

#include "runtime/deploy/byte_stream.h"
#include "runtime/native/plan.h"

namespace smelt::runtime::deploy {

void WritePlan(const native::Plan& plan, ByteWriter* writer);
// False where the bytes are no plan.
bool ReadPlan(ByteReader* reader, native::Plan* plan);

}  // namespace smelt::runtime::deploy
