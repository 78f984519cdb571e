// A program whose best fusions are known: chains of elementwise work in which every edge is a decision, worth what a
// seed says whatever the others are.
//
//   PlantedProgram planted = PlantedProgram::Make({.decisions = 240, .seed = 1}).value();
//   planted.space(), planted.start()      // where a search begins
//   planted.predictor()                   // what kernels cost
//   planted.potential()                   // 0.06: the best program takes 6 % less than the start
//
// The space, its rules, the kernels and their hashes are those of real programs; only what kernels cost is planted: a
// part for each instruction, and a part for each edge inside the kernel. Some decisions (a tenth by default) are worth
// flipping from the start, all others cost time when they are flipped.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "fusion/config.h"
#include "fusion/kernel.h"
#include "fusion/rules.h"
#include "fusion/space.h"
#include "gnn/predictor.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/parser.h"

namespace smelt::tuner {

struct PlantedOptions {
  int64_t decisions = 240;   // rounded up to whole chains
  double worth_while = 0.1;  // of the decisions, that save time when they are flipped
  int64_t chain = 10;        // decisions of a chain
  uint64_t seed = 1;
};

// Instructions carry their number as the constant that they multiply with. Thread-safe.
class PlantedPredictor : public gnn::Predictor {
 public:
  // `edges`: microseconds that it takes more to compute instruction i inside the kernel of instruction i + 1.
  explicit PlantedPredictor(std::vector<double> edges) : edges_(std::move(edges)) {}

  std::string Describe() const override { return "planted costs"; }
  bool HasFusionTask() const override { return true; }
  bool HasTileTask() const override { return false; }
  absl::StatusOr<std::vector<double>> PredictSeconds(absl::Span<const fusion::Kernel* const> kernels) override {
    std::vector<double> seconds;
    for (const fusion::Kernel* kernel : kernels) {
      seconds.push_back(SecondsOf(kernel->computation()));
      std::lock_guard lock(mutex_);
      known_.emplace(kernel->hash, seconds.back());
    }
    return seconds;
  }
  std::optional<double> Known(const Hash128& hash) const override {
    std::lock_guard lock(mutex_);
    const auto found = known_.find(hash);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  absl::StatusOr<std::vector<double>> ScoreTiles(const fusion::Kernel&,
                                                 absl::Span<const kernels::nests::Tile>) override {
    return absl::UnimplementedError("planted costs know no tiles");
  }

  int64_t known_kernels() const {
    std::lock_guard lock(mutex_);
    return static_cast<int64_t>(known_.size());
  }

 private:
  double SecondsOf(const hlo::Computation& kernel) const {
    double microseconds = 0;
    for (const hlo::Instruction* instruction : kernel.PostOrder()) {
      if (instruction->opcode() != hlo::Opcode::kMultiply) continue;
      microseconds += 1;
      const int64_t number = NumberOf(*instruction);
      if (instruction->operand(0)->opcode() == hlo::Opcode::kMultiply) microseconds += edges_[number - 1];
    }
    return 1e-6 * microseconds;
  }
  static int64_t NumberOf(const hlo::Instruction& multiply) {
    return multiply.operand(1)->operand(0)->literal().GetInteger(0);
  }

  const std::vector<double> edges_;
  mutable std::mutex mutex_;
  absl::flat_hash_map<Hash128, double> known_;
};

class PlantedProgram {
 public:
  static absl::StatusOr<PlantedProgram> Make(const PlantedOptions& options) {
    PlantedProgram planted;
    const int64_t chains = (options.decisions + options.chain - 1) / options.chain;
    SMELT_ASSIGN_OR_RETURN(planted.module_, hlo::ParseModule(Text(chains, options.chain)));
    SMELT_ASSIGN_OR_RETURN(fusion::Space space, fusion::Space::Build(*planted.module_, fusion::Rules::OwnKernels()));
    planted.space_ = std::make_unique<fusion::Space>(std::move(space));
    if (planted.space_->size() != chains * options.chain)
      return absl::InternalError(absl::StrCat("the planted program has ", planted.space_->size(), " decisions"));
    planted.Plant(options, chains * (options.chain + 1));
    return planted;
  }

  const fusion::Space& space() const { return *space_; }
  const fusion::Config& start() const { return start_; }
  const fusion::Config& best() const { return best_; }
  PlantedPredictor& predictor() const { return *predictor_; }
  double start_seconds() const { return 1e-6 * start_microseconds_; }
  // What the best program takes less than the start, of the start's time.
  double potential() const { return gain_microseconds_ / start_microseconds_; }
  // The share of the potential that a program of so many seconds has found.
  double Share(double seconds) const { return (start_seconds() - seconds) / (1e-6 * gain_microseconds_); }

 private:
  static std::string Text(int64_t chains, int64_t length) {
    constexpr char kType[] = "f32[64]{0}";
    std::string text;
    std::vector<std::string> results;
    int64_t number = 0;
    for (int64_t chain = 0; chain < chains; ++chain) {
      absl::StrAppend(&text, "  m", number, " = ", kType, " parameter(", chain, ")\n");
      for (int64_t i = 0; i <= length; ++i, ++number) {
        absl::StrAppend(&text, "  k", number, " = f32[] constant(", number, ")\n  b", number, " = ", kType,
                        " broadcast(k", number, "), dimensions={}\n  n", number, " = ", kType, " multiply(",
                        i == 0 ? absl::StrCat("m", number) : absl::StrCat("n", number - 1), ", b", number, ")\n");
      }
      results.push_back(absl::StrCat("n", number - 1));
    }
    return absl::StrCat("HloModule planted\n\nENTRY main {\n", text, "  ROOT result = (",
                        absl::StrJoin(std::vector<std::string>(results.size(), kType), ", "), ") tuple(",
                        absl::StrJoin(results, ", "), ")\n}\n");
  }

  void Plant(const PlantedOptions& options, int64_t instructions) {
    std::mt19937_64 random(options.seed);
    const auto uniform = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    const int64_t count = space_->size();
    // Which decisions are worth flipping: so many, anywhere.
    std::vector<int64_t> order(count);
    for (int64_t i = 0; i < count; ++i) std::swap(order[i] = i, order[random() % static_cast<uint64_t>(i + 1)]);
    std::vector<bool> flip(count);
    for (int64_t i = 0; i < std::llround(options.worth_while * static_cast<double>(count)); ++i) flip[order[i]] = true;
    start_ = best_ = fusion::Config(count);
    std::vector<double> edges(instructions);
    start_microseconds_ = static_cast<double>(instructions);
    for (int64_t d = 0; d < count; ++d) {
      const bool fused = random() % 2 == 0;
      const double worth = 0.1 + 0.9 * uniform();
      // A fused edge that is worth flipping costs time, as does one that is not fused and not worth it.
      double& edge = edges[Number(d)];
      edge = fused == flip[d] ? worth : -worth;
      start_.Set(d, fused);
      best_.Set(d, fused != flip[d]);
      if (fused) start_microseconds_ += edge;
      if (flip[d]) gain_microseconds_ += worth;
    }
    predictor_ = std::make_unique<PlantedPredictor>(std::move(edges));
  }
  // The producer's number.
  int64_t Number(int64_t decision) const {
    return space_->first(decision).operand(1)->operand(0)->literal().GetInteger(0);
  }

  std::unique_ptr<hlo::Module> module_;
  std::unique_ptr<fusion::Space> space_;
  fusion::Config start_, best_;
  std::unique_ptr<PlantedPredictor> predictor_;
  double start_microseconds_ = 0, gain_microseconds_ = 0;
};

}  // namespace smelt::tuner
