#include "hlo/proto/reader.h"

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/attribute_family.h"
#include "hlo/literal.h"
#include "hlo/proto/carried_fields.h"
#include "hlo/proto/dependency_order.h"
#include "hlo/proto/hlo.pb.h"
#include "hlo/proto/kept_text.h"
#include "hlo/proto/literal_fields.h"
#include "hlo/proto/module_fields.h"
#include "hlo/proto/shape_fields.h"
#include "hlo/proto/typed_fields.h"
#include "hlo/proto/wrappers.h"
#include "hlo/scanner/scanner.h"
#include "hlo/shape_inference/shape_inference.h"
#include "hlo/unreachable.h"
#include "hlo/verifier/verifier.h"

namespace smelt::hlo {
namespace proto {
namespace {

// Files differ in what stands in the upper half of an id (nothing, the computation), so that references count by the
// lower half.
uint32_t LocalId(int64_t id) { return static_cast<uint32_t>(id); }

// A name that a text can hold.
std::string TextName(const std::string& name) {
  std::string out = name;
  for (char& c : out) {
    if (!text::IsA(c, text::kWordCharacter)) c = '_';
  }
  if (!out.empty() && !text::IsA(out[0], text::kWordStart | text::kDigitCharacter)) out.insert(0, "_");
  return out;
}

absl::Status At(std::string_view where, const absl::Status& status) {
  return absl::Status(status.code(), StrCat(where, ": ", std::string(status.message())));
}

class Reader {
 public:
  explicit Reader(HloModuleProto& from) : from_(from), module_(std::make_unique<Module>(ModuleName(from))) {}

  absl::StatusOr<std::unique_ptr<Module>> Read() {
    SMELT_RETURN_IF_ERROR(FindComputations());
    SMELT_ASSIGN_OR_RETURN(const std::vector<int> order, ComputationOrder());
    computations_.resize(from_.computations_size());
    for (int i : order) {
      HloComputationProto& computation = *from_.mutable_computations(i);
      computations_[i] = module_->AddComputation(TextName(computation.name()));
      SMELT_RETURN_IF_ERROR(ReadComputation(computation, computations_[i]));
    }
    SMELT_RETURN_IF_ERROR(SetEntry());
    SMELT_RETURN_IF_ERROR(ReadModuleHeader());
    return std::move(module_);
  }

 private:
  static std::string ModuleName(const HloModuleProto& from) {
    const std::string name = TextName(from.name());
    return name.empty() ? "module" : name;
  }

  absl::Status FindComputations() {
    for (int i = 0; i < from_.computations_size(); ++i) {
      const HloComputationProto& computation = from_.computations(i);
      if (!by_id_.try_emplace(LocalId(computation.id()), i).second) {
        return absl::InvalidArgumentError(
            StrCat("computation ", computation.name(), " has id ", computation.id(), ", which another one has"));
      }
    }
    for (const auto& sequence : from_.schedule().sequences()) {
      const auto found = by_id_.find(LocalId(sequence.key()));
      if (found == by_id_.end()) {
        return absl::InvalidArgumentError(
            StrCat("the schedule is of computation ", sequence.key(), ", which there is not"));
      }
      schedules_[found->second] = &sequence.value();
    }
    return absl::OkStatus();
  }

  // Callees first, otherwise as in the file.
  absl::StatusOr<std::vector<int>> ComputationOrder() {
    std::vector<std::vector<int>> callees(from_.computations_size());
    for (int i = 0; i < from_.computations_size(); ++i) {
      for (const HloInstructionProto& instruction : from_.computations(i).instructions()) {
        for (int64_t id : instruction.called_computation_ids()) {
          const auto found = by_id_.find(LocalId(id));
          if (found == by_id_.end()) {
            return absl::InvalidArgumentError(StrCat("instruction ", instruction.name(), " of computation ",
                                                     from_.computations(i).name(), " calls computation ", id,
                                                     ", which there is not"));
          }
          callees[i].push_back(found->second);
        }
      }
    }
    const DependencyOrder order = OrderByDependency(callees);
    if (order.in_cycle < 0) return order.order;
    return absl::InvalidArgumentError(
        StrCat("computation ", from_.computations(order.in_cycle).name(), " calls itself, perhaps through others"));
  }

  absl::Status ReadComputation(HloComputationProto& from, Computation* to) {
    const std::string where = StrCat("computation ", to->name());
    absl::flat_hash_map<uint32_t, int> places;
    places.reserve(from.instructions_size());
    for (int i = 0; i < from.instructions_size(); ++i) {
      if (!places.try_emplace(LocalId(from.instructions(i).id()), i).second) {
        return absl::InvalidArgumentError(StrCat(where, ": instruction ", from.instructions(i).name(), " has id ",
                                                 from.instructions(i).id(), ", which another one has"));
      }
    }
    SMELT_ASSIGN_OR_RETURN(const std::vector<int> order, InstructionOrder(from, places, where));
    std::vector<Instruction*> instructions(from.instructions_size());
    for (int i : order) {
      HloInstructionProto& instruction = *from.mutable_instructions(i);
      std::vector<Instruction*> operands;
      operands.reserve(instruction.operand_ids_size());
      for (int64_t id : instruction.operand_ids()) operands.push_back(instructions[places.at(LocalId(id))]);
      const absl::Status status = ReadInstruction(instruction, std::move(operands), to, &instructions[i]);
      if (!status.ok()) return At(StrCat(where, ", instruction ", TextName(instruction.name())), status);
      for (int64_t id : instruction.control_predecessor_ids()) {
        instructions[i]->AddControlPredecessor(instructions[places.at(LocalId(id))]);
      }
    }
    const auto root = places.find(LocalId(from.root_id()));
    if (root == places.end()) {
      return absl::InvalidArgumentError(
          StrCat(where, ": its root has id ", from.root_id(), ", which no instruction has"));
    }
    to->set_root(instructions[root->second]);
    ReadThread(from, &to->raw_attributes());
    const absl::Status status = RestoreCarried(
        from, [](const RawAttribute& a) { return IsHeaderText(a.name, a.value); }, &to->raw_attributes());
    KeepUnknown(from, &to->raw_attributes());
    return status.ok() ? status : At(where, status);
  }

  // The schedule's order where there is one; operands and control predecessors first; otherwise as in the file.
  absl::StatusOr<std::vector<int>> InstructionOrder(const HloComputationProto& from,
                                                    const absl::flat_hash_map<uint32_t, int>& places,
                                                    const std::string& where) {
    std::vector<std::vector<int>> before(from.instructions_size());
    for (int i = 0; i < from.instructions_size(); ++i) {
      const HloInstructionProto& instruction = from.instructions(i);
      before[i].reserve(instruction.operand_ids_size() + instruction.control_predecessor_ids_size());
      for (const auto& [ids, role] : {std::pair(&instruction.operand_ids(), "operand"),
                                      std::pair(&instruction.control_predecessor_ids(), "control predecessor")}) {
        for (int64_t id : *ids) {
          const auto found = places.find(LocalId(id));
          if (found == places.end()) {
            return absl::InvalidArgumentError(StrCat(where, ", instruction ", instruction.name(), ": ", role, " ", id,
                                                     " is no instruction of this computation"));
          }
          before[i].push_back(found->second);
        }
      }
    }
    std::vector<int> start;
    const auto schedule = schedules_.find(by_id_.at(LocalId(from.id())));
    if (schedule != schedules_.end()) {
      for (int64_t id : schedule->second->instruction_ids()) {
        const auto found = places.find(LocalId(id));
        if (found == places.end()) {
          return absl::InvalidArgumentError(
              StrCat(where, ": its schedule has instruction ", id, ", which there is not"));
        }
        start.push_back(found->second);
      }
    }
    const DependencyOrder order = OrderByDependency(before, start);
    if (order.in_cycle < 0) return order.order;
    return absl::InvalidArgumentError(
        StrCat(where, ": instruction ", from.instructions(order.in_cycle).name(), " depends on itself"));
  }

  absl::Status ReadInstruction(HloInstructionProto& from, std::vector<Instruction*> operands, Computation* computation,
                               Instruction** made) {
    RenewOpcode(&from);
    const std::optional<Opcode> found = OpcodeFromName(from.opcode());
    if (!found) return absl::InvalidArgumentError(StrCat("\"", from.opcode(), "\" is no opcode of HLO"));
    Opcode opcode = *found;
    const int arity = GetOpcodeInfo(opcode).arity;
    if (arity != kVariadic && static_cast<int>(operands.size()) != arity) {
      return absl::InvalidArgumentError(StrCat("expected ", arity, arity == 1 ? " operand" : " operands", " of ",
                                               OpcodeName(opcode), ", found ", operands.size()));
    }
    if (!from.has_shape()) return absl::InvalidArgumentError("it has no shape");
    Shape shape;
    SMELT_RETURN_IF_ERROR(ReadShape(from.shape(), &shape));
    std::vector<Computation*> called;
    for (int64_t id : from.called_computation_ids()) called.push_back(computations_[by_id_.at(LocalId(id))]);
    if ((opcode == Opcode::kAsyncUpdate || opcode == Opcode::kAsyncDone) && called.empty() && !operands.empty()) {
      called.assign(operands[0]->called().begin(), operands[0]->called().end());
    }
    Attributes attributes = EmptyAttributes(opcode);
    SMELT_RETURN_IF_ERROR(ReadTyped(from, operands, &attributes));
    SMELT_RETURN_IF_ERROR(RestoreTyped(from, opcode, &attributes));
    if (opcode == Opcode::kConstant) {
      if (!from.has_literal()) return absl::InvalidArgumentError("the constant has no literal");
      SMELT_ASSIGN_OR_RETURN(Literal literal, ReadLiteral(from.literal(), shape));
      auto& constant = std::get<ConstantAttributes>(attributes);
      constant.literal = std::make_shared<const Literal>(std::move(literal));
      constant.elided = from.smelt_kept().elided();
      from.clear_literal();  // it is there once from here on
    }
    std::vector<RawAttribute> carried;
    SMELT_RETURN_IF_ERROR(ReadCarried(from, opcode, from_, &carried));
    SMELT_RETURN_IF_ERROR(RestoreCarried(
        from, [&](const RawAttribute& a) { return IsAttributeText(opcode, a.name, a.value); }, &carried));
    MakeConversionExplicit(shape, computation, &opcode, &operands, &attributes, &called);
    if (opcode == Opcode::kMap && !operands.empty()) {
      std::vector<int64_t>& dimensions = std::get<DimensionsAttributes>(attributes).dimensions;
      if (dimensions.empty()) {
        dimensions.resize(operands[0]->shape().dimensions.size());
        std::iota(dimensions.begin(), dimensions.end(), 0);
      }
    }
    *made = computation->Add(opcode, std::move(shape), std::move(operands), std::move(attributes),
                             TextName(from.name()), std::move(called));
    KeepUnknown(from, &carried);
    (*made)->raw_attributes() = std::move(carried);
    return absl::OkStatus();
  }

  // The text's rule holds here, too: a copy or a reduction whose result is of another float type rounds it, which here
  // is a convert.
  static void MakeConversionExplicit(const Shape& shape, Computation* computation, Opcode* opcode,
                                     std::vector<Instruction*>* operands, Attributes* attributes,
                                     std::vector<Computation*>* called) {
    if (operands->empty() || !IsFloat(shape.element_type) || !IsFloat((*operands)[0]->shape().element_type) ||
        (*operands)[0]->shape().element_type == shape.element_type) {
      return;
    }
    if (*opcode == Opcode::kReduce) {
      const absl::StatusOr<Shape> inferred = InferShape(*opcode, *operands, *attributes, *called);
      if (!inferred.ok() || !inferred->IsArray() || inferred->element_type == shape.element_type) return;
      *operands = {computation->Add(*opcode, *inferred, std::move(*operands), std::move(*attributes), "",
                                    std::exchange(*called, {}))};
    } else if (*opcode != Opcode::kCopy) {
      return;
    }
    *opcode = Opcode::kConvert;
    *attributes = EmptyAttributes(*opcode);
  }

  absl::Status SetEntry() {
    const auto entry = by_id_.find(LocalId(from_.entry_computation_id()));
    if (entry != by_id_.end()) {
      module_->set_entry(computations_[entry->second]);
      return absl::OkStatus();
    }
    for (int i = 0; i < from_.computations_size(); ++i) {
      if (from_.computations(i).name() != from_.entry_computation_name()) continue;
      module_->set_entry(computations_[i]);
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(StrCat("the entry computation has id ", from_.entry_computation_id(),
                                             " and name \"", from_.entry_computation_name(),
                                             "\", which no computation has"));
  }

  absl::Status ReadModuleHeader() {
    SMELT_RETURN_IF_ERROR(ReadHeader(from_, &module_->raw_attributes(), &module_->tables()));
    SMELT_RETURN_IF_ERROR(RestoreCarried(
        from_, [](const RawAttribute& a) { return IsHeaderText(a.name, a.value); }, &module_->raw_attributes()));
    KeepUnknown(from_, &module_->raw_attributes());
    if (from_.smelt_kept().has_tables()) module_->tables() = from_.smelt_kept().tables();
    if (!module_->tables().empty() && !AreTables(module_->tables())) {
      return absl::InvalidArgumentError("the tables of stack frames are no such text");
    }
    return absl::OkStatus();
  }

  HloModuleProto& from_;
  std::unique_ptr<Module> module_;
  absl::flat_hash_map<uint32_t, int> by_id_;  // place in the proto
  absl::flat_hash_map<int, const HloScheduleProto::InstructionSequence*> schedules_;
  std::vector<Computation*> computations_;  // by place in the proto
};

absl::Status Verify(Module& module) {
  std::optional<Problem> problem = FindProblem(module);
  // The text's rule holds here, too: leftovers that nothing calls are dropped where they break a rule.
  if (problem && problem->computation != nullptr && RemoveUnreachableComputations(module))
    problem = FindProblem(module);
  if (!problem) return absl::OkStatus();
  return VerifyModule(module);
}

}  // namespace
}  // namespace proto

absl::StatusOr<std::unique_ptr<Module>> ReadProto(std::string_view bytes, const ProtoOptions& options) {
  proto::HloModuleProto from;
  if (const absl::Status status = proto::UnwrapModule(bytes, options.form, &from); !status.ok()) {
    // A text proto's error begins with line and column.
    const std::string message(status.message());
    const bool placed = !message.empty() && message[0] >= '0' && message[0] <= '9';
    return absl::Status(status.code(), StrCat(options.file_name, placed ? ":" : ": ", message));
  }
  absl::StatusOr<std::unique_ptr<Module>> module = proto::Reader(from).Read();
  if (!module.ok()) return proto::At(options.file_name, module.status());
  if (options.verify) {
    if (const absl::Status status = proto::Verify(**module); !status.ok()) return proto::At(options.file_name, status);
  }
  return module;
}

}  // namespace smelt::hlo
