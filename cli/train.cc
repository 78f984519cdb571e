// smelt train: becomes the program smelt-train, which alone is linked with LibTorch.
#include "cli/training_program.h"
#include "cli/verb.h"

namespace smelt::cli {

Action AddTrain(CLI::App& app) {
  app.set_help_flag();  // --help, too, is for the program
  app.prefix_command();
  return [&app] { return BecomeTraining("train", app.remaining()); };
}

}  // namespace smelt::cli
