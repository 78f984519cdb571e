// What XRT needs around it, looked at before XRT is asked: where a piece is missing it throws a text that names the
// wrong thing, ends the process or crashes.
//
//   std::string trouble = TroubleWithEnvironment();
//   if (trouble.empty()) trouble = TroubleWithXclbin("vdla.xclbin");
//
// A trouble is one sentence for the user that says what to do; empty where there is none.
#pragma once

#include <string>

namespace smelt::vdla::xrt {

// XILINX_XRT must name a folder with lib/libxrt_core.so.2. XCL_EMULATION_MODE must be unset, or noop; sw_emu and hw_emu
// need XILINX_VITIS, without which XRT ends the process.
std::string TroubleWithEnvironment();

// The file must be an xclbin whose parts lie inside of it.
std::string TroubleWithXclbin(const std::string& path);

}  // namespace smelt::vdla::xrt
