// smelt-train: what `smelt train` starts, and `smelt tune` where its model of schedules is a TreeGRU.
#include <memory>
#include <string_view>

#include "cli/limits.h"
#include "cli/training/training.h"
#include "cli/training_program.h"
#include "cli/tune_kernel.h"
#include "tuner/schedule/tree_gru_model.h"

namespace smelt::cli {
namespace {

int Train(int argc, char** argv) {
  CLI::App app("Trains a model on a corpus", "smelt train");
  app.footer("Example:\n  smelt train corpus -o model.smeltmodel --epochs=20");
  const Action train = AddTraining(app);
  CheckNumbers(app);
  Impose({}, "train");  // without memory it ends with a line, also where LibTorch could not
  return Main(app, train, argc, argv);
}

int Tune(int argc, char** argv) {
  CLI::App app("Searches the schedule of a kernel with a TreeGRU model", "smelt tune");
  const auto maker = [](const tuner::ScheduleTask& task, tuner::Objective objective, uint64_t seed) {
    return tuner::TreeGruCostModel(task, {.objective = objective, .seed = seed});
  };
  const Action tune = AddTuneBy(app, maker, Beside("smelt"));
  CheckNumbers(app);
  return Main(app, tune, argc, argv);
}

}  // namespace
}  // namespace smelt::cli

int main(int argc, char** argv) {
  const bool tunes = std::string_view(argv[0]) == "smelt tune";
  return tunes ? smelt::cli::Tune(argc, argv) : smelt::cli::Train(argc, argv);
}
