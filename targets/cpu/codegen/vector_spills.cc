#include "targets/cpu/codegen/vector_spills.h"

#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineLoopInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

namespace smelt::cpu::codegen {
namespace {

constexpr uint64_t kVectorBytes = 16;

// Whether the stack is used for a vector: a pair of general registers is as wide where one instruction stores both, as
// on AArch64.
bool HasVectorRegister(const llvm::MachineInstr& instruction, const llvm::TargetRegisterInfo& registers) {
  const auto is_vector = [&](const llvm::MachineOperand& operand) {
    if (!operand.isReg() || !operand.getReg().isPhysical()) return false;
    return llvm::any_of(registers.regclasses(), [&](const llvm::TargetRegisterClass* kind) {
      return kind->contains(operand.getReg()) && registers.getRegSizeInBits(*kind) >= 8 * kVectorBytes;
    });
  };
  return llvm::any_of(instruction.operands(), is_vector);
}

class VectorSpillCounter : public llvm::MachineFunctionPass {
 public:
  static char ID;
  explicit VectorSpillCounter(int* count) : MachineFunctionPass(ID), count_(count) {}

  llvm::StringRef getPassName() const override { return "count vector spills"; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.addRequired<llvm::MachineLoopInfoWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const llvm::MachineLoopInfo& loops = getAnalysis<llvm::MachineLoopInfoWrapperPass>().getLI();
    const llvm::TargetInstrInfo* info = function.getSubtarget().getInstrInfo();
    const llvm::TargetRegisterInfo& registers = *function.getSubtarget().getRegisterInfo();
    for (const llvm::MachineBasicBlock& block : function) {
      const llvm::MachineLoop* loop = loops.getLoopFor(&block);
      if (loop == nullptr || !loop->isInnermost()) continue;
      for (const llvm::MachineInstr& instruction : block) {
        for (const auto& size : {instruction.getSpillSize(info), instruction.getRestoreSize(info),
                                 instruction.getFoldedSpillSize(info), instruction.getFoldedRestoreSize(info)}) {
          if (size.has_value() && size->hasValue() && !size->isScalable() && size->getValue() >= kVectorBytes) {
            *count_ += HasVectorRegister(instruction, registers) ? 1 : 0;
            break;
          }
        }
      }
    }
    return false;
  }

 private:
  int* count_;
};

char VectorSpillCounter::ID = 0;

}  // namespace

llvm::Pass* CreateVectorSpillCounter(int* count) { return new VectorSpillCounter(count); }

}  // namespace smelt::cpu::codegen
