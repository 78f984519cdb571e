#include "targets/cpu/codegen/optimize.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <string>
#include <vector>

#include "targets/cpu/codegen/target_machine.h"

namespace smelt::cpu::codegen {
namespace {

// Whether some loop of the function is marked to be unrolled here (kernels/ir/annotation.h).
bool HasMarkedLoops(const llvm::Function& function) {
  for (const llvm::BasicBlock& block : function) {
    if (const llvm::Instruction* end = block.getTerminator(); end != nullptr && end->hasMetadata("llvm.loop"))
      return true;
  }
  return false;
}

// Instructions of one kind from a narrow float to a wide one, or back.
template <typename Cast>
std::vector<Cast*> CastsOfHalves(llvm::Module& module) {
  std::vector<Cast*> casts;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* cast = llvm::dyn_cast<Cast>(&instruction);
      if (cast == nullptr) continue;
      const llvm::Type* narrow = llvm::isa<llvm::FPExtInst>(cast) ? cast->getSrcTy() : cast->getDestTy();
      if (narrow->getScalarType()->isHalfTy()) casts.push_back(cast);
    }
  }
  return casts;
}

constexpr const char* kWiden = "smelt.widen.";

// Where floats that were halves are compared, rounded to integers or the larger one is taken, LLVM does it to the
// halves; a machine that knows no such instructions then takes one lane at a time. So widening is a call that
// optimisations do not look into.
void HideWidening(llvm::Module& module) {
  for (llvm::FPExtInst* widening : CastsOfHalves<llvm::FPExtInst>(module)) {
    llvm::Type *from = widening->getSrcTy(), *to = widening->getDestTy();
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(from);
    const std::string name = kWiden + std::to_string(vector == nullptr ? 1 : vector->getNumElements()) +
                             (to->getScalarType()->isFloatTy() ? ".float" : ".double");
    auto* function = llvm::cast<llvm::Function>(
        module.getOrInsertFunction(name, llvm::FunctionType::get(to, from, false)).getCallee());
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
    function->setWillReturn();
    function->addFnAttr(llvm::Attribute::Speculatable);
    llvm::IRBuilder<> builder(widening);
    widening->replaceAllUsesWith(builder.CreateCall(function, widening->getOperand(0)));
    widening->eraseFromParent();
  }
}

void ShowWidening(llvm::Module& module) {
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) {
    if (function.getName().starts_with(kWiden)) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) {
    while (!function->use_empty()) {
      auto* call = llvm::cast<llvm::CallInst>(*function->user_begin());
      llvm::IRBuilder<> builder(call);
      call->replaceAllUsesWith(builder.CreateFPExt(call->getArgOperand(0), call->getType()));
      call->eraseFromParent();
    }
    function->eraseFromParent();
  }
  // What was rounded to a half and is stored as one.
  for (llvm::FPTruncInst* rounding : CastsOfHalves<llvm::FPTruncInst>(module)) {
    auto* widening = llvm::dyn_cast<llvm::FPExtInst>(rounding->getOperand(0));
    if (widening == nullptr || widening->getSrcTy() != rounding->getDestTy()) continue;
    rounding->replaceAllUsesWith(widening->getOperand(0));
    rounding->eraseFromParent();
    if (widening->use_empty()) widening->eraseFromParent();
  }
}

}  // namespace

// Vectors and unrolling were decided by the schedule: no vectoriser, no inliner, and no unroller but of loops that it
// marks.
void Optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  const bool computes_halves = MachineHas(machine, "avx512fp16") || MachineHas(machine, "fullfp16");
  if (!computes_halves) HideWidening(module);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::FunctionPassManager pipeline;
  pipeline.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));  // accumulators become registers
  pipeline.addPass(llvm::ADCEPass());  // sums that nobody reads, of the rows that a tile has beyond the last
  pipeline.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));  // unrolled bodies load the same again
  pipeline.addPass(llvm::InstCombinePass());                    // index arithmetic
  pipeline.addPass(llvm::createFunctionToLoopPassAdaptor(       // what does not change leaves the loops
      llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  pipeline.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));  // and is now found to be equal
  pipeline.addPass(llvm::DSEPass());                            // sums are stored after several terms, not each
  pipeline.addPass(llvm::SimplifyCFGPass());                    // blocks of guarded stores
  llvm::FunctionPassManager unroll;
  unroll.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(/*OptLevel=*/2, /*OnlyWhenForced=*/true)));
  unroll.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));  // indices have become constants
  unroll.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  unroll.addPass(llvm::InstCombinePass());
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const bool marked = HasMarkedLoops(function);
    pipeline.run(function, functions);
    if (marked) unroll.run(function, functions);
  }
  if (!computes_halves) ShowWidening(module);
}

}  // namespace smelt::cpu::codegen
