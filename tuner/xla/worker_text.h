// tuner/xla/worker.py, which the build puts into the binary.
#pragma once

namespace smelt::tuner::xla {

const char* WorkerText();

}  // namespace smelt::tuner::xla
