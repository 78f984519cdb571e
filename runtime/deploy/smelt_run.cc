#include "runtime/deploy/smelt_run.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "runtime/deploy/deployed_module.h"

using smelt::runtime::Failed;
using smelt::runtime::Status;
using smelt::runtime::deploy::ArrayLeaf;
using smelt::runtime::deploy::DeployedModule;

struct SmeltRun {
  std::unique_ptr<DeployedModule> module;
  std::vector<SmeltRunArray> inputs, outputs;
};

namespace {

void Tell(const std::string& message, char** error) {
  if (error == nullptr) return;
  *error = static_cast<char*>(std::malloc(message.size() + 1));
  if (*error != nullptr) std::memcpy(*error, message.c_str(), message.size() + 1);
}

// What `work` says, exceptions too: none may leave a function of C.
template <typename Work>
bool Succeeds(char** error, const Work& work) {
  try {
    const Status status = work();
    if (!status.ok()) Tell(status.message, error);
    return status.ok();
  } catch (const std::exception& exception) {
    Tell(exception.what(), error);
  }
  return false;
}

std::vector<SmeltRunArray> ArraysOf(const std::vector<ArrayLeaf>& leaves) {
  std::vector<SmeltRunArray> arrays;
  for (const ArrayLeaf& leaf : leaves) {
    arrays.push_back({leaf.name.c_str(), leaf.type.c_str(), leaf.dimensions.data(),
                      static_cast<int64_t>(leaf.dimensions.size()), leaf.bytes});
  }
  return arrays;
}

const SmeltRunArray* Find(const std::vector<SmeltRunArray>& arrays, int64_t number) {
  if (number < 0 || number >= static_cast<int64_t>(arrays.size())) return nullptr;
  return &arrays[static_cast<size_t>(number)];
}

Status CheckCopy(const std::vector<SmeltRunArray>& arrays, const char* what, int64_t number, const void* data,
                 int64_t bytes) {
  const SmeltRunArray* array = Find(arrays, number);
  const std::string name = std::string(what) + " " + std::to_string(number);
  if (array == nullptr) {
    return Failed(Status::Code::kInvalidArgument,
                  name + ": the module has " + std::to_string(arrays.size()) + " " + what + "s");
  }
  if (bytes != array->bytes) {
    return Failed(Status::Code::kInvalidArgument, name + " (`" + array->name + "`) has " +
                                                      std::to_string(array->bytes) + " bytes, " +
                                                      std::to_string(bytes) + " were given");
  }
  if (data == nullptr && bytes > 0) return Failed(Status::Code::kInvalidArgument, name + ": the pointer is null");
  return {};
}

}  // namespace

SmeltRun* smelt_run_load(const char* folder, int threads, char** error) {
  std::unique_ptr<SmeltRun> run;
  const bool loaded = Succeeds(error, [&]() -> Status {
    if (folder == nullptr) return Failed(Status::Code::kInvalidArgument, "the folder's name is null");
    auto made = std::make_unique<SmeltRun>();
    if (Status status = DeployedModule::Load(folder, threads, &made->module); !status.ok()) return status;
    made->inputs = ArraysOf(made->module->plan().inputs);
    made->outputs = ArraysOf(made->module->plan().outputs);
    run = std::move(made);
    return {};
  });
  return loaded ? run.release() : nullptr;
}

void smelt_run_delete(SmeltRun* module) { delete module; }
void smelt_run_free(char* text) { std::free(text); }

int64_t smelt_run_input_count(const SmeltRun* module) { return static_cast<int64_t>(module->inputs.size()); }
int64_t smelt_run_output_count(const SmeltRun* module) { return static_cast<int64_t>(module->outputs.size()); }

const SmeltRunArray* smelt_run_input(const SmeltRun* module, int64_t number) { return Find(module->inputs, number); }
const SmeltRunArray* smelt_run_output(const SmeltRun* module, int64_t number) { return Find(module->outputs, number); }

void* smelt_run_input_data(SmeltRun* module, int64_t number) {
  if (Find(module->inputs, number) == nullptr) return nullptr;
  return module->module->input(static_cast<size_t>(number));
}

const void* smelt_run_output_data(const SmeltRun* module, int64_t number) {
  if (Find(module->outputs, number) == nullptr) return nullptr;
  return module->module->output(static_cast<size_t>(number));
}

int smelt_run_set_input(SmeltRun* module, int64_t number, const void* data, int64_t bytes, char** error) {
  return Succeeds(error, [&] {
    Status status = CheckCopy(module->inputs, "input", number, data, bytes);
    if (status.ok() && bytes > 0) std::memcpy(smelt_run_input_data(module, number), data, static_cast<size_t>(bytes));
    return status;
  });
}

int smelt_run_get_output(const SmeltRun* module, int64_t number, void* data, int64_t bytes, char** error) {
  return Succeeds(error, [&] {
    Status status = CheckCopy(module->outputs, "output", number, data, bytes);
    if (status.ok() && bytes > 0) std::memcpy(data, smelt_run_output_data(module, number), static_cast<size_t>(bytes));
    return status;
  });
}

int smelt_run_execute(SmeltRun* module, char** error) {
  return Succeeds(error, [&] { return module->module->Run(); });
}
