#include "tuner/schedule/transfer.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "hlo/file/read.h"
#include "measure/records/records.h"
#include "tuner/schedule/schedule_trials.h"

namespace smelt::tuner {
namespace {

namespace fs = std::filesystem;

// The results of each other kernel, by its hash: configurations as text.
using ByKernel = std::map<std::string, std::vector<measure::Record>>;

absl::StatusOr<ByKernel> ReadOthers(const std::string& folder, const std::string& own, const targets::Target& target) {
  const std::string path = (fs::path(folder) / "records.db").string();
  std::error_code error;
  if (!fs::exists(path, error)) return ByKernel();
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<measure::Records> records, measure::Records::Open(path));
  SMELT_ASSIGN_OR_RETURN(std::vector<measure::Record> all, records->All());
  const std::string device = measure::DeviceName(), name = target.RecordName();
  ByKernel others;
  for (measure::Record& record : all) {
    const std::vector<std::string> words = absl::StrSplit(record.key.subject, ' ');
    if (words.size() != 3 || words[0] != "schedule" || words[1] == own) continue;
    if (record.key.device == device && record.key.target == name) others[words[1]].push_back(std::move(record));
  }
  return others;
}

// A kernel of the folder as a task; none where this version cannot read or schedule it.
absl::StatusOr<ScheduleTask> TaskOf(const std::string& folder, const std::string& hash, const machine::Machine& machine,
                                    fusion::Kernel* kernel) {
  SMELT_ASSIGN_OR_RETURN(kernel->module,
                         hlo::ReadModuleFile((fs::path(folder) / "kernels" / (hash + ".hlo")).string()));
  kernel->name = hash;
  return ScheduleTask::Create(*kernel, machine);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TransferModel>> TransferModel::Learn(const std::string& folder,
                                                                    const fusion::Kernel& kernel,
                                                                    const targets::Target& target, uint64_t seed) {
  auto model = std::make_unique<TransferModel>();
  SMELT_ASSIGN_OR_RETURN(const ByKernel others, ReadOthers(folder, kernel.hash.ToHex(), target));
  gnn::BoostData data;
  for (const auto& [hash, records] : others) {
    fusion::Kernel other;
    const absl::StatusOr<ScheduleTask> task = TaskOf(folder, hash, target.machine(), &other);
    if (!task.ok()) continue;
    std::vector<TriedConfig> tried;
    for (const measure::Record& record : records) {
      absl::StatusOr<Config> config = task->space.Parse(record.description);
      if (config.ok()) tried.push_back(Tried(*std::move(config), record.outcome));
    }
    const std::vector<Measured> measured = ToMeasured(tried);
    std::vector<Config> configs;
    for (const Measured& one : measured) configs.push_back(one.config);
    CandidateFeatures features(*task, /*threads=*/1);
    const FeatureTable table = features.Of(configs, Representation::kInvariant);
    int64_t rows = 0;
    for (size_t i = 0; i < configs.size(); ++i) {
      if (!table.known[i]) continue;
      data.rows.columns = table.rows.columns;
      data.rows.Add(table.rows[static_cast<int64_t>(i)]);
      data.labels.push_back(static_cast<float>(measured[i].score));
      ++rows;
    }
    if (rows == 0) continue;
    data.groups.push_back(rows);
    model->measurements_ += rows;
    ++model->kernels_;
  }
  if (model->measurements_ == 0) return model;
  SMELT_ASSIGN_OR_RETURN(model->trees_, gnn::BoostedTrees::Train(
                                            data, {.objective = gnn::BoostObjective::kRank, .depth = 5, .seed = seed}));
  return model;
}

Prior TransferModel::For(CandidateFeatures& features) const {
  if (!trees_) return nullptr;
  return [this, &features](absl::Span<const Config> configs) -> absl::StatusOr<std::vector<float>> {
    const FeatureTable table = features.Of(configs, Representation::kInvariant);
    return trees_->Predict(table.rows);
  };
}

}  // namespace smelt::tuner
