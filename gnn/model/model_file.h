// A trained model as a file: everything that prediction needs, and how it came to be.
//
// Magic, length, JSON header (format and schema versions, columns, network shape, normalisation, training summary,
// tensors with offsets), raw f32 data, CRC-32C over all of it. Written to a temporary name and renamed. A torn or
// foreign file, or another schema, is an error that says what was found and what is needed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gnn/calibration/calibration.h"
#include "machine/machine.h"

namespace smelt::gnn {

// Standardisation of one feature table by training statistics: (clip(x, low, high) - mean) * scale. Constant columns
// have scale 0.
struct Normalizer {
  std::vector<float> mean, scale, low, high;

  // Statistics of rows of width mean.size(); `rows` is row-major.
  static Normalizer Fit(const std::vector<float>& rows, int64_t width);
  void Apply(float* row) const;
  bool operator==(const Normalizer&) const = default;
};

struct WeightTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
  bool operator==(const WeightTensor&) const = default;
};

enum class NetworkKind : uint8_t { kGraphSage, kLstm };

// One network for one task.
struct TaskModel {
  NetworkKind kind = NetworkKind::kGraphSage;
  int64_t hidden = 128;
  int64_t layers = 3;
  int64_t embedding = 32;  // width of the opcode embedding
  Normalizer nodes, kernels, tiles;
  std::map<std::string, WeightTensor> weights;
};

struct ModelFile {
  // Task name ("fusion", "tile") -> network.
  std::map<std::string, TaskModel> tasks;
  // Per-kind factors of the analytical model, fitted to the training set: a kernel kind's median measured / estimated
  // time.
  std::map<std::string, double> analytical_factors;
  std::string target;  // whose kernels it predicts, where: TargetId::ToString() (machine/target_id.h)
  // machine::Machine::Figures() of the machine when it was trained: what its features are made with.
  std::map<std::string, double> target_figures;
  std::string summary;  // for people: corpus, programs, epochs, validation errors
  // That it learned from or was chosen by, sorted: no judges of it. Empty: the version that trained it did not tell.
  std::vector<std::string> programs;
  // What its labels hold for beside the target, where the corpus says so: the machine (machine/descriptor.h), the CPU's
  // name as its system gives it, the compiler, and how was timed.
  std::string machine, device, compiler, policy;
  // Root of the mean square of log(predicted / measured) on the programs that validated the training; 0: not known.
  double log_deviation = 0;
  std::optional<Calibration> calibration;  // of the fusion task, to another machine
};

// What the kernels that it predicts run on: as the model tells, or an ordinary machine of its target's name and
// threads.
absl::StatusOr<machine::Machine> MachineOf(const ModelFile& model);

// The weights of a network's last layer, with the bias behind them; empty where it has none.
std::vector<float> LastLayerOf(const TaskModel& task);

absl::Status SaveModel(const std::string& path, const ModelFile& model);
absl::StatusOr<ModelFile> LoadModel(const std::string& path);

}  // namespace smelt::gnn
