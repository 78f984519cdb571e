// Kinds of memory, as rows of a table that a target owns. What a pass must know of a kind of memory it asks the row, so
// that none asks which target it lowers for.
//
//   Scope bank{.name = "bank", .rank = ScopeRank::kCall, .capacity_bytes = 32 << 10, .granularity_bytes = 16,
//              .allocator = Allocator::kTarget};
//   ScopeTable memories;            // that of a machine whose threads share one memory
//   memories.others.push_back(bank);
//   memories.Find("bank");          // the row; traces name it so
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::kernels::te {

// How long a buffer lasts and who sees it, from the outside in.
enum class ScopeRank : uint8_t {
  kCall,    // a whole call, all workers: the only rank that stages outside of all loops may have
  kBlock,   // one iteration of a parallel loop, or one block of threads
  kThread,  // one thread
};

// Who finds a place for a buffer.
enum class Allocator : uint8_t {
  kCaller,     // arguments: their place is passed
  kRuntime,    // before the kernel runs, for the whole call
  kWorker,     // a slice of the worker's scratch; code generation lays it out, buffers of disjoint lives share
  kRegisters,  // none: with indices that are constant after unrolling it becomes registers
  kTarget,     // the target's own lowering, within the capacity
};

struct Scope {
  std::string_view name;  // a literal; traces and printed loops say it
  ScopeRank rank = ScopeRank::kCall;
  int64_t capacity_bytes = INT64_MAX;  // the most that one buffer may take
  int alignment = 64;                  // bytes
  int64_t granularity_bytes = 1;       // what the memory addresses: a buffer takes whole multiples
  Allocator allocator = Allocator::kRuntime;
  // Stages here compute whole tiles, beyond the region that is needed, rather than mask the rest: there is room for it,
  // and a mask would cost more.
  bool overshoots = false;

  bool operator==(const Scope&) const = default;

  // The rows of a machine whose threads share one memory.
  static const Scope kArgument;  // input or output of the kernel
  static const Scope kShared;    // scratch that all threads of a kernel see, between phases
  static const Scope kThread;    // scratch of one iteration of the parallel loop
  static const Scope kLocal;     // small: becomes registers
};

inline constexpr Scope Scope::kArgument{.name = "argument", .allocator = Allocator::kCaller};
inline constexpr Scope Scope::kShared{.name = "shared"};
inline constexpr Scope Scope::kThread{.name = "thread", .rank = ScopeRank::kBlock, .allocator = Allocator::kWorker};
inline constexpr Scope Scope::kLocal{.name = "local",
                                     .rank = ScopeRank::kThread,
                                     .capacity_bytes = 16 << 10,
                                     .allocator = Allocator::kRegisters,
                                     .overshoots = true};

// The memories of a target.
struct ScopeTable {
  Scope argument = Scope::kArgument;  // where the kernel's inputs and outputs lie
  // Where a stage lies of which the schedule says nothing: outside of all loops, and at a loop of another stage.
  Scope root = Scope::kShared;
  Scope attached = Scope::kThread;
  std::vector<Scope> others = {Scope::kLocal};

  std::optional<Scope> Find(std::string_view name) const;
  bool Contains(const Scope& scope) const;  // as it is, not by name only
  std::string Names() const;                // of all rows but `argument`, separated by spaces
};

}  // namespace smelt::kernels::te
