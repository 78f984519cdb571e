#include "hlo/proto/writer.h"

#include <google/protobuf/text_format.h>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/str_cat.h"
#include "hlo/literal.h"
#include "hlo/proto/carried_fields.h"
#include "hlo/proto/hlo.pb.h"
#include "hlo/proto/kept_text.h"
#include "hlo/proto/literal_fields.h"
#include "hlo/proto/module_fields.h"
#include "hlo/proto/origin_fields.h"
#include "hlo/proto/shape_fields.h"
#include "hlo/proto/typed_fields.h"

namespace smelt::hlo {
namespace proto {
namespace {

class Writer {
 public:
  Writer(const Module& module, ProtoForm form) : module_(module), form_(form), order_(module.PostOrder()) {}

  void Write(HloModuleProto* to) {
    for (const Computation* computation : order_) {
      const int64_t id = static_cast<int64_t>(computation_ids_.size());
      computation_ids_[computation] = id;
      for (const Instruction* instruction : computation->Instructions()) {
        if (instruction->opcode() != Opcode::kFusion) continue;
        for (const Computation* fused : instruction->called()) fused_.insert(fused);
      }
    }
    to->set_name(module_.name());
    if (module_.entry() != nullptr) {
      to->set_entry_computation_name(module_.entry()->name());
      to->set_entry_computation_id(computation_ids_.at(module_.entry()));
    }
    WriteHeader(module_, to);
    for (const Computation* computation : order_) {
      Write(*computation, to->add_computations());
      if (to->has_schedule() && !fused_.contains(computation)) Schedule(to->computations().rbegin(), to);
    }
    std::vector<RawAttribute> given;
    std::string tables;
    if (!ReadHeader(*to, &given, &tables).ok()) given.clear();
    std::vector<RawAttribute> buffer;
    KeepCarried(Said(PrintedHeader(module_), &buffer), given, to);
    RestoreUnknown(module_.raw_attributes(), form_, to);
    if (tables != module_.tables()) to->mutable_smelt_kept()->set_tables(module_.tables());
  }

 private:
  int64_t Id(const Instruction& instruction) const { return ids_.at(&instruction); }

  template <typename Last>
  void Schedule(Last last, HloModuleProto* to) {
    HloScheduleProto::SequencesEntry* entry = to->mutable_schedule()->add_sequences();
    entry->set_key(last->id());
    for (const HloInstructionProto& instruction : last->instructions()) {
      entry->mutable_value()->add_instruction_ids(instruction.id());
    }
  }

  void Write(const Computation& computation, HloComputationProto* to) {
    const int64_t id = computation_ids_.at(&computation);
    to->set_name(computation.name());
    to->set_id(id);
    to->set_is_fusion_computation(fused_.contains(&computation));
    const std::vector<Instruction*> order = computation.PostOrder();
    for (size_t i = 0; i < order.size(); ++i) ids_[order[i]] = id << 32 | static_cast<int64_t>(i);
    for (const Instruction* instruction : order) Write(*instruction, to->add_instructions());
    if (computation.root() != nullptr) to->set_root_id(Id(*computation.root()));
    WriteProgramShape(computation, to->mutable_program_shape());
    for (const RawAttribute& attribute : computation.raw_attributes()) WriteThread(attribute, to);
    std::vector<RawAttribute> given;
    ReadThread(*to, &given);
    std::vector<RawAttribute> buffer;
    KeepCarried(Said(computation.raw_attributes(), &buffer), given, to);
    RestoreUnknown(computation.raw_attributes(), form_, to);
  }

  void Write(const Instruction& instruction, HloInstructionProto* to) {
    to->set_name(instruction.name());
    to->set_opcode(std::string(OpcodeName(instruction.opcode())));
    to->set_id(Id(instruction));
    WriteShape(instruction.shape(), to->mutable_shape());
    for (const Instruction* operand : instruction.operands()) to->add_operand_ids(Id(*operand));
    for (const Instruction* before : instruction.control_predecessors()) to->add_control_predecessor_ids(Id(*before));
    if (!Continues(instruction)) {
      for (const Computation* called : instruction.called())
        to->add_called_computation_ids(computation_ids_.at(called));
    }
    WriteTyped(instruction, to);
    WriteCarried(instruction, to);
    if (instruction.opcode() == Opcode::kConstant) {
      const ConstantAttributes& constant = instruction.attributes<ConstantAttributes>();
      if (constant.literal != nullptr) WriteLiteral(*constant.literal, instruction.shape(), to->mutable_literal());
      if (constant.elided) to->mutable_smelt_kept()->set_elided(true);
    }
    KeepTyped(instruction, to);
    std::vector<RawAttribute> given;
    if (!ReadCarried(*to, instruction.opcode(), HloModuleProto::default_instance(), &given).ok()) given.clear();
    std::vector<RawAttribute> buffer;
    const std::vector<RawAttribute>& said = Said(instruction.raw_attributes(), &buffer);
    KeepCarried(said, given, to);
    RestoreUnknown(instruction.raw_attributes(), form_, to);
    // XLA wants to know what goes out even where the text leaves it to the operand.
    if (instruction.opcode() == Opcode::kOutfeed && !to->has_outfeed_shape() && instruction.operand_count() > 0) {
      WriteShape(instruction.operand(0)->shape(), to->mutable_outfeed_shape());
      if (!to->smelt_kept().has_carried()) KeepCarried(said, {{"outfeed_shape", ""}}, to);
    }
  }

  // The later parts of an asynchronous operation call what the first one does, and XLA writes it only there.
  static bool Continues(const Instruction& instruction) {
    if (instruction.opcode() != Opcode::kAsyncUpdate && instruction.opcode() != Opcode::kAsyncDone) return false;
    if (instruction.operand_count() == 0) return false;
    const Instruction& before = *instruction.operand(0);
    return (before.opcode() == Opcode::kAsyncStart || before.opcode() == Opcode::kAsyncUpdate) &&
           before.called() == instruction.called();
  }

  const Module& module_;
  const ProtoForm form_;
  const std::vector<Computation*> order_;
  absl::flat_hash_map<const Computation*, int64_t> computation_ids_;
  absl::flat_hash_map<const Instruction*, int64_t> ids_;
  absl::flat_hash_set<const Computation*> fused_;
};

}  // namespace
}  // namespace proto

absl::StatusOr<std::string> WriteProto(const Module& module, ProtoForm form) {
  proto::HloModuleProto to;
  proto::Writer(module, form).Write(&to);
  constexpr size_t kLimit = INT32_MAX;  // of protobuf
  const size_t size = to.ByteSizeLong();
  if (size > kLimit) {
    return absl::ResourceExhaustedError(
        StrCat("module ", module.name(), " would be a proto of ", size, " bytes; protobuf writes at most ", kLimit));
  }
  std::string bytes;
  const bool written = form == ProtoForm::kBinary ? to.SerializeToString(&bytes)
                                                  : google::protobuf::TextFormat::PrintToString(to, &bytes);
  if (!written) return absl::InternalError(StrCat("module ", module.name(), " could not be written as a proto"));
  return bytes;
}

}  // namespace smelt::hlo
