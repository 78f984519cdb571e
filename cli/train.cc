// smelt train: becomes the program smelt-train, which alone is linked with LibTorch.
#include "cli/training_program.h"
#include "cli/verb.h"

namespace smelt::cli {

Action AddTrain(Arguments& arguments) {
  arguments.LeaveWords();
  return [arguments] { return BecomeTraining("train", arguments.Words()); };
}

}  // namespace smelt::cli
