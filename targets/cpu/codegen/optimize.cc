#include "targets/cpu/codegen/optimize.h"

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

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

}  // namespace

// Vectors and unrolling were decided by the schedule: no vectoriser, no inliner, and no unroller but of loops that it
// marks.
void Optimize(llvm::Module& module, llvm::TargetMachine& machine) {
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
  pipeline.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));       // unrolled bodies load the same again
  pipeline.addPass(llvm::InstCombinePass());                         // index arithmetic
  pipeline.addPass(llvm::createFunctionToLoopPassAdaptor(            // what does not change leaves the loops
      llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  pipeline.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));  // and is now found to be equal
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
}

}  // namespace smelt::cpu::codegen
