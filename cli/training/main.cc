// smelt-train: what `smelt train` starts.
#include "cli/training/training.h"

int main(int argc, char** argv) {
  CLI::App app("Trains a model on a corpus", "smelt train");
  app.footer("Example:\n  smelt train corpus -o model.smeltmodel --epochs=20");
  return smelt::cli::Main(app, smelt::cli::AddTraining(app), argc, argv);
}
