// Chooses the kernels that `smelt calibrate` times: few that lie far apart, for the network that they adapt.
//
//   build/release/bench/choose_probes models/*.hlo -o models/probe [--count=600] [--model=models/cpu.smeltmodel]
//
// Candidates are the kernels of many configurations of the modules, and others of them in other sizes. Each kind of
// kernel has a share of the places, at least a twentieth; within a kind the next one is always the candidate that lies
// farthest from all that were chosen (Gonzalez 1985), by what the network's last layer sees and by size. Writes a
// corpus without times.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/run_program.h"
#include "gnn/corpus/corpus.h"
#include "gnn/dataset/kernel_kind.h"
#include "gnn/features/features.h"
#include "gnn/model/model_file.h"
#include "gnn/native/engine.h"
#include "hlo/text/printer.h"
#include "kernels/cost/analytical.h"
#include "targets/program.h"
#include "tuner/kernel_sample.h"
#include "tuner/shape_variants.h"

namespace smelt::tuner {
namespace {

struct Flags {
  std::vector<std::string> modules;
  std::string output, model = "models/cpu.smeltmodel";
  int64_t count = 600, configurations = 30, kernels = 400;
  uint64_t seed = 1;
};

struct Candidate {
  fusion::Kernel kernel;
  std::string program;
  std::vector<float> position;
  double distance = std::numeric_limits<double>::infinity();  // from the nearest that was chosen
};

class Candidates {
 public:
  explicit Candidates(const gnn::Engine& engine) : engine_(engine) {}

  bool IsWanted(const fusion::Kernel& kernel) const {
    if (fusion::IsFree(kernel.computation()) || hlo::ToText(*kernel.module, {}).size() > 4000) return false;
    const double seconds = kernels::cost::EstimateKernel(kernel.computation(), machine_).seconds();
    return seconds < 0.005;
  }
  void Add(fusion::Kernel kernel, const std::string& program) {
    if (!seen_.insert(kernel.hash).second) return;
    const gnn::KernelGraph graph = gnn::ExtractFeatures(kernel.computation(), machine_, {}, kernel.distances);
    const gnn::KernelGraph* const pointer = &graph;
    Candidate candidate{std::move(kernel), program, {}};
    (void)engine_.PredictLogTimes({&pointer, 1}, &candidate.position);
    candidate.position.push_back(graph.LogEstimate());
    kinds_[gnn::KernelKind(candidate.kernel.computation())].push_back(std::move(candidate));
  }
  std::vector<const Candidate*> Choose(int64_t count) {
    size_t total = 0;
    for (const auto& [kind, of_kind] : kinds_) total += of_kind.size();
    std::vector<const Candidate*> chosen;
    for (auto& [kind, of_kind] : kinds_) {
      const double share = std::max(0.05, static_cast<double>(of_kind.size()) / static_cast<double>(total));
      const int64_t places = std::min<int64_t>(static_cast<int64_t>(of_kind.size()),
                                               static_cast<int64_t>(share * static_cast<double>(count)));
      size_t next = 0;
      for (int64_t i = 0; i < places; ++i) {
        chosen.push_back(&of_kind[next]);
        size_t farthest = 0;
        for (size_t j = 0; j < of_kind.size(); ++j) {
          of_kind[j].distance = std::min(of_kind[j].distance, Distance(of_kind[j], of_kind[next]));
          if (of_kind[j].distance > of_kind[farthest].distance) farthest = j;
        }
        next = farthest;
      }
    }
    return chosen;
  }

 private:
  static double Distance(const Candidate& a, const Candidate& b) {
    double sum = 0;
    for (size_t i = 0; i < a.position.size(); ++i) sum += std::pow(a.position[i] - b.position[i], 2);
    return sum;
  }
  const gnn::Engine& engine_;
  const machine::Machine machine_;
  std::map<std::string, std::vector<Candidate>> kinds_;
  absl::flat_hash_set<Hash128> seen_;
};

absl::Status Choose(const Flags& flags) {
  SMELT_ASSIGN_OR_RETURN(const gnn::ModelFile model, gnn::LoadModel(flags.model));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<gnn::Engine> engine, gnn::Engine::Create(model.tasks.at("fusion")));
  Candidates candidates(*engine);
  for (const std::string& path : flags.modules) {
    SMELT_ASSIGN_OR_RETURN(const targets::Program program, targets::LoadProgram(path));
    SMELT_ASSIGN_OR_RETURN(const fusion::Space space,
                           fusion::Space::Build(program.module(), fusion::Rules::OwnKernels()));
    const std::string name = std::filesystem::path(path).stem().string();
    KernelSample sample =
        SampleKernels(space, {}, {.kernels = flags.kernels, .configurations = flags.configurations, .seed = flags.seed},
                      [&](const fusion::Kernel& kernel) { return candidates.IsWanted(kernel); });
    for (SampledKernel& found : sample.kernels) {
      for (fusion::Kernel& variant : ShapeVariants(found.kernel, 2, flags.seed)) {
        if (candidates.IsWanted(variant)) candidates.Add(std::move(variant), name);
      }
      candidates.Add(std::move(found.kernel), name);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(flags.output, ignored);
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<gnn::CorpusWriter> writer, gnn::CorpusWriter::Open(flags.output));
  const std::vector<const Candidate*> chosen = candidates.Choose(flags.count);
  std::map<std::string, int> kinds;
  for (const Candidate* candidate : chosen) {
    gnn::KernelExample example;
    example.program = candidate->program;
    example.kernel_text = hlo::ToText(*candidate->kernel.module, {});
    example.hash = candidate->kernel.hash;
    example.distances = candidate->kernel.distances;
    example.provenance = "probe";
    ++kinds[gnn::KernelKind(candidate->kernel.computation())];
    SMELT_RETURN_IF_ERROR(writer->Append(example));
  }
  std::printf("%s: %zu kernels\n", flags.output.c_str(), chosen.size());
  for (const auto& [kind, count] : kinds) std::printf("%6d %s\n", count, kind.c_str());
  return absl::OkStatus();
}

cli::Action Declare(cli::Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  arguments.Add("MODULES", flags->modules, "HLO texts").Required();
  arguments.Add("-o", flags->output, "Corpus folder to write anew").Required();
  arguments.Add("--model", flags->model, "Model whose last layer they lie apart for").ShowsDefault();
  arguments.Add("--count", flags->count, "Kernels").Between(20, 100000).ShowsDefault();
  arguments.Add("--seed", flags->seed, "Seed of configurations and sizes").ShowsDefault();
  return [flags] { return Choose(*flags); };
}

}  // namespace
}  // namespace smelt::tuner

int main(int argc, char** argv) {
  return smelt::bench::RunProgram("choose_probes", "Chooses the kernels that smelt calibrate times",
                                  smelt::tuner::Declare, argc, argv);
}
