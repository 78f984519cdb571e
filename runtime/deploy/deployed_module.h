// A deployable module, loaded: what smelt_run.h is made of.
//
//   std::unique_ptr<DeployedModule> module;
//   Status status = DeployedModule::Load("resnet18.smeltmod", 2, &module);
//   std::memcpy(module->input(0), image, module->plan().inputs[0].bytes);
//   status = module->Run();
//   const float* scores = static_cast<const float*>(module->output(0));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "runtime/deploy/mapped_file.h"
#include "runtime/deploy/plan_file.h"
#include "runtime/execution.h"
#include "runtime/status.h"

namespace smelt::runtime::deploy {

// Holds buffers for inputs and outputs beside the memory that it runs in. Several of one folder share its weights'
// pages. One thread at a time.
class DeployedModule {
 public:
  // `threads`: of one run; 0: as many as it was built for. kNotFound: no such folder, or a file is missing; kDataLoss:
  // torn or changed; kFailedPrecondition: of another version or for another processor; kInvalidArgument: threads.
  static Status Load(const std::string& folder, int threads, std::unique_ptr<DeployedModule>* module);
  ~DeployedModule();
  DeployedModule(const DeployedModule&) = delete;
  DeployedModule& operator=(const DeployedModule&) = delete;

  const DeployedPlan& plan() const { return plan_; }
  // 64-byte aligned, of the leaf's size; zeros until they are written.
  void* input(size_t number) { return inputs_[number].data(); }
  const void* output(size_t number) const { return outputs_[number].data(); }

  Status Run();

 private:
  DeployedModule() = default;
  Status LoadCode(const std::string& folder);
  Status LoadWeights(const std::string& folder);
  Status Allocate(int threads);

  DeployedPlan plan_;
  void* library_ = nullptr;  // of dlopen
  MappedFile weights_;
  std::vector<ProgramJob> jobs_;
  std::unique_ptr<Execution> execution_;
  std::vector<AlignedBuffer> inputs_, outputs_;
  std::vector<const void*> input_pointers_;
  std::vector<void*> output_pointers_;
};

}  // namespace smelt::runtime::deploy
