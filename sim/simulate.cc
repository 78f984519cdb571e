#include "sim/simulate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <queue>

#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/str_cat.h"
#include "sim/dma.h"
#include "sim/executor.h"
#include "sim/issue.h"
#include "sim/race_detector.h"
#include "sim/trace.h"
#include "vdla/isa/accesses.h"
#include "vdla/isa/encoding.h"
#include "vdla/isa/token_queues.h"

namespace smelt::sim {
namespace {

using vdla::isa::Instruction;
using vdla::isa::kAllUnits;
using vdla::isa::kInstructionBytes;
using vdla::isa::kTokenQueues;
using vdla::isa::kUnits;
using vdla::isa::Memory;
using vdla::isa::Opcode;
using vdla::isa::TokenQueue;
using vdla::isa::Unit;

// Time is counted in thousandths of a cycle, so that the bus may be given bytes a cycle in thousandths. Units begin and
// end on whole cycles.
using Tick = int64_t;
constexpr Tick kTicks = 1000;
constexpr Tick CycleAfter(Tick at) { return (at + kTicks - 1) / kTicks * kTicks; }
constexpr double Cycles(Tick ticks) { return static_cast<double>(ticks) / static_cast<double>(kTicks); }

constexpr int kFetch = kUnits;         // the owner of requests that is no unit
constexpr int64_t kFetchRequests = 2;  // blocks of instructions that fetch holds or has asked for
constexpr int64_t kEventsBetweenClocks = 4096;

bool IsNest(const Instruction& i) { return i.opcode == Opcode::kGemm || i.opcode == Opcode::kAlu; }
bool IsMove(const Instruction& i) { return i.opcode == Opcode::kLoad || i.opcode == Opcode::kStore; }

class Simulation {
 public:
  Simulation(Machine& machine, absl::Span<const Instruction> instructions, const Options& options)
      : config_(machine.config()),
        instructions_(instructions),
        options_(options),
        functional_(options.timing == Timing::kFunctional),
        executor_(machine),
        tokens_(config_.token_queue_depth) {
    if (options.find_races) races_.emplace(config_, instructions, options.max_races);
    ticks_a_byte_ = static_cast<double>(kTicks) / config_.timing.dram_bytes_per_cycle;
    // Products of sizes and cycles stay far from the end of 64 bits.
    most_ticks_ = std::min(options.max_cycles, std::numeric_limits<int64_t>::max() / (4 * kTicks)) * kTicks;
  }

  Report Run() {
    FetchMore();
    Progress();
    while (!events_.empty() && !ended_) {
      const Event event = events_.top();
      events_.pop();
      if (event.at > most_ticks_) {
        Stop(End::kLimit, StrCat("the limit of ", options_.max_cycles, " cycles was reached", Waiting()));
        break;
      }
      now_ = event.at;
      if (++report_.events % kEventsBetweenClocks == 0 && OutOfTime()) break;
      Handle(event);
      if (!ended_) Progress();
    }
    if (!ended_) Conclude();
    return Finish();
  }

 private:
  enum class Kind : uint8_t {
    kDispatch,  // fetch may put the next instruction into a queue
    kIssue,     // a unit's DMA issues its next request
    kArrive,    // a request reaches the bus
    kDone,      // the answer to a request is there
    kWorked,    // a unit has finished its work
    kWake,      // a token may be popped
  };
  struct Event {
    Tick at;
    int64_t order;  // among those of one time, the order in which they were made
    Kind kind;
    int owner;
    int64_t bytes;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  struct Token {
    Tick visible;
    VectorClock clock;
  };
  enum class Phase : uint8_t { kEmpty, kPop, kWork, kPush };
  struct UnitState {
    std::deque<int64_t> queue;  // numbers of instructions; the one that runs has left it
    Phase phase = Phase::kEmpty;
    int64_t number = -1;
    Tick since = 0;  // of the phase
    // The DMA that runs.
    std::optional<DmaRequests> requests;
    DmaRequest next;
    bool has_next = false, waits_for_room = false, issue_pending = false;
    int64_t outstanding = 0;
    Tick issued = 0;  // the last request, or the end of padding
    Tick moving = 0;  // of its own time: transfers and padding
    // The GEMM or ALU that runs.
    int64_t port_cycles = 0;
    Retired trace;
    Tick busy = 0, token = 0, dma = 0, port = 0, empty = 0;
    int64_t instructions = 0;
  };

  void At(Tick at, Kind kind, int owner, int64_t bytes = 0) { events_.push({at, order_++, kind, owner, bytes}); }
  const Instruction& InstructionOf(const UnitState& unit) const {
    return instructions_[static_cast<size_t>(unit.number)];
  }
  UnitState& StateOf(Unit unit) { return units_[static_cast<size_t>(unit)]; }

  void Stop(End end, std::string message, int64_t instruction = -1) {
    ended_ = true;
    report_.end = end;
    report_.message = std::move(message);
    report_.instruction = instruction;
  }

  bool OutOfTime() {
    if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed)) {
      Stop(End::kLimit, "the simulation was cancelled");
    } else if (options_.max_seconds > 0 && Since(start_) > options_.max_seconds) {
      Stop(End::kLimit,
           StrCat("the limit of ", options_.max_seconds, " seconds was reached after ", now_ / kTicks, " cycles"));
    }
    return ended_;
  }

  // Fetch: blocks of instructions are read ahead; each goes into its unit's queue in the order of the program, and one
  // whose queue is full holds up all that follow.
  void FetchMore() {
    const auto total = static_cast<int64_t>(instructions_.size());
    if (functional_) {
      requested_ = arrived_ = total;
      return;
    }
    const int64_t block = config_.timing.fetch_instructions;
    while (requested_ < total && requested_ - dispatched_ <= (kFetchRequests - 1) * block) {
      const int64_t count = std::min(block, total - requested_);
      requested_ += count;
      At(now_ + config_.timing.dram_latency * kTicks, Kind::kArrive, kFetch, count * kInstructionBytes);
    }
  }

  bool Dispatch() {
    bool moved = false;
    while (dispatched_ < arrived_ && now_ >= dispatch_at_) {
      UnitState& unit = StateOf(UnitOf(instructions_[static_cast<size_t>(dispatched_)]));
      if (static_cast<int64_t>(unit.queue.size()) >= config_.command_queue_depth) {
        if (!fetch_blocked_since_.has_value()) fetch_blocked_since_ = now_;
        return moved;
      }
      if (fetch_blocked_since_.has_value()) fetch_blocked_ += now_ - *fetch_blocked_since_;
      fetch_blocked_since_.reset();
      unit.queue.push_back(dispatched_++);
      moved = true;
      if (!functional_ && config_.timing.fetch_cycles > 0) {
        dispatch_at_ = now_ + config_.timing.fetch_cycles * kTicks;
        if (dispatched_ < static_cast<int64_t>(instructions_.size())) At(dispatch_at_, Kind::kDispatch, kFetch);
      }
      FetchMore();
    }
    return moved;
  }

  // Lets every part go as far as it can at this time.
  void Progress() {
    for (bool moved = true; moved && !ended_;) {
      moved = Dispatch();
      for (const Unit unit : kAllUnits) {
        while (!ended_ && Step(unit)) moved = true;
      }
    }
  }

  void Enter(UnitState& unit, Phase phase) {
    const Tick passed = now_ - unit.since;
    if (unit.phase == Phase::kEmpty) unit.empty += passed;
    if (unit.phase == Phase::kPop || unit.phase == Phase::kPush) unit.token += passed;
    if (unit.phase == Phase::kWork) AccountWork(unit, passed);
    unit.phase = phase;
    unit.since = now_;
  }

  void AccountWork(UnitState& unit, Tick passed) {
    if (IsMove(InstructionOf(unit))) {
      const Tick moving = std::min(passed, unit.moving);
      unit.busy += moving;
      unit.dma += passed - moving;
      return;
    }
    unit.port += std::min(passed, unit.port_cycles * kTicks);
    unit.busy += passed - std::min(passed, unit.port_cycles * kTicks);
  }

  bool Step(Unit name) {
    UnitState& unit = StateOf(name);
    switch (unit.phase) {
      case Phase::kEmpty:
        if (unit.queue.empty()) return false;
        Enter(unit, Phase::kPop);
        unit.number = unit.queue.front();
        unit.queue.pop_front();
        unit.trace = {name, unit.number, now_ / kTicks, 0, 0, 0};
        return true;
      case Phase::kPop:
        if (!PopTokens(name, InstructionOf(unit))) return false;
        Enter(unit, Phase::kWork);
        unit.trace.start = now_ / kTicks;
        Begin(name);
        return !ended_;
      case Phase::kWork:
        return false;  // an event ends it
      case Phase::kPush:
        if (!PushTokens(name, InstructionOf(unit))) return false;
        Enter(unit, Phase::kEmpty);
        unit.trace.retired = now_ / kTicks;
        if (options_.trace != nullptr) options_.trace->retired.push_back(unit.trace);
        ++unit.instructions;
        ++retired_;
        return true;
    }
    return false;
  }

  // All tokens of an instruction are taken at once, when the last of them is there.
  bool PopTokens(Unit name, const Instruction& i) {
    if (tokens_.Empty(name, i, [&](const Token& token) { return token.visible <= now_; }).has_value()) return false;
    tokens_.Pop(name, i, [&](const Token& token) {
      if (races_.has_value()) races_->Join(name, token.clock);
    });
    return true;
  }

  bool PushTokens(Unit name, const Instruction& i) {
    if (tokens_.Full(name, i).has_value()) return false;
    const Tick visible = functional_ ? now_ : now_ + config_.timing.token_cycles * kTicks;
    tokens_.Push(name, i, {visible, races_.has_value() ? races_->Clock(name) : VectorClock{}}, [&](TokenQueue queue) {
      if (visible > now_) At(visible, Kind::kWake, static_cast<int>(PopperOf(queue)));
    });
    return true;
  }

  // The effect of an instruction happens as its work begins: tokens order whoever may see it.
  void Begin(Unit name) {
    UnitState& unit = StateOf(name);
    const Instruction& i = InstructionOf(unit);
    int64_t cycles = 1, stalls = 0;
    if (IsNest(i)) {
      const absl::Span<const vdla::isa::MicroOp> micro_ops = executor_.MicroOps(i);
      if (races_.has_value()) races_->Begin(name, unit.number, AccessesOf(i, micro_ops, config_));
      const auto count = static_cast<int64_t>(MicroOpsOf(i));
      if (!functional_ && count > (most_ticks_ - now_) / kTicks) {
        Stop(End::kLimit,
             StrCat("the limit of ", options_.max_cycles, " cycles was reached within ", Describe(i, unit.number)));
        return;
      }
      if (!functional_) cycles = ComputeCycles(i, micro_ops, config_, &stalls, [&] { return OutOfTime(); });
      if (ended_) return;
      report_.gemm_stalls += stalls;
      if (i.opcode == Opcode::kAlu) report_.alu_micro_ops += count;
      if (i.opcode == Opcode::kGemm && i.mode != vdla::isa::GemmMode::kReset) report_.gemm_micro_ops += count;
    } else if (races_.has_value()) {
      races_->Begin(name, unit.number, AccessesOf(i, {}, config_));
    }
    const absl::Status status = executor_.Execute(i, unit.number, [&] { return OutOfTime(); });
    if (ended_) return;
    if (!status.ok()) {
      Stop(absl::IsOutOfRange(status) ? End::kTrap : End::kLimit, std::string(status.message()), unit.number);
      return;
    }
    unit.port_cycles = 0;
    unit.moving = 0;
    unit.requests.reset();
    if (IsMove(i)) {
      DmaRequests requests(i, config_);
      (i.opcode == Opcode::kLoad ? report_.dram_read_bytes : report_.dram_written_bytes) += requests.total_bytes();
      if (!functional_ && (requests.rows() > 0 || requests.pad_cycles() > 0)) {
        unit.requests = requests;
        unit.moving = requests.pad_cycles() * kTicks;
        unit.issued = now_;
        unit.outstanding = 0;
        NextRequest(name);
        return;
      }
    }
    At(functional_ ? now_ : now_ + cycles * kTicks, Kind::kWorked, static_cast<int>(name));
  }

  // Prepares the next request of a DMA; the end of its work where there is none.
  void NextRequest(Unit name) {
    UnitState& unit = StateOf(name);
    unit.has_next = unit.requests->Next(&unit.next);
    unit.waits_for_room = false;
    if (unit.has_next) {
      At(unit.issued + unit.next.wait * kTicks, Kind::kIssue, static_cast<int>(name));
      return;
    }
    unit.issued += unit.requests->tail() * kTicks;
    if (unit.outstanding == 0) At(CycleAfter(std::max(now_, unit.issued)), Kind::kWorked, static_cast<int>(name));
  }

  void Issue(Unit name) {
    UnitState& unit = StateOf(name);
    if (unit.outstanding >= config_.timing.outstanding_requests) {
      unit.waits_for_room = true;
      return;
    }
    ++unit.outstanding;
    unit.issued = now_;
    const bool read = InstructionOf(unit).opcode == Opcode::kLoad;
    At(read ? now_ + config_.timing.dram_latency * kTicks : now_, Kind::kArrive, static_cast<int>(name),
       unit.next.bytes);
    NextRequest(name);
  }

  // The one bus serves requests in the order in which they arrive. What is written is safe a latency after it went
  // over.
  void Arrive(const Event& event) {
    const Tick begin = std::max(now_, bus_free_);
    const auto length =
        std::max<Tick>(1, std::llround(std::ceil(static_cast<double>(event.bytes) * ticks_a_byte_ - 1e-9)));
    bus_free_ = begin + length;
    bus_busy_ += length;
    if (options_.trace != nullptr) options_.trace->transfers.push_back({begin, bus_free_, event.owner});
    Tick done = bus_free_;
    if (event.owner != kFetch) {
      UnitState& unit = units_[static_cast<size_t>(event.owner)];
      unit.moving += length;
      if (InstructionOf(unit).opcode == Opcode::kStore) done += config_.timing.dram_latency * kTicks;
    }
    At(done, Kind::kDone, event.owner, event.bytes);
  }

  void Done(const Event& event) {
    if (event.owner == kFetch) {
      arrived_ += event.bytes / kInstructionBytes;
      report_.fetched_bytes += event.bytes;
      if (now_ % kTicks != 0) {  // fetch goes on with the next cycle
        dispatch_at_ = std::max(dispatch_at_, CycleAfter(now_));
        At(dispatch_at_, Kind::kDispatch, kFetch);
      }
      return;
    }
    const auto name = static_cast<Unit>(event.owner);
    UnitState& unit = StateOf(name);
    --unit.outstanding;
    if (config_.timing.sram_ports == 1) StealPort(unit, event.bytes);
    if (unit.waits_for_room) {
      unit.waits_for_room = false;
      At(CycleAfter(now_), Kind::kIssue, event.owner);
    } else if (!unit.has_next && unit.outstanding == 0) {
      At(CycleAfter(std::max(now_, unit.issued)), Kind::kWorked, event.owner);
    }
  }

  // Where there is one port, each element that a DMA moves takes a cycle from a computation that uses the same memory.
  void StealPort(const UnitState& mover, int64_t bytes) {
    UnitState& compute = StateOf(Unit::kCompute);
    if (&mover == &compute || compute.phase != Phase::kWork || !IsNest(InstructionOf(compute))) return;
    const Instruction& moves = InstructionOf(mover);
    const Instruction& nest = InstructionOf(compute);
    const bool multiplies = nest.opcode == Opcode::kGemm && nest.mode != vdla::isa::GemmMode::kReset;
    const bool accumulators = moves.memory == Memory::kAcc || moves.memory == Memory::kAcc8;
    if (!accumulators && !multiplies) return;
    const int64_t element = config_.DramElementBytes(moves.memory);
    compute.port_cycles += (bytes + element - 1) / element;
    stolen_ += (bytes + element - 1) / element;
  }

  void Worked(Unit name) {
    UnitState& unit = StateOf(name);
    if (name == Unit::kCompute && stolen_ > 0) {
      const int64_t more = std::exchange(stolen_, 0);
      At(now_ + more * kTicks, Kind::kWorked, static_cast<int>(name));
      return;
    }
    unit.trace.end = now_ / kTicks;
    Enter(unit, Phase::kPush);
  }

  void Handle(const Event& event) {
    switch (event.kind) {
      case Kind::kDispatch:
      case Kind::kWake:
        return;  // Progress does the rest
      case Kind::kIssue:
        return Issue(static_cast<Unit>(event.owner));
      case Kind::kArrive:
        return Arrive(event);
      case Kind::kDone:
        return Done(event);
      case Kind::kWorked:
        return Worked(static_cast<Unit>(event.owner));
    }
  }

  // Nothing will happen any more: all is done, or all wait.
  void Conclude() {
    if (retired_ < static_cast<int64_t>(instructions_.size())) {
      Stop(End::kDeadlock, StrCat("deadlock after ", now_ / kTicks, " cycles", Waiting()));
      return;
    }
    std::vector<std::string> left;
    for (int q = 0; q < kTokenQueues; ++q) {
      if (const size_t count = tokens_.Of(static_cast<TokenQueue>(q)).size(); count > 0)
        left.push_back(StrCat(count, " in ", NameOf(static_cast<TokenQueue>(q))));
    }
    if (!left.empty())
      Stop(End::kLeftoverTokens,
           StrCat("tokens are left at the end: ", absl::StrJoin(left, ", "), "; each push needs a pop"));
  }

  // Who waits for what, since when: `; load waits ...; compute waits ...`.
  std::string Waiting() const {
    std::string text;
    for (const Unit name : kAllUnits) {
      const UnitState& unit = units_[static_cast<size_t>(name)];
      const std::string since = StrCat(" since cycle ", unit.since / kTicks);
      if (unit.phase == Phase::kEmpty) {
        StrAppend(&text, "; ", NameOf(name), " has no instruction");
        continue;
      }
      const Instruction& i = InstructionOf(unit);
      StrAppend(&text, "; ", NameOf(name), unit.phase == Phase::kWork ? " works on " : " waits in ",
                Describe(i, unit.number));
      if (unit.phase == Phase::kPop) {
        if (const std::optional<TokenQueue> queue = tokens_.Empty(name, i))
          StrAppend(&text, since, " for a token of ", NameOf(*queue), ", which is empty");
      } else if (unit.phase == Phase::kPush) {
        if (const std::optional<TokenQueue> queue = tokens_.Full(name, i))
          StrAppend(&text, since, " for room in ", NameOf(*queue), ", which holds ", tokens_.depth(), " tokens");
      }
    }
    if (fetch_blocked_since_.has_value()) {
      const Instruction& i = instructions_[static_cast<size_t>(dispatched_)];
      StrAppend(&text, "; fetch waits with ", Describe(i, dispatched_), " since cycle ", *fetch_blocked_since_ / kTicks,
                " for room in the queue of ", NameOf(UnitOf(i)), ", which holds ", config_.command_queue_depth);
    }
    return text;
  }

  Report Finish() {
    for (UnitState& unit : units_) Enter(unit, Phase::kEmpty);
    if (fetch_blocked_since_.has_value()) fetch_blocked_ += now_ - *fetch_blocked_since_;
    report_.cycles = CycleAfter(now_) / kTicks;
    report_.seconds = config_.SecondsOf(report_.cycles);
    for (size_t u = 0; u < kUnits; ++u) {
      const UnitState& unit = units_[u];
      report_.units[u] = {unit.instructions, Cycles(unit.busy), Cycles(unit.token),
                          Cycles(unit.dma),  Cycles(unit.port), Cycles(unit.empty)};
    }
    report_.bus_busy = Cycles(bus_busy_);
    report_.fetch_blocked = Cycles(fetch_blocked_);
    if (races_.has_value()) {
      report_.race_count = races_->count();
      report_.races = races_->TakeRaces();
    }
    return std::move(report_);
  }

  const vdla::isa::Config& config_;
  const absl::Span<const Instruction> instructions_;
  const Options& options_;
  const bool functional_;
  Executor executor_;
  std::optional<RaceDetector> races_;
  const Clock::time_point start_ = Clock::now();
  double ticks_a_byte_ = 0;
  Tick most_ticks_ = 0;

  Tick now_ = 0;
  int64_t order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::array<UnitState, kUnits> units_;
  vdla::isa::TokenQueues<Token> tokens_;
  int64_t requested_ = 0, arrived_ = 0, dispatched_ = 0, retired_ = 0;
  Tick dispatch_at_ = 0;
  std::optional<Tick> fetch_blocked_since_;
  Tick fetch_blocked_ = 0, bus_free_ = 0, bus_busy_ = 0;
  int64_t stolen_ = 0;  // cycles that a running computation still owes
  bool ended_ = false;
  Report report_;
};

}  // namespace

absl::Status Report::ToStatus() const {
  switch (end) {
    case End::kFinished:
      return races.empty() ? absl::OkStatus() : absl::AbortedError(races[0].message);
    case End::kIllegal:
      return absl::InvalidArgumentError(message);
    case End::kTrap:
      return absl::OutOfRangeError(message);
    case End::kDeadlock:
    case End::kLeftoverTokens:
      return absl::FailedPreconditionError(message);
    case End::kLimit:
      return absl::DeadlineExceededError(message);
  }
  return absl::InternalError(message);
}

Report Simulate(Machine& machine, absl::Span<const Instruction> instructions, const Options& options) {
  if (const absl::Status legal = vdla::isa::CheckInstructions(instructions); !legal.ok()) {
    Report report;
    report.end = End::kIllegal;
    report.message = std::string(legal.message());
    return report;
  }
  return Simulation(machine, instructions, options).Run();
}

}  // namespace smelt::sim
