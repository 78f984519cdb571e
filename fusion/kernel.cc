#include "fusion/kernel.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "fusion/instruction_hash.h"
#include "hlo/known/known_parameters.h"
#include "hlo/passes/execution_counts.h"
#include "hlo/passes/reuse_distance.h"
#include "hlo/raw_attribute.h"

namespace smelt::fusion {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// What the executor does itself, or what other systems do.
constexpr Opcode kNoKernel[] = {
    Opcode::kParameter,     Opcode::kConstant,
    Opcode::kTuple,         Opcode::kGetTupleElement,
    Opcode::kWhile,         Opcode::kConditional,
    Opcode::kCall,          Opcode::kAfterAll,
    Opcode::kDomain,        Opcode::kOptimizationBarrier,
    Opcode::kAddDependency, Opcode::kAsyncStart,
    Opcode::kAsyncUpdate,   Opcode::kAsyncDone,
    Opcode::kCopyStart,     Opcode::kCopyDone,
    Opcode::kSend,          Opcode::kSendDone,
    Opcode::kRecv,          Opcode::kRecvDone,
    Opcode::kInfeed,        Opcode::kOutfeed,
};

bool IsScalarConstant(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kConstant && instruction.shape().IsScalar();
}

// One call of a nested fusion or call computation on the way from the kernel's root; frame 0 is the kernel itself.
struct Frame {
  int32_t parent = -1;
  const Instruction* caller = nullptr;
};

// A value inside the kernel: the instruction, and the frame that it stands in (a computation may be called twice).
struct Ref {
  int32_t frame = 0;
  const Instruction* instruction = nullptr;

  bool operator==(const Ref&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Ref& ref) {
    return H::combine(std::move(h), ref.frame, ref.instruction);
  }
};

// The kernel's values in canonical order (see instruction_hash.h), before anything is copied.
class CanonicalOrder {
 public:
  struct Value {
    const Instruction* instruction = nullptr;  // of a parameter: what stands for it
    int64_t parameter = -1;                    // index of the operand of the cut-out instruction, or -1
    std::vector<int64_t> operands;             // indices into values
  };

  explicit CanonicalOrder(const Instruction& instruction)
      : instruction_(instruction), fusion_(instruction.opcode() == Opcode::kFusion) {
    frames_.push_back({});
  }

  absl::Status Run() {
    if (!fusion_) return Visit({0, &instruction_});
    const Instruction* root = instruction_.called(0)->root();
    SMELT_ASSIGN_OR_RETURN(const Ref resolved, Resolve({0, root}));
    if (resolved.instruction->opcode() != Opcode::kTuple) return Visit(resolved);
    tuple_ = resolved.instruction;
    for (const Instruction* output : tuple_->operands()) {
      SMELT_ASSIGN_OR_RETURN(const Ref leaf, Resolve({resolved.frame, output}));
      SMELT_RETURN_IF_ERROR(Visit(leaf));
    }
    return absl::OkStatus();
  }

  Hash128 Hash(InstructionHasher& hasher) const {
    KernelHash hash;
    for (const Value& value : values_) {
      if (value.parameter >= 0) {
        hash.AddParameter(hasher.Parameter(value.instruction->shape()));
        continue;
      }
      hash.AddInstruction(hasher.Local(*value.instruction));
      for (int64_t operand : value.operands) hash.AddOperand(operand);
    }
    for (int64_t output : outputs_) hash.AddOutput(output);
    return hash.Finish();
  }

  // Kernel::known.
  std::vector<int64_t> KnownLeaves() const {
    std::vector<int64_t> known;
    int64_t leaf = 0;
    for (const Value& value : values_) {
      if (value.parameter < 0) continue;
      const Instruction& operand = *instruction_.operand(value.parameter);
      const bool is_known = operand.opcode() == Opcode::kConstant || hlo::IsKnownParameter(operand);
      for (const int64_t end = leaf + operand.shape().LeafCount(); leaf < end; ++leaf) {
        if (is_known) known.push_back(leaf);
      }
    }
    return known;
  }

  // Kernel::distances.
  std::vector<int64_t> DistancesOfLeaves(const hlo::ReuseDistances& distances) const {
    std::vector<int64_t> leaves;
    for (const Value& value : values_) {
      if (value.parameter < 0) continue;
      const Instruction& operand = *instruction_.operand(value.parameter);
      leaves.resize(leaves.size() + static_cast<size_t>(operand.shape().LeafCount()),
                    distances.Of(instruction_, operand));
    }
    const int64_t own_bytes = distances.OwnBytes(instruction_);
    for (int64_t part = 0; part < instruction_.shape().LeafCount(); ++part)
      leaves.push_back(distances.OfResult(instruction_, part, own_bytes));
    return leaves;
  }

  Kernel Build() const {
    Kernel kernel;
    kernel.name = instruction_.name();
    kernel.module = std::make_unique<hlo::Module>(instruction_.name());
    hlo::Module& module = *kernel.module;
    absl::flat_hash_map<const hlo::Computation*, hlo::Computation*> called;
    for (const Value& value : values_) {
      if (value.parameter >= 0) continue;
      for (const hlo::Computation* callee : value.instruction->called()) {
        if (!called.contains(callee)) called[callee] = module.CloneComputation(*callee);
      }
    }
    hlo::Computation* computation = module.AddComputation("kernel");
    std::vector<Instruction*> copies;
    copies.reserve(values_.size());
    kernel.known = KnownLeaves();
    for (const Value& value : values_) {
      if (value.parameter >= 0) {
        const int64_t number = static_cast<int64_t>(kernel.operands.size());
        copies.push_back(computation->Add(Opcode::kParameter, value.instruction->shape(), {},
                                          hlo::ParameterAttributes{number}, StrCat("p", number)));
        kernel.operands.push_back(value.parameter);
        continue;
      }
      std::vector<Instruction*> operands;
      operands.reserve(value.operands.size());
      for (int64_t operand : value.operands) operands.push_back(copies[operand]);
      std::vector<hlo::Computation*> callees;
      for (const hlo::Computation* callee : value.instruction->called()) callees.push_back(called.at(callee));
      Instruction* copy =
          computation->Add(value.instruction->opcode(), value.instruction->shape(), std::move(operands),
                           value.instruction->all_attributes(), value.instruction->name(), std::move(callees));
      for (const hlo::RawAttribute& raw : value.instruction->raw_attributes()) {
        if (hlo::ChangesMeaning(raw, copy->opcode())) copy->raw_attributes().push_back(raw);
      }
      copies.push_back(copy);
    }
    Instruction* root = copies[outputs_[0]];
    if (tuple_ != nullptr) {
      std::vector<Instruction*> operands;
      for (int64_t output : outputs_) operands.push_back(copies[output]);
      root = computation->Add(Opcode::kTuple, tuple_->shape(), std::move(operands));
    }
    computation->set_root(root);
    module.set_entry(computation);
    return kernel;
  }

 private:
  absl::Status Misfit(const Instruction& at) const {
    return absl::InvalidArgumentError(
        StrCat("the computation of fusion `", instruction_.name(), "` does not fit its operands at `", at.name(), "`"));
  }

  // What a reference stands for once nested fusions, calls and their tuples are looked through.
  absl::StatusOr<Ref> Resolve(Ref ref) {
    for (;;) {
      const Instruction* instruction = ref.instruction;
      switch (instruction->opcode()) {
        case Opcode::kParameter: {
          if (ref.frame == 0) return ref;
          const Frame frame = frames_[ref.frame];
          const int64_t number = instruction->attributes<hlo::ParameterAttributes>().number;
          if (number < 0 || number >= frame.caller->operand_count()) return Misfit(*instruction);
          ref = {frame.parent, frame.caller->operand(number)};
          break;
        }
        case Opcode::kFusion:
        case Opcode::kCall: {
          auto [it, fresh] = frame_of_.try_emplace(ref, static_cast<int32_t>(frames_.size()));
          if (fresh) frames_.push_back({ref.frame, instruction});
          ref = {it->second, instruction->called(0)->root()};
          break;
        }
        case Opcode::kGetTupleElement: {
          SMELT_ASSIGN_OR_RETURN(const Ref tuple, ResolveTuple({ref.frame, instruction->operand(0)}));
          if (tuple.instruction->opcode() != Opcode::kTuple) return ref;
          const int64_t index = instruction->attributes<hlo::TupleIndexAttributes>().index;
          if (index < 0 || index >= tuple.instruction->operand_count()) return Misfit(*instruction);
          ref = {tuple.frame, tuple.instruction->operand(index)};
          break;
        }
        default:
          return ref;
      }
    }
  }

  // Like Resolve for the operand of a get-tuple-element that is no get-tuple-element itself (kernels hold flat tuples).
  absl::StatusOr<Ref> ResolveTuple(Ref ref) {
    if (ref.instruction->opcode() == Opcode::kGetTupleElement) return ref;
    if (ref.instruction->opcode() == Opcode::kFusion || ref.instruction->opcode() == Opcode::kCall) {
      auto [it, fresh] = frame_of_.try_emplace(ref, static_cast<int32_t>(frames_.size()));
      if (fresh) frames_.push_back({ref.frame, ref.instruction});
      const Ref root{it->second, ref.instruction->called(0)->root()};
      if (root.instruction->opcode() == Opcode::kFusion || root.instruction->opcode() == Opcode::kCall) {
        return absl::UnimplementedError(
            StrCat("fusion `", instruction_.name(), "` nests tuples of `", ref.instruction->name(), "`"));
      }
      return root;
    }
    return ref;
  }

  // Operand positions of a single instruction are parameters, apart from scalar constants; in a fusion's computation
  // the parameters are.
  int64_t ParameterOf(const Ref& ref) const {
    if (!fusion_) {
      if (ref.instruction == &instruction_ || IsScalarConstant(*ref.instruction)) return -1;
      const auto operands = instruction_.operands();
      return std::find(operands.begin(), operands.end(), ref.instruction) - operands.begin();
    }
    if (ref.frame != 0 || ref.instruction->opcode() != Opcode::kParameter) return -1;
    return ref.instruction->attributes<hlo::ParameterAttributes>().number;
  }

  absl::Status Visit(const Ref& root) {
    struct Open {
      Ref ref;
      std::vector<int64_t> operands;
    };
    std::vector<Open> stack;
    const auto done = [&](const Ref& ref) { return number_.find(ref); };
    if (auto it = done(root); it != number_.end()) {
      outputs_.push_back(it->second);
      return absl::OkStatus();
    }
    stack.push_back({root, {}});
    while (!stack.empty()) {
      Open& top = stack.back();
      const Instruction* instruction = top.ref.instruction;
      const int64_t parameter = ParameterOf(top.ref);
      if (fusion_ && parameter >= instruction_.operand_count()) return Misfit(*instruction);
      const int64_t next = static_cast<int64_t>(top.operands.size());
      if (parameter < 0 && next < instruction->operand_count()) {
        Ref operand{top.ref.frame, instruction->operand(next)};
        // An instruction alone ends at its operands, whatever made them.
        if (fusion_) {
          SMELT_ASSIGN_OR_RETURN(operand, Resolve(operand));
        }
        if (auto it = done(operand); it != number_.end()) {
          top.operands.push_back(it->second);
        } else {
          stack.push_back({operand, {}});
        }
        continue;
      }
      number_[top.ref] = static_cast<int64_t>(values_.size());
      values_.push_back({instruction, parameter, std::move(top.operands)});
      stack.pop_back();
    }
    outputs_.push_back(number_.at(root));
    return absl::OkStatus();
  }

  const Instruction& instruction_;
  const bool fusion_;
  const Instruction* tuple_ = nullptr;
  std::vector<Frame> frames_;
  absl::flat_hash_map<Ref, int32_t> frame_of_;
  absl::flat_hash_map<Ref, int64_t> number_;
  std::vector<Value> values_;
  std::vector<int64_t> outputs_;
};

absl::Status CheckIsKernel(const Instruction& instruction) {
  if (!IsKernel(instruction)) {
    return absl::InvalidArgumentError(StrCat("`", instruction.name(), "` is a ", hlo::OpcodeName(instruction.opcode()),
                                             ", which does not run as a kernel"));
  }
  if (instruction.opcode() == Opcode::kFusion &&
      (instruction.called().size() != 1 || instruction.called(0)->root() == nullptr)) {
    return absl::InvalidArgumentError(StrCat("fusion `", instruction.name(), "` has no computation"));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsKernel(Opcode opcode) {
  return std::find(std::begin(kNoKernel), std::end(kNoKernel), opcode) == std::end(kNoKernel);
}
bool IsKernel(const Instruction& instruction) { return IsKernel(instruction.opcode()); }

bool KeepsBytes(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kReshape || instruction.opcode() == Opcode::kCopy) return true;
  if (instruction.opcode() != Opcode::kBitcast) return false;
  const hlo::Shape& from = instruction.operand(0)->shape();
  const hlo::Shape& to = instruction.shape();
  if (from.ByteSize() != to.ByteSize()) return false;
  if (from.HasDefaultLayout() && to.HasDefaultLayout()) return true;
  return from.dimensions == to.dimensions && from.layout.has_value() && to.layout.has_value() &&
         from.layout->minor_to_major == to.layout->minor_to_major;
}

bool IsFree(const hlo::Computation& kernel) {
  const Instruction& root = *kernel.root();
  return KeepsBytes(root) && root.operand(0)->opcode() == Opcode::kParameter;
}

absl::Status CheckDistances(const hlo::Computation& kernel, absl::Span<const int64_t> distances) {
  if (distances.empty()) return absl::OkStatus();
  int64_t arrays = kernel.root()->shape().LeafCount();
  for (const Instruction* parameter : kernel.Parameters()) arrays += parameter->shape().LeafCount();
  if (arrays == static_cast<int64_t>(distances.size())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(distances.size(), " distances, expected one for each of the ", arrays, " arrays it reads and writes"));
}

Hash128 TimedHash(const Kernel& kernel) {
  const std::vector<int64_t>& distances = kernel.distances;
  if (std::all_of(distances.begin(), distances.end(), [](int64_t bytes) { return bytes == 0; })) return kernel.hash;
  Hasher hasher;
  hasher.Add(kernel.hash);
  for (const int64_t bytes : distances) hasher.Add(static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(bytes))));
  return hasher.Finish();
}

absl::StatusOr<Kernel> ExtractKernel(const Instruction& instruction, bool layouts) {
  SMELT_RETURN_IF_ERROR(CheckIsKernel(instruction));
  CanonicalOrder order(instruction);
  SMELT_RETURN_IF_ERROR(order.Run());
  InstructionHasher hasher(layouts);
  Kernel kernel = order.Build();
  kernel.hash = order.Hash(hasher);
  return kernel;
}

absl::StatusOr<std::vector<Kernel>> ExtractKernels(const hlo::Module& module, std::vector<KernelCount>* counts) {
  std::vector<Kernel> kernels;
  if (counts != nullptr) counts->clear();
  InstructionHasher hasher;
  const hlo::ReuseDistances distances(module);
  absl::flat_hash_map<Hash128, size_t> seen;
  const auto runs = counts != nullptr ? hlo::ExecutionCounts(module) : decltype(hlo::ExecutionCounts(module)){};
  for (const hlo::Computation* computation : module.ExecutedComputations()) {
    for (const Instruction* instruction : computation->PostOrder()) {
      if (!IsKernel(*instruction)) continue;
      SMELT_RETURN_IF_ERROR(CheckIsKernel(*instruction));
      CanonicalOrder order(*instruction);
      SMELT_RETURN_IF_ERROR(order.Run());
      const Hash128 hash = order.Hash(hasher);
      auto [it, fresh] = seen.try_emplace(hash, kernels.size());
      std::vector<int64_t> apart = order.DistancesOfLeaves(distances);
      if (fresh) {
        kernels.push_back(order.Build());
        kernels.back().hash = hash;
        kernels.back().distances = std::move(apart);
        if (counts != nullptr) counts->emplace_back();
      } else {
        Kernel& first = kernels[it->second];
        const std::vector<int64_t> here = order.KnownLeaves();
        std::erase_if(first.known,
                      [&](int64_t leaf) { return std::find(here.begin(), here.end(), leaf) == here.end(); });
        for (size_t leaf = 0; leaf < apart.size(); ++leaf)
          first.distances[leaf] = std::min(first.distances[leaf], apart[leaf]);
      }
      if (counts == nullptr) continue;
      ++(*counts)[it->second].stands;
      (*counts)[it->second].runs += runs.at(computation);
    }
  }
  return kernels;
}

Kernel* FindKernel(std::vector<Kernel>& kernels, std::string_view name) {
  for (const std::string& each : {std::string(name), StrCat("fusion.", name)}) {
    for (Kernel& kernel : kernels) {
      if (kernel.name == each || kernel.hash.ToHex() == each) return &kernel;
    }
  }
  return nullptr;
}

}  // namespace smelt::fusion
