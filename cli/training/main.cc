// smelt-train: what `smelt train` starts.
#include "cli/training/training.h"

int main(int argc, char** argv) {
  CLI::App app("Trains a model on a corpus", "smelt train");
  app.footer("Example:\n  smelt train corpus -o model.smeltmodel --epochs=20");
  const smelt::cli::Action train = smelt::cli::AddTraining(app);
  smelt::cli::CheckNumbers(app);
  return smelt::cli::Main(app, train, argc, argv);
}
