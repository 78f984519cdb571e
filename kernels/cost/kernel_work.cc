#include "kernels/cost/kernel_work.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "hlo/position.h"
#include "hlo/running_window.h"
#include "kernels/cost/contraction_shape.h"
#include "kernels/cost/opcode_cost.h"
#include "kernels/cost/operation_cost.h"
#include "kernels/nests/structure.h"
#include "machine/machine.h"

namespace smelt::kernels::cost {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::OpcodeCategory;

struct Use {
  double evaluations = 0;  // times the instruction's elements are computed, over all users
  double shared = 0;       // the most that users at the same index ask for
  bool reads_all = false;  // read by something other than a slice
  double lines = 1;        // elements of memory that come with one that is asked for: every n-th of a slice
  double slowdown = 1;     // of what is computed beside whole vectors: their lanes over those that are used
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

double LanesOf(hlo::PrimitiveType type, const machine::Machine& target) {
  const int64_t bytes = std::max<int64_t>(hlo::StorageBytes(type), 4);
  return static_cast<double>(target.vector_bytes) / static_cast<double>(bytes);
}

// How much slower than f32 a product of this type is.
double ContractionFactor(hlo::PrimitiveType type, const machine::Machine& target) {
  const std::vector<std::string>& has = target.instructions;
  if (type == hlo::PrimitiveType::kBF16 && std::find(has.begin(), has.end(), "avx512bf16") != has.end()) return 0.8;
  return TypeFactor(type);
}

// The innermost dimension that is longer than 1; 0 where there is none.
int64_t InnermostOf(const hlo::Shape& shape) {
  int64_t last = std::max<int64_t>(shape.rank() - 1, 0);
  while (last > 0 && shape.dimensions[last] == 1) --last;
  return last;
}

// Concatenated to starts of gathers alone, which read each part at a place that is known.
bool GivesStarts(const Instruction& concatenate) {
  const int64_t along = concatenate.attributes<hlo::DimensionsAttributes>().dimensions[0];
  const auto starts = [&](const Instruction* user) {
    return user->opcode() == Opcode::kGather && user->operand(0) != &concatenate &&
           user->attributes<hlo::GatherAttributes>().index_vector_dim == along;
  };
  return !concatenate.users().empty() && std::all_of(concatenate.users().begin(), concatenate.users().end(), starts);
}

// Concatenated along rows that are shorter than a vector, by elements that look for their part.
bool ConcatenatesShortRows(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kConcatenate || GivesStarts(instruction)) return false;
  const int64_t along = instruction.attributes<hlo::DimensionsAttributes>().dimensions[0];
  return along >= InnermostOf(instruction.shape()) && instruction.shape().dimensions[along] < 16;
}

// Stacked along short rows, many one after the other: vectors go over the rows (nests::StacksShortRows).
bool StacksShortRows(const Instruction& instruction) {
  if (!ConcatenatesShortRows(instruction)) return false;
  const hlo::Shape& shape = instruction.shape();
  const int64_t rank = shape.rank();
  return instruction.attributes<hlo::DimensionsAttributes>().dimensions[0] == rank - 1 && rank >= 2 &&
         shape.dimensions[rank - 1] <= nests::kShortRow && shape.dimensions[rank - 2] >= 2 * nests::kShortRow;
}

// What a kernel's root only gives another shape.
const Instruction* BehindReshapes(const Instruction* root) {
  while (root->opcode() == Opcode::kReshape || root->opcode() == Opcode::kBitcast) root = root->operand(0);
  return root;
}

// Elements from one of a slice to the next one in a row.
int64_t StrideOf(const Instruction& slice) {
  const hlo::Shape& from = slice.operand(0)->shape();
  return from.rank() == 0 ? 1 : slice.attributes<hlo::SliceAttributes>().dimensions[InnermostOf(from)].stride;
}

// Elements that come from memory for one of a slice: all up to the next, but never more than a cache line.
double LinesOf(const Instruction& slice) {
  const int64_t line = machine::kLineBytes / std::max<int64_t>(hlo::StorageBytes(slice.shape().element_type), 1);
  return static_cast<double>(std::clamp<int64_t>(StrideOf(slice), 1, std::max<int64_t>(line, 1)));
}

// Elements that lie near enough to each other are loaded in vectors and shuffled: the share of a single load's cost.
double ShuffledShare(const Instruction& slice) {
  constexpr double kFarStride = 6;
  const int64_t stride = StrideOf(slice);
  return stride == 1 ? 1 : std::min(static_cast<double>(stride) / kFarStride, 1.0);
}

// Who moves the elements of an instruction whose operands do not hold them beside each other; nothing: whole vectors.
std::optional<KernelWork::Loop> LiesApart(const Instruction& instruction) {
  const hlo::Shape& shape = instruction.shape();
  switch (instruction.opcode()) {
    case Opcode::kTranspose: {
      if (shape.rank() == 0) return std::nullopt;
      const bool keeps = instruction.attributes<hlo::DimensionsAttributes>().dimensions.back() == shape.rank() - 1;
      return keeps ? std::nullopt : std::optional(KernelWork::kStrided);
    }
    case Opcode::kGather: {
      if (hlo::FollowsFromPosition(*instruction.operand(1))) return std::nullopt;
      const std::vector<int64_t>& slice = instruction.attributes<hlo::GatherAttributes>().slice_sizes;
      return !slice.empty() && slice.back() > 8 ? std::nullopt : std::optional(KernelWork::kSingles);
    }
    case Opcode::kSlice: {
      const hlo::Shape& from = instruction.operand(0)->shape();
      if (from.rank() == 0) return std::nullopt;
      const int64_t last = InnermostOf(from);
      const bool whole = shape.dimensions[last] > 1 && StrideOf(instruction) == 1;
      return whole || from.dimensions[last] == 1 ? std::nullopt : std::optional(KernelWork::kStrided);
    }
    case Opcode::kReverse: {
      const int64_t last = InnermostOf(shape);
      const std::vector<int64_t>& turned = instruction.attributes<hlo::DimensionsAttributes>().dimensions;
      const bool rows = shape.rank() == 0 || shape.dimensions[last] > nests::kShortRow ||
                        std::all_of(turned.begin(), turned.end(), [&](int64_t d) { return shape.dimensions[d] == 1; });
      return rows ? std::nullopt : std::optional(KernelWork::kSingles);
    }
    case Opcode::kConcatenate:
      return ConcatenatesShortRows(instruction) ? std::optional(KernelWork::kSingles) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Walks from the root to the parameters: what users ask of an instruction decides what it asks of its operands.
class KernelWalk {
 public:
  explicit KernelWalk(const machine::Machine& target) : target_(target) {}

  KernelWork Run(const hlo::Computation& kernel, std::vector<InstructionWork>* of_each) {
    const std::vector<Instruction*> order = kernel.PostOrder();
    uses_.reserve(order.size());
    root_ = kernel.root();
    computed_root_ = BehindReshapes(root_);
    uses_[root_] = {.shared = Elements(root_->shape()), .reads_all = true};
    if (of_each != nullptr) of_each->assign(order.size(), InstructionWork());
    for (size_t i = order.size(); i-- > 0;) {
      const auto found = uses_.find(order[i]);
      if (found == uses_.end()) continue;
      const Use use = found->second;
      if (of_each != nullptr) (*of_each)[i] = {use.evaluations + use.shared, use.slowdown};
      Visit(*order[i], use);
    }
    std::vector<const hlo::Shape*> leaves;
    root_->shape().AppendLeaves(&leaves);
    for (const hlo::Shape* leaf : leaves) work_.bytes += static_cast<double>(leaf->ByteSize());
    if (root_->opcode() == Opcode::kScatter) {
      // It changes its array in place: the updates are read, what they meet is read and written.
      work_.bytes = 0;
      for (int64_t o = root_->operand_count() / 2; o < root_->operand_count(); ++o)
        work_.bytes += 3 * static_cast<double>(root_->operand(o)->shape().ByteSize());
    }
    return work_;
  }

 private:
  // What an instruction asks of its operands.
  struct Demand {
    double asked;        // times that its own elements are asked for
    double evaluations;  // of an operand's elements
    bool reads_all;
    double slowdown = 1;
    double lines = 1;
  };

  void Visit(const Instruction& instruction, Use use) {
    const double asked = use.evaluations + use.shared;
    if (instruction.opcode() == Opcode::kParameter) {
      const double elements = Elements(instruction.shape());
      const double read = use.reads_all ? elements : std::min(asked * use.lines, elements);
      work_.bytes += read * static_cast<double>(hlo::StorageBytes(instruction.shape().element_type));
      return;
    }
    Demand demand{asked, asked, use.reads_all, use.slowdown, use.lines};
    if (const std::optional<double> cycles = OperationCycles(instruction)) {
      // A cycle at the peak: two multiplications and additions of whole vectors of f32.
      work_.operations[KernelWork::kNative] += *cycles * 4 * static_cast<double>(target_.vector_bytes) / 4;
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
    ContractionShape shape = ShapeOfContraction(instruction);
    // One column a group, as in depthwise convolutions: vectors run over the groups.
    if (instruction.opcode() == Opcode::kConvolution && shape.n == 1) std::swap(shape.n, shape.batch);
    const double factor = ContractionFactor(instruction.shape().element_type, target_);
    if (shape.n == 1) {  // no columns for vectors to run over: they run along the sum
      work_.operations[shape.k > 1 ? KernelWork::kRowSums : KernelWork::kElementwise] += shape.flops() * factor;
      if (shape.k > 1) work_.operations[KernelWork::kRowEnds] += shape.batch * shape.m;
      return;
    }
    const double lanes = LanesOf(instruction.shape().element_type, target_);
    const double element_bytes = static_cast<double>(hlo::StorageBytes(instruction.shape().element_type));
    work_.contractions.push_back({.m = shape.m,
                                  .n = shape.n,
                                  .k = shape.k,
                                  .lanes = lanes,
                                  .scaled_flops = shape.flops() * factor,
                                  .reread_bytes = element_bytes * shape.batch * shape.m * shape.k * 0.25});
    // A panel is packed where several rows use it; one row streams it.
    if (shape.m > 4) work_.packed_bytes += 2 * element_bytes * shape.batch * shape.k * shape.n;
  }

  // The steps that it takes.
  double VisitReduction(const Instruction& instruction) {
    const double elements = Elements(instruction.shape());
    double steps = Elements(instruction.operand(0)->shape());
    KernelWork::Loop loop = KernelWork::kWindows;
    if (instruction.opcode() == Opcode::kReduce) {
      loop = ReducesRows(instruction) ? KernelWork::kRowSums : KernelWork::kColumnSums;
    } else if (instruction.opcode() == Opcode::kReduceWindow) {
      constexpr double kRunningSteps = 20;  // an element of a long scan (te/hlo/window.cc)
      double taps = 1;
      for (const hlo::WindowDimension& w : instruction.attributes<hlo::WindowAttributes>().window.dimensions)
        taps *= static_cast<double>(w.size);
      const auto running = hlo::RunningWindowOf(instruction);
      steps = elements * (running && running->one_operation ? std::min(taps, kRunningSteps) : taps);
    }
    work_.operations[loop] += steps * 2 * TypeFactor(instruction.operand(0)->shape().element_type);
    // Short sums go in vectors over their results.
    const bool ends = loop == KernelWork::kRowSums && steps > static_cast<double>(nests::kShortRowSum) * elements;
    if (ends) work_.operations[KernelWork::kRowEnds] += elements;
    if (&instruction != root_) ++work_.phases;
    return steps;
  }

  // Elementwise work and data movement.
  void VisitOther(const Instruction& instruction, Demand* demand) {
    const Opcode opcode = instruction.opcode();
    const double evaluations = opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement ? 0 : demand->evaluations;
    work_.operations[KernelWork::kElementwise] +=
        evaluations * ElementCost(opcode, instruction.shape().element_type) * demand->slowdown;
    // Where the result has longer rows than the stack, lanes know their part, and each part is computed in all of them.
    const bool in_vectors = &instruction == computed_root_ && StacksShortRows(instruction);
    if (in_vectors && &instruction != root_) {
      demand->slowdown = static_cast<double>(instruction.operand_count());
    } else if (ConcatenatesShortRows(instruction) && !in_vectors) {
      demand->slowdown = LanesOf(instruction.shape().element_type, target_);
    }
    if (const std::optional<KernelWork::Loop> apart = LiesApart(instruction); apart && !in_vectors)
      work_.operations[*apart] += evaluations * (opcode == Opcode::kSlice ? ShuffledShare(instruction) : 1);
    if (opcode == Opcode::kBroadcast) {
      // What stands behind a broadcast is computed once for all its copies.
      demand->evaluations = std::min(demand->asked, Elements(instruction.operand(0)->shape()));
    }
    if (opcode == Opcode::kSlice || opcode == Opcode::kDynamicSlice || opcode == Opcode::kGather)
      demand->reads_all = false;
    if (opcode == Opcode::kSlice) demand->lines *= LinesOf(instruction);
  }

  void Ask(const Instruction& instruction, int64_t o, const Demand& demand) {
    const Opcode opcode = instruction.opcode();
    const Instruction* operand = instruction.operand(o);
    if (opcode == Opcode::kGather && o == 1 && hlo::FollowsFromPosition(*operand)) return;  // nothing is computed
    Use& use = uses_[operand];
    const double whole = Elements(operand->shape());
    if (opcode == Opcode::kConcatenate || (opcode == Opcode::kGather && o == 1)) {
      // A part of the result; where a slice starts is computed once for all of it.
      use.evaluations += demand.asked * whole / std::max(Elements(instruction.shape()), 1.0);
    } else if (opcode == Opcode::kDynamicUpdateSlice) {
      use.evaluations += std::min(demand.evaluations, whole);
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
    use.slowdown = std::max(use.slowdown, demand.slowdown);
    use.lines = std::max(use.lines, demand.lines);
  }

  const machine::Machine& target_;
  const Instruction *root_ = nullptr, *computed_root_ = nullptr;
  absl::flat_hash_map<const Instruction*, Use> uses_;
  KernelWork work_;
};

}  // namespace

KernelWork WorkOf(const hlo::Computation& kernel, const machine::Machine& target,
                  std::vector<InstructionWork>* of_each) {
  return KernelWalk(target).Run(kernel, of_each);
}

std::string_view NameOf(KernelWork::Loop loop) {
  constexpr std::string_view kNames[KernelWork::kLoops] = {"elementwise", "row sums", "row ends", "column sums",
                                                           "windows",     "strided",  "singles",  "native operations"};
  return kNames[loop];
}

}  // namespace smelt::kernels::cost
