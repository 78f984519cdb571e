#include "targets/cpu/codegen/target_machine.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/codegen/source_version.h"

namespace smelt::cpu::codegen {
namespace {

constexpr const char* kTriples[] = {"x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"};

void InitializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    // LLVM aborts where malloc gives nothing; the program may have a better way to end.
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) {
      if (const std::new_handler handler = std::get_new_handler()) handler();
    });
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target) {
  InitializeTargets();
  for (const char* triple : kTriples) {
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
    if (found == nullptr)
      return absl::InternalError(absl::StrCat("LLVM has no code generator for ", triple, ": ", error));
    // An empty CPU first, because an unknown name makes LLVM print a warning.
    std::unique_ptr<llvm::MCSubtargetInfo> subtarget(found->createMCSubtargetInfo(triple, "", ""));
    if (subtarget == nullptr || !subtarget->isCPUStringValid(target.name)) continue;
    llvm::TargetOptions options;
    options.EnableFastISel = false;
    std::unique_ptr<llvm::TargetMachine> machine(
        found->createTargetMachine(triple, target.name, target.features, options, llvm::Reloc::PIC_,
                                   llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
    if (machine == nullptr) return absl::InternalError(absl::StrCat("LLVM made no target machine for ", triple));
    return machine;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("`", target.name, "` is no CPU that LLVM ", LLVM_VERSION_STRING, " knows on x86-64 or AArch64"));
}

bool MachineHas(const llvm::TargetMachine& machine, std::string_view feature) {
  const std::string name(feature);
  // Features of the other architecture are unknown to LLVM, which then prints a warning.
  for (const llvm::SubtargetFeatureKV& known : machine.getMCSubtargetInfo()->getAllProcessorFeatures()) {
    if (name == known.Key) return machine.getMCSubtargetInfo()->checkFeatures("+" + name);
  }
  return false;
}

absl::StatusOr<std::vector<std::string>> DescribeInstructions(const std::string& cpu, const std::string& features) {
  Target target;
  target.name = cpu;
  target.features = features;
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine(target));
  // Those of which templates of kernels know.
  constexpr const char* kKnown[] = {"amx-int8", "amx-bf16", "avx512vnni", "avx512bf16",
                                    "avxvnni",  "avx512bw", "avx2",       "dotprod"};
  std::vector<std::string> found;
  for (const char* feature : kKnown) {
    if (MachineHas(*machine, feature)) found.push_back(feature);
  }
  return found;
}

void DescribeHost(std::string* cpu, std::string* features, bool (*may_use_tiles)()) {
  *cpu = llvm::sys::getHostCPUName().str();
  // What the name promises may be hidden by a hypervisor, so every feature is spelled out, in a fixed order.
  std::vector<std::string> words;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    // Whoever makes code for the processor at hand will run it in this process or in one of the same rights.
    const bool has = feature.second && (!feature.first().starts_with("amx-") || may_use_tiles());
    words.push_back(absl::StrCat(has ? "+" : "-", feature.first().str()));
  }
  std::sort(words.begin(), words.end(), [](const std::string& a, const std::string& b) {
    return std::string_view(a).substr(1) < std::string_view(b).substr(1);
  });
  *features = absl::StrJoin(words, ",");
}

absl::Status DescribeVectors(const std::string& cpu, const std::string& features, int* vector_bytes, int* registers) {
  Target target;
  target.name = cpu;
  target.features = features;
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine(target));
  const llvm::MCSubtargetInfo& subtarget = *machine->getMCSubtargetInfo();
  struct Unit {
    const char* feature;
    int bytes;
    int registers;
  };
  // Widest first; an architecture that has none of these has no vectors worth the name.
  const Unit x86[] = {{"+avx512f", 64, 32}, {"+avx", 32, 16}, {"+sse2", 16, 16}};
  const Unit aarch64[] = {{"+neon", 16, 32}};
  *vector_bytes = 8;
  *registers = 16;
  for (const Unit& unit :
       machine->getTargetTriple().isX86() ? llvm::ArrayRef<Unit>(x86) : llvm::ArrayRef<Unit>(aarch64)) {
    if (!subtarget.checkFeatures(unit.feature)) continue;
    *vector_bytes = unit.bytes;
    *registers = unit.registers;
    break;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> UsedFeatures(const Target& target,
                                                      const std::vector<std::string_view>& features) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine(target));
  std::vector<std::string> used;
  for (const std::string_view feature : features) {
    if (MachineHas(*machine, feature)) used.emplace_back(feature);
  }
  return used;
}

absl::StatusOr<std::string> ArchitectureOf(const Target& target) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine(target));
  return machine->getTargetTriple().getArchName().str();
}

std::string CompilerVersion() { return absl::StrCat("LLVM ", LLVM_VERSION_STRING, " smelt ", SourceVersion()); }

}  // namespace smelt::cpu::codegen
