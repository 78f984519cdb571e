// relabel_model FILE KIND: writes which kind of target a model file predicts, "cpu" (our own code) or "xla"
// (XLA:CPU's), into its target and its summary, and nothing else.
//
// Model files that were trained before version 0.1.0 on kernels timed under XLA say `cpu:...`, and are refused as
// models of XLA's kernels. The CPU and the threads stay as they are told.
#include <cstdio>
#include <string>

#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "gnn/model/model_file.h"
#include "machine/target_id.h"

namespace smelt {
namespace {

absl::Status Relabel(const std::string& path, const std::string& kind) {
  SMELT_ASSIGN_OR_RETURN(gnn::ModelFile model, gnn::LoadModel(path));
  machine::TargetId target = machine::TargetId::Parse(model.target);
  target.kind = kind;
  absl::StrReplaceAll({{model.target, target.ToString()}}, &model.summary);
  model.target = target.ToString();
  SMELT_RETURN_IF_ERROR(gnn::SaveModel(path, model));
  std::printf("%s: %s\n", path.c_str(), model.summary.c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace smelt

int main(int argc, char** argv) {
  const std::string kind = argc == 3 ? argv[2] : "";
  if (kind != "cpu" && kind != "xla") {
    std::fprintf(stderr, "usage: relabel_model FILE.smeltmodel cpu|xla\n");
    return 2;
  }
  const absl::Status status = smelt::Relabel(argv[1], kind);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
