#include "gnn/train/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <new>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "gnn/eval/metrics.h"
#include "gnn/features/log_time.h"
#include "gnn/torch/batches.h"
#include "hlo/file/read.h"

namespace smelt::gnn {
namespace {

using Clock = std::chrono::steady_clock;

// Pairwise logistic loss: for every pair of tiles of one kernel whose times differ, log(1 + exp(score of the faster -
// score of the slower)), averaged.
torch::Tensor RankLoss(const torch::Tensor& scores, const Batch& batch) {
  const torch::Tensor faster = (batch.labels.unsqueeze(1) + 1e-3 < batch.labels.unsqueeze(0)) &
                               (batch.kernel_of_row.unsqueeze(1) == batch.kernel_of_row.unsqueeze(0));
  const torch::Tensor weight = faster.to(torch::kFloat);
  const torch::Tensor difference = scores.unsqueeze(1) - scores.unsqueeze(0);  // of pair (faster row, slower column)
  return (torch::softplus(difference * 4.0) * weight).sum() / weight.sum().clamp_min(1.0);
}

torch::Tensor TimeLoss(const torch::Tensor& output, const torch::Tensor& labels, double linear_beyond) {
  if (linear_beyond <= 0) return torch::mse_loss(output, labels);
  // Twice the limit, so that small errors weigh as they do squared.
  return torch::smooth_l1_loss(output, labels, torch::Reduction::Mean, linear_beyond) * (2 * linear_beyond);
}

// What a checkpoint holds beside weights and optimiser: enough to go on as if nothing had happened.
struct Position {
  int64_t epoch = 0;  // completed
  double best = 1e30;
  int64_t best_epoch = 0;
  std::string identity;  // of data, split and options: a checkpoint of another training is not resumed
};

class Trainer {
 public:
  Trainer(const Dataset& data, const Split& split, const TrainOptions& options)
      : data_(data), options_(options), shape_(Shape(options)) {
    auto usable = [&](const std::vector<int64_t>& all) {
      std::vector<int64_t> result;
      for (int64_t i : all) {
        const Example& example = data.examples[i];
        if (Tile() ? !example.tile_seconds.empty() : example.seconds > 0) result.push_back(i);
      }
      return result;
    };
    train_ = usable(split.train);
    validation_ = usable(split.validation);
  }

  absl::StatusOr<TaskModel> Run(TrainReport* report) {
    const char* task = Tile() ? "tile" : "fusion";
    if (train_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("the training split holds no kernel for the ", task,
                                                     " task. Profile more programs with --task=", task));
    }
    // Without held-out programs the training error is all there is to choose by.
    if (validation_.empty()) validation_ = train_;
    torch::manual_seed(options_.seed);
    if (options_.threads > 0) torch::set_num_threads(options_.threads);
    const auto make = [&] {
      return Network(shape_.kind, shape_.hidden, shape_.layers, shape_.embedding, Tile(), options_.dropout);
    };
    Network network = make();
    if (options_.init != nullptr) {
      normalizers_ = {options_.init->nodes, options_.init->kernels, options_.init->tiles};
      SMELT_RETURN_IF_ERROR(network->Import(options_.init->weights));
    } else {
      normalizers_ = FitNormalizers(data_, train_);
      // Tiles are ranked inside of compiler passes, which have no time for a schedule of each kernel.
      if (Tile()) HideSchedules(&normalizers_.kernels);
    }
    Network average = options_.average > 0 ? make() : network;
    if (options_.average > 0) SMELT_RETURN_IF_ERROR(average->Import(network->Export()));
    torch::optim::AdamW optimizer(
        network->parameters(), torch::optim::AdamWOptions(options_.learning_rate).weight_decay(options_.weight_decay));
    Position position;
    position.identity = Identity();
    std::map<std::string, WeightTensor> best;
    SMELT_RETURN_IF_ERROR(Resume(network, average, optimizer, &position, &best));
    report->resumed_epoch = position.epoch;
    const auto start = Clock::now();
    while (position.epoch < options_.epochs && position.epoch - position.best_epoch < options_.patience) {
      const double loss = Epoch(network, average, optimizer, position.epoch);
      ++position.epoch;
      const double error = Validate(average);
      if (error < position.best || best.empty()) {
        position.best = error;
        position.best_epoch = position.epoch;
        best = average->Export();
      }
      SMELT_RETURN_IF_ERROR(Checkpoint(network, average, optimizer, position, best));
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (options_.progress && !options_.progress({position.epoch, options_.epochs, loss, error, seconds})) break;
    }
    report->epochs = position.epoch;
    report->best_validation = position.best;
    report->seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (best.empty()) best = average->Export();
    return TaskModel{shape_.kind,        shape_.hidden,        shape_.layers,      shape_.embedding,
                     normalizers_.nodes, normalizers_.kernels, normalizers_.tiles, std::move(best)};
  }

 private:
  // The network's shape without weights.
  static TaskModel Shape(const TrainOptions& options) {
    TaskModel shape;
    shape.kind = options.init != nullptr ? options.init->kind : options.kind;
    shape.hidden = options.init != nullptr ? options.init->hidden : options.hidden;
    shape.layers = options.init != nullptr ? options.init->layers : options.layers;
    shape.embedding = options.init != nullptr ? options.init->embedding : options.embedding;
    return shape;
  }
  bool Tile() const { return options_.task == Task::kTile; }

  std::string Identity() const {
    Hasher hasher;
    for (const std::vector<Column>* columns : {&NodeColumns(), &KernelColumns(), &TileColumns()}) {
      for (const Column& column : *columns) hasher.Add(column.name);
    }
    for (int64_t i : train_) hasher.Add(data_.examples[i].hash);
    hasher.Add(static_cast<int64_t>(validation_.size()));
    if (options_.init != nullptr) {
      for (const auto& [name, tensor] : options_.init->weights) {
        hasher.Add(name).Add(std::string_view(reinterpret_cast<const char*>(tensor.values.data()),
                                              tensor.values.size() * sizeof(float)));
      }
    }
    return absl::StrCat(hasher.Finish().ToHex(), " ", static_cast<int>(options_.task), " ",
                        static_cast<int>(shape_.kind), " ", shape_.hidden, " ", shape_.layers, " ", shape_.embedding,
                        " ", options_.epochs, " ", options_.seed, " ", options_.learning_rate, " ", options_.dropout,
                        " ", options_.linear_beyond, " ", options_.average, " schema ", kFeatureSchemaVersion);
  }

  // The share of a step in the average: more in the first steps, which begin at random.
  double AverageDecay(int64_t steps) const {
    return std::min(options_.average, (1.0 + static_cast<double>(steps)) / (10.0 + static_cast<double>(steps)));
  }

  double Epoch(Network& network, Network& average, torch::optim::AdamW& optimizer, int64_t epoch) {
    // The order depends on seed and epoch alone, so that a resumed run sees what an unbroken one would have seen.
    std::mt19937_64 random(options_.seed * 1000003 + static_cast<uint64_t>(epoch));
    std::vector<int64_t> order = train_;
    std::shuffle(order.begin(), order.end(), random);
    const int64_t size = Tile() ? options_.tile_kernels_per_batch : options_.kernels_per_batch;
    const int64_t steps = (static_cast<int64_t>(order.size()) + size - 1) / size;
    network->train();
    torch::manual_seed(options_.seed * 1000003 + static_cast<uint64_t>(epoch));  // what dropout draws, likewise
    double total = 0;
    for (int64_t step = 0; step < steps; ++step) {
      const double progress = (static_cast<double>(epoch) + static_cast<double>(step) / steps) / options_.epochs;
      const double rate = options_.learning_rate * (0.02 + 0.98 * 0.5 * (1 + std::cos(M_PI * progress)));
      for (auto& group : optimizer.param_groups()) static_cast<torch::optim::AdamWOptions&>(group.options()).lr(rate);
      const int64_t begin = step * size;
      const auto examples = absl::MakeConstSpan(order).subspan(begin, size);
      const Batch batch = Tile() ? MakeTileBatch(data_, examples, normalizers_, options_.tiles_per_kernel, &random)
                                 : MakeFusionBatch(data_, examples, normalizers_);
      optimizer.zero_grad();
      const torch::Tensor output = network->forward(batch);
      const torch::Tensor loss =
          Tile() ? RankLoss(output, batch) : TimeLoss(output, batch.labels, options_.linear_beyond);
      loss.backward();
      torch::nn::utils::clip_grad_norm_(network->parameters(), 1.0);
      optimizer.step();
      if (options_.average > 0) {
        torch::NoGradGuard no_gradients;
        const std::vector<torch::Tensor> now = network->parameters(), averages = average->parameters();
        const double decay = AverageDecay(epoch * steps + step);
        for (size_t i = 0; i < now.size(); ++i) averages[i].lerp_(now[i].detach(), 1 - decay);
      }
      total += loss.item<double>();
    }
    return total / static_cast<double>(steps);
  }

  double Validate(Network& network) {
    torch::NoGradGuard no_gradients;
    network->eval();
    double sum = 0;
    int64_t count = 0;
    constexpr int64_t kBatch = 64;
    for (size_t begin = 0; begin < validation_.size(); begin += kBatch) {
      const auto examples = absl::MakeConstSpan(validation_).subspan(begin, kBatch);
      const Batch batch = Tile() ? MakeTileBatch(data_, examples, normalizers_, 0, nullptr)
                                 : MakeFusionBatch(data_, examples, normalizers_);
      const torch::Tensor output = network->forward(batch).to(torch::kDouble).contiguous();
      const double* values = output.data_ptr<double>();
      if (!Tile()) {
        for (int64_t i : examples) {
          sum += std::fabs(*values++ - LogTime(data_.examples[i].seconds));
          ++count;
        }
        continue;
      }
      for (int64_t i : examples) {
        const std::vector<double>& seconds = data_.examples[i].tile_seconds;
        sum += 1 - KendallTau(std::vector<double>(values, values + seconds.size()), seconds);
        values += seconds.size();
        ++count;
      }
    }
    return sum / static_cast<double>(std::max<int64_t>(count, 1));
  }

  absl::Status Checkpoint(Network& network, Network& average, torch::optim::AdamW& optimizer, const Position& position,
                          const std::map<std::string, WeightTensor>& best) {
    if (options_.checkpoint.empty()) return absl::OkStatus();
    // Through memory: on a full disk, LibTorch's own writer ends the process.
    std::ostringstream bytes;
    try {
      torch::serialize::OutputArchive archive, weights, averages, state, kept;
      network->save(weights);
      average->save(averages);
      optimizer.save(state);
      for (const auto& [name, tensor] : best) kept.write(name, torch::tensor(tensor.values).view(tensor.shape));
      archive.write("network", weights);
      archive.write("average", averages);
      archive.write("optimizer", state);
      archive.write("best", kept);
      archive.write("position", torch::tensor({static_cast<double>(position.epoch), position.best,
                                               static_cast<double>(position.best_epoch)},
                                              torch::kFloat64));
      archive.write("identity", c10::IValue(position.identity));
      archive.save_to(bytes);
    } catch (const std::exception& error) {
      return absl::UnavailableError(absl::StrCat(options_.checkpoint, ": cannot be written: ", error.what()));
    }
    return WriteFile(options_.checkpoint, bytes.str());
  }

  // A checkpoint of another training (other data, other options) is not used; training then begins anew. A torn one is
  // an error.
  absl::Status Resume(Network& network, Network& average, torch::optim::AdamW& optimizer, Position* position,
                      std::map<std::string, WeightTensor>* best) {
    std::error_code ignored;
    if (options_.checkpoint.empty() || !std::filesystem::exists(options_.checkpoint, ignored)) return absl::OkStatus();
    // A disk that cannot be read is no reason to have anybody delete the file.
    SMELT_ASSIGN_OR_RETURN(std::string read, hlo::ReadTextFile(options_.checkpoint));
    std::istringstream bytes(std::move(read));
    try {
      torch::serialize::InputArchive archive, weights, averages, state, kept;
      archive.load_from(bytes);
      c10::IValue identity;
      archive.read("identity", identity);
      if (identity.toStringRef() != position->identity) return absl::OkStatus();
      archive.read("network", weights);
      archive.read("average", averages);
      archive.read("optimizer", state);
      archive.read("best", kept);
      torch::Tensor numbers;
      archive.read("position", numbers);
      network->load(weights);
      if (options_.average > 0) average->load(averages);
      optimizer.load(state);
      for (auto& [name, fresh] : network->Export()) {
        torch::Tensor tensor;
        kept.read(name, tensor);
        tensor = tensor.contiguous();
        (*best)[name] = {fresh.shape,
                         std::vector<float>(tensor.data_ptr<float>(), tensor.data_ptr<float>() + tensor.numel())};
      }
      position->epoch = static_cast<int64_t>(numbers[0].item<double>());
      position->best = numbers[1].item<double>();
      position->best_epoch = static_cast<int64_t>(numbers[2].item<double>());
    } catch (const std::exception& error) {
      return absl::DataLossError(
          absl::StrCat(options_.checkpoint, ": is no whole checkpoint; delete it to train from the beginning"));
    }
    return absl::OkStatus();
  }

  const Dataset& data_;
  const TrainOptions& options_;
  const TaskModel shape_;
  std::vector<int64_t> train_, validation_;
  Normalizers normalizers_;
};

}  // namespace

absl::StatusOr<TaskModel> TrainTask(const Dataset& data, const Split& split, const TrainOptions& options,
                                    TrainReport* report) {
  try {
    return Trainer(data, split, options).Run(report);
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat("LibTorch failed: ", error.what_without_backtrace()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("training needs more memory than there is; the same command goes on");
  }
}

}  // namespace smelt::gnn
