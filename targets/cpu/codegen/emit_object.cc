#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetLoweringObjectFile.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "targets/cpu/codegen/check_function.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/codegen/optimize.h"
#include "targets/cpu/codegen/phase_accesses.h"
#include "targets/cpu/codegen/phase_emitter.h"
#include "targets/cpu/codegen/target_machine.h"
#include "targets/cpu/codegen/tile_block.h"
#include "targets/cpu/codegen/vector_spills.h"

namespace smelt::cpu::codegen {
namespace {

// A symbol from a kernel's name: any byte that an assembler might not take becomes `_`.
std::string SymbolOf(const std::string& name, size_t phase) {
  std::string symbol = absl::StrCat("smelt_", name, "_", phase);
  for (char& c : symbol) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) c = '_';
  }
  return symbol;
}

void SetTargetAttributes(llvm::Function& function, const Target& target) {
  function.addFnAttr("target-cpu", target.name);
  if (!target.features.empty()) function.addFnAttr("target-features", target.features);
  // LLVM prefers narrower vectors on some CPUs that have wide ones; the schedule has chosen.
  const std::string bits = absl::StrCat(target.vector_bytes * 8);
  function.addFnAttr("prefer-vector-width", bits);
  function.addFnAttr("min-legal-vector-width", bits);
  // Kernels run with subnormal numbers as zero. Unsaid, a comparison of reinterpreted bits with zero becomes one of
  // integers.
  function.addFnAttr("denormal-fp-math", "preserve-sign,preserve-sign");
}

// Does what TargetMachine::addPassesToEmitFile does, with the spill counter between register allocation and printing.
absl::Status EmitMachineCode(llvm::Module& module, llvm::TargetMachine& machine, std::string* elf, int* spills) {
  auto& generic = static_cast<llvm::LLVMTargetMachine&>(machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  auto* information = new llvm::MachineModuleInfoWrapperPass(&generic);
  llvm::TargetPassConfig* config = generic.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  passes.add(information);
  if (config->addISelPasses()) return absl::InternalError("LLVM has no instruction selection for this target");
  config->addMachinePasses();
  passes.add(CreateVectorSpillCounter(spills));
  config->setInitialized();
  llvm::MCContext& context = information->getMMI().getContext();
  if (generic.addAsmPrinter(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile, context)) {
    return absl::InternalError("LLVM cannot write objects for this target");
  }
  passes.add(llvm::createFreeMachineFunctionPass());
  const_cast<llvm::TargetLoweringObjectFile*>(machine.getObjFileLowering())->Initialize(context, machine);
  passes.run(module);
  elf->assign(bytes.begin(), bytes.end());
  return absl::OkStatus();
}

absl::Status EmitAssembly(const llvm::Module& module, llvm::TargetMachine& machine, std::string* text) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  machine.Options.MCOptions.AsmVerbose = true;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    return absl::InternalError("LLVM cannot write assembly for this target");
  }
  passes.run(*copy);
  text->assign(bytes.begin(), bytes.end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ObjectCode> EmitObject(const kernels::ir::Function& function, const Target& target,
                                      const CodegenOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine(target));
  const HasFeature has_feature = [&](std::string_view feature) { return MachineHas(*machine, feature); };
  const absl::StatusOr<CheckedFunction> checked = CheckFunction(function, has_feature);
  if (!checked.ok()) {
    return absl::Status(checked.status().code(),
                        absl::StrCat("kernel ", function.name, ": ", checked.status().message()));
  }
  llvm::LLVMContext context;
  llvm::Module module(function.name, context);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);

  ObjectCode result;
  result.descriptor.name = function.name;
  result.descriptor.input_count = function.input_count;
  result.descriptor.output_count = static_cast<int64_t>(function.arguments.size()) - function.input_count;
  for (const kernels::ir::Buffer& buffer : function.shared)
    result.descriptor.shared_bytes.push_back(buffer->ByteSize());
  PhaseEmitter emitter(module, function, *checked);
  for (size_t i = 0; i < function.phases.size(); ++i) {
    const std::string symbol = SymbolOf(function.name, i);
    SetTargetAttributes(*emitter.Emit(function.phases[i], symbol), target);
    result.descriptor.uses_tiles |= !TileRowsIn(function.phases[i].body).empty();
    const int64_t extent = function.phases[i].var ? function.phases[i].extent : 1;
    PhaseAccesses accesses = AccessesOf(function, function.phases[i]);
    result.descriptor.phases.push_back({symbol, extent, std::move(accesses.reads), std::move(accesses.writes)});
  }
  result.descriptor.thread_scratch_bytes = emitter.thread_scratch_bytes();

  std::string problem;
  llvm::raw_string_ostream problem_stream(problem);
  if (llvm::verifyModule(module, &problem_stream)) {
    return absl::InternalError(absl::StrCat("kernel ", function.name, " gave invalid LLVM IR: ", problem));
  }
  Optimize(module, *machine);
  if (options.print_llvm && options.ir_text != nullptr) {
    options.ir_text->clear();
    llvm::raw_string_ostream(*options.ir_text) << module;
  }
  if (options.assembly_text != nullptr) {
    SMELT_RETURN_IF_ERROR(EmitAssembly(module, *machine, options.assembly_text));
  }
  SMELT_RETURN_IF_ERROR(EmitMachineCode(module, *machine, &result.elf, &result.vector_spills));
  result.compile_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace smelt::cpu::codegen
