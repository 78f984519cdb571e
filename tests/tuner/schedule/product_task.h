// A product of matrices as a task of schedule search, for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fusion/kernel.h"
#include "hlo/text/parser.h"
#include "tuner/schedule/proposer.h"
#include "tuner/schedule/schedule_task.h"

namespace smelt::tuner {

inline fusion::Kernel ProductKernel(int64_t size) {
  const std::string text =
      absl::StrCat("HloModule product\n\nENTRY main {\n  a = f32[", size, ",", size, "] parameter(0)\n  b = f32[", size,
                   ",", size, "] parameter(1)\n  ROOT c = f32[", size, ",", size,
                   "] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
  const std::unique_ptr<hlo::Module> module = hlo::ParseModule(text, {.file_name = "product"}).value();
  std::vector<fusion::Kernel> kernels = fusion::ExtractKernels(*module).value();
  return std::move(kernels.at(0));
}

// The task of a product, with its kernel. What is measured by a target needs the schedules of that target's machine.
struct ProductTask {
  explicit ProductTask(int64_t size = 96, const machine::Machine& machine = {})
      : kernel(ProductKernel(size)), task(ScheduleTask::Create(kernel, machine).value()) {}
  fusion::Kernel kernel;
  ScheduleTask task;
};

inline Accept HasSchedule(const ScheduleTask& task) {
  return [&task](const Config& config) { return task.space.ScheduleFor(config).ok(); };
}

}  // namespace smelt::tuner
