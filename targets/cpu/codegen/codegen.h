// From loop IR to machine code, through LLVM 19. The only door to LLVM: this header does not include it.
//
//   ObjectCode object = EmitObject(function, target).value();        // a relocatable ELF object, position independent
//   std::shared_ptr<runtime::KernelCode> code = LoadObject(object).value();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ir/stmt.h"
#include "runtime/kernel_code.h"
#include "runtime/tile_permission.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::cpu::codegen {

struct ObjectCode {
  std::string elf;                       // relocatable object
  runtime::KernelDescriptor descriptor;  // phases, scratch sizes
  int vector_spills = 0;                 // stores of vectors to the stack and loads from it, in innermost loops
  double compile_seconds = 0;
};

struct CodegenOptions {
  bool print_llvm = false;  // keeps the optimised LLVM IR in ir_text
  std::string* ir_text = nullptr;
  std::string* assembly_text = nullptr;
};

// Thread-safe: every call has its own LLVM context.
absl::StatusOr<ObjectCode> EmitObject(const kernels::ir::Function& function, const Target& target,
                                      const CodegenOptions& options = {});

// Links an object into this process (ORC JIT link); the code lives as long as the result. Takes well under a
// millisecond. Of an object for another architecture there is the description alone (KernelCode::is_loaded).
absl::StatusOr<std::shared_ptr<runtime::KernelCode>> LoadObject(const ObjectCode& object);

// Detected host for DetectTarget: LLVM's CPU name and feature string. What `may_use_tiles` does not grant is no
// feature.
void DescribeHost(std::string* cpu, std::string* features, bool (*may_use_tiles)() = runtime::AskForTiles);
// Vector width and registers of a CPU by LLVM's name. InvalidArgument when LLVM does not know it.
absl::Status DescribeVectors(const std::string& cpu, const std::string& features, int* vector_bytes, int* registers);
// Which of these features (LLVM's names) the code for a target may use, in their order; and its architecture as LLVM's
// triples have it. Errors as DescribeVectors.
absl::StatusOr<std::vector<std::string>> UsedFeatures(const Target& target,
                                                      const std::vector<std::string_view>& features);
absl::StatusOr<std::string> ArchitectureOf(const Target& target);
// Instruction sets of a CPU that templates ask for (machine::Machine::instructions). Errors as DescribeVectors.
absl::StatusOr<std::vector<std::string>> DescribeInstructions(const std::string& cpu, const std::string& features);
// Stands for everything that decides what a kernel compiles to, LLVM and Smelt's own sources: for cache keys and
// records.
std::string CompilerVersion();

}  // namespace smelt::cpu::codegen
