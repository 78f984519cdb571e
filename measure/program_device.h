// A device that runs programs in its own process: the answers to the protocol's requests that all devices of ours give.
//
//   auto loaded = device.Call({{"do", "load"}, {"module", text}}, 60).value();   // a class of ours with Build
//   auto timed = device.Call({{"do", "time"}, {"ids", {loaded["id"]}}}, 60).value();
//
// It runs what it is asked in the thread that asks, so that no time limit ends it: a program that may crash or hang
// runs in a child, which serves the requests that come over its channel (Serve).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/literal.h"
#include "hlo/shape.h"
#include "measure/device.h"
#include "measure/test_inputs.h"
#include "nlohmann/json.hpp"

namespace smelt::measure {

// Where a program's inputs come from.
struct InputSource {
  TestInputs inputs;  // by the formula of hlo/golden/inputs.h
  // Where not empty: a safetensors file instead, with one entry in.0, in.1, ... for each array leaf of the parameters,
  // as hlo::ToStorable makes them.
  std::string file;
  // They lie in memory as the values of a program do: what a kernel that is timed alone reads.
  bool within_program = false;
  // How far away a kernel's arrays lie (fusion::Kernel::distances); 0, or no entry: near.
  std::vector<int64_t> distances = {};
};
// Values for these array leaves. Unavailable: the file does not fit or cannot be read, which says nothing of a program.
absl::StatusOr<std::vector<hlo::Literal>> MakeInputs(const InputSource& source, absl::Span<const hlo::Shape> leaves);

// A program or a kernel, built, with the memory that it needs.
class DeviceProgram {
 public:
  struct KernelTimes {
    std::vector<double> seconds;      // in one run of the program, all executions together; minimum over the rounds
    std::vector<double> median;       // of one execution, over all of all rounds
    std::vector<int64_t> executions;  // in one run
  };

  virtual ~DeviceProgram() = default;
  // Comes before the first run. Errors: MakeInputs'.
  virtual absl::Status TakeInputs(const InputSource& source) = 0;
  virtual absl::Status Run() = 0;
  // The leaves of the last run's results.
  virtual absl::StatusOr<std::vector<hlo::Literal>> Outputs() const = 0;
  // One entry an entry of "kernels" in the facts; none where it does not tell of kernels.
  virtual absl::StatusOr<KernelTimes> TimeKernels(int /*rounds*/) { return KernelTimes(); }
  // What the replies to "load" and "time_kernel" tell of it.
  virtual nlohmann::json ProgramFacts() const { return {{"kernels", nlohmann::json::array()}}; }
  virtual nlohmann::json KernelFacts() const { return nlohmann::json::object(); }

  // Warms up and finds how many runs make one sample of at least 100 us.
  virtual absl::Status Prepare();
  // Before samples are taken: a run, where that is not as long as many samples.
  absl::Status WarmUp();
  // Seconds of one run, averaged over a sample's runs: by the clock. A simulated device tells its own seconds.
  virtual absl::StatusOr<double> Sample();
  // Where they do not, one sample says all.
  virtual bool TimesVary() const { return true; }

 private:
  int64_t runs_per_sample_ = 1;
  bool is_long_ = false;
};

class ProgramDevice : public Device {
 public:
  absl::StatusOr<nlohmann::json> Call(const nlohmann::json& request, double timeout_seconds) override;
  bool alive() const override { return true; }

 protected:
  // Compiles the module of a request "load".
  virtual absl::StatusOr<std::unique_ptr<DeviceProgram>> Build(const nlohmann::json& request) = 0;
  // The same of "time_kernel" and "compile": a module of one kernel.
  virtual absl::StatusOr<std::unique_ptr<DeviceProgram>> BuildKernel(const nlohmann::json& request) {
    return Build(request);
  }

 private:
  absl::StatusOr<nlohmann::json> Dispatch(const nlohmann::json& request);
  absl::StatusOr<DeviceProgram*> Find(int id);
  absl::StatusOr<nlohmann::json> Hello(const nlohmann::json& request);
  absl::StatusOr<nlohmann::json> Load(const nlohmann::json& request);
  absl::StatusOr<nlohmann::json> Time(const nlohmann::json& request);
  absl::StatusOr<nlohmann::json> KernelSeconds(const nlohmann::json& request);
  absl::StatusOr<nlohmann::json> TimeKernel(const nlohmann::json& request);
  absl::StatusOr<nlohmann::json> Compile(const nlohmann::json& request);
  absl::StatusOr<nlohmann::json> Outputs(const nlohmann::json& request);
  absl::StatusOr<nlohmann::json> Unload(const nlohmann::json& request);
  absl::StatusOr<nlohmann::json> Inject(const nlohmann::json& request);

  // The reference kernel of a request, ready to be timed.
  absl::StatusOr<DeviceProgram*> Reference(const nlohmann::json& request);

  std::map<int, std::unique_ptr<DeviceProgram>> programs_;
  nlohmann::json reference_request_;
  std::unique_ptr<DeviceProgram> reference_;
  int next_id_ = 0;
  bool building_ = false;
};

// The main loop of a child: answers the requests on standard input, on descriptor 3, until the input ends. Ends
// with kOutOfMemoryExit where memory is short. Returns the exit code.
int Serve(ProgramDevice& device);

}  // namespace smelt::measure
