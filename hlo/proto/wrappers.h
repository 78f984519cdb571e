// Finding the HloModuleProto in a file's bytes, whichever wrapper it comes in.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "hlo/proto/hlo.pb.h"
#include "hlo/proto/writer.h"

namespace smelt::hlo::proto {

// InvalidArgument: no wrapper fits, with what is wrong; for text protos with line and column.
absl::Status UnwrapModule(std::string_view bytes, ProtoForm form, HloModuleProto* module);

}  // namespace smelt::hlo::proto
