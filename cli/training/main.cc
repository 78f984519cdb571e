// smelt-train: what `smelt train` starts.
#include "cli/limits.h"
#include "cli/training/training.h"

int main(int argc, char** argv) {
  CLI::App app("Trains a model on a corpus", "smelt train");
  app.footer("Example:\n  smelt train corpus -o model.smeltmodel --epochs=20");
  const smelt::cli::Action train = smelt::cli::AddTraining(app);
  smelt::cli::CheckNumbers(app);
  smelt::cli::Impose({}, "train");  // without memory it ends with a line, also where LibTorch could not
  return smelt::cli::Main(app, train, argc, argv);
}
