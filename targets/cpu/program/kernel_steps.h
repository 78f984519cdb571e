// The steps of single instructions: kernels, native and opaque operations, updates of slices in place, copies; and the
// buffers, constants, jobs and sites that they name. What the program does between them is program_builder.h's.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/hash.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "runtime/program.h"
#include "targets/cpu/program/built_program.h"

namespace smelt::cpu {

// The buffers of a value's array leaves, in their order.
using Leaves = std::vector<runtime::BufferId>;
using Values = absl::flat_hash_map<const hlo::Instruction*, Leaves>;

std::vector<const hlo::Shape*> LeafShapes(const hlo::Shape& shape);

// Appends a copy where the buffers differ.
void AddCopy(runtime::BufferId from, runtime::BufferId to, runtime::Sequence* out);

class KernelSteps {
 public:
  KernelSteps();
  ~KernelSteps();

  // What was made so far; each method below adds to it.
  BuiltProgram& built() { return built_; }

  runtime::BufferId NewBuffer(int64_t bytes, runtime::ProgramBuffer::Kind kind = runtime::ProgramBuffer::Kind::kArena);
  Leaves NewLeaves(const hlo::Shape& shape);
  // The same buffers for the same literal.
  Leaves Constant(const std::shared_ptr<const hlo::Literal>& literal);

  // Appends the steps of an instruction that is a kernel (fusion::IsKernel), whose operands have `values`. An
  // instruction in a computation that is inlined at several places is cut out and counted once. Errors: those of
  // fusion::ExtractKernel.
  absl::StatusOr<Leaves> Kernel(const hlo::Instruction& instruction, const Values& values, runtime::Sequence* out);
  // The same for a dynamic-update-slice that stands alone; at most runtime::kMaxUpdateRank dimensions.
  Leaves UpdateSlice(const hlo::Instruction& instruction, const Values& values, runtime::Sequence* out);
  // A module as one operation of the evaluator's; `why` it is not compiled.
  Leaves Opaque(std::unique_ptr<hlo::Module> module, std::string_view name, std::string_view computation,
                const std::vector<Leaves>& parameters, std::string_view why, runtime::Sequence* out);

 private:
  struct Cut;

  absl::StatusOr<const Cut*> CutOut(const hlo::Instruction& instruction);
  int32_t SiteOf(const hlo::Instruction& instruction, int32_t job, Hash128 hash);
  int32_t JobOf(fusion::Kernel kernel);
  int32_t NativeJobOf(fusion::Kernel kernel, const NativePlan& plan);
  int32_t AddUpdate(const hlo::Instruction& update);
  Leaves Native(const hlo::Instruction& instruction, const Cut& cut, const Values& values, runtime::Sequence* out);
  Leaves Peeled(const hlo::Instruction& instruction, const Cut& cut, const Values& values, runtime::Sequence* out);

  BuiltProgram built_;
  absl::flat_hash_map<const hlo::Literal*, Leaves> constants_;
  absl::flat_hash_map<const hlo::Instruction*, std::unique_ptr<Cut>> cut_;
  absl::flat_hash_map<Hash128, int32_t> jobs_, native_jobs_;
  absl::flat_hash_map<const hlo::Instruction*, int32_t> sites_;
};

}  // namespace smelt::cpu
