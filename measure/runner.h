// Times kernels and programs in a child process and survives what they do.
//
//   Runner runner({.target = "cpu:threads=1"}, {});
//   Outcome alone = runner.TimeKernel(kernel).outcome;
//   std::vector<Outcome> programs = runner.TimePrograms({usual, tuned}, 5, 10.0);
//
// The child may be any other device (device.h). One that crashed, hung or ran out of memory is replaced; the trial
// becomes an Outcome that says so. Where the child ended, or the system refused it something, the trial is tried once
// more first: it may not have been the candidate's fault. Not thread-safe.
#pragma once

#include <atomic>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "fusion/kernel.h"
#include "hlo/literal.h"
#include "measure/device.h"
#include "measure/outcome.h"
#include "measure/test_inputs.h"
#include "measure/worker_process.h"

namespace smelt::measure {

// How things are timed; part of every record and corpus example.
struct MeasurePolicy {
  int repeats = 5;               // samples of a kernel, rounds of programs; never fewer than three
  double seconds = 2.0;          // no further sample once a trial took this long
  double build_timeout = 120;    // seconds of compiling
  double run_timeout = 60;       // seconds beyond `seconds` after which the child is killed
  std::string ToString() const;  // "repeats=5 seconds=2 apart": arrays as far away as in programs
};

// A fused program, with what differs from the default.
struct Candidate {
  std::string module_text;                   // hlo::ToMessage of it; for XLA's child (targets/xla/): base64 of a proto
  std::map<std::string, std::string> knobs;  // the target's child reads them; of our kernels, hash -> tile ("1x8x32")
  std::string compiler;                      // XLA's child: as_given, xla, xla_no_library; see targets/xla/worker.py
  std::vector<int64_t> distances = {};       // where it is one kernel that is timed: how far away its arrays lie
  bool operator==(const Candidate&) const = default;
};

class Runner {
 public:
  // `cancel`, where given, becomes true when no trial is to be tried again; its owner outlives the runner.
  Runner(DeviceFactory device, MeasurePolicy policy, const std::atomic<bool>* cancel = nullptr)
      : start_device_(std::move(device)), policy_(policy), cancel_(cancel) {}
  Runner(const WorkerOptions& worker, MeasurePolicy policy) : Runner(LocalChild(worker), policy, worker.cancel) {}

  struct KernelResult {
    Outcome outcome;
    std::string trace;  // schedule
    std::string tile;
    bool opaque = false;  // it has no loop nest: the evaluator's time
  };
  // `way`: a value that the kernel's knob may have; empty: as it runs by default. One that does not fit the kernel
  // fails to build. `reference`: a kernel that the child keeps and times just before and just after it, which is what
  // the outcome's reference_seconds then are.
  KernelResult TimeKernel(const fusion::Kernel& kernel, const std::string& way = "",
                          const fusion::Kernel* reference = nullptr);
  // XLA's child: a kernel, and the reference if there is one, as modules that run them many times
  // (targets/xla/kernel_loop.h), base64 of a proto.
  KernelResult TimeKernelLoop(const std::string& module, const std::string& reference = "");
  // Compiles it into the cache folder that the workers share, without running it.
  Outcome CompileKernel(const fusion::Kernel& kernel, const std::string& way = "");

  // One kernel of a program as it stands in it.
  struct KernelTime {
    std::string name;
    std::string hash;  // 32 hexadecimal digits
    std::string tile;
    bool opaque = false;
    double flops = 0;           // of one execution
    double bytes = 0;           // read plus written, of one execution
    double seconds = 0;         // of all its executions in one run of the program; the least of the runs
    double median_seconds = 0;  // of one execution
    int64_t executions = 0;     // in one run of the program
  };
  struct ProgramResult {
    Outcome outcome;
    std::vector<KernelTime> kernels;  // in the program's order
    int64_t arena_bytes = 0;        // of memory that it takes beside its inputs and results; 0: the child does not tell
    bool reference_failed = false;  // the outcome's failure is the reference's
  };
  // `rounds` are a least number; of short programs there are more. Times a candidate in turn with a reference, which
  // stays loaded for the next trial. The reference's failure fails the trial. `kernel_rounds`: runs in which kernels
  // are timed one by one; 0: none. `hopeless`: SampleLimits', for a candidate that is not worth the rounds.
  ProgramResult TimeProgram(const Candidate& candidate, const Candidate& reference, int rounds, double seconds,
                            int kernel_rounds, double hopeless = 0);

  // What a candidate consists of, and the times of its kernels one by one, in so many runs of the program; 0: without
  // their times. The outcome has no times of the whole. The candidate stays loaded, and one that is loaded is not
  // compiled again.
  ProgramResult TimeKernelsOf(const Candidate& candidate, int kernel_rounds);

  // Compiles all in one new child, then times them interleaved, `rounds` samples each. A candidate that fails alone
  // (build, crash) gets its failure; the others are timed without it. They stay loaded for Outputs.
  std::vector<Outcome> TimePrograms(const std::vector<Candidate>& candidates, int rounds, double seconds);

  // The inputs of programs; of kind kUnit until it is called. Kernels alone have the formula's default.
  void UseInputs(const TestInputs& inputs);
  // Inputs from a safetensors file with in.0, in.1, ... instead: one for each array leaf of the parameters, as
  // hlo::ToStorable makes them. The child reads it; empty: none again.
  void UseInputsFile(std::string path);

  // Runs one candidate on these inputs and returns the array leaves of its result (see hlo::ToStorable for their
  // types). They come through `scratch_file`, which is removed. Errors: Unavailable, where nothing is known of the
  // candidate (kEnvironment, kResourceLimit); Unimplemented, where it failed.
  absl::StatusOr<std::vector<hlo::Literal>> Outputs(const Candidate& candidate, const std::string& scratch_file);
  // The same for a program that is not timed: it runs no more than this once.
  absl::StatusOr<std::vector<hlo::Literal>> RunOnce(const Candidate& candidate, const std::string& scratch_file);

  // Breaks the child for real: what tests use. Returns the outcome as a trial would.
  Outcome Inject(const std::string& fault, double timeout_seconds);

  // No call of a child goes on beyond this moment: its limit is cut to what is left. What is then without a result says
  // nothing of a candidate, and out_of_time() is true until the next SetDeadline.
  void SetDeadline(Clock::time_point deadline);
  bool out_of_time() const { return out_of_time_; }

  const MeasurePolicy& policy() const { return policy_; }
  // Seconds that children spent on trials so far: the hardware budget.
  double hardware_seconds() const { return hardware_seconds_; }

 private:
  struct Loaded {
    Candidate candidate;
    int id = -1;
    double compile_seconds = 0;
    int64_t arena_bytes = 0;
    std::vector<KernelTime> kernels;
  };
  KernelResult TimeKernelBy(nlohmann::json request);
  ProgramResult TimeProgramOnce(const Candidate& candidate, const Candidate& reference, int rounds, double seconds,
                                int kernel_rounds, double hopeless);
  // Loads the candidate and tells of it in `result`; nullptr when it failed.
  const Loaded* Describe(const Candidate& candidate, ProgramResult* result);
  // Times the kernels of the program that is loaded by this number.
  void AddKernelTimes(int id, int kernel_rounds, ProgramResult* result);
  // The result of `attempt`, or of a second one where the first may have failed for nothing that lasts.
  template <typename Attempt>
  auto TryTwice(const Attempt& attempt);
  bool IsWorthAnother(const Outcome& outcome) const;
  // The reply, or the failure as an outcome's reason. `building` tells a time-out while compiling from one while
  // running.
  absl::StatusOr<nlohmann::json> Call(const nlohmann::json& request, double timeout, bool building, Outcome* outcome);
  nlohmann::json LoadRequest(const Candidate& candidate) const;
  // Loads the candidate unless it is; nullptr when it failed.
  const Loaded* Load(const Candidate& candidate, Outcome* outcome);
  // The same whether it is loaded or not.
  const Loaded* LoadAnew(const Candidate& candidate, Outcome* outcome);
  // Unloads all but these.
  void Keep(std::initializer_list<const Candidate*> kept);

  DeviceFactory start_device_;
  MeasurePolicy policy_;
  const std::atomic<bool>* cancel_;
  std::unique_ptr<Device> device_;
  std::vector<Loaded> loaded_;
  TestInputs inputs_;
  std::string inputs_file_;
  double hardware_seconds_ = 0;
  std::optional<Clock::time_point> deadline_;
  bool out_of_time_ = false;
  bool warm_up_ = true;  // programs that are loaded
};

}  // namespace smelt::measure
