// The text of vdla/configs/, which the build compiles in.
#pragma once

namespace smelt::vdla::isa {

const char* PynqConfig();
const char* BigConfig();

}  // namespace smelt::vdla::isa
