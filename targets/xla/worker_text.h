// targets/xla/worker.py, which the build puts into the binary.
#pragma once

namespace smelt::xla {

const char* WorkerText();

}  // namespace smelt::xla
