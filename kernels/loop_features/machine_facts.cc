#include "kernels/loop_features/machine_facts.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "kernels/nests/access.h"

namespace smelt::kernels::loop_features {
namespace {

double BytesOf(const ir::BufferNode& buffer) { return static_cast<double>(hlo::StorageBytes(buffer.type)); }

// Elements from one lane to the next that are still loaded in whole vectors and shuffled.
constexpr double kNearStride = 8;
// Cycles of an instruction, about.
constexpr double kSimpleCycles = 0.5, kSlowCycles = 8, kLoadCycles = 0.5, kStoreCycles = 1, kLoopCycles = 1;

bool InRegisters(const ir::BufferNode& buffer) { return buffer.scope.allocator == te::Allocator::kRegisters; }

// What loops become, in instructions of the machine: vectors as wide as they are, and what stays the same in inner
// loops outside of these.
struct Instructions {
  double simple = 0;           // additions, multiplications and the like
  double slow = 0;             // divisions and calls
  double whole = 0, near = 0;  // loads of vectors: of what lies side by side, of what is shuffled into it
  double single = 0;           // loads of one element, for all lanes or without lanes
  double apart = 0;            // of lanes one by one
  double stores = 0;           // of vectors and of single elements
  double stores_apart = 0;     // of lanes one by one
  double steps = 0;            // iterations of loops

  double cycles() const {
    return kSimpleCycles * simple + kSlowCycles * slow + kLoadCycles * (whole + near + single + apart) +
           kStoreCycles * (stores + stores_apart) + kLoopCycles * steps;
  }
};

// What the facts are gathered from, once over the tree.
struct Totals {
  Instructions instructions;
  Arithmetic arithmetic;         // executed
  double needed = 0;             // steps of all operations, each element once
  double loads = 0, stores = 0;  // executed, registers aside
  double vector_work = 0;        // arithmetic inside vectorised loops
  double lane_share = 0;         // of it, lanes filled
  double guarded = 0;            // arithmetic and stores under conditions
  double work = 0;
  double serial_work = 0;  // outside of parallel loops
  double longest = 0;      // work of the slowest thread
  double pieces = 0;       // of the parallel loop that works most
  double most_phase = 0;
  double vector_accesses = 0, gathered = 0, broadcast = 0;
  double unrolled = 0;      // statements that the largest unrolled body becomes
  double loads_a_step = 0;  // of the hottest statement: vectors loaded for one vector operation
  double chain = 0;         // of the hottest statement: steps between a load and a store of its accumulator
};

class FactFinder {
 public:
  FactFinder(const LoopTree& tree, const machine::Machine& machine) : tree_(tree), machine_(machine) {}

  Totals Run(const schedule::Schedule& schedule) {
    std::vector<double> phase_work, phase_extent;
    double hottest = -1;
    for (const StatementNode& statement : tree_.statements) {
      const double operations = std::max(1.0, statement.arithmetic.total());
      const double work = operations * statement.count;
      totals_.work += work;
      AddArithmetic(statement);
      if (statement.guarded) totals_.guarded += work;
      const int parallel = ParallelOf(statement.loop);
      if (parallel < 0) totals_.serial_work += work;
      const int phase = statement.loop < 0 ? 0 : tree_.loops[statement.loop].phase;
      if (phase_work.size() <= phase) {
        phase_work.resize(phase + 1, 0);
        phase_extent.resize(phase + 1, 1);
      }
      phase_work[phase] += work;
      if (parallel >= 0) phase_extent[phase] = tree_.loops[parallel].extent;
      Vectors(statement, work);
      if (work > hottest) {
        hottest = work;
        Hottest(statement);
      }
    }
    for (const LoopNode& loop : tree_.loops) {
      const bool steps = loop.kind != ir::ForKind::kVectorized && loop.kind != ir::ForKind::kUnrolled;
      if (steps) totals_.instructions.steps += loop.outside * loop.extent;
    }
    for (size_t p = 0; p < phase_work.size(); ++p) {
      const double threads = std::max(1, machine_.threads);
      totals_.longest += phase_work[p] * std::ceil(phase_extent[p] / threads) / phase_extent[p];
      if (phase_work[p] > totals_.most_phase) {
        totals_.most_phase = phase_work[p];
        totals_.pieces = phase_extent[p];
      }
    }
    for (const te::OperationRef& operation : schedule.graph().operations) {
      if (operation->kind == te::OperationKind::kCompute) totals_.needed += nests::Steps(*operation);
    }
    return totals_;
  }

 private:
  void AddArithmetic(const StatementNode& statement) {
    Arithmetic& all = totals_.arithmetic;
    all.adds += statement.arithmetic.adds * statement.count;
    all.multiplies += statement.arithmetic.multiplies * statement.count;
    all.divisions += statement.arithmetic.divisions * statement.count;
    all.calls += statement.arithmetic.calls * statement.count;
    all.integers += statement.arithmetic.integers * statement.count;
  }

  int ParallelOf(int loop) const {
    for (; loop >= 0; loop = tree_.loops[loop].parent) {
      if (tree_.loops[loop].kind == ir::ForKind::kParallel) return loop;
    }
    return -1;
  }

  void Vectors(const StatementNode& statement, double work) {
    double lanes = 1, unrolled = 1;
    int vector_loop = -1;
    for (int l = statement.loop; l >= 0; l = tree_.loops[l].parent) {
      if (tree_.loops[l].kind == ir::ForKind::kVectorized) {
        vector_loop = l;
        lanes = tree_.loops[l].extent;
      } else if (tree_.loops[l].kind == ir::ForKind::kUnrolled) {
        unrolled *= tree_.loops[l].extent;
      }
    }
    totals_.unrolled = std::max(totals_.unrolled, unrolled);
    double widest = 1;
    for (size_t a : statement.accesses) {
      const AccessNode& access = tree_.accesses[a];
      widest = std::max(widest, BytesOf(*access.buffer));
      if (InRegisters(*access.buffer)) continue;
      (access.store ? totals_.stores : totals_.loads) += access.count;
      if (vector_loop < 0) continue;
      totals_.vector_accesses += access.count;
      for (const Touch& touch : access.at) {
        if (touch.loop != vector_loop) continue;
        if (touch.stride == 0) totals_.broadcast += access.count;
        if (touch.stride != 0 && (touch.stride != 1 || !touch.known)) totals_.gathered += access.count;
      }
    }
    InstructionsOf(statement, vector_loop, lanes, widest);
    if (vector_loop < 0) return;
    const double bytes = lanes * widest, unit = std::max(1, machine_.vector_bytes);
    totals_.vector_work += work;
    totals_.lane_share += work * bytes / (std::ceil(bytes / unit) * unit);
  }

  // Adds what the statement becomes. `vector_loop`: around it, -1: none; `widest`: bytes of its widest element.
  void InstructionsOf(const StatementNode& statement, int vector_loop, double lanes, double widest) {
    Instructions& all = totals_.instructions;
    const double vectors = std::ceil(lanes * widest / std::max(1, machine_.vector_bytes));
    const double runs = statement.count / lanes;
    const Arithmetic& of = statement.arithmetic;
    all.simple += (of.adds + of.multiplies + of.integers) * runs * vectors;
    all.slow += (of.divisions + of.calls) * runs * vectors;
    for (size_t a : statement.accesses) {
      const AccessNode& access = tree_.accesses[a];
      if (InRegisters(*access.buffer)) continue;
      double times = access.count / lanes, stride = 0;
      bool known = true, inner = true;
      for (const Touch& touch : access.at) {
        if (touch.loop == vector_loop) {
          stride = std::abs(touch.stride);
          known = touch.known;
          continue;
        }
        inner = inner && touch.stride == 0 && touch.known;
        if (inner) times /= tree_.loops[touch.loop].extent;
      }
      const bool side_by_side = known && stride == 1, is_near = known && stride <= kNearStride;
      if (access.store) {
        const bool in_vectors = side_by_side || stride == 0;
        (in_vectors ? all.stores : all.stores_apart) += times * (in_vectors ? vectors : lanes);
      } else if (vector_loop < 0 || (known && stride == 0)) {
        all.single += times;
      } else if (side_by_side) {
        all.whole += times * vectors;
      } else if (is_near) {
        all.near += times * vectors * stride;
      } else {
        all.apart += times * lanes;
      }
    }
  }

  // The register tile is the run of unrolled and vectorised loops around the statement.
  void Hottest(const StatementNode& statement) {
    int outermost = -1;
    double steps = 1, lanes = 1;
    int l = statement.loop;
    for (; l >= 0; l = tree_.loops[l].parent) {
      const ir::ForKind kind = tree_.loops[l].kind;
      if (kind != ir::ForKind::kVectorized && kind != ir::ForKind::kUnrolled) break;
      outermost = l;
      (kind == ir::ForKind::kVectorized ? lanes : steps) *= tree_.loops[l].extent;
    }
    totals_.chain = 1;
    totals_.loads_a_step = 0;
    for (size_t a : statement.accesses) {
      const AccessNode& access = tree_.accesses[a];
      if (InRegisters(*access.buffer)) {
        // The accumulator does not move while the sum runs.
        for (const Touch& touch : access.at) {
          if (access.store && touch.stride == 0) totals_.chain *= tree_.loops[touch.loop].extent;
          if (touch.loop == l) break;
        }
        continue;
      }
      double touched = 1, along = 0;
      for (const Touch& touch : access.at) {
        if (tree_.loops[touch.loop].kind == ir::ForKind::kVectorized) along = touch.stride;
        touched = outermost >= 0 ? touch.touched : 1;
        if (touch.loop == outermost) break;
      }
      totals_.loads_a_step += (along == 1 ? touched / lanes : touched) / steps;
    }
  }

  const LoopTree& tree_;
  const machine::Machine& machine_;
  Totals totals_;
};

double ScratchBytes(const LoopTree& tree, te::Allocator allocator) {
  double bytes = 0;
  for (const ir::Buffer& buffer : tree.scratch) {
    if (buffer->scope.allocator == allocator) bytes += static_cast<double>(buffer->ByteSize());
  }
  return bytes;
}

}  // namespace

float SignedLog(double x) { return static_cast<float>(x < 0 ? -std::log2(1 - x) : std::log2(1 + x)); }

double BytesMoved(const LoopTree& tree, double capacity) {
  // Bytes of each buffer that a run of each loop touches.
  std::vector<absl::flat_hash_map<const ir::BufferNode*, double>> touched(tree.loops.size());
  for (const AccessNode& access : tree.accesses) {
    if (InRegisters(*access.buffer)) continue;
    for (const Touch& touch : access.at) {
      double& bytes = touched[touch.loop][access.buffer];
      bytes = std::max(bytes, touch.touched * BytesOf(*access.buffer));
    }
  }
  std::vector<double> footprint(tree.loops.size(), 0);
  for (size_t l = 0; l < tree.loops.size(); ++l) {
    for (const auto& [buffer, bytes] : touched[l]) footprint[l] += bytes;
  }
  double moved = 0;
  std::vector<bool> fits(tree.loops.size(), false);
  for (size_t l = 0; l < tree.loops.size(); ++l) {
    const LoopNode& loop = tree.loops[l];
    const bool outer_fits = loop.parent >= 0 && fits[loop.parent];
    fits[l] = outer_fits || footprint[l] <= capacity;
    if (fits[l] && !outer_fits) moved += footprint[l] * loop.outside;
  }
  for (const AccessNode& access : tree.accesses) {
    if (InRegisters(*access.buffer) || (access.loop >= 0 && fits[access.loop])) continue;
    moved += access.count * BytesOf(*access.buffer);
  }
  return moved;
}

const std::vector<std::string>& MachineFactNames() {
  static const auto* const names = new std::vector<std::string>{"log adds",
                                                                "log multiplies",
                                                                "log divisions",
                                                                "log calls",
                                                                "log integer operations",
                                                                "log work over steps",
                                                                "log loads",
                                                                "log stores",
                                                                "accesses an operation",
                                                                "log statements unrolled",
                                                                "accumulators",
                                                                "accumulators over registers",
                                                                "accumulators beyond registers",
                                                                "log steps of an accumulator",
                                                                "loads a vector operation",
                                                                "share of work in vectors",
                                                                "share of lanes filled",
                                                                "share of vector accesses gathered",
                                                                "share of vector accesses broadcast",
                                                                "share of work under conditions",
                                                                "phases",
                                                                "share of work that is serial",
                                                                "balance of threads",
                                                                "log pieces",
                                                                "pieces a thread",
                                                                "log scratch bytes of a worker",
                                                                "worker scratch over L1",
                                                                "worker scratch over L2",
                                                                "log shared scratch bytes",
                                                                "shared scratch over L3",
                                                                "log bytes moved into L1",
                                                                "log bytes moved into L2",
                                                                "log bytes moved into L3",
                                                                "bytes moved into L1 an operation",
                                                                "bytes moved into L2 an operation",
                                                                "bytes moved into L3 an operation",
                                                                "log time of L1 over arithmetic",
                                                                "log time of L2 over arithmetic",
                                                                "log time of L3 over arithmetic",
                                                                "log peak operations a second",
                                                                "threads",
                                                                "log simple instructions",
                                                                "log slow instructions",
                                                                "log loads of vectors",
                                                                "log loads shuffled",
                                                                "log loads of single elements",
                                                                "log loads lane by lane",
                                                                "log vectors stored",
                                                                "log stores lane by lane",
                                                                "log steps of loops",
                                                                "log cycles"};
  return *names;
}

std::vector<float> MachineFacts(const LoopTree& tree, const schedule::Schedule& schedule, const ir::Function& function,
                                const machine::Machine& machine) {
  const Totals totals = FactFinder(tree, machine).Run(schedule);
  const double work = std::max(1.0, totals.work);
  std::vector<float> facts;
  const auto add = [&](double value) { facts.push_back(static_cast<float>(value)); };
  const auto add_log = [&](double value) { facts.push_back(SignedLog(value)); };
  for (double count : {totals.arithmetic.adds, totals.arithmetic.multiplies, totals.arithmetic.divisions,
                       totals.arithmetic.calls, totals.arithmetic.integers}) {
    add_log(count);
  }
  add_log(work / std::max(1.0, totals.needed));
  add_log(totals.loads);
  add_log(totals.stores);
  add((totals.loads + totals.stores) / work);
  add_log(totals.unrolled);
  const double registers = std::max(1, machine.vector_registers);
  const double accumulators =
      ScratchBytes(tree, te::Allocator::kRegisters) / static_cast<double>(std::max(1, machine.vector_bytes));
  add(accumulators);
  add(accumulators / registers);
  add(std::max(0.0, accumulators + 3 - registers));
  add_log(totals.chain);
  add(totals.loads_a_step);
  add(totals.vector_work / work);
  add(totals.lane_share / std::max(1.0, totals.vector_work));
  add(totals.gathered / std::max(1.0, totals.vector_accesses));
  add(totals.broadcast / std::max(1.0, totals.vector_accesses));
  add(totals.guarded / work);
  add(static_cast<double>(function.phases.size()));
  add(totals.serial_work / work);
  const double threads = std::max(1, machine.threads);
  add(work / threads / std::max(1.0, totals.longest));
  add_log(totals.pieces);
  add(std::min(64.0, totals.pieces / threads));
  const double worker = ScratchBytes(tree, te::Allocator::kWorker);
  double shared = 0;
  for (const ir::Buffer& buffer : function.shared) shared += static_cast<double>(buffer->ByteSize());
  add_log(worker);
  add(worker / static_cast<double>(machine.LevelBytes(0)));
  add(worker / static_cast<double>(machine.LevelBytes(1)));
  add_log(shared);
  add(shared / static_cast<double>(machine.LevelBytes(2)));
  double moved[3];
  for (int level = 0; level < 3; ++level) {
    moved[level] = BytesMoved(tree, static_cast<double>(machine.LevelBytes(level)));
    add_log(moved[level]);
  }
  for (double bytes : moved) add(bytes / work);
  const double compute = work / std::max(1.0, machine.peak_flops_f32);
  for (int level = 0; level < 3; ++level) {
    // What is moved into a level comes from the next one.
    const size_t from = std::min(static_cast<size_t>(level) + 1, machine.levels.size() - 1);
    add_log(moved[level] / machine.levels[from].bytes_per_second / compute);
  }
  add_log(machine.peak_flops_f32);
  add(threads);
  const Instructions& made = totals.instructions;
  for (double count : {made.simple, made.slow, made.whole, made.near, made.single, made.apart, made.stores,
                       made.stores_apart, made.steps, made.cycles()}) {
    add_log(count);
  }
  return facts;
}

}  // namespace smelt::kernels::loop_features
