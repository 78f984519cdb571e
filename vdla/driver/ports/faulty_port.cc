#include "vdla/driver/ports/faulty_port.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "base/str_cat.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::driver {
namespace {

enum class Call : uint8_t { kRun, kWrite, kRead, kAllocate };

struct Fault {
  std::string_view name;
  bool run, write, read, allocate;  // the calls that it concerns
  bool from_then_on;                // not the N-th one alone
};
constexpr Fault kFaults[] = {
    {"timeout", true, false, false, false, false}, {"trap", true, false, false, false, false},
    {"vanish", true, false, false, false, true},   {"wrong_geometry", true, false, false, false, true},
    {"write", false, true, false, false, false},   {"read", false, false, true, false, false},
    {"partial", false, true, true, false, true},   {"stuck", false, true, true, false, true},
    {"memory", false, false, false, true, false},  {"none", false, false, false, false, false},
};

class FaultyPort : public Port {
 public:
  FaultyPort(std::unique_ptr<Port> over, const Fault& fault, uint64_t at)
      : over_(std::move(over)), fault_(fault), at_(at) {}

  std::string_view name() const override { return "faulty"; }
  const isa::Config& machine() const override { return over_->machine(); }

  absl::StatusOr<uint64_t> Allocate(uint64_t bytes, uint64_t alignment) override {
    if (gone_) return Gone();
    if (Fails(Call::kAllocate)) return absl::ResourceExhaustedError("the card refused the memory (injected)");
    return over_->Allocate(bytes, alignment);
  }
  absl::Status Free(uint64_t address) override { return gone_ ? Gone() : over_->Free(address); }

  absl::StatusOr<uint64_t> Write(uint64_t address, absl::Span<const uint8_t> bytes) override {
    if (gone_) return Gone();
    if (!Fails(Call::kWrite)) return over_->Write(address, bytes);
    if (fault_.name == "stuck") return uint64_t{0};
    if (fault_.name == "partial") return over_->Write(address, bytes.first((bytes.size() + 1) / 2));
    return DmaError(address);
  }
  absl::StatusOr<uint64_t> Read(uint64_t address, absl::Span<uint8_t> bytes) override {
    if (gone_) return Gone();
    if (!Fails(Call::kRead)) return over_->Read(address, bytes);
    if (fault_.name == "stuck") return uint64_t{0};
    if (fault_.name == "partial") return over_->Read(address, bytes.first((bytes.size() + 1) / 2));
    return DmaError(address);
  }

  absl::StatusOr<RunResult> Run(uint64_t address, uint64_t count, double timeout_seconds) override {
    if (gone_) return Gone();
    if (!Fails(Call::kRun)) return over_->Run(address, count, timeout_seconds);
    if (fault_.name == "timeout") {
      std::this_thread::sleep_for(std::chrono::duration<double>(timeout_seconds));
      return absl::DeadlineExceededError(StrCat("FINISH, instruction ", count - 1, ", had not run after ",
                                                timeout_seconds, " seconds (injected): wait longer"));
    }
    if (fault_.name == "trap")
      return absl::AbortedError(StrCat("instruction ", count / 2, " reads outside of a memory (injected)"));
    if (fault_.name == "wrong_geometry")
      return absl::FailedPreconditionError(StrCat("the card's core is not a ", over_->machine().batch, "x",
                                                  over_->machine().block_in, "x", over_->machine().block_out,
                                                  " one (injected): open the device with the card's own machine"));
    gone_ = true;
    return Gone();
  }

 private:
  static absl::Status Gone() {
    return absl::UnavailableError("the card is gone (injected): close the device and open it again");
  }
  static absl::Status DmaError(uint64_t address) {
    return absl::DataLossError(StrCat("DMA error at DRAM address ", address, " (injected): copy again"));
  }

  bool Fails(Call call) {
    const bool concerned[] = {fault_.run, fault_.write, fault_.read, fault_.allocate};
    if (!concerned[static_cast<int>(call)]) return false;
    ++calls_;
    return fault_.from_then_on ? calls_ >= at_ : calls_ == at_;
  }

  const std::unique_ptr<Port> over_;
  const Fault& fault_;
  const uint64_t at_;
  uint64_t calls_ = 0;  // that the fault concerns
  bool gone_ = false;
};

}  // namespace

std::vector<std::string_view> FaultNames() {
  std::vector<std::string_view> names;
  for (const Fault& fault : kFaults) names.push_back(fault.name);
  return names;
}

absl::StatusOr<std::unique_ptr<Port>> MakeFaultyPort(std::unique_ptr<Port> over, std::string_view fault, uint64_t at) {
  for (const Fault& known : kFaults) {
    if (known.name == fault) return std::unique_ptr<Port>(new FaultyPort(std::move(over), known, at));
  }
  std::string list;
  for (const Fault& known : kFaults) StrAppend(&list, list.empty() ? "" : ", ", known.name);
  return absl::InvalidArgumentError(StrCat("there is no fault `", fault, "`; there are ", list));
}

}  // namespace smelt::vdla::driver
