// How many tiles a second a model scores, and how many kernels it predicts, on one core.
//
//   build/release/bench/predictor [--model=models/cpu.smeltmodel] [--seconds=1] [--json]
//
// Tiles: of one kernel that was prepared before; "columns given" is the network alone, "from extents" makes the columns
// too. Kernels: of 41 nodes, as the search finds them; "features given" is the network alone. Seconds are the thread's
// own processor time, so that other work on the machine counts only where it is in the way; each figure is the best of
// several turns, taken in turn.
#include "gnn/predictor.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "bench/run_program.h"
#include "fusion/kernel_of_module.h"
#include "gnn/features/features.h"
#include "gnn/features/tile_rows.h"
#include "gnn/model/model_file.h"
#include "gnn/native/engine.h"
#include "gnn/shipped_model.h"
#include "hlo/text/parser.h"
#include "machine/target_id.h"

namespace smelt::gnn {
namespace {

double ThreadSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Flags {
  std::string model;
  double seconds = 1;
  bool json = false;
};

struct Rate {
  std::string name, unit;
  std::function<int64_t()> work;  // returns how many it did
  double best = 0;                // a second
};

// A product with work behind it: what tiles are ranked for.
constexpr char kProduct[] = R"(HloModule product

ENTRY body {
  a = f32[512,768]{1,0} parameter(0)
  b = f32[768,1024]{1,0} parameter(1)
  d = f32[512,1024]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[1024]{0} parameter(2)
  e = f32[512,1024]{1,0} broadcast(c), dimensions={1}
  f = f32[512,1024]{1,0} add(d, e)
  ROOT g = f32[512,1024]{1,0} tanh(f)
}
)";

// 41 instructions: 8 parameters, and a chain that reads them again and again.
std::string Chain(int number) {
  std::string text = "HloModule chain\n\nENTRY body {\n";
  const std::string shape = absl::StrCat("f32[", 64 + number, ",256]{1,0}");
  for (int i = 0; i < 8; ++i) absl::StrAppend(&text, "  n", i, " = ", shape, " parameter(", i, ")\n");
  for (int i = 8; i < 41; ++i) {
    const char* const opcodes[] = {"add", "multiply", "maximum", "subtract"};
    absl::StrAppend(&text, i == 40 ? "  ROOT n" : "  n", i, " = ", shape, " ", opcodes[i % 4], "(n", i - 1, ", n",
                    (i * 7) % 8, ")\n");
  }
  return text + "}\n";
}

absl::StatusOr<fusion::Kernel> KernelOf(const std::string& text) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module, hlo::ParseModule(text));
  return fusion::KernelOfModule(*module);
}

absl::Status Measure(const Flags& flags) {
  const std::string path = flags.model.empty() ? ShippedModelPath() : flags.model;
  SMELT_ASSIGN_OR_RETURN(const ModelFile model, LoadModel(path));
  const machine::Machine machine;
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                         Predictor::Of(model, path, machine, machine::TargetId::Parse(model.target).kind));
  const auto fusion_task = model.tasks.find("fusion"), tile_task = model.tasks.find("tile");
  if (fusion_task == model.tasks.end() || tile_task == model.tasks.end())
    return absl::InvalidArgumentError(absl::StrCat(path, ": has not both networks"));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> fusion, Engine::Create(fusion_task->second));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> tile, Engine::Create(tile_task->second));

  SMELT_ASSIGN_OR_RETURN(const fusion::Kernel product, KernelOf(kProduct));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<PreparedKernel> prepared, predictor->Prepare(product.computation()));
  const TileRows rows(product.computation(), machine);
  constexpr int64_t kTiles = 64 * TileRows::kBlock;
  std::vector<int64_t> extents;
  for (int64_t i = 0; i < kTiles; ++i) {
    for (const int64_t dimension : prepared->dimensions()) extents.push_back(1 + (i * 37 + dimension * 11) % dimension);
  }
  const int64_t rank = static_cast<int64_t>(prepared->dimensions().size());
  const size_t width = TileColumns().size() * TileRows::kBlock;
  std::vector<float> columns(width * kTiles / TileRows::kBlock), scores(kTiles);
  for (int64_t b = 0; b < kTiles / TileRows::kBlock; ++b)
    rows.FillBlock(&extents[b * TileRows::kBlock * rank], TileRows::kBlock, &columns[b * width]);
  const std::vector<float> embedded = tile->EmbedForTiles(ExtractFeatures(product.computation(), machine));

  std::vector<fusion::Kernel> kernels;
  std::vector<KernelGraph> graphs;
  for (int i = 0; i < 64; ++i) {
    SMELT_ASSIGN_OR_RETURN(kernels.emplace_back(), KernelOf(Chain(i)));
    graphs.push_back(ExtractFeatures(kernels.back().computation(), machine));
  }
  std::vector<const KernelGraph*> pointers;
  for (const KernelGraph& graph : graphs) pointers.push_back(&graph);
  std::vector<const fusion::Kernel*> kernel_pointers;
  for (const fusion::Kernel& kernel : kernels) kernel_pointers.push_back(&kernel);
  const int64_t nodes = graphs[0].node_count();

  std::vector<Rate> rates = {
      {"tiles, columns given", "tiles",
       [&] {
         for (int64_t b = 0; b < kTiles / TileRows::kBlock; ++b)
           tile->ScoreBlock(embedded, &columns[b * width], TileRows::kBlock, &scores[b * TileRows::kBlock]);
         return kTiles;
       }},
      {"tiles, from extents", "tiles",
       [&] {
         (void)prepared->Score(extents.data(), kTiles, scores.data());
         return kTiles;
       }},
      {"tiles, columns alone", "tiles",
       [&] {
         for (int64_t b = 0; b < kTiles / TileRows::kBlock; ++b)
           rows.FillBlock(&extents[b * TileRows::kBlock * rank], TileRows::kBlock, &columns[b * width]);
         return kTiles;
       }},
      {"kernels, features given", "kernels",
       [&] {
         (void)fusion->PredictLogTimes(pointers);
         return static_cast<int64_t>(pointers.size());
       }},
      {"kernels, features made", "kernels",
       [&] {
         (void)predictor->Predict(kernel_pointers);
         return static_cast<int64_t>(kernel_pointers.size());
       }},
      {"kernels prepared for tiles", "kernels",
       [&] {
         (void)predictor->Prepare(product.computation());
         return int64_t{1};
       }},
  };
  constexpr int kTurns = 10;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Rate& rate : rates) {
      const double start = ThreadSeconds();
      int64_t done = 0;
      while (ThreadSeconds() - start < flags.seconds / kTurns) done += rate.work();
      rate.best = std::max(rate.best, static_cast<double>(done) / (ThreadSeconds() - start));
    }
  }
  if (flags.json) {
    nlohmann::json result{{"model", predictor->Describe()}, {"nodes", nodes}};
    for (const Rate& rate : rates) result[rate.name] = rate.best;
    std::printf("%s\n", JsonText(result, 2).c_str());
    return absl::OkStatus();
  }
  std::printf("%s\n", predictor->Describe().c_str());
  for (const Rate& rate : rates)
    std::printf("%-28s %12.0f %s a second\n", rate.name.c_str(), rate.best, rate.unit.c_str());
  std::printf("kernels have %ld nodes, tiles %ld extents\n", nodes, rank);
  return absl::OkStatus();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("--model", flags->model, "Model file; by default the shipped model");
  arguments.Add("--seconds", flags->seconds, "For each figure").Between(0.05, 600.0).ShowsDefault();
  arguments.AddFlag("--json", flags->json, "Machine-readable result");
  return [flags] { return Measure(*flags); };
}

}  // namespace
}  // namespace smelt::gnn

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("predictor", "Tiles scored and kernels predicted a second, on one core",
                                  smelt::gnn::Declare, argc, argv);
}
