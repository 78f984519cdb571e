// A program as XLA hands it to its code generator, with fusion left to us.
//
//   measure::KeptWorker worker(FindXlaWorker({}).value());  // in which XLA's passes run
//   XlaProgram program = LoadXlaProgram("model.hlo", worker, 600).value();
//   program.program.module()                      // layouts assigned, copies made, nothing fused: what is tuned
//   measure::Candidate ours = XlaCandidate(program.program.module()).value();
//   measure::Candidate theirs = program.xla_default;       // all of XLA's own choices
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "fusion/unfuse.h"
#include "hlo/module.h"
#include "measure/runner.h"
#include "measure/worker_process.h"
#include "targets/program.h"
#include "targets/xla/tiles.h"

namespace smelt::xla {

// What records of times are kept under: the one version that the child accepts.
inline constexpr const char* kXlaVersion = "jaxlib 0.10.2";

struct XlaProgram {
  targets::Program program;           // `original` as read; `flat` as XLA's passes leave it, with its fusion off
  measure::Candidate xla_default;     // compiled by XLA alone
  measure::Candidate xla_no_library;  // the same, but contractions and reductions are not handed to its library
  // Contractions and reductions of the captured program that XLA would hand to its library, kernel hash to an
  // instruction's name; filled by FindLibraryKernels.
  std::map<std::string, std::string> library_kernels;
  int64_t library_fusions = 0;  // that XLA makes of the program; filled by FindLibraryKernels
  // The program as XLA's fusion, without its library, leaves it; filled by FindOwnFusions.
  std::unique_ptr<hlo::Module> fused_by_xla;
};

// Files with what XLA's passes left of a module, where the process that will run it has captured that itself: with the
// buffers that it donates, its flags and its cores. Empty: a child captures it.
struct CaptureFiles {
  std::string without_library, with_library;
};

// Reads and verifies the file: all but what XLA's passes make of it.
absl::StatusOr<XlaProgram> ReadXlaProgram(const std::string& path);

// The same, and lets XLA's passes run over it in the child, unless what they made of it is known in its cache folder.
// DeadlineExceeded, Aborted: the passes took longer than `timeout_seconds`, or killed the child.
absl::StatusOr<XlaProgram> LoadXlaProgram(const std::string& path, measure::KeptWorker& worker, double timeout_seconds,
                                          const CaptureFiles& files = {});

// Lets XLA's passes run once more, with its library.
absl::Status FindLibraryKernels(measure::KeptWorker& worker, double timeout_seconds, XlaProgram* program,
                                const CaptureFiles& files = {});

// Lets XLA's passes run once more, with its fusion.
absl::Status FindOwnFusions(measure::KeptWorker& worker, double timeout_seconds, XlaProgram* program);

// Has the program tuned as XLA's passes leave it with its library: XLA's library fusions stay as they are
// (library_fusions.h), and all else is fused anew, from XLA's own fusions on. For programs where LibraryIsFaster.
absl::Status TakeLibraryFusions(measure::KeptWorker& worker, double timeout_seconds, XlaProgram* program,
                                const CaptureFiles& files = {});
// Times XLA's own choice beside that without its library, and where convolutions can be called (calls.h) beside that,
// in `timeout_seconds` in all.
absl::StatusOr<bool> LibraryIsFaster(measure::KeptWorker& worker, const measure::MeasurePolicy& policy,
                                     double timeout_seconds, XlaProgram* program);

// What is tuned of a module as XLA's passes left it: taken apart where it holds fusions, with the states of loops
// written over late (loop_states.h).
absl::StatusOr<fusion::Unfused> FlatProgram(const hlo::Module& captured);

// Space of the captured program under the rules of XLA's loop fusions.
absl::StatusOr<fusion::Space> XlaSpace(const targets::Program& program);

// A module as given, for the child.
absl::StatusOr<measure::Candidate> XlaCandidate(const hlo::Module& module);
// A configuration of its captured form (`compiler` is empty), or one of XLA's own choices, for the child.
measure::Candidate XlaTrial(const XlaProgram& program, const fusion::Space& space, const fusion::Config& config,
                            const Tiles& tiles, const std::string& compiler, int threads);
// A configuration applied, as XLA takes it.
std::unique_ptr<hlo::Module> LoopFusionProgram(const fusion::Space& space, const fusion::Config& config,
                                               const Tiles& tiles, int threads);

}  // namespace smelt::xla
