// The header of a module as fields of HloModuleProto.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hlo/module.h"
#include "hlo/proto/hlo.pb.h"

namespace smelt::hlo::proto {

// Fills the fields from the header's attributes and the tables; the schedule apart. Values that do not fit theirs leave
// them empty.
void WriteHeader(const Module& module, HloModuleProto* to);

// The header's attributes as the printer gives them: the layout of an entry that a pass has changed follows it.
std::vector<RawAttribute> PrintedHeader(const Module& module);

// The attributes and tables that the fields give, as XLA prints them.
absl::Status ReadHeader(const HloModuleProto& from, std::vector<RawAttribute>* attributes, std::string* tables);

// Parameters and result of a computation.
void WriteProgramShape(const Computation& computation, ProgramShapeProto* to);

// execution_thread, the one attribute of a computation.
void WriteThread(const RawAttribute& attribute, HloComputationProto* to);
void ReadThread(const HloComputationProto& from, std::vector<RawAttribute>* attributes);

// Whether a name and a value can be printed and read again as an attribute of a module or a computation.
bool IsHeaderText(const std::string& name, const std::string& value);
// The same for the tables behind the header.
bool AreTables(const std::string& tables);

}  // namespace smelt::hlo::proto
