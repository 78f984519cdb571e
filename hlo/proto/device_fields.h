// Shardings and groups of devices as protos. On the side of the module both are text.
#pragma once

#include <string>
#include <string_view>

#include "hlo/proto/hlo.pb.h"
#include "hlo/scanner/scanner.h"

namespace smelt::hlo::proto {

// {devices=[2,2]<=[4] last_tile_dim_replicate}, {mesh['x'=2], [{'x'}]}, {{replicated}, {manual}}. False where the
// fields cannot say what the text says.
bool WriteSharding(text::Scanner& scanner, OpSharding* to);
void AppendSharding(std::string* out, const OpSharding& from, int depth = 0);

// {{0,1},{2,3}}, [2,4]<=[4,2]T(1,0), mesh['a'=2,'b'=4] {'a'}; empty is all devices.
bool WriteReplicaGroups(std::string_view groups, HloInstructionProto* to);
std::string ReplicaGroupsText(const HloInstructionProto& from);

}  // namespace smelt::hlo::proto
