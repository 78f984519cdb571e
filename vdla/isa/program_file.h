// A program in a file: magic, version, checksum, the machine, instructions as they lie in DRAM, segments.
// docs/formats.md has the bytes.
//
//   absl::Status written = WriteProgramFile("add.vdla", program);
//   absl::StatusOr<Program> back = ReadProgramFile("add.vdla");
//
// Any bytes are read without harm: a file that is torn, foreign, of another version or damaged is an error that says
// so.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vdla/isa/program.h"

namespace smelt::vdla::isa {

// InvalidArgument: what CheckProgram refuses.
absl::StatusOr<std::string> SerializeProgram(const Program& program);
// InvalidArgument, with `origin`: the bytes are no program, of another version, torn, damaged, or hold an illegal one.
absl::StatusOr<Program> ParseProgram(std::string_view bytes, std::string_view origin);

// Errors: as above; Unavailable: the file cannot be written. NotFound: it cannot be read. A text that begins with
// `.vdla` is read by the assembler (assembly.h).
absl::Status WriteProgramFile(const std::string& path, const Program& program);
absl::StatusOr<Program> ReadProgramFile(const std::string& path);

}  // namespace smelt::vdla::isa
