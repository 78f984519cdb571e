#include "gnn/boost/boosted_trees.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace smelt::gnn {

struct FreeBooster {
  void operator()(void* handle) const { XGBoosterFree(handle); }
};

namespace {

absl::Status Check(int result, const char* what) {
  if (result == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("XGBoost, ", what, ": ", XGBGetLastError()));
}

struct FreeMatrix {
  void operator()(void* handle) const { XGDMatrixFree(handle); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;
using Booster = std::unique_ptr<void, FreeBooster>;

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

std::vector<int64_t> GroupsOf(const BoostData& data) {
  return data.groups.empty() ? std::vector<int64_t>{data.rows.size()} : data.groups;
}

absl::Status CheckSizes(const BoostData& data) {
  const int64_t rows = data.rows.size();
  if (rows == 0) return absl::InvalidArgumentError("boosted trees: there are no rows to learn from");
  const std::vector<int64_t> groups = GroupsOf(data);
  const int64_t grouped = std::accumulate(groups.begin(), groups.end(), int64_t{0});
  const bool bases = data.base.empty() || static_cast<int64_t>(data.base.size()) == rows;
  if (static_cast<int64_t>(data.labels.size()) == rows && grouped == rows && bases) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("boosted trees: ", rows, " rows, ", data.labels.size(), " labels, ",
                                                 data.base.size(), " bases, ", grouped, " rows in groups"));
}

// The rows that `take` says, with their groups.
BoostData Part(const BoostData& data, const std::vector<bool>& take, bool which) {
  BoostData part;
  part.rows.columns = data.rows.columns;
  int64_t row = 0;
  for (const int64_t size : GroupsOf(data)) {
    int64_t taken = 0;
    for (int64_t end = row + size; row < end; ++row) {
      if (take[static_cast<size_t>(row)] != which) continue;
      part.rows.Add(data.rows[row]);
      part.labels.push_back(data.labels[static_cast<size_t>(row)]);
      if (!data.base.empty()) part.base.push_back(data.base[static_cast<size_t>(row)]);
      ++taken;
    }
    if (taken > 0) part.groups.push_back(taken);
  }
  return part;
}

// True for the rows that are held out: the same share of each group.
std::vector<bool> HoldOut(const BoostData& data, double share, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<bool> held(static_cast<size_t>(data.rows.size()), false);
  size_t begin = 0;
  for (const int64_t size : GroupsOf(data)) {
    std::vector<size_t> rows(static_cast<size_t>(size));
    std::iota(rows.begin(), rows.end(), begin);
    for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random() % i]);
    rows.resize(static_cast<size_t>(share * static_cast<double>(size)));
    for (const size_t row : rows) held[row] = true;
    begin += static_cast<size_t>(size);
  }
  return held;
}

absl::StatusOr<Matrix> ToMatrix(const BoostData& data) {
  DMatrixHandle handle = nullptr;
  SMELT_RETURN_IF_ERROR(
      Check(XGDMatrixCreateFromMat(data.rows.values.data(), data.rows.size(), data.rows.columns, kMissing, &handle),
            "a table"));
  Matrix matrix(handle);
  SMELT_RETURN_IF_ERROR(
      Check(XGDMatrixSetFloatInfo(handle, "label", data.labels.data(), data.labels.size()), "labels"));
  std::vector<unsigned> groups;
  for (const int64_t size : GroupsOf(data)) groups.push_back(static_cast<unsigned>(size));
  SMELT_RETURN_IF_ERROR(
      Check(XGDMatrixSetDenseInfo(handle, "group", groups.data(), groups.size(), /*uint32*/ 3), "groups"));
  if (!data.base.empty()) {
    SMELT_RETURN_IF_ERROR(
        Check(XGDMatrixSetFloatInfo(handle, "base_margin", data.base.data(), data.base.size()), "bases"));
  }
  return matrix;
}

absl::StatusOr<Booster> NewBooster(absl::Span<const DMatrixHandle> matrices, const BoostOptions& options) {
  BoosterHandle handle = nullptr;
  SMELT_RETURN_IF_ERROR(Check(XGBoosterCreate(matrices.data(), matrices.size(), &handle), "a model"));
  Booster booster(handle);
  const bool rank = options.objective == BoostObjective::kRank;
  const std::pair<const char*, std::string> parameters[] = {
      {"verbosity", "0"},
      {"nthread", "1"},
      {"tree_method", "hist"},
      {"max_bin", "64"},
      {"base_score", "0"},
      {"objective", rank ? "rank:pairwise" : "reg:squarederror"},
      {"max_depth", absl::StrCat(options.depth)},
      {"eta", absl::StrCat(options.learning_rate)},
      {"gamma", absl::StrCat(options.least_gain)},
      {"lambda", absl::StrCat(options.weight_penalty)},
      {"colsample_bytree", absl::StrCat(options.column_share)},
      {"seed", absl::StrCat(options.seed % 0x7fffffff)},
      {"min_child_weight", rank ? "0.1" : "1"},
  };
  for (const auto& [name, value] : parameters)
    SMELT_RETURN_IF_ERROR(Check(XGBoosterSetParam(handle, name, value.c_str()), name));
  // Each row meets several others in every round: with one, the default, some hundred rows say too little.
  if (rank) SMELT_RETURN_IF_ERROR(Check(XGBoosterSetParam(handle, "num_pairsample", "8"), "num_pairsample"));
  return booster;
}

// The error of what is held out, as it is told of.
absl::StatusOr<double> ErrorOn(BoosterHandle booster, const Matrix& matrix, const BoostData& data,
                               BoostObjective objective) {
  bst_ulong const* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* scores = nullptr;
  SMELT_RETURN_IF_ERROR(
      Check(XGBoosterPredictFromDMatrix(
                booster, matrix.get(),
                R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false})", &shape,
                &dimensions, &scores),
            "the held-out rows"));
  const absl::Span<const float> predicted(scores, data.labels.size());
  if (objective == BoostObjective::kRank) return MisorderedShare(predicted, data.labels, data.groups);
  double sum = 0;
  for (size_t i = 0; i < predicted.size(); ++i) sum += std::pow(predicted[i] - data.labels[i], 2);
  return std::sqrt(sum / static_cast<double>(predicted.size()));
}

struct Ending {
  int trees = 0;
  double error = std::numeric_limits<double>::quiet_NaN();
};

// How many trees serve rows that were not learned from.
absl::StatusOr<Ending> FindEnd(const BoostData& data, const BoostOptions& options) {
  if (static_cast<double>(data.rows.size()) * options.held_out < static_cast<double>(options.fewest_held_out))
    return Ending{.trees = options.held_out > 0 ? std::min(options.few_rounds, options.rounds) : options.rounds};
  const std::vector<bool> held = HoldOut(data, options.held_out, options.seed);
  const BoostData learn = Part(data, held, false), judge = Part(data, held, true);
  if (judge.labels.empty() || learn.labels.empty()) return Ending{.trees = options.few_rounds};
  SMELT_ASSIGN_OR_RETURN(const Matrix learned, ToMatrix(learn));
  SMELT_ASSIGN_OR_RETURN(const Matrix judged, ToMatrix(judge));
  const DMatrixHandle matrices[] = {learned.get(), judged.get()};
  SMELT_ASSIGN_OR_RETURN(const Booster booster, NewBooster(matrices, options));
  Ending best{.error = std::numeric_limits<double>::infinity()};
  for (int round = 0; round < options.rounds && round - best.trees < options.patience; ++round) {
    SMELT_RETURN_IF_ERROR(Check(XGBoosterUpdateOneIter(booster.get(), round, learned.get()), "training"));
    SMELT_ASSIGN_OR_RETURN(const double error, ErrorOn(booster.get(), judged, judge, options.objective));
    if (error < best.error) best = {round + 1, error};
  }
  return best;
}

}  // namespace

struct BoostedTrees::Model {
  std::unique_ptr<void, FreeBooster> booster;
  int64_t columns = 0;
  int trees = 0;
  double error = 0;
};

BoostedTrees::BoostedTrees(std::unique_ptr<Model> model) : model_(std::move(model)) {}
BoostedTrees::BoostedTrees(BoostedTrees&&) noexcept = default;
BoostedTrees& BoostedTrees::operator=(BoostedTrees&&) noexcept = default;
BoostedTrees::~BoostedTrees() = default;

absl::StatusOr<BoostedTrees> BoostedTrees::Train(const BoostData& data, const BoostOptions& options) {
  SMELT_RETURN_IF_ERROR(CheckSizes(data));
  auto model = std::make_unique<Model>();
  model->columns = data.rows.columns;
  SMELT_ASSIGN_OR_RETURN(const Ending ending, FindEnd(data, options));
  model->trees = ending.trees;
  model->error = ending.error;
  SMELT_ASSIGN_OR_RETURN(const Matrix matrix, ToMatrix(data));
  const DMatrixHandle handle = matrix.get();
  SMELT_ASSIGN_OR_RETURN(model->booster, NewBooster({&handle, 1}, options));
  for (int round = 0; round < model->trees; ++round)
    SMELT_RETURN_IF_ERROR(Check(XGBoosterUpdateOneIter(model->booster.get(), round, matrix.get()), "training"));
  // Predictions by several threads need a booster that has set itself up.
  BoostedTrees trees(std::move(model));
  const absl::Span<const float> row = data.rows[0];
  SMELT_RETURN_IF_ERROR(trees.Predict({data.rows.columns, {row.begin(), row.end()}}).status());
  return trees;
}

absl::StatusOr<std::vector<float>> BoostedTrees::Predict(const Rows& rows, absl::Span<const float> base) const {
  if (rows.size() == 0) return std::vector<float>();
  if (rows.columns != model_->columns || (!base.empty() && static_cast<int64_t>(base.size()) != rows.size())) {
    return absl::InvalidArgumentError(absl::StrCat("boosted trees: ", rows.size(), " rows of ", rows.columns,
                                                   " columns with ", base.size(), " bases, and the trees know ",
                                                   model_->columns, " columns"));
  }
  const std::string table = absl::StrFormat(R"({"data":[%u,true],"shape":[%d,%d],"typestr":"<f4","version":3})",
                                            reinterpret_cast<uintptr_t>(rows.values.data()), rows.size(), rows.columns);
  constexpr const char* kMargins =
      R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"missing":NaN,"strict_shape":false,"cache_id":0})";
  bst_ulong const* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* scores = nullptr;
  SMELT_RETURN_IF_ERROR(Check(
      XGBoosterPredictFromDense(model_->booster.get(), table.c_str(), kMargins, nullptr, &shape, &dimensions, &scores),
      "prediction"));
  std::vector<float> result(scores, scores + rows.size());
  for (size_t i = 0; i < base.size(); ++i) result[i] += base[i];
  return result;
}

int BoostedTrees::trees() const { return model_->trees; }
double BoostedTrees::held_out_error() const { return model_->error; }

double MisorderedShare(absl::Span<const float> scores, absl::Span<const float> labels,
                       absl::Span<const int64_t> groups) {
  double wrong = 0, pairs = 0;
  const int64_t all = static_cast<int64_t>(labels.size());
  size_t begin = 0;
  for (const int64_t size : groups.empty() ? absl::MakeConstSpan(&all, 1) : groups) {
    const size_t end = begin + static_cast<size_t>(size);
    for (size_t i = begin; i < end; ++i) {
      for (size_t j = i + 1; j < end; ++j) {
        if (labels[i] == labels[j]) continue;
        ++pairs;
        if (scores[i] == scores[j]) {
          wrong += 0.5;
        } else if ((scores[i] < scores[j]) != (labels[i] < labels[j])) {
          ++wrong;
        }
      }
    }
    begin = end;
  }
  return pairs == 0 ? 0.5 : wrong / pairs;
}

}  // namespace smelt::gnn
