// --target=cpu: our own kernels on this CPU, as the search, the profiler and the verbs see them.
//
//   std::unique_ptr<targets::Target> own = cpu::OwnKernels(cpu::DetectTarget());
//   auto tunable = cpu::MakeTunable(*own, own->Load("model.hlo").value(), fusion::Rules::OwnKernels()).value();
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "fusion/rules.h"
#include "targets/cpu/codegen/target.h"
#include "targets/target.h"
#include "targets/tunable.h"

namespace smelt::cpu {

std::unique_ptr<targets::Target> OwnKernels(Target target);

// The default is `priority`. `rules`: of legality, where fusions have to be such as another compiler takes as well;
// otherwise Rules::OwnKernels(). `target` must outlive it.
absl::StatusOr<std::unique_ptr<targets::Tunable>> MakeTunable(const targets::Target& target, targets::Program program,
                                                              const fusion::Rules& rules);

}  // namespace smelt::cpu
