// An example of a target: the HLO evaluator as a device. It is all that --target=evaluator needs, and docs/adding.md
// walks through it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/file/message.h"
#include "measure/program_device.h"
#include "targets/registry.h"

namespace smelt::example {
namespace {

// 1. What runs: a program, built, with its inputs. The device times it and hands out its results.
class Evaluated : public measure::DeviceProgram {
 public:
  explicit Evaluated(std::unique_ptr<hlo::Module> module) : module_(std::move(module)) {}

  absl::Status TakeInputs(const measure::InputSource& source) override {
    std::vector<hlo::Shape> shapes;
    for (const hlo::Instruction* parameter : module_->entry()->Parameters()) {
      if (!parameter->shape().IsArray())
        return absl::UnimplementedError(absl::StrCat("parameter `", parameter->name(), "` is no array"));
      shapes.push_back(parameter->shape());
    }
    SMELT_ASSIGN_OR_RETURN(inputs_, measure::MakeInputs(source, shapes));
    return absl::OkStatus();
  }

  absl::Status Run() override {
    std::vector<const hlo::Literal*> arguments;
    for (const hlo::Literal& input : inputs_) arguments.push_back(&input);
    SMELT_ASSIGN_OR_RETURN(result_, hlo::Evaluate(*module_, arguments));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<hlo::Literal>> Outputs() const override {
    std::vector<hlo::Literal> leaves;
    AppendLeaves(result_, &leaves);
    return leaves;
  }

 private:
  static void AppendLeaves(const hlo::Literal& value, std::vector<hlo::Literal>* leaves) {
    if (value.shape().IsArray()) leaves->push_back(value);
    for (const hlo::Literal& element : value.elements()) AppendLeaves(element, leaves);
  }

  const std::unique_ptr<hlo::Module> module_;
  std::vector<hlo::Literal> inputs_;
  hlo::Literal result_;
};

// 2. What builds: the "compiler" of this target reads a fused program, which is HLO like any other.
class Device : public measure::ProgramDevice {
 protected:
  absl::StatusOr<std::unique_ptr<measure::DeviceProgram>> Build(const nlohmann::json& request) override {
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module,
                           hlo::FromMessage(request.value("module", ""), "candidate"));
    return std::make_unique<Evaluated>(std::move(module));
  }
};

// 3. What the search and the verbs see. All that is not said here is as for our own kernels: which files are read,
// what may be fused, which model predicts.
class Evaluator : public targets::Target {
 public:
  explicit Evaluator(machine::TargetId id) : id_(std::move(id)) {
    machine_.name = id_.kind;
    machine_.threads = id_.threads;
  }

  machine::TargetId id() const override { return id_; }
  std::string CompilerVersion() const override { return "1"; }
  const machine::Machine& machine() const override { return machine_; }
  // It lives in this process. A device that may crash or hang is a child: measure::LocalChild.
  measure::DeviceFactory NewDevice(targets::DeviceUse) const override {
    return [](double) -> absl::StatusOr<std::unique_ptr<measure::Device>> { return std::make_unique<Device>(); };
  }

 private:
  const machine::TargetId id_;
  machine::Machine machine_;
};

absl::StatusOr<std::unique_ptr<targets::Target>> Open(const machine::TargetId& id, const targets::Settings&) {
  if (!id.cpu.empty() || id.threads > 1)
    return absl::InvalidArgumentError(absl::StrCat("target `", id.ToString(), "`: the evaluator takes no options"));
  return std::make_unique<Evaluator>(machine::TargetId{.kind = id.kind, .threads = 1});
}

// 4. Its name on the command line.
const targets::Registered kEvaluator({.name = "evaluator",
                                      .summary = "the HLO evaluator, as an example of a target",
                                      .grammar = "evaluator",
                                      .open = Open});

}  // namespace
}  // namespace smelt::example
