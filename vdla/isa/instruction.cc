#include "vdla/isa/instruction.h"

#include <iterator>

namespace smelt::vdla::isa {
namespace {

constexpr std::string_view kOpcodeNames[] = {"LOAD", "STORE", "GEMM", "FINISH", "ALU"};
constexpr std::string_view kMemoryNames[] = {"UOP", "WGT", "INP", "ACC", "ACC8"};
constexpr std::string_view kGemmModeNames[] = {"accumulate", "reset", "overwrite"};
constexpr std::string_view kAluOpNames[] = {"MIN",  "MAX", "ADD",  "SUB",      "MUL", "SHR",
                                            "RSHR", "SHL", "CLIP", "MULSHIFT", "MOV"};
constexpr std::string_view kUnitNames[] = {"load", "compute", "store"};
constexpr std::string_view kQueueNames[] = {"load->compute", "compute->load", "compute->store", "store->compute"};
static_assert(std::size(kOpcodeNames) == kOpcodes && std::size(kMemoryNames) == kMemories &&
              std::size(kGemmModeNames) == kGemmModes && std::size(kAluOpNames) == kAluOps &&
              std::size(kUnitNames) == kUnits && std::size(kQueueNames) == kTokenQueues);

template <typename Value, size_t kCount>
std::string_view NameIn(const std::string_view (&names)[kCount], Value value) {
  const auto index = static_cast<size_t>(value);
  return index < kCount ? names[index] : "?";
}

// Who pushes and who pops each queue, in the order of TokenQueue.
struct Ends {
  Unit pusher, popper;
};
constexpr Ends kEnds[kTokenQueues] = {{Unit::kLoad, Unit::kCompute},
                                      {Unit::kCompute, Unit::kLoad},
                                      {Unit::kCompute, Unit::kStore},
                                      {Unit::kStore, Unit::kCompute}};

bool QueueBetween(int from, int to, TokenQueue* queue) {
  for (int q = 0; q < kTokenQueues; ++q) {
    if (static_cast<int>(kEnds[q].pusher) != from || static_cast<int>(kEnds[q].popper) != to) continue;
    *queue = static_cast<TokenQueue>(q);
    return true;
  }
  return false;
}

}  // namespace

Unit UnitOf(const Instruction& instruction) {
  if (instruction.opcode == Opcode::kStore) return Unit::kStore;
  const bool beside = instruction.memory == Memory::kInp || instruction.memory == Memory::kWgt;
  return instruction.opcode == Opcode::kLoad && beside ? Unit::kLoad : Unit::kCompute;
}

bool QueueOfPop(Unit unit, bool next, TokenQueue* queue) {
  const int self = static_cast<int>(unit);
  return QueueBetween(next ? self + 1 : self - 1, self, queue);
}

bool QueueOfPush(Unit unit, bool next, TokenQueue* queue) {
  const int self = static_cast<int>(unit);
  return QueueBetween(self, next ? self + 1 : self - 1, queue);
}

Unit PusherOf(TokenQueue queue) { return kEnds[static_cast<int>(queue)].pusher; }
Unit PopperOf(TokenQueue queue) { return kEnds[static_cast<int>(queue)].popper; }

std::string_view NameOf(Opcode opcode) { return NameIn(kOpcodeNames, opcode); }
std::string_view NameOf(Memory memory) { return NameIn(kMemoryNames, memory); }
std::string_view NameOf(GemmMode mode) { return NameIn(kGemmModeNames, mode); }
std::string_view NameOf(AluOp op) { return NameIn(kAluOpNames, op); }
std::string_view NameOf(Unit unit) { return NameIn(kUnitNames, unit); }
std::string_view NameOf(TokenQueue queue) { return NameIn(kQueueNames, queue); }

}  // namespace smelt::vdla::isa
