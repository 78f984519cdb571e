// Predicts seconds of kernels and scores of tiles with a trained model, for the search. Predictions are remembered by
// canonical kernel hash.
//
//   auto predictor = Predictor::Load("models/cpu.smeltmodel", machine).value();
//   double seconds = predictor->PredictSeconds(kernel).value();
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fusion/kernel.h"
#include "gnn/calibration/calibration.h"
#include "gnn/prepared_kernel.h"
#include "kernels/tiles/tiles.h"
#include "machine/machine.h"

namespace smelt::gnn {

struct ModelFile;

class Predictor {
 public:
  virtual ~Predictor() = default;
  // A model file: weights, feature schema version, normalisation, target and training summary of the fusion and the
  // tile task. Another schema version, a torn or foreign file is an error that says which version is needed and what
  // was found; so is a model of another kind of target than `kind` ("cpu": our own code, "xla": XLA:CPU's). One that
  // was trained on another CPU is used, and Warning() says so.
  static absl::StatusOr<std::unique_ptr<Predictor>> Load(const std::string& path, const machine::Machine& target,
                                                         std::string_view kind = "cpu");
  // Loads a model for kernels of its own target, whatever that is, on the machine that it tells.
  static absl::StatusOr<std::unique_ptr<Predictor>> LoadForItsTarget(const std::string& path);
  // Does what Load does with a model in memory, which errors call `path`.
  static absl::StatusOr<std::unique_ptr<Predictor>> Of(ModelFile model, const std::string& path,
                                                       const machine::Machine& target, std::string_view kind);
  // The analytical model behind the same interface.
  static std::unique_ptr<Predictor> Analytical(const machine::Machine& target);

  virtual std::string Describe() const = 0;  // model kind, target, training programs and examples, validation error
  // One line for the user where predictions are less than the model's own errors promise; empty where all is well.
  virtual std::string Warning() const { return {}; }
  // The compiler of the kernels that it learned from; empty: not known.
  virtual std::string Compiler() const { return {}; }
  virtual bool IsLearned() const { return true; }
  virtual bool HasFusionTask() const = 0;
  virtual bool HasTileTask() const = 0;

  // Seconds of one execution, of a batch of kernels in one forward pass. Thread-safe; predictions are kept by hash.
  virtual absl::StatusOr<std::vector<double>> PredictSeconds(absl::Span<const fusion::Kernel* const> kernels) = 0;
  absl::StatusOr<double> PredictSeconds(const fusion::Kernel& kernel);
  // What is remembered for a hash. Never computes.
  virtual std::optional<double> Known(const Hash128& hash) const = 0;

  // Bytes of the arguments and results of a kernel that was predicted; 0 for those that nothing runs for, for others,
  // and where the predictor does not look. Thread-safe.
  virtual double BytesMoved(const Hash128&) const { return 0; }

  // The same with what is not known of them, where the model tells; not remembered.
  virtual absl::StatusOr<std::vector<Prediction>> Predict(absl::Span<const fusion::Kernel* const> kernels);

  // Lower is better; comparable within one kernel only.
  virtual absl::StatusOr<std::vector<double>> ScoreTiles(const fusion::Kernel& kernel,
                                                         absl::Span<const kernels::nests::Tile> tiles) = 0;
  // Prepares one kernel for scores of many tiles. FailedPrecondition: it was not trained for tiles. The predictor must
  // outlive it.
  virtual absl::StatusOr<std::unique_ptr<PreparedKernel>> Prepare(const hlo::Computation& kernel) const;
};

}  // namespace smelt::gnn
