#include "vdla/driver/ports/xrt_port.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/driver/ports/dram_allocator.h"
#include "vdla/driver/ports/xrt_plugin.h"

namespace smelt::vdla::driver {
namespace {

constexpr uint64_t kFirstAddress = 4096;  // address 0 is in no buffer
constexpr double kMostMilliseconds = 1 << 30;

constexpr absl::StatusCode kCodes[] = {absl::StatusCode::kOk,         absl::StatusCode::kInvalidArgument,
                                       absl::StatusCode::kNotFound,   absl::StatusCode::kResourceExhausted,
                                       absl::StatusCode::kDataLoss,   absl::StatusCode::kDeadlineExceeded,
                                       absl::StatusCode::kUnavailable};

// What each VdlaXrtStop means.
constexpr std::string_view kStops[] = {
    "",
    "is illegal",
    "names a micro-op outside of its memory",
    "reads outside of the input memory",
    "reads outside of the weight memory",
    "reaches outside of the accumulators",
    "reaches outside of DRAM",
    "is the last one and no FINISH, or a FINISH before the last",
    "waits for a token for ever",
    "ends the program while tokens are left",
};

// The text that a function of the plugin left, as a status.
absl::Status StatusOf(int code, const char* text) {
  if (code == VDLA_XRT_OK) return absl::OkStatus();
  const auto index = static_cast<size_t>(code);
  return absl::Status(index < std::size(kCodes) ? kCodes[index] : absl::StatusCode::kUnavailable,
                      text[0] == '\0' ? "the card's library gave no reason" : text);
}

// The folder of the program or library that this code is in, with `/`; empty where it has none.
std::string OwnFolder() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&OpenXrtPort), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

// The library stays open: XRT starts threads that do not end with it.
absl::StatusOr<const VdlaXrtPlugin*> OpenPlugin(const Options& options) {
  constexpr std::string_view kLibrary = "libvdla_xrt.so";
  std::vector<std::string> files = {StrCat(OwnFolder(), kLibrary), std::string(kLibrary)};
  if (options.Has("plugin")) files = {options.Text("plugin", "")};
  void* library = nullptr;
  std::string reasons;
  for (const std::string& file : files) {
    library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    const char* reason = ::dlerror();
    StrAppend(&reasons, reasons.empty() ? "" : "; ", reason == nullptr ? "no reason given" : reason);
  }
  if (library == nullptr)
    return absl::NotFoundError(StrCat("the library that knows XRT cannot be opened (", reasons,
                                      "): build Smelt where libxrt-dev and uuid-dev are installed, or name the file "
                                      "with plugin=FILE"));
  using Function = const VdlaXrtPlugin* (*)();
  const auto function = reinterpret_cast<Function>(::dlsym(library, VDLA_XRT_SYMBOL));
  if (function == nullptr)
    return absl::NotFoundError(StrCat(files.back(), " is no ", kLibrary, ": it has no function " VDLA_XRT_SYMBOL));
  const VdlaXrtPlugin* plugin = function();
  if (plugin == nullptr || plugin->version != VDLA_XRT_VERSION)
    return absl::FailedPreconditionError(StrCat(files.back(), " is of version ",
                                                plugin == nullptr ? 0 : plugin->version, ", and this driver needs ",
                                                VDLA_XRT_VERSION, ": take both from one build"));
  return plugin;
}

class XrtPort : public Port {
 public:
  XrtPort(const VdlaXrtPlugin& plugin, VdlaXrtCard* card, isa::Config machine)
      : plugin_(plugin),
        card_(card),
        machine_(std::move(machine)),
        allocator_(kFirstAddress, static_cast<uint64_t>(machine_.dram_bytes)) {}
  ~XrtPort() override { plugin_.close(card_); }

  std::string_view name() const override { return "xrt"; }
  const isa::Config& machine() const override { return machine_; }

  absl::StatusOr<uint64_t> Allocate(uint64_t bytes, uint64_t alignment) override {
    return allocator_.Allocate(bytes, alignment);
  }
  absl::Status Free(uint64_t address) override { return allocator_.Free(address); }

  absl::StatusOr<uint64_t> Write(uint64_t address, absl::Span<const uint8_t> bytes) override {
    if (bytes.empty()) return uint64_t{0};
    SMELT_RETURN_IF_ERROR(Check(address, bytes.size()));
    char text[VDLA_XRT_TEXT] = "";
    SMELT_RETURN_IF_ERROR(StatusOf(plugin_.write(card_, address, bytes.data(), bytes.size(), text), text));
    return bytes.size();
  }
  absl::StatusOr<uint64_t> Read(uint64_t address, absl::Span<uint8_t> bytes) override {
    if (bytes.empty()) return uint64_t{0};
    SMELT_RETURN_IF_ERROR(Check(address, bytes.size()));
    char text[VDLA_XRT_TEXT] = "";
    SMELT_RETURN_IF_ERROR(StatusOf(plugin_.read(card_, address, bytes.data(), bytes.size(), text), text));
    return bytes.size();
  }

  absl::StatusOr<RunResult> Run(uint64_t address, uint64_t count, double timeout_seconds) override {
    const bool too_many = count > static_cast<uint64_t>(machine_.dram_bytes) / isa::kInstructionBytes;
    if (too_many || address % isa::kInstructionBytes != 0)
      return absl::InvalidArgumentError(StrCat(count, " instructions at DRAM address ", address,
                                               ": more than fit, or no multiple of ", isa::kInstructionBytes));
    SMELT_RETURN_IF_ERROR(Check(address, count * isa::kInstructionBytes));
    // XRT takes 0 for no limit.
    const double milliseconds = std::clamp(std::ceil(timeout_seconds * 1000), 1.0, kMostMilliseconds);
    std::array<uint32_t, VDLA_XRT_STATUS_WORDS> status = {};
    char text[VDLA_XRT_TEXT] = "";
    SMELT_RETURN_IF_ERROR(
        StatusOf(plugin_.run(card_, address, count, static_cast<uint32_t>(milliseconds), status.data(), text), text));
    return ReadStatusBlock(status, machine_);
  }

 private:
  absl::Status Check(uint64_t address, uint64_t bytes) const {
    if (allocator_.Holds(address, bytes)) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat(bytes, " bytes at DRAM address ", address, " lie in no buffer"));
  }

  const VdlaXrtPlugin& plugin_;
  VdlaXrtCard* const card_;
  const isa::Config machine_;
  DramAllocator allocator_;
};

}  // namespace

absl::StatusOr<RunResult> ReadStatusBlock(absl::Span<const uint32_t> words, const isa::Config& machine) {
  if (words.size() < VDLA_XRT_STATUS_WORDS || words[0] != VDLA_XRT_MAGIC)
    return absl::UnavailableError(
        "the kernel returned and wrote no status, so nothing is known of its results: the "
        "xclbin holds another kernel, or XRT only pretends (XCL_EMULATION_MODE=noop)");
  if (words[1] != isa::kVersion || words[2] != machine.batch || words[3] != machine.block_in ||
      words[4] != machine.block_out)
    return absl::FailedPreconditionError(
        StrCat("the card's core is a ", words[2], "x", words[3], "x", words[4], " one of instruction set ", words[1],
               ", and the device was opened as `", machine.name, "`, a ", machine.batch, "x", machine.block_in, "x",
               machine.block_out, " one of ", isa::kVersion, ": open it with the machine= of the core"));
  if (words[5] != 1) {
    const std::string_view why = words[6] > 0 && words[6] < std::size(kStops) ? kStops[words[6]] : "stopped the core";
    return absl::AbortedError(StrCat("instruction ", words[7], " ", why, " (code ", words[6],
                                     "): run the program on the cycle port, which says more"));
  }
  const uint64_t cycles = words[8] | uint64_t{words[9]} << 32;
  return RunResult{.timed = cycles > 0, .cycles = cycles};
}

absl::StatusOr<std::unique_ptr<Port>> OpenXrtPort(std::string_view name, const Options& options) {
  SMELT_RETURN_IF_ERROR(options.CheckKnown(name, {"xclbin", "device", "kernel", "machine", "dram", "plugin"}));
  const std::string xclbin = options.Text("xclbin", "");
  if (xclbin.empty())
    return absl::InvalidArgumentError(
        "no xclbin is named: write xrt:xclbin=FILE, the file that a card is programmed with");
  SMELT_ASSIGN_OR_RETURN(isa::Config machine, options.Machine());
  SMELT_ASSIGN_OR_RETURN(const VdlaXrtPlugin* plugin, OpenPlugin(options));
  char text[VDLA_XRT_TEXT] = "";
  VdlaXrtCard* card = nullptr;
  SMELT_RETURN_IF_ERROR(
      StatusOf(plugin->open(xclbin.c_str(), options.Text("device", "0").c_str(), options.Text("kernel", "vdla").c_str(),
                            static_cast<uint64_t>(machine.dram_bytes), &card, text),
               text));
  return std::unique_ptr<Port>(new XrtPort(*plugin, card, std::move(machine)));
}

}  // namespace smelt::vdla::driver
