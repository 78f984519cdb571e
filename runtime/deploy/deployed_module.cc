#include "runtime/deploy/deployed_module.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/deploy/cpu_features.h"

namespace smelt::runtime::deploy {
namespace {

constexpr int kMostThreads = 1024;

std::string PathOf(const std::string& folder, const char* name) { return folder + "/" + name; }

Status CheckProcessor(const DeployedPlan& plan, const std::string& folder) {
  if (plan.architecture != Architecture()) {
    return Failed(Status::Code::kFailedPrecondition, folder + ": is for " + plan.architecture +
                                                         ", and this machine is " + std::string(Architecture()) +
                                                         "; build it for this one");
  }
  const std::string missing = MissingFeatures(plan.features);
  if (missing.empty()) return {};
  return Failed(Status::Code::kFailedPrecondition,
                folder + ": is for the processor " + plan.processor + ", and this one lacks " + missing +
                    "; build it with --target=cpu on this machine, or for a processor that both have");
}

}  // namespace

Status DeployedModule::Load(const std::string& folder, int threads, std::unique_ptr<DeployedModule>* module) {
  if (threads < 0 || threads > kMostThreads) {
    return Failed(Status::Code::kInvalidArgument,
                  "threads are " + std::to_string(threads) + ", expected 0 to " + std::to_string(kMostThreads));
  }
  std::unique_ptr<DeployedModule> made(new DeployedModule());
  const std::string path = PathOf(folder, kPlanName);
  MappedFile file;
  if (Status status = MappedFile::Open(path, &file); !status.ok()) {
    if (status.code == Status::Code::kNotFound)
      status.message = folder + ": is no deployable module, which `smelt build` makes: it has no " + kPlanName;
    return status;
  }
  if (Status status = ReadPlanFile(file.bytes(), path, &made->plan_); !status.ok()) return status;
  if (Status status = CheckProcessor(made->plan_, folder); !status.ok()) return status;
  if (Status status = made->LoadWeights(folder); !status.ok()) return status;
  if (Status status = made->LoadCode(folder); !status.ok()) return status;
  if (Status status = made->Allocate(threads); !status.ok()) return status;
  *module = std::move(made);
  return {};
}

DeployedModule::~DeployedModule() {
  execution_.reset();
  jobs_.clear();
  if (library_ != nullptr) ::dlclose(library_);
}

Status DeployedModule::LoadWeights(const std::string& folder) {
  const std::string path = PathOf(folder, kWeightsName);
  if (Status status = MappedFile::Open(path, &weights_); !status.ok()) return status;
  if (Status status = CheckFile(path, weights_.bytes(), plan_.weights.bytes, plan_.weights.hash); !status.ok())
    return status;
  for (ProgramBuffer& buffer : plan_.program.buffers) {
    if (buffer.kind == ProgramBuffer::Kind::kConstant && buffer.bytes > 0)
      buffer.data = weights_.bytes().data() + buffer.offset;
  }
  return {};
}

Status DeployedModule::LoadCode(const std::string& folder) {
  const std::string path = PathOf(folder, kCodeName);
  const bool has_code =
      std::any_of(plan_.jobs.begin(), plan_.jobs.end(), [](const DeployedJob& job) { return !job.is_native; });
  if (has_code) {
    // Looked at before anything of it is run.
    MappedFile file;
    if (Status status = MappedFile::Open(path, &file); !status.ok()) return status;
    if (Status status = CheckFile(path, file.bytes(), plan_.code.bytes, plan_.code.hash); !status.ok()) return status;
    // Kernels call mathematical functions, and name no library: whoever loaded this one may not have shown them.
    ::dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
    const bool is_plain = path.find('/') != std::string::npos;
    library_ = ::dlopen(is_plain ? path.c_str() : ("./" + path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      const char* why = ::dlerror();
      return Failed(Status::Code::kUnavailable, path + ": cannot be loaded: " + (why == nullptr ? "unknown" : why));
    }
  }
  for (const DeployedJob& job : plan_.jobs) {
    ProgramJob& made = jobs_.emplace_back();
    if (job.is_native) {
      made.native = native::MakeOperation(job.native);
      if (made.native == nullptr) return Failed(Status::Code::kDataLoss, folder + ": has an impossible operation");
      continue;
    }
    std::vector<PhaseFunction> functions;
    for (const PhaseDescriptor& phase : job.kernel.phases) {
      void* symbol = ::dlsym(library_, phase.symbol.c_str());
      if (symbol == nullptr) return Failed(Status::Code::kDataLoss, path + ": has no symbol " + phase.symbol);
      functions.push_back(reinterpret_cast<PhaseFunction>(symbol));
    }
    made.code = std::make_shared<const KernelCode>(job.kernel, std::move(functions), nullptr);
  }
  return {};
}

Status DeployedModule::Allocate(int threads) {
  const auto allocate = [](const std::vector<ArrayLeaf>& leaves, std::vector<AlignedBuffer>* buffers) -> Status {
    for (const ArrayLeaf& leaf : leaves) {
      // Nothing is given an address, too.
      const int64_t bytes = std::max<int64_t>(leaf.bytes, 1);
      AlignedBuffer buffer(bytes);
      if (leaf.bytes < 0 || buffer.data() == nullptr) {
        return Failed(Status::Code::kResourceExhausted,
                      "no memory for the " + std::to_string(leaf.bytes) + " bytes of " + leaf.name);
      }
      std::memset(buffer.data(), 0, static_cast<size_t>(bytes));
      buffers->push_back(std::move(buffer));
    }
    return {};
  };
  if (Status status = allocate(plan_.inputs, &inputs_); !status.ok()) return status;
  if (Status status = allocate(plan_.outputs, &outputs_); !status.ok()) return status;
  for (const AlignedBuffer& input : inputs_) input_pointers_.push_back(input.data());
  for (const AlignedBuffer& output : outputs_) output_pointers_.push_back(output.data());
  return Execution::Create(plan_.program, jobs_, threads > 0 ? threads : static_cast<int>(plan_.threads), &execution_);
}

Status DeployedModule::Run() { return execution_->Run(input_pointers_, output_pointers_, {}); }

}  // namespace smelt::runtime::deploy
