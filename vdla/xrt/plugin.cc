// The table of ports/xrt_plugin.h over XRT's native C++ API: no exception leaves it.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "vdla/driver/ports/xrt_plugin.h"
#include "vdla/xrt/environment.h"
#include "vdla/xrt/sentences.h"

namespace smelt::vdla::xrt {
namespace {

constexpr int kDramArgument = 0, kInstructionsArgument = 1, kCountArgument = 2, kStatusArgument = 3;
constexpr size_t kStatusBytes = VDLA_XRT_STATUS_WORDS * sizeof(uint32_t);
// A buffer's size: XRT takes the host's side from aligned_alloc with pages for alignment, whose sizes are whole pages.
constexpr size_t kPageBytes = 4096;
static_assert(kStatusBytes <= kPageBytes);

int Fail(int code, std::string_view sentence, char* text) {
  const size_t length = std::min<size_t>(sentence.size(), VDLA_XRT_TEXT - 1);
  std::memcpy(text, sentence.data(), length);
  text[length] = '\0';
  return code;
}

// Runs `work`, which returns a code, and explains what it throws.
template <typename Work>
int Guarded(std::string_view doing, int otherwise, char* text, Work&& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    try {
      const Failure failure = Explain(doing, error.what(), otherwise);
      return Fail(failure.code, failure.text, text);
    } catch (const std::exception&) {
      return Fail(VDLA_XRT_MEMORY, "this process has no memory left", text);
    }
  } catch (...) {
    return Fail(otherwise, "XRT threw something that has no text", text);
  }
}

// How a command ended, by ert_cmd_state.
struct Ending {
  ert_cmd_state state;
  std::string_view text;
};
constexpr Ending kEndings[] = {
    {ERT_CMD_STATE_ERROR,
     "the kernel ended with an error: look at `dmesg` and `xbutil examine`, and open the device again"},
    {ERT_CMD_STATE_ABORT, "the kernel was aborted: another process reset the card; open the device again"},
    {ERT_CMD_STATE_NORESPONSE, "the card does not answer: reset it with `xbutil reset`, and open the device again"},
    {ERT_CMD_STATE_SKERROR, "a kernel on the card's own processor failed: take an xclbin of this driver's core"},
    {ERT_CMD_STATE_SKCRASHED, "a kernel on the card's own processor crashed: take an xclbin of this driver's core"},
};
std::string_view TextOf(ert_cmd_state state) {
  for (const Ending& ending : kEndings) {
    if (ending.state == state) return ending.text;
  }
  return "the kernel ended in a state that is not known: reset the card with `xbutil reset`, and open the device again";
}

}  // namespace
}  // namespace smelt::vdla::xrt

// Members are destroyed in reverse: buffers before the device that they are on.
struct VdlaXrtCard {
  xrt::device device;
  xrt::kernel kernel;
  xrt::bo dram;
  xrt::bo status;
  std::optional<xrt::run> unfinished;  // that timed out
};

namespace smelt::vdla::xrt {
namespace {

int Open(const char* xclbin, const char* device, const char* kernel, uint64_t dram_bytes, VdlaXrtCard** card,
         char* text) {
  *card = nullptr;
  return Guarded("opening the card", VDLA_XRT_NOT_FOUND, text, [&] {
    if (const std::string trouble = TroubleWithEnvironment(); !trouble.empty())
      return Fail(VDLA_XRT_NOT_FOUND, trouble, text);
    if (const std::string trouble = TroubleWithXclbin(xclbin); !trouble.empty())
      return Fail(VDLA_XRT_NOT_FOUND, trouble, text);
    auto opened = std::make_unique<VdlaXrtCard>();
    opened->device = ::xrt::device(std::string(device));
    // Loading on a device that is not there is no error in XRT: it crashes.
    if (!opened->device) return Fail(VDLA_XRT_NOT_FOUND, "XRT gave a device that is none: open it again", text);
    const ::xrt::uuid uuid = opened->device.load_xclbin(std::string(xclbin));
    opened->kernel = ::xrt::kernel(opened->device, uuid, kernel);
    return Guarded("taking the card's memory", VDLA_XRT_MEMORY, text, [&] {
      opened->dram = ::xrt::bo(opened->device, dram_bytes, opened->kernel.group_id(kDramArgument));
      opened->status = ::xrt::bo(opened->device, kPageBytes, opened->kernel.group_id(kStatusArgument));
      *card = opened.release();
      return static_cast<int>(VDLA_XRT_OK);
    });
  });
}

// Whether what timed out has ended since; if not, the card must be left alone.
int CheckIdle(VdlaXrtCard& card, char* text) {
  if (!card.unfinished) return VDLA_XRT_OK;
  const ert_cmd_state state = card.unfinished->state();
  if (state == ERT_CMD_STATE_NEW || state == ERT_CMD_STATE_QUEUED || state == ERT_CMD_STATE_SUBMITTED ||
      state == ERT_CMD_STATE_RUNNING)
    return Fail(VDLA_XRT_LOST,
                "the card still runs what timed out: wait, or close the device, reset the card with `xbutil reset` and "
                "open it again",
                text);
  card.unfinished.reset();
  return VDLA_XRT_OK;
}

void Close(VdlaXrtCard* card) {
  char text[VDLA_XRT_TEXT];
  Guarded("closing the card", VDLA_XRT_LOST, text, [&] {
    // A run that has not ended would be waited for, perhaps for ever: then all is left to the process's end.
    if (card != nullptr && CheckIdle(*card, text) == VDLA_XRT_OK) delete card;
    return static_cast<int>(VDLA_XRT_OK);
  });
}

int Write(VdlaXrtCard* card, uint64_t address, const void* bytes, uint64_t size, char* text) {
  return Guarded("copying to the card", VDLA_XRT_TRANSFER, text, [&] {
    if (const int busy = CheckIdle(*card, text); busy != VDLA_XRT_OK) return busy;
    card->dram.write(bytes, size, address);
    card->dram.sync(XCL_BO_SYNC_BO_TO_DEVICE, size, address);
    return static_cast<int>(VDLA_XRT_OK);
  });
}

int Read(VdlaXrtCard* card, uint64_t address, void* bytes, uint64_t size, char* text) {
  return Guarded("copying from the card", VDLA_XRT_TRANSFER, text, [&] {
    if (const int busy = CheckIdle(*card, text); busy != VDLA_XRT_OK) return busy;
    card->dram.sync(XCL_BO_SYNC_BO_FROM_DEVICE, size, address);
    card->dram.read(bytes, size, address);
    return static_cast<int>(VDLA_XRT_OK);
  });
}

int Run(VdlaXrtCard* card, uint64_t instructions, uint64_t count, uint32_t timeout_ms, uint32_t* status, char* text) {
  return Guarded("running on the card", VDLA_XRT_LOST, text, [&] {
    if (const int busy = CheckIdle(*card, text); busy != VDLA_XRT_OK) return busy;
    const std::array<uint32_t, VDLA_XRT_STATUS_WORDS> zeros = {};
    card->status.write(zeros.data(), kStatusBytes, 0);
    card->status.sync(XCL_BO_SYNC_BO_TO_DEVICE, kStatusBytes, 0);
    ::xrt::run run(card->kernel);
    run.set_arg(kDramArgument, card->dram);
    run.set_arg(kInstructionsArgument, instructions);
    run.set_arg(kCountArgument, count);
    run.set_arg(kStatusArgument, card->status);
    run.start();
    // XRT takes 0 for no limit.
    const ert_cmd_state state = run.wait(std::chrono::milliseconds(std::max<uint32_t>(timeout_ms, 1)));
    if (state == ERT_CMD_STATE_COMPLETED) {
      card->status.sync(XCL_BO_SYNC_BO_FROM_DEVICE, kStatusBytes, 0);
      card->status.read(status, kStatusBytes, 0);
      return static_cast<int>(VDLA_XRT_OK);
    }
    if (state == ERT_CMD_STATE_TIMEOUT || state == ERT_CMD_STATE_RUNNING || state == ERT_CMD_STATE_SUBMITTED ||
        state == ERT_CMD_STATE_QUEUED || state == ERT_CMD_STATE_NEW) {
      // To abort it would mean to wait for it as well.
      card->unfinished = std::move(run);
      return Fail(VDLA_XRT_TIMEOUT,
                  "the kernel had not ended after " + std::to_string(timeout_ms) +
                      " ms: wait longer; until it ends the card does nothing else",
                  text);
    }
    return Fail(VDLA_XRT_LOST, TextOf(state), text);
  });
}

constexpr VdlaXrtPlugin kPlugin = {
    .version = VDLA_XRT_VERSION, .open = Open, .close = Close, .write = Write, .read = Read, .run = Run};

}  // namespace
}  // namespace smelt::vdla::xrt

extern "C" __attribute__((visibility("default"))) const VdlaXrtPlugin* vdla_xrt_plugin() {
  return &smelt::vdla::xrt::kPlugin;
}
