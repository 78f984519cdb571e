#include "vdla/xrt/environment.h"

#include <sys/stat.h>
#include <unistd.h>
#include <xrt/xclbin.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

namespace smelt::vdla::xrt {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string TroubleWithEnvironment() {
  const std::string root = Variable("XILINX_XRT");
  if (root.empty())
    return "XILINX_XRT is not set: run XRT's setup.sh, or set it to the folder in which XRT is installed";
  const std::string core = root + "/lib/libxrt_core.so.2";
  if (::access(core.c_str(), R_OK) != 0)
    return "XILINX_XRT is " + root + ", and there is no " + core +
           ": set it to a folder whose lib/ has XRT's libraries (where they are in a folder of the architecture, as on "
           "Debian, make a folder with a link lib to that one)";
  const std::string mode = Variable("XCL_EMULATION_MODE");
  if (mode.empty() || mode == "noop") return "";
  if (mode != "sw_emu" && mode != "hw_emu")
    return "XCL_EMULATION_MODE is " + mode + ", which XRT does not know: unset it to use a card";
  if (Variable("XILINX_VITIS").empty())
    return "XCL_EMULATION_MODE is " + mode +
           ", which needs Vitis, and XILINX_VITIS is not set: unset "
           "XCL_EMULATION_MODE to use a card";
  return "";
}

std::string TroubleWithXclbin(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  struct stat about;
  if (!file || ::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode))
    return "the xclbin " + path + " cannot be read: name a file that is there";
  const auto size = static_cast<uint64_t>(about.st_size);
  constexpr char kMagic[] = "xclbin2";
  axlf header;
  std::memset(&header, 0, sizeof(header));
  file.seekg(0);
  // The last member is the first section's header, which a file without sections has not.
  constexpr uint64_t kHeader = offsetof(axlf, m_sections);
  if (size < kHeader || !file.read(reinterpret_cast<char*>(&header), kHeader) ||
      std::memcmp(header.m_magic, kMagic, sizeof(kMagic)) != 0)
    return path + " is no xclbin: it does not begin with xclbin2";
  if (header.m_header.m_length != size)
    return path + " is damaged: it says that it has " + std::to_string(header.m_header.m_length) + " bytes, and has " +
           std::to_string(size);
  const uint64_t sections = header.m_header.m_numSections;
  if (sections > XCLBIN_MAX_NUM_SECTION || kHeader + sections * sizeof(axlf_section_header) > size)
    return path + " is damaged: its " + std::to_string(sections) + " sections do not fit into it";
  std::vector<axlf_section_header> headers(sections);
  if (sections > 0)
    file.read(reinterpret_cast<char*>(headers.data()),
              static_cast<std::streamsize>(sections * sizeof(axlf_section_header)));
  for (const axlf_section_header& section : headers) {
    if (section.m_sectionSize > size || section.m_sectionOffset > size - section.m_sectionSize)
      return path + " is damaged: a section of kind " + std::to_string(section.m_sectionKind) + " lies outside of it";
  }
  return file ? "" : path + " cannot be read to its end";
}

}  // namespace smelt::vdla::xrt
