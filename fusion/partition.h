// The kernels of a program under a configuration, kept up to date as bits change.
//
//   Partition partition(space);                  // nothing fused
//   partition.Change(flips);                     // legal again when it returns
//   partition.removed(), partition.added()       // kernels
//   partition.Undo();                            // exactly as before
//
// Legalisation is part of every change. It has a fixed order, and each step looks only at what the step's rules need,
// so that a small change costs time proportional to the kernels that it touches, and ends in the state that legalising
// the whole configuration from nothing gives:
//
//   1. Edges, consumers in program order: an edge stays if the kernel above its consumer remains within the rules of
//      categories, work and limits. `up` summarises that kernel prefix for each node.
//   2. Edges, producers in reverse order: what carries a contraction or reductions may end up in as many kernels as the
//      target allows. `down` holds the kernels that a node ends up in.
//   3. Steps 1 and 2 again while they drop something (dropping an edge can only cause more drops, so this ends).
//   4. Shares, then siblings, in order: two kernels become one with several outputs. No two kernels ever wait for each
//      other because everything that a kernel with several outputs reads lies below its first output's level.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "base/hash.h"
#include "fusion/config.h"
#include "fusion/reason.h"
#include "fusion/space.h"

namespace smelt::fusion {

// A kernel's values in canonical order (fusion/instruction_hash.h).
struct KernelBody {
  struct Value {
    int32_t node;
    bool parameter;
    int32_t operands_begin, operands_end;  // in `operands`
  };
  std::vector<Value> values;
  std::vector<int32_t> operands;  // indices of values
  std::vector<int32_t> outputs;   // indices of values
  int32_t parameter_count = 0;

  absl::Span<const int32_t> OperandsOf(const Value& value) const {
    return absl::MakeConstSpan(operands).subspan(value.operands_begin, value.operands_end - value.operands_begin);
  }
};

struct KernelSlot {
  absl::InlinedVector<int32_t, 2> outputs;  // nodes, ascending
  absl::InlinedVector<int32_t, 2> merges;   // decisions that joined it, ascending
  Hash128 hash;
  bool alive = false;
};

class Partition {
 public:
  // `hashes`: whether kernels get their hash as they appear. Without it, changes of whole configurations cost half.
  explicit Partition(const Space& space, bool hashes = true);

  const Space& space() const { return *space_; }
  const Config& config() const { return config_; }  // always legal

  // Flips the decisions, then legalises. The spans of removed() and added() hold until the next change; a kernel that
  // is as it was before is in neither.
  void Change(absl::Span<const int32_t> flips);
  // Takes the last change back; once.
  void Undo();
  // Kernels by slot. A removed slot still holds its kernel until the next change.
  absl::Span<const int32_t> removed() const { return removed_; }
  absl::Span<const int32_t> added() const { return added_; }
  const KernelSlot& kernel(int32_t slot) const { return kernels_[slot]; }
  int32_t slot_count() const { return static_cast<int32_t>(kernels_.size()); }  // dead ones included
  int64_t kernel_count() const { return kernel_count_; }
  // The kernel that makes a node's value, or -1.
  int32_t KernelOf(int32_t node) const { return kernel_of_[node]; }
  bool IsFused(int32_t edge) const { return edge_on_[edge]; }

  // Writes the body of a kernel that is alive, or of one that the last change added, over `body`.
  void Body(int32_t slot, KernelBody* body);

  // Decisions that the last change dropped, with the rule that did it.
  struct Dropped {
    int32_t decision;
    Reason reason;
  };
  absl::Span<const Dropped> dropped() const { return dropped_; }
  // What forbids a decision beside those that are set: kLegal where it is set, kNotChosen where it could be.
  Reason WhyNot(int32_t decision);

 private:
  // A kernel prefix: a node and everything fused above it. Counts may be upper bounds (shared producers count twice)
  // as long as they stay below the limits.
  struct Up {
    int32_t code = 0;
    int32_t inputs = 0;
    int32_t depth = 0;
    int32_t reductions = 0;
    int32_t contraction = -1;  // node
    int64_t rows = 0;          // rows of the reductions whose results it still has; -1: reductions across rows
    int64_t scratch = 0;       // bytes
    int64_t domain = 0;        // most elements that a node runs over
    float work = 0;            // element operations for one element
    float evaluations = 1;     // at least as many as indices at which one of its instructions is read
    bool operator==(const Up&) const = default;
  };
  // Kernels (by output node) that a node ends up in, ascending; kMaxCopies + 1 stands for more.
  struct Down {
    int32_t count = 0;
    int32_t roots[Rules::kMaxCopies + 1] = {};
    bool operator==(const Down&) const = default;
  };
  struct Exact {
    int32_t code = 0;
    int32_t inputs = 0;
    int32_t reductions = 0;
    int64_t scratch = 0;
  };
  // Two spaces of marks over nodes: 0 computed, 1 read from memory.
  struct Marks {
    uint32_t stamp = 0;
    std::vector<uint32_t> seen;
    std::vector<int32_t> number;
  };
  // Binary heap of nodes that are waiting, each once.
  class Queue {
   public:
    void Resize(size_t nodes) { waiting_.assign(nodes, 0); }
    bool empty() const { return heap_.empty(); }
    void Push(int32_t key, int32_t node);
    int32_t Pop();

   private:
    std::vector<std::pair<int32_t, int32_t>> heap_;
    std::vector<uint8_t> waiting_;
  };

  bool IsRoot(int32_t n) const;
  void SetEdge(int32_t edge, bool on);
  void DropEdge(int32_t edge, Reason reason);
  void FlipBit(int32_t decision);
  void BeginChange();

  // partition_edges.cc: steps 1 to 3
  void LegaliseEdges();
  void EvaluateUp(int32_t n);
  void EvaluateDown(int32_t n);
  Up Alone(int32_t n) const;
  // Adds the producer's prefix to the consumer's; on refusal leaves it alone. `needs_scratch` says how it is kept.
  Reason Join(const Edge& edge, int32_t e, Up* up, bool* needs_scratch);
  Reason JoinRows(const Edge& edge, const Up& producer, Up* up) const;
  Reason JoinWork(const Edge& edge, const Up& producer, int64_t* scratch);
  Exact CountExactly(int32_t n, int32_t last_edge);
  bool WorkExceeds(int32_t n, double limit);
  // Whether an instruction's code would stand in a kernel for more indices than the rules allow
  // (partition_evaluations.cc).
  bool EvaluationsExceed(absl::Span<const int32_t> outputs, int32_t last_edge);
  bool ReadsNode(int32_t from, int32_t wanted);
  int CopyLimit(int32_t n) const;
  static void AddRoots(const Down& more, Down* roots);
  static void AddRoot(int32_t root, Down* roots);

  // partition_groups.cc: step 4
  void Regroup(absl::Span<const int32_t> flipped_merges);
  // What a change makes Regroup look at again.
  struct Regrouping {
    std::vector<int32_t> roots;   // nodes: outputs whose kernels are to be made anew
    std::vector<int32_t> merges;  // decisions
  };
  // Takes a kernel apart; its outputs and merges are looked at again.
  void Dissolve(int32_t slot, Regrouping* again);
  // The same for the kernel that makes a node's value; a root that has none yet is to get one.
  void DissolveAt(int32_t n, Regrouping* again);
  // The same for the two kernels that a merge joins.
  void DissolveEnds(int32_t merge, Regrouping* again);
  // The same for the kernels that changed edges reach, as they were.
  void DissolveWhatEdgesReach(Regrouping* again);
  // Makes one kernel of the two that a merge joins, or drops the merge with the rule that forbids it and says false.
  bool JoinKernels(int32_t merge);
  std::pair<int32_t, int32_t> RootsOf(int32_t decision) const;  // -1, -1: inactive
  Reason MergeRule(absl::Span<const int32_t> outputs);
  int32_t NewSlot();
  Hash128 HashOf(absl::Span<const int32_t> outputs);
  void BuildBody(absl::Span<const int32_t> outputs, KernelBody* body);
  void DropUnchanged();

  uint32_t NextStamp(Marks* marks);

  const Space* space_;
  const Graph& graph_;
  const Rules& rules_;
  bool hashes_;
  Config config_;
  std::vector<uint8_t> edge_on_;
  std::vector<uint8_t> edge_scratch_;
  std::vector<int32_t> unfused_;  // uses that read the node from memory
  std::vector<int32_t> base_inputs_;
  std::vector<Up> up_;
  std::vector<Down> down_;
  std::vector<int32_t> kernel_of_;
  std::vector<KernelSlot> kernels_;
  std::vector<int32_t> free_slots_;
  int64_t kernel_count_ = 0;

  // The change in progress.
  std::vector<int32_t> removed_, added_;
  std::vector<int32_t> touched_edges_;
  std::vector<uint8_t> edge_before_;  // of touched edges: 1 + whether it was on; else 0
  std::vector<int32_t> flipped_;      // decisions whose bit changed, for Undo
  std::vector<Dropped> dropped_;
  std::vector<std::pair<int32_t, Up>> old_up_;
  std::vector<std::pair<int32_t, Down>> old_down_;
  std::vector<std::pair<int32_t, uint8_t>> old_scratch_;
  std::vector<uint32_t> up_logged_, down_logged_;
  uint32_t change_ = 0;
  bool undoable_ = false;

  Queue up_queue_, down_queue_;
  Marks computed_, read_;
  std::vector<int32_t> stack_;
  std::vector<std::pair<int32_t, int32_t>> body_stack_;
  KernelBody body_;
};

}  // namespace smelt::fusion
