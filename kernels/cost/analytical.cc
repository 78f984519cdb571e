#include "kernels/cost/analytical.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "hlo/running_window.h"
#include "kernels/cost/algorithm_choice.h"
#include "kernels/cost/contraction_shape.h"
#include "kernels/cost/opcode_cost.h"
#include "kernels/cost/operation_cost.h"

namespace smelt::kernels::cost {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::OpcodeCategory;

// What a kernel spends its time on; each kind reaches its own share of the machine's peaks.
enum class Kind : uint8_t { kElementwise, kMovement, kRowReduction, kColumnReduction, kWindow, kContraction, kKinds };

// Share of the peak arithmetic and of each level's bandwidth that generated code reaches, by kind: fitted to profiles.
struct Coefficients {
  double compute;
  double bandwidth;
};
constexpr Coefficients kCoefficients[static_cast<int>(Kind::kKinds)] = {
    {0.60, 0.80},  // elementwise chains
    {0.40, 0.50},  // transposes, gathers, concatenations
    {0.45, 0.75},  // rows: vectors meet at the end of each
    {0.50, 0.65},  // columns
    {0.35, 0.60},  // pooling
    {0.70, 0.70},  // matrix products and convolutions
};
const Coefficients& Of(Kind kind) { return kCoefficients[static_cast<int>(kind)]; }

// Elements an operation that moves single elements (a gather, the far side of a transpose) handles per peak flop.
constexpr double kScalarElementCost = 24;

struct Use {
  double evaluations = 0;  // times the instruction's elements are computed, over all users
  double shared = 0;       // the most that users at the same index ask for
  bool reads_all = false;  // read by something other than a slice
};

bool SameIndex(Opcode opcode) {
  return hlo::IsElementwise(opcode) || opcode == Opcode::kReshape || opcode == Opcode::kBitcast ||
         opcode == Opcode::kTranspose || opcode == Opcode::kReverse || opcode == Opcode::kMap ||
         opcode == Opcode::kTuple || opcode == Opcode::kReduce;
}

double Elements(const hlo::Shape& shape) {
  if (shape.IsTuple()) return shape.tuple_shapes.empty() ? 0 : Elements(shape.tuple_shapes[0]);
  return shape.IsArray() ? static_cast<double>(shape.ElementCount()) : 0;
}

// The reduced dimensions include the innermost one that is longer than 1.
bool ReducesRows(const Instruction& reduce) {
  const hlo::Shape& from = reduce.operand(0)->shape();
  int64_t last = from.rank() - 1;
  while (last > 0 && from.dimensions[last] == 1) --last;
  for (int64_t d : reduce.attributes<hlo::DimensionsAttributes>().dimensions) {
    if (d == last) return true;
  }
  return false;
}

// Everything that both estimates need; computed in one walk from the root.
struct Walk {
  double compute = 0;  // in peak flops, elementwise and reductions, each divided by its kind's share
  std::vector<CostFormula::Contraction> contractions;
  double panel_bytes = 0;  // written and read again by packing
  double bytes = 0;        // parameters read and results written, each once
  int phases = 1;
  Kind kind = Kind::kElementwise;
};

double LanesOf(hlo::PrimitiveType type, const machine::Machine& target) {
  const int64_t bytes = std::max<int64_t>(hlo::StorageBytes(type), 4);
  return static_cast<double>(target.vector_bytes) / static_cast<double>(bytes);
}

// Whether what a gather or a transpose moves is contiguous in the last dimension: vectors are then read whole.
bool MovesVectors(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kTranspose && instruction.shape().rank() > 0)
    return instruction.attributes<hlo::DimensionsAttributes>().dimensions.back() == instruction.shape().rank() - 1;
  if (instruction.opcode() != Opcode::kGather) return false;
  const std::vector<int64_t>& slice = instruction.attributes<hlo::GatherAttributes>().slice_sizes;
  return !slice.empty() && slice.back() > 8;
}

// Walks from the root to the parameters: what users ask of an instruction decides what it asks of its operands.
class KernelWalk {
 public:
  explicit KernelWalk(const machine::Machine& target) : target_(target) {}

  Walk Run(const hlo::Computation& kernel) {
    const std::vector<Instruction*> order = kernel.PostOrder();
    uses_.reserve(order.size());
    root_ = kernel.root();
    uses_[root_] = {0, Elements(root_->shape()), true};
    for (size_t i = order.size(); i-- > 0;) {
      if (const auto found = uses_.find(order[i]); found != uses_.end()) Visit(*order[i], found->second);
    }
    std::vector<const hlo::Shape*> leaves;
    root_->shape().AppendLeaves(&leaves);
    for (const hlo::Shape* leaf : leaves) walk_.bytes += static_cast<double>(leaf->ByteSize());
    if (root_->opcode() == Opcode::kScatter) {
      // It changes its array in place: the updates are read, what they meet is read and written.
      walk_.bytes = 0;
      for (int64_t o = root_->operand_count() / 2; o < root_->operand_count(); ++o)
        walk_.bytes += 3 * static_cast<double>(root_->operand(o)->shape().ByteSize());
    }
    return walk_;
  }

 private:
  // What an instruction asks of its operands.
  struct Demand {
    double asked;        // times that its own elements are asked for
    double evaluations;  // of an operand's elements
    bool reads_all;
  };

  void Visit(const Instruction& instruction, Use use) {
    const double asked = use.evaluations + use.shared;
    if (instruction.opcode() == Opcode::kParameter) {
      const double elements = Elements(instruction.shape());
      const double read = use.reads_all ? elements : std::min(asked, elements);
      walk_.bytes += read * static_cast<double>(hlo::StorageBytes(instruction.shape().element_type));
      return;
    }
    Demand demand{asked, asked, use.reads_all};
    if (const std::optional<double> cycles = OperationCycles(instruction)) {
      // A cycle at the peak: two multiplications and additions of whole vectors.
      walk_.compute += *cycles * 4 * static_cast<double>(target_.vector_bytes) / 4;
      for (int64_t o = 0; o < instruction.operand_count(); ++o) Ask(instruction, o, {asked, 0, true});
      return;
    }
    switch (hlo::GetOpcodeInfo(instruction.opcode()).category) {
      // Reductions and contractions are computed once whatever reads them.
      case OpcodeCategory::kContraction:
        VisitContraction(instruction);
        demand = {asked, 0, true};
        break;
      case OpcodeCategory::kReduction:
        demand = {asked, VisitReduction(instruction), true};
        break;
      default:
        VisitOther(instruction, &demand);
    }
    for (int64_t o = 0; o < instruction.operand_count(); ++o) Ask(instruction, o, demand);
  }

  void VisitContraction(const Instruction& instruction) {
    const ContractionShape shape = ShapeOfContraction(instruction);
    const double lanes = LanesOf(instruction.shape().element_type, target_);
    const double element_bytes = static_cast<double>(hlo::StorageBytes(instruction.shape().element_type));
    const double factor = TypeFactor(instruction.shape().element_type);
    walk_.contractions.push_back({.m = shape.m,
                                  .n = shape.n,
                                  .k = shape.k,
                                  .lanes = lanes,
                                  .scaled_flops = shape.flops() * factor,
                                  .reread_bytes = element_bytes * shape.batch * shape.m * shape.k * 0.25});
    // A panel is packed where several rows use it; one row streams it.
    if (shape.m > 4) walk_.panel_bytes += 2 * element_bytes * shape.batch * shape.k * shape.n;
    walk_.kind = Kind::kContraction;
  }

  // The steps that it takes.
  double VisitReduction(const Instruction& instruction) {
    const double elements = Elements(instruction.shape());
    double steps = Elements(instruction.operand(0)->shape());
    Kind kind = Kind::kWindow;
    if (instruction.opcode() == Opcode::kReduce) {
      kind = ReducesRows(instruction) ? Kind::kRowReduction : Kind::kColumnReduction;
    } else if (instruction.opcode() == Opcode::kReduceWindow) {
      constexpr double kRunningSteps = 20;  // an element of a long scan (te/hlo/window.cc)
      double taps = 1;
      for (const hlo::WindowDimension& w : instruction.attributes<hlo::WindowAttributes>().window.dimensions)
        taps *= static_cast<double>(w.size);
      const auto running = hlo::RunningWindowOf(instruction);
      steps = elements * (running && running->one_operation ? std::min(taps, kRunningSteps) : taps);
    }
    walk_.compute += steps * 2 * TypeFactor(instruction.operand(0)->shape().element_type) / Of(kind).compute;
    if (kind == Kind::kRowReduction) walk_.compute += elements * 100;  // lanes meet
    if (walk_.kind == Kind::kElementwise || walk_.kind == Kind::kMovement) walk_.kind = kind;
    if (&instruction != root_) ++walk_.phases;
    return steps;
  }

  // Elementwise work and data movement.
  void VisitOther(const Instruction& instruction, Demand* demand) {
    const Opcode opcode = instruction.opcode();
    const double evaluations = opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement ? 0 : demand->evaluations;
    const double cost = ElementCost(opcode, instruction.shape().element_type);
    walk_.compute += evaluations * cost / Of(Kind::kElementwise).compute;
    const bool scattered = opcode == Opcode::kGather || opcode == Opcode::kTranspose;
    if (scattered && !MovesVectors(instruction)) walk_.compute += evaluations * kScalarElementCost;
    const bool moves = hlo::GetOpcodeInfo(opcode).category == OpcodeCategory::kDataMovement &&
                       opcode != Opcode::kBroadcast && opcode != Opcode::kIota;
    if ((scattered || moves) && walk_.kind == Kind::kElementwise) walk_.kind = Kind::kMovement;
    if (opcode == Opcode::kBroadcast) {
      // What stands behind a broadcast is computed once for all its copies.
      demand->evaluations = std::min(demand->asked, Elements(instruction.operand(0)->shape()));
    }
    if (opcode == Opcode::kSlice || opcode == Opcode::kDynamicSlice || opcode == Opcode::kGather)
      demand->reads_all = false;
  }

  void Ask(const Instruction& instruction, int64_t o, const Demand& demand) {
    const Opcode opcode = instruction.opcode();
    const Instruction* operand = instruction.operand(o);
    Use& use = uses_[operand];
    const double whole = Elements(operand->shape());
    if (opcode == Opcode::kConcatenate) {
      use.evaluations += demand.asked * whole / std::max(Elements(instruction.shape()), 1.0);
    } else if (opcode == Opcode::kTuple || hlo::GetOpcodeInfo(opcode).category == OpcodeCategory::kContraction) {
      use.shared = std::max(use.shared, whole);
    } else if (opcode == Opcode::kReduceWindow && o == 0) {
      // Overlapping windows: a fused producer is computed for each, memory is read once.
      use.evaluations += demand.evaluations;
    } else if (SameIndex(opcode) || opcode == Opcode::kBroadcast) {
      use.shared = std::max(use.shared, std::min(demand.evaluations, std::max(whole, demand.asked)));
    } else {
      use.evaluations += std::min(demand.evaluations, std::max(whole, demand.asked));
    }
    use.reads_all = use.reads_all || demand.reads_all;
  }

  const machine::Machine& target_;
  const Instruction* root_ = nullptr;
  absl::flat_hash_map<const Instruction*, Use> uses_;
  Walk walk_;
};

}  // namespace

CostFormula FormulaOf(const hlo::Computation& kernel, const machine::Machine& target) {
  Walk walk = KernelWalk(target).Run(kernel);
  const Coefficients& kind = Of(walk.kind);
  CostFormula formula;
  formula.contractions = std::move(walk.contractions);
  formula.compute = walk.compute;
  formula.memory_seconds = walk.bytes / (target.BandwidthOf(walk.bytes) * kind.bandwidth);
  formula.panel_bytes = walk.panel_bytes;
  formula.panel_bandwidth = target.levels[1].bytes_per_second * kind.bandwidth;
  formula.peak_flops = target.peak_flops_f32;
  formula.launch_seconds = target.launch_seconds;
  // Large kernels are shared by the target's workers.
  if (target.threads > 1) {
    formula.workers = 0.9 * target.threads;
    formula.memory_workers =
        walk.bytes > static_cast<double>(target.LevelBytes(2)) ? std::sqrt(formula.workers) : formula.workers;
    formula.fork_seconds = target.fork_seconds * walk.phases;
    formula.least_seconds = 2 * target.fork_seconds;
  }
  formula.contraction_share = Of(Kind::kContraction).compute;
  formula.lanes = static_cast<double>(target.vector_bytes) / 4;
  formula.is_contraction = walk.kind == Kind::kContraction;
  return formula;
}

absl::StatusOr<CostFormula> TileFormulaOf(const hlo::Computation& kernel, const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(std::vector<int64_t> dimensions, nests::TiledDimensions(kernel));
  CostFormula formula = FormulaOf(kernel, target);
  formula.dimensions = std::move(dimensions);
  return formula;
}

CostEstimate EstimateKernel(const hlo::Computation& kernel, const machine::Machine& target) {
  const EstimateOf<double> whole = FormulaOf(kernel, target).Whole();
  return {whole.compute, whole.memory, whole.launch};
}

absl::StatusOr<CostEstimate> EstimateTile(const hlo::Computation& kernel, const nests::Tile& tile,
                                          const machine::Machine& target) {
  if (tile.algorithm != te::ConvolutionAlgorithm::kDirect) return EstimateAlgorithm(kernel, tile, target);
  SMELT_ASSIGN_OR_RETURN(const CostFormula formula, TileFormulaOf(kernel, target));
  if (formula.dimensions.size() != tile.extents.size()) {
    return absl::InvalidArgumentError("tile " + tile.ToString() + " has " + std::to_string(tile.extents.size()) +
                                      " extents, the kernel's main operation has " +
                                      std::to_string(formula.dimensions.size()) + " dimensions");
  }
  const std::vector<double> extents(tile.extents.begin(), tile.extents.end());
  const EstimateOf<double> estimate = formula.At(extents.data(), static_cast<int64_t>(extents.size()));
  return CostEstimate{estimate.compute, estimate.memory, estimate.launch};
}

}  // namespace smelt::kernels::cost
