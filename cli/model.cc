#include "cli/model.h"

#include <cstdio>

#include "base/status_macros.h"

namespace smelt::cli {

absl::StatusOr<std::unique_ptr<gnn::Predictor>> OpenPredictor(const std::string& name, const targets::Target& target) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<gnn::Predictor> predictor, target.OpenPredictor(name));
  if (const std::string warning = predictor->Warning(); !warning.empty())
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  if (const std::string compiler = predictor->Compiler(); !compiler.empty() && compiler != target.CompilerVersion()) {
    std::fprintf(stderr, "note: the model learned from kernels of compiler `%s`, and this one is `%s`\n",
                 compiler.c_str(), target.CompilerVersion().c_str());
  }
  if (name.empty() && !predictor->IsLearned())
    std::fprintf(stderr, "no shipped model beside the tool: predicting with the %s\n", predictor->Describe().c_str());
  return predictor;
}

}  // namespace smelt::cli
