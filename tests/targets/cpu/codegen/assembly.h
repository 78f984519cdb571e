// The assembler of a schedule's kernel for a CPU by LLVM's name, whatever machine the test runs on.
#pragma once

#include <string>

#include "gtest/gtest.h"
#include "kernels/lower/lower.h"
#include "kernels/schedule/schedule.h"
#include "targets/cpu/codegen/codegen.h"

namespace smelt::cpu::codegen {

inline std::string AssemblyOf(const kernels::schedule::Schedule& schedule, const std::string& cpu) {
  Target target;
  target.name = cpu;
  std::string assembly;
  CodegenOptions options;
  options.assembly_text = &assembly;
  EXPECT_TRUE(EmitObject(kernels::lower::Lower(schedule, {}).value(), target, options).ok());
  return assembly;
}

}  // namespace smelt::cpu::codegen
