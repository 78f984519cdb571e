#include "targets/cpu/codegen/optimize.h"

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace smelt::cpu::codegen {

// Vectors and unrolling were decided by the schedule: no vectoriser, no unroller, no inliner.
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
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) pipeline.run(function, functions);
  }
}

}  // namespace smelt::cpu::codegen
