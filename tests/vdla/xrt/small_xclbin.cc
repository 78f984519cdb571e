#include "tests/vdla/xrt/small_xclbin.h"

#include <xrt/xclbin.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace smelt::vdla::xrt {
namespace {

template <typename Value>
std::string BytesOf(const Value& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <size_t kSize>
void SetText(unsigned char (&field)[kSize], const std::string& text) {
  std::memset(field, 0, kSize);
  std::memcpy(field, text.data(), std::min(text.size(), kSize - 1));
}

// What a compiler of kernels writes about them: arguments, where each stands among the registers.
std::string Metadata(const XclbinContents& contents) {
  std::string xml = absl::StrCat(
      R"(<?xml version="1.0" encoding="UTF-8"?><project name="vdla"><platform vendor="none" boardid="none" name="none">)",
      R"(<device name="fpga0"><core name="OCL_REGION_0" target="bitstream" type="clc_region" clockFreq="0MHz">)",
      R"(<kernel name=")", contents.kernel,
      R"(" language="c" hwControlProtocol="ap_ctrl_hs" interrupt="false" attributes="">)",
      R"(<port name="M_AXI_GMEM" mode="master" range="0xFFFFFFFF" dataWidth="64" portType="addressable" base="0x0"/>)",
      R"(<port name="S_AXI_CONTROL" mode="slave" range="0x1000" dataWidth="32" portType="addressable" base="0x0"/>)");
  uint32_t offset = 0x10;
  for (size_t i = 0; i < contents.arguments.size(); ++i) {
    const KernelArgument& argument = contents.arguments[i];
    absl::StrAppendFormat(&xml,
                          R"(<arg name="%s" addressQualifier="%d" id="%d" port="%s" size="0x8" offset="0x%x" )"
                          R"(hostOffset="0x0" hostSize="0x8" type="%s"/>)",
                          argument.name, argument.memory ? 1 : 0, i, argument.memory ? "M_AXI_GMEM" : "S_AXI_CONTROL",
                          offset, argument.memory ? "void*" : "ulong");
    offset += 0xc;
  }
  absl::StrAppend(&xml, R"(<instance name=")", contents.kernel, R"(_1"><addrRemap base="0x10000" range="0x1000" )",
                  R"(port="S_AXI_CONTROL"/></instance></kernel></core></device></platform></project>)");
  return xml;
}

std::string Memories(const XclbinContents& contents) {
  mem_topology memories;
  std::memset(&memories, 0, sizeof(memories));
  memories.m_count = 1;
  memories.m_mem_data[0].m_type = MEM_DDR4;
  memories.m_mem_data[0].m_used = 1;
  memories.m_mem_data[0].m_size = contents.bank_bytes >> 10;
  SetText(memories.m_mem_data[0].m_tag, "bank0");
  return BytesOf(memories);
}

std::string Kernels(const XclbinContents& contents) {
  ip_layout kernels;
  std::memset(&kernels, 0, sizeof(kernels));
  kernels.m_count = 1;
  kernels.m_ip_data[0].m_type = IP_KERNEL;
  kernels.m_ip_data[0].m_base_address = 0x10000;
  SetText(kernels.m_ip_data[0].m_name, absl::StrCat(contents.kernel, ":", contents.kernel, "_1"));
  return BytesOf(kernels);
}

std::string Connections(const XclbinContents& contents) {
  std::string list;
  int32_t count = 0;
  for (size_t i = 0; i < contents.arguments.size(); ++i) {
    if (!contents.arguments[i].memory) continue;
    list += BytesOf(connection{.arg_index = static_cast<int32_t>(i), .m_ip_layout_index = 0, .mem_data_index = 0});
    ++count;
  }
  return BytesOf(count) + list;
}

}  // namespace

std::string SmallXclbin(const XclbinContents& contents) {
  const std::pair<axlf_section_kind, std::string> sections[] = {{EMBEDDED_METADATA, Metadata(contents)},
                                                                {MEM_TOPOLOGY, Memories(contents)},
                                                                {IP_LAYOUT, Kernels(contents)},
                                                                {CONNECTIVITY, Connections(contents)}};
  axlf header;
  std::memset(&header, 0, sizeof(header));
  std::memcpy(header.m_magic, "xclbin2", 8);
  header.m_signature_length = -1;
  header.m_header.m_versionMajor = 2;
  header.m_header.m_numSections = static_cast<uint32_t>(std::size(sections));
  for (int i = 0; i < 16; ++i) header.m_header.uuid[i] = static_cast<unsigned char>(i + 1);
  SetText(header.m_header.m_platformVBNV, "none:none:none:1.0");

  std::string headers, bodies;
  const size_t first = offsetof(axlf, m_sections) + std::size(sections) * sizeof(axlf_section_header);
  for (const auto& [kind, bytes] : sections) {
    // Sections begin at multiples of eight.
    while ((first + bodies.size()) % 8 != 0) bodies += '\0';
    axlf_section_header section;
    std::memset(&section, 0, sizeof(section));
    section.m_sectionKind = kind;
    section.m_sectionOffset = first + bodies.size();
    section.m_sectionSize = bytes.size();
    headers += BytesOf(section);
    bodies += bytes;
  }
  header.m_header.m_length = first + bodies.size();
  return BytesOf(header).substr(0, offsetof(axlf, m_sections)) + headers + bodies;
}

}  // namespace smelt::vdla::xrt
