// Stands in for libvdla_xrt.so and a card: the functional simulator behind the table of ports/xrt_plugin.h. The name of
// the xclbin says how it behaves:
//
//   works, no_card, no_kernel, no_memory, dma_error, times_out, no_status, other_machine, traps, lost
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "vdla/driver/ports/open_port.h"
#include "vdla/driver/ports/xrt_plugin.h"

using smelt::vdla::driver::OpenPort;
using smelt::vdla::driver::Port;

// Addresses are offsets in memory that was taken in one piece, as on a card.
struct VdlaXrtCard {
  std::string behaviour;
  std::unique_ptr<Port> port;
  uint64_t memory = 0;
  bool busy = false;
};

namespace {

int Fail(int code, std::string_view sentence, char* text) {
  const size_t length = std::min<size_t>(sentence.size(), VDLA_XRT_TEXT - 1);
  std::memcpy(text, sentence.data(), length);
  text[length] = '\0';
  return code;
}

int Open(const char* xclbin, const char* device, const char* kernel, uint64_t dram_bytes, VdlaXrtCard** card,
         char* text) {
  if (std::string_view(xclbin) == "no_card" || std::string_view(device) != "0")
    return Fail(VDLA_XRT_NOT_FOUND, "there is no such card", text);
  if (std::string_view(kernel) != "vdla") return Fail(VDLA_XRT_NOT_FOUND, "there is no such kernel", text);
  if (std::string_view(xclbin) == "no_memory") return Fail(VDLA_XRT_MEMORY, "the card has not so much memory", text);
  auto port = OpenPort("functional");
  if (!port.ok()) return Fail(VDLA_XRT_LOST, port.status().ToString(), text);
  // A simulator's addresses begin at its own 4096: what the driver calls 0 lies there.
  auto memory = (*port)->Allocate(dram_bytes / 2, 4096);
  if (!memory.ok()) return Fail(VDLA_XRT_MEMORY, memory.status().ToString(), text);
  *card = new VdlaXrtCard{.behaviour = xclbin, .port = *std::move(port), .memory = *memory};
  return VDLA_XRT_OK;
}

void Close(VdlaXrtCard* card) { delete card; }

int Write(VdlaXrtCard* card, uint64_t address, const void* bytes, uint64_t size, char* text) {
  if (card->busy) return Fail(VDLA_XRT_LOST, "the card still runs what timed out", text);
  if (card->behaviour == "dma_error") return Fail(VDLA_XRT_TRANSFER, "the DMA engine reports an error", text);
  const auto moved = card->port->Write(address, {static_cast<const uint8_t*>(bytes), size});
  return moved.ok() ? static_cast<int>(VDLA_XRT_OK) : Fail(VDLA_XRT_TRANSFER, moved.status().ToString(), text);
}

int Read(VdlaXrtCard* card, uint64_t address, void* bytes, uint64_t size, char* text) {
  if (card->busy) return Fail(VDLA_XRT_LOST, "the card still runs what timed out", text);
  const auto moved = card->port->Read(address, {static_cast<uint8_t*>(bytes), size});
  return moved.ok() ? static_cast<int>(VDLA_XRT_OK) : Fail(VDLA_XRT_TRANSFER, moved.status().ToString(), text);
}

int Run(VdlaXrtCard* card, uint64_t instructions, uint64_t count, uint32_t timeout_ms, uint32_t* status, char* text) {
  if (card->busy) return Fail(VDLA_XRT_LOST, "the card still runs what timed out", text);
  if (card->behaviour == "lost") return Fail(VDLA_XRT_LOST, "the kernel was aborted", text);
  if (card->behaviour == "times_out") {
    std::this_thread::sleep_for(std::chrono::milliseconds(timeout_ms));
    card->busy = true;
    return Fail(VDLA_XRT_TIMEOUT, "the kernel had not ended in time", text);
  }
  if (card->behaviour == "no_status") return VDLA_XRT_OK;
  const auto result = card->port->Run(instructions, count, timeout_ms / 1000.0);
  if (!result.ok()) return Fail(VDLA_XRT_LOST, result.status().ToString(), text);
  const auto& machine = card->port->machine();
  status[0] = VDLA_XRT_MAGIC;
  status[1] = 1;
  status[2] = static_cast<uint32_t>(machine.batch);
  status[3] = static_cast<uint32_t>(card->behaviour == "other_machine" ? 2 * machine.block_in : machine.block_in);
  status[4] = static_cast<uint32_t>(machine.block_out);
  status[5] = card->behaviour == "traps" ? 2 : 1;
  status[6] = card->behaviour == "traps" ? VDLA_XRT_STOP_ACC : 0;
  status[7] = card->behaviour == "traps" ? 3 : 0;
  status[8] = 1000;  // cycles, which a functional simulator has not: the block's way through the driver is tested
  status[9] = 1;
  return VDLA_XRT_OK;
}

const VdlaXrtPlugin kPlugin = {
    .version = VDLA_XRT_VERSION, .open = Open, .close = Close, .write = Write, .read = Read, .run = Run};

}  // namespace

extern "C" __attribute__((visibility("default"))) const VdlaXrtPlugin* vdla_xrt_plugin() { return &kPlugin; }
