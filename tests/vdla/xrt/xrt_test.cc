// libvdla_xrt.so against XRT itself. There is no card here: XRT's noop mode runs every call and moves nothing, and each
// piece that is missing has its sentence. XRT reads its environment once and ends processes, so each test asks it in a
// child of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <xrt/xclbin.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/child_process.h"
#include "base/write_file.h"
#include "tests/scratch_folder.h"
#include "tests/vdla/xrt/small_xclbin.h"
#include "vdla/driver/device.h"
#include "vdla/driver/stream.h"

namespace smelt::vdla::xrt {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Xrt : public ::testing::Test {
 protected:
  void SetUp() override {
    // Debian keeps the libraries in a folder of the architecture; XRT looks for them in lib/.
    std::filesystem::create_directory_symlink(XRT_LIBRARIES, folder_.path() / "lib");
    xclbin_ = Written("vdla.xclbin", SmallXclbin({}));
  }

  std::string Written(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_.In(name);
    EXPECT_TRUE(WriteFile(path, bytes).ok());
    return path;
  }
  std::string Port(const std::string& xclbin, const std::string& more = "") const {
    return absl::StrCat("xrt:plugin=", VDLA_XRT, ",xclbin=", xclbin, ",dram=16M", more);
  }

  // What `work` returns in a child with this XILINX_XRT and XCL_EMULATION_MODE (empty: not set); or how it ended.
  static std::string InAChild(const std::string& xilinx_xrt, const std::string& mode,
                              absl::FunctionRef<std::string()> work) {
    Pipe pipe = Pipe::Open().value();
    ChildProcess child = ChildProcess::Fork(int64_t{1} << 32, [&] {
                           const auto set = [](const char* name, const std::string& value) {
                             value.empty() ? ::unsetenv(name) : ::setenv(name, value.c_str(), 1);
                           };
                           set("XILINX_XRT", xilinx_xrt);
                           set("XCL_EMULATION_MODE", mode);
                           ::unsetenv("XILINX_VITIS");
                           const std::string text = work();
                           for (size_t at = 0; at < text.size();) {
                             const ssize_t wrote = ::write(pipe.write(), text.data() + at, text.size() - at);
                             if (wrote <= 0) ::_exit(3);
                             at += static_cast<size_t>(wrote);
                           }
                         }).value();
    pipe.CloseWrite();
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(pipe.read(), buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(n));
    std::optional<int> status;
    for (int i = 0; i < 6000 && !(status = child.Ended()).has_value(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!status) return absl::StrCat("hangs, having said: ", text);
    if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return text;
    return absl::StrCat("ended with wait status ", *status, ", having said: ", text);
  }

  // The status of opening a device, as text.
  std::string Opening(const std::string& xilinx_xrt, const std::string& mode, const std::string& port) const {
    return InAChild(xilinx_xrt, mode, [&] { return driver::Device::Open(port).status().ToString(); });
  }
  std::string OpeningInNoop(const std::string& port) const { return Opening(folder_.path().string(), "noop", port); }

  const ScratchFolder folder_;
  std::string xclbin_;
};

TEST_F(Xrt, EveryMissingPieceHasItsSentence) {
  EXPECT_THAT(Opening("", "", Port(xclbin_)),
              AllOf(StartsWith("NOT_FOUND: port `xrt`: XILINX_XRT is not set"), HasSubstr("setup.sh")));
  EXPECT_THAT(
      Opening("/usr", "", Port(xclbin_)),
      AllOf(StartsWith("NOT_FOUND"), HasSubstr("there is no /usr/lib/libxrt_core.so.2"), HasSubstr("link lib")));
  EXPECT_THAT(Opening(folder_.path().string(), "", Port(xclbin_)),
              AllOf(StartsWith("NOT_FOUND"), HasSubstr("there is no such card"), HasSubstr("xbutil examine"),
                    HasSubstr("Could not open device with index '0'")));
  EXPECT_THAT(Opening(folder_.path().string(), "", Port(xclbin_, ",device=0000:17:00.1")),
              AllOf(Not(HasSubstr("wait status")), HasSubstr("NOT_FOUND")));
  EXPECT_THAT(Opening(folder_.path().string(), "fast", Port(xclbin_)), HasSubstr("which XRT does not know"));
  for (const char* mode : {"sw_emu", "hw_emu"})
    EXPECT_THAT(Opening(folder_.path().string(), mode, Port(xclbin_)),
                HasSubstr("needs Vitis, and XILINX_VITIS is not set"));
}

TEST_F(Xrt, FilesThatAreNoXclbinAreRefusedBeforeXrtSeesThem) {
  EXPECT_THAT(OpeningInNoop(Port(folder_.In("none.xclbin"))), HasSubstr("cannot be read"));
  EXPECT_THAT(OpeningInNoop(Port(folder_.path().string())), HasSubstr("cannot be read"));
  EXPECT_THAT(OpeningInNoop(Port(Written("empty.xclbin", ""))), HasSubstr("is no xclbin"));
  EXPECT_THAT(OpeningInNoop(Port(Written("text.xclbin", std::string(5000, 'x')))), HasSubstr("is no xclbin"));
  const std::string whole = SmallXclbin({});
  EXPECT_THAT(OpeningInNoop(Port(Written("torn.xclbin", whole.substr(0, whole.size() - 100)))),
              AllOf(HasSubstr("is damaged"), HasSubstr("bytes, and has")));
  std::string sections = whole;
  sections[offsetof(axlf, m_header) + offsetof(axlf_header, m_numSections) + 1] = 100;
  EXPECT_THAT(OpeningInNoop(Port(Written("sections.xclbin", sections))), HasSubstr("do not fit into it"));
  std::string outside = whole;
  outside[offsetof(axlf, m_sections) + offsetof(axlf_section_header, m_sectionOffset) + 4] = 1;
  EXPECT_THAT(OpeningInNoop(Port(Written("outside.xclbin", outside))), HasSubstr("lies outside of it"));
}

TEST_F(Xrt, XclbinsOfOtherKernelsAreRefused) {
  EXPECT_THAT(OpeningInNoop(Port(xclbin_, ",kernel=vta")), AllOf(StartsWith("NOT_FOUND"), HasSubstr("kernel=NAME")));
  EXPECT_THAT(OpeningInNoop(Port(Written("fewer.xclbin", SmallXclbin({.arguments = {{"dram", true}}})))),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("does not take (dram, instructions, count, status)")));
  EXPECT_THAT(OpeningInNoop(Port(xclbin_, ",device=banana")),
              AllOf(Not(StartsWith("OK")), Not(HasSubstr("wait status"))));
}

// All calls of a run, in order: open, load, allocate, copy, run, wait. Nothing moves, so that the kernel's status block
// stays empty, and the driver must not take that for a result.
TEST_F(Xrt, NoopModeRunsTheWholePathAndItsResultIsNotBelieved) {
  const std::string said = InAChild(folder_.path().string(), "noop", [&]() -> std::string {
    auto device = driver::Device::Open(Port(xclbin_));
    if (!device.ok()) return device.status().ToString();
    auto buffer = (*device)->Allocate(4096);
    if (!buffer.ok()) return buffer.status().ToString();
    std::vector<uint8_t> bytes(4096, 7), back(4096);
    if (auto status = (*device)->Write(*buffer, 0, bytes); !status.ok()) return status.ToString();
    if (auto status = (*device)->Read(*buffer, 0, absl::MakeSpan(back)); !status.ok()) return status.ToString();
    if (back != bytes) return "the host's side of the buffer has other bytes";
    driver::Stream stream(*device);
    auto recorded = stream.Load(*buffer, {.memory = isa::Memory::kInp, .rows = 1, .columns = 4, .stride = 4});
    if (!recorded.ok()) return recorded.ToString();
    return stream.Synchronize(5).status().ToString();
  });
  EXPECT_THAT(said, AllOf(StartsWith("UNAVAILABLE: submission 0: "), HasSubstr("wrote no status"), HasSubstr("noop")));
}

TEST_F(Xrt, TwoDevicesInOneProcessAreOpenedAndClosed) {
  EXPECT_EQ(OpeningInNoop(Port(xclbin_)), "OK");
  const std::string said = InAChild(folder_.path().string(), "noop", [&]() -> std::string {
    for (int i = 0; i < 3; ++i) {
      auto one = driver::Device::Open(Port(xclbin_)), two = driver::Device::Open(Port(xclbin_));
      if (!one.ok() || !two.ok()) return absl::StrCat(one.status().ToString(), two.status().ToString());
      if (!(*one)->Allocate(100).ok() || !(*two)->Allocate(100).ok()) return "no memory";
    }
    return "fine";
  });
  EXPECT_EQ(said, "fine");
}

}  // namespace
}  // namespace smelt::vdla::xrt
