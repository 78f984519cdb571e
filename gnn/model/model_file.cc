#include "gnn/model/model_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "gnn/corpus/crc32c.h"
#include "gnn/features/features.h"
#include "gnn/model/stored_columns.h"
#include "hlo/file/read.h"
#include "machine/descriptor.h"
#include "machine/target_id.h"

namespace smelt::gnn {
namespace {

using nlohmann::json;

constexpr char kMagic[8] = {'S', 'M', 'E', 'L', 'T', 'M', 'D', 'L'};
constexpr int kFormatVersion = 2;

json ToJson(const Normalizer& n) { return {{"mean", n.mean}, {"scale", n.scale}, {"low", n.low}, {"high", n.high}}; }

Normalizer NormalizerFrom(const json& j) {
  return {j.at("mean").get<std::vector<float>>(), j.at("scale").get<std::vector<float>>(),
          j.at("low").get<std::vector<float>>(), j.at("high").get<std::vector<float>>()};
}

json ColumnNames(const std::vector<Column>& columns) {
  json names = json::array();
  for (const Column& column : columns) names.push_back(std::string(column.name));
  return names;
}

const char* KindName(NetworkKind kind) { return kind == NetworkKind::kLstm ? "lstm" : "graphsage"; }

absl::Status Damaged(const std::string& path, const std::string& what) {
  return absl::DataLossError(
      absl::StrCat(path, ": is no whole model file: ", what, ". Train again with `smelt train`, or copy it again"));
}

json ToJson(const Calibration& c) {
  json kinds = json::object();
  for (const auto& [kind, base] : c.kinds)
    kinds[kind] = {{"compute", base.compute}, {"memory", base.memory}, {"constant", base.constant}};
  return {{"figures", c.figures}, {"device", c.device},        {"compiler", c.compiler}, {"kernels", c.kernels},
          {"error", c.error},     {"kinds", std::move(kinds)}, {"mean", c.layer.mean},   {"noise", c.layer.noise}};
}

// Without the root, which is a tensor.
Calibration CalibrationFrom(const json& j) {
  Calibration c;
  c.figures = j.at("figures").get<std::map<std::string, double>>();
  c.device = j.at("device").get<std::string>();
  c.compiler = j.at("compiler").get<std::string>();
  c.kernels = j.at("kernels").get<int64_t>();
  c.error = j.at("error").get<double>();
  for (const auto& [kind, base] : j.at("kinds").items()) {
    c.kinds[kind] = {base.at("compute").get<double>(), base.at("memory").get<double>(),
                     base.at("constant").get<double>()};
  }
  c.layer.mean = j.at("mean").get<std::vector<double>>();
  c.layer.noise = j.at("noise").get<double>();
  return c;
}

constexpr char kRoot[] = "calibration.root";  // of the fusion task's tensors

// A calibration fits its network: as many coefficients as its rows have entries.
bool Fits(const ModelFile& model) {
  const auto fusion = model.tasks.find("fusion");
  if (!model.calibration) return true;
  const Calibration& c = *model.calibration;
  const size_t width = c.layer.mean.size();
  return fusion != model.tasks.end() && c.layer.root.size() == width * width &&
         width == static_cast<size_t>(fusion->second.hidden) + 2 + c.kinds.size();
}

// What a network sees of each kind of columns, and the weight that they enter by.
struct Table {
  const char* name;
  const std::vector<Column>& (*columns)();
  Normalizer TaskModel::*normalizer;
  const char* weight;
};
constexpr Table kTables[] = {{"node", NodeColumns, &TaskModel::nodes, "input.features"},
                             {"kernel", KernelColumns, &TaskModel::kernels, "head.kernel"},
                             {"tile", TileColumns, &TaskModel::tiles, "head.tile"}};

// Makes networks of the file's columns those of today's.
absl::Status WidenTasks(const std::string& path, const json& names, std::map<std::string, TaskModel>* tasks) {
  for (const Table& table : kTables) {
    const absl::StatusOr<StoredColumns> stored =
        StoredColumns::Match(names.at(table.name).get<std::vector<std::string>>(), table.columns());
    if (!stored.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(path, ": ", stored.status().message(),
                                                        ". Use the program version that trained it, or train again"));
    }
    for (auto& [name, task] : *tasks) {
      absl::Status widened = stored->Widen(&(task.*table.normalizer));
      const auto weight = task.weights.find(table.weight);
      if (widened.ok() && weight != task.weights.end()) widened = stored->Widen(&weight->second);
      if (!widened.ok()) return Damaged(path, absl::StrCat("task `", name, "`: ", widened.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Normalizer Normalizer::Fit(const std::vector<float>& rows, int64_t width) {
  Normalizer n{std::vector<float>(width, 0), std::vector<float>(width, 0), std::vector<float>(width, 0),
               std::vector<float>(width, 0)};
  const int64_t count = width == 0 ? 0 : static_cast<int64_t>(rows.size()) / width;
  if (count == 0) return n;
  for (int64_t c = 0; c < width; ++c) {
    double sum = 0, squares = 0;
    float low = rows[c], high = rows[c];
    for (int64_t r = 0; r < count; ++r) {
      const float x = rows[r * width + c];
      sum += x;
      low = std::min(low, x);
      high = std::max(high, x);
    }
    const double mean = sum / count;
    for (int64_t r = 0; r < count; ++r) {
      const double d = rows[r * width + c] - mean;
      squares += d * d;
    }
    const double deviation = std::sqrt(squares / count);
    n.mean[c] = static_cast<float>(mean);
    n.scale[c] = deviation > 1e-6 ? static_cast<float>(1 / deviation) : 0.0f;
    n.low[c] = low;
    n.high[c] = high;
  }
  return n;
}

void Normalizer::Apply(float* row) const {
  for (size_t c = 0; c < mean.size(); ++c) row[c] = (std::clamp(row[c], low[c], high[c]) - mean[c]) * scale[c];
}

absl::Status SaveModel(const std::string& path, const ModelFile& model) {
  json header{{"format", kFormatVersion},
              {"schema", kFeatureSchemaVersion},
              {"columns", json::object()},
              {"target", model.target},
              {"target_figures", model.target_figures},
              {"summary", model.summary},
              {"programs", model.programs},
              {"analytical_factors", model.analytical_factors},
              {"machine", model.machine},
              {"device", model.device},
              {"compiler", model.compiler},
              {"policy", model.policy},
              {"log_deviation", model.log_deviation},
              {"tasks", json::object()}};
  for (const Table& table : kTables) header["columns"][table.name] = ColumnNames(table.columns());
  if (model.calibration) header["calibration"] = ToJson(*model.calibration);
  std::string data;
  for (const auto& [name, task] : model.tasks) {
    json tensors = json::object();
    for (const auto& [tensor, value] : task.weights) {
      tensors[tensor] = {{"shape", value.shape}, {"offset", data.size()}};
      data.append(reinterpret_cast<const char*>(value.values.data()), value.values.size() * sizeof(float));
    }
    if (model.calibration && name == "fusion") {
      const std::vector<float> root(model.calibration->layer.root.begin(), model.calibration->layer.root.end());
      tensors[kRoot] = {{"shape", {root.size()}}, {"offset", data.size()}};
      data.append(reinterpret_cast<const char*>(root.data()), root.size() * sizeof(float));
    }
    header["tasks"][name] = {{"kind", KindName(task.kind)}, {"hidden", task.hidden},
                             {"layers", task.layers},       {"embedding", task.embedding},
                             {"nodes", ToJson(task.nodes)}, {"kernels", ToJson(task.kernels)},
                             {"tiles", ToJson(task.tiles)}, {"tensors", tensors}};
  }
  const std::string text = JsonText(header);
  std::string bytes(kMagic, sizeof(kMagic));
  const uint64_t length = text.size();
  bytes.append(reinterpret_cast<const char*>(&length), sizeof(length));
  bytes += text;
  bytes += data;
  const uint32_t crc = Crc32c(bytes);
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  return WriteFile(path, bytes);
}

absl::StatusOr<ModelFile> LoadModel(const std::string& path) {
  absl::StatusOr<std::string> read = hlo::ReadTextFile(path);
  if (absl::IsNotFound(read.status())) {
    return absl::NotFoundError(
        absl::StrCat(read.status().message(), ". `smelt train CORPUS -o ", path, "` makes a model"));
  }
  if (!read.ok()) return read.status();
  const std::string bytes = *std::move(read);
  constexpr size_t kPrefix = sizeof(kMagic) + sizeof(uint64_t);
  if (bytes.size() < sizeof(kMagic) || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0)
    return Damaged(path, "it does not begin as one");
  if (bytes.size() < kPrefix + sizeof(uint32_t))
    return Damaged(path, absl::StrCat("it ends after ", bytes.size(), " bytes"));
  uint64_t length;
  std::memcpy(&length, bytes.data() + sizeof(kMagic), sizeof(length));
  uint32_t crc;
  std::memcpy(&crc, bytes.data() + bytes.size() - sizeof(crc), sizeof(crc));
  if (crc != Crc32c({bytes.data(), bytes.size() - sizeof(crc)})) return Damaged(path, "its checksum does not match");
  if (length > bytes.size() - kPrefix - sizeof(crc)) return Damaged(path, "its header is longer than the file");
  const json header = ParseJson(std::string_view(bytes).substr(kPrefix, length));
  if (header.is_discarded()) return Damaged(path, "its header is no JSON");
  const char* data = bytes.data() + kPrefix + length;
  const size_t data_size = bytes.size() - kPrefix - length - sizeof(crc);
  ModelFile model;
  try {  // the checksum matched, so what is thrown here is a file of another program version
    if (header.at("format") != kFormatVersion) {
      return absl::FailedPreconditionError(absl::StrCat(path, ": has format version ", JsonText(header.at("format")),
                                                        ", and this program reads version ", kFormatVersion,
                                                        ". Use the program version that trained it, or train again"));
    }
    if (header.at("schema") != kFeatureSchemaVersion) {
      return absl::FailedPreconditionError(absl::StrCat(path, ": was trained on feature schema version ",
                                                        JsonText(header.at("schema")),
                                                        ", and this program makes version ", kFeatureSchemaVersion,
                                                        ". Use the program version that trained it, or train again"));
    }
    model.target = header.at("target").get<std::string>();
    model.target_figures = header.at("target_figures").get<std::map<std::string, double>>();
    model.summary = header.at("summary").get<std::string>();
    model.analytical_factors = header.at("analytical_factors").get<std::map<std::string, double>>();
    // Versions before these fields wrote none of them.
    model.programs = header.value("programs", std::vector<std::string>());
    model.machine = header.value("machine", "");
    model.device = header.value("device", "");
    model.compiler = header.value("compiler", "");
    model.policy = header.value("policy", "");
    model.log_deviation = header.value("log_deviation", 0.0);
    if (header.contains("calibration")) model.calibration = CalibrationFrom(header["calibration"]);
    for (const auto& [name, j] : header.at("tasks").items()) {
      TaskModel& task = model.tasks[name];
      task.kind = j.at("kind") == "lstm" ? NetworkKind::kLstm : NetworkKind::kGraphSage;
      task.hidden = j.at("hidden").get<int64_t>();
      task.layers = j.at("layers").get<int64_t>();
      task.embedding = j.at("embedding").get<int64_t>();
      task.nodes = NormalizerFrom(j.at("nodes"));
      task.kernels = NormalizerFrom(j.at("kernels"));
      task.tiles = NormalizerFrom(j.at("tiles"));
      for (const auto& [tensor, t] : j.at("tensors").items()) {
        WeightTensor& weight = task.weights[tensor];
        weight.shape = t.at("shape").get<std::vector<int64_t>>();
        size_t count = 1;
        for (int64_t d : weight.shape) count *= static_cast<size_t>(std::max<int64_t>(d, 0));
        const size_t offset = t.at("offset").get<size_t>();
        if (offset > data_size || count > (data_size - offset) / sizeof(float))
          return Damaged(path, absl::StrCat("tensor `", tensor, "` lies outside of it"));
        weight.values.resize(count);
        std::memcpy(weight.values.data(), data + offset, count * sizeof(float));
      }
    }
    SMELT_RETURN_IF_ERROR(WidenTasks(path, header.at("columns"), &model.tasks));
  } catch (const json::exception& error) {
    return Damaged(path, error.what());
  }
  if (model.calibration && model.tasks.contains("fusion")) {
    auto& weights = model.tasks["fusion"].weights;
    if (const auto root = weights.find(kRoot); root != weights.end()) {
      model.calibration->layer.root.assign(root->second.values.begin(), root->second.values.end());
      weights.erase(root);
    }
  }
  if (!Fits(model)) return Damaged(path, "its calibration does not fit its network");
  return model;
}

absl::StatusOr<machine::Machine> MachineOf(const ModelFile& model) {
  if (!model.machine.empty()) return machine::ReadMachine(model.machine);
  const machine::TargetId id = machine::TargetId::Parse(model.target);
  machine::Machine machine;
  machine.name = id.cpu;
  if (id.threads > 0) machine.threads = id.threads;
  return machine;
}

std::vector<float> LastLayerOf(const TaskModel& task) {
  const auto weight = task.weights.find("out.weight"), bias = task.weights.find("out.bias");
  if (weight == task.weights.end() || bias == task.weights.end()) return {};
  std::vector<float> values = weight->second.values;
  values.insert(values.end(), bias->second.values.begin(), bias->second.values.end());
  return values;
}

}  // namespace smelt::gnn
