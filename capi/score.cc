#include "capi/score.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "capi/kernel_text.h"
#include "fusion/kernel.h"
#include "fusion/kernel_of_module.h"
#include "gnn/model/model_file.h"
#include "gnn/predictor.h"
#include "hlo/proto/reader.h"
#include "hlo/text/parser.h"
#include "machine/descriptor.h"
#include "machine/target_id.h"

struct SmeltScorer {
  std::unique_ptr<smelt::gnn::Predictor> predictor;
};

struct SmeltKernel {
  std::unique_ptr<smelt::gnn::PreparedKernel> prepared;  // null: the model knows no tiles, or the kernel has none
  bool has_tiles = false;
  std::vector<int64_t> dimensions;
  // Made when it is first asked for: it takes ten times as long as all else, and a pass that chooses a tile has no use
  // for it.
  smelt::fusion::Kernel kernel;
  smelt::gnn::Predictor* predictor = nullptr;  // the scorer's, which outlives it; null: it knows no times
  mutable std::once_flag predicted;
  mutable smelt::gnn::Prediction prediction{-1, 0};
};

struct SmeltKernelBuilder {
  smelt::capi::KernelText text;
};

namespace {

// A copy for the caller; null where there is no memory for it.
char* Copy(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

// What `make` gives, or null and the message. Nothing that is thrown leaves the library.
template <typename T, typename Make>
T* OrError(char** error, const Make& make) {
  try {
    absl::StatusOr<std::unique_ptr<T>> result = make();
    if (result.ok()) return result->release();
    if (error != nullptr) *error = Copy(std::string(result.status().message()));
  } catch (const std::bad_alloc&) {
    if (error != nullptr) *error = Copy("there is not enough memory");
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<SmeltScorer>> Open(const std::string& path, const char* machine_text) {
  smelt::machine::Machine machine;
  if (machine_text != nullptr) {
    SMELT_ASSIGN_OR_RETURN(machine, smelt::machine::ReadMachine(machine_text));
  }
  auto scorer = std::make_unique<SmeltScorer>();
  if (path == "analytical") {
    scorer->predictor = smelt::gnn::Predictor::Analytical(machine);
    return scorer;
  }
  SMELT_ASSIGN_OR_RETURN(smelt::gnn::ModelFile model, smelt::gnn::LoadModel(path));
  if (machine_text == nullptr) {
    SMELT_ASSIGN_OR_RETURN(machine, smelt::gnn::MachineOf(model));
  }
  const std::string kind = smelt::machine::TargetId::Parse(model.target).kind;
  SMELT_ASSIGN_OR_RETURN(scorer->predictor, smelt::gnn::Predictor::Of(std::move(model), path, machine, kind));
  return scorer;
}

absl::StatusOr<std::unique_ptr<SmeltKernel>> Prepare(const SmeltScorer& scorer, const smelt::hlo::Module& module) {
  SMELT_ASSIGN_OR_RETURN(smelt::fusion::Kernel kernel, smelt::fusion::KernelOfModule(module));
  auto prepared = std::make_unique<SmeltKernel>();
  if (scorer.predictor->HasTileTask()) {
    SMELT_ASSIGN_OR_RETURN(prepared->prepared, scorer.predictor->Prepare(kernel.computation()));
    prepared->has_tiles = prepared->prepared->has_tiles();
    prepared->dimensions = prepared->prepared->dimensions();
  } else if (absl::StatusOr<std::vector<int64_t>> tiled = smelt::kernels::nests::TiledDimensions(kernel.computation());
             tiled.ok()) {
    prepared->has_tiles = true;
    prepared->dimensions = *std::move(tiled);
  }
  if (scorer.predictor->HasFusionTask()) prepared->predictor = scorer.predictor.get();
  prepared->kernel = std::move(kernel);
  return prepared;
}

absl::StatusOr<std::unique_ptr<SmeltKernel>> Read(const SmeltScorer& scorer, std::string_view bytes, int form) {
  std::unique_ptr<smelt::hlo::Module> module;
  if (form == SMELT_KERNEL_TEXT) {
    SMELT_ASSIGN_OR_RETURN(module, smelt::hlo::ParseModule(bytes, {.file_name = "kernel"}));
  } else if (form == SMELT_KERNEL_PROTO) {
    SMELT_ASSIGN_OR_RETURN(module, smelt::hlo::ReadProto(bytes, {.file_name = "kernel"}));
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("form ", form, " is neither SMELT_KERNEL_TEXT nor SMELT_KERNEL_PROTO"));
  }
  return Prepare(scorer, *module);
}

}  // namespace

void smelt_score_free(char* text) { std::free(text); }

SmeltScorer* smelt_scorer_open(const char* model, const char* machine, char** error) {
  return OrError<SmeltScorer>(error, [&] { return Open(model, machine); });
}
void smelt_scorer_delete(SmeltScorer* scorer) { delete scorer; }
char* smelt_scorer_describe(const SmeltScorer* scorer) { return Copy(scorer->predictor->Describe()); }

SmeltKernel* smelt_kernel_read(const SmeltScorer* scorer, const char* bytes, size_t size, int form, char** error) {
  return OrError<SmeltKernel>(error, [&] { return Read(*scorer, {bytes, size}, form); });
}

SmeltKernelBuilder* smelt_kernel_begin(const char* name) {
  return OrError<SmeltKernelBuilder>(nullptr, [&]() -> absl::StatusOr<std::unique_ptr<SmeltKernelBuilder>> {
    return std::make_unique<SmeltKernelBuilder>(SmeltKernelBuilder{smelt::capi::KernelText(name)});
  });
}
int smelt_kernel_parameter(SmeltKernelBuilder* builder, const char* shape) {
  return builder == nullptr ? -1 : builder->text.Parameter(shape);
}
int smelt_kernel_add(SmeltKernelBuilder* builder, const char* opcode, const char* shape, const int* operands, int count,
                     const char* attributes) {
  if (builder == nullptr) return -1;
  return builder->text.Add(opcode, shape, operands, count, attributes == nullptr ? "" : attributes);
}
int smelt_kernel_result(SmeltKernelBuilder* builder, const int* nodes, int count) {
  return builder == nullptr ? -1 : builder->text.Result(nodes, count);
}
SmeltKernel* smelt_kernel_finish(SmeltKernelBuilder* builder, const SmeltScorer* scorer, char** error) {
  const std::unique_ptr<SmeltKernelBuilder> owned(builder);
  return OrError<SmeltKernel>(error, [&]() -> absl::StatusOr<std::unique_ptr<SmeltKernel>> {
    if (builder == nullptr) return absl::InvalidArgumentError("there is no builder");
    SMELT_ASSIGN_OR_RETURN(const std::string text, builder->text.Finish());
    return Read(*scorer, text, SMELT_KERNEL_TEXT);
  });
}
void smelt_kernel_cancel(SmeltKernelBuilder* builder) { delete builder; }

void smelt_kernel_delete(SmeltKernel* kernel) { delete kernel; }

int smelt_kernel_dimensions(const SmeltKernel* kernel, int64_t* dimensions, int capacity) {
  if (!kernel->has_tiles) return -1;
  for (int i = 0; i < capacity && i < static_cast<int>(kernel->dimensions.size()); ++i)
    dimensions[i] = kernel->dimensions[i];
  return static_cast<int>(kernel->dimensions.size());
}

int64_t smelt_score_tiles(const SmeltKernel* kernel, const int64_t* tiles, int64_t count, float* scores) {
  if (!kernel->has_tiles || kernel->prepared == nullptr) return -1;
  try {
    return kernel->prepared->Score(tiles, count, scores);
  } catch (const std::bad_alloc&) {  // of the thread's first call
    return -1;
  }
}

double smelt_kernel_seconds(const SmeltKernel* kernel, double* log_deviation) {
  try {
    std::call_once(kernel->predicted, [&] {
      if (kernel->predictor == nullptr) return;
      const smelt::fusion::Kernel* const pointer = &kernel->kernel;
      const absl::StatusOr<std::vector<smelt::gnn::Prediction>> made = kernel->predictor->Predict({&pointer, 1});
      if (made.ok()) kernel->prediction = made->front();
    });
  } catch (const std::bad_alloc&) {
    return -1;
  }
  if (log_deviation != nullptr) *log_deviation = kernel->prediction.log_deviation;
  return kernel->prediction.seconds;
}
