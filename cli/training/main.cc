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
  CommandLine line("smelt train", "Trains a model on a corpus",
                   "Example:\n  smelt train corpus -o model.smeltmodel --epochs=20");
  line.AddWords(AddTraining);
  Impose({}, "train");  // without memory it ends with a line, also where LibTorch could not
  return Main(line, argc, argv);
}

int Tune(int argc, char** argv) {
  CommandLine line("smelt tune", "Searches the schedule of a kernel with a TreeGRU model", /*footer=*/"");
  const auto maker = [](const tuner::ScheduleTask& task, tuner::Objective objective, uint64_t seed) {
    return tuner::TreeGruCostModel(task, {.objective = objective, .seed = seed});
  };
  line.AddWords([&](Arguments& arguments) { return AddTuneBy(arguments, maker, Beside("smelt")); });
  return Main(line, argc, argv);
}

}  // namespace
}  // namespace smelt::cli

int main(int argc, char** argv) {
  const bool tunes = std::string_view(argv[0]) == "smelt tune";
  return tunes ? smelt::cli::Tune(argc, argv) : smelt::cli::Train(argc, argv);
}
