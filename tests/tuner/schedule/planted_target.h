// A target whose times are planted: what a schedule takes follows from its configuration's text, and results are the
// evaluator's.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "hlo/evaluator/evaluator.h"
#include "hlo/literal.h"
#include "hlo/text/parser.h"
#include "measure/program_device.h"
#include "nlohmann/json.hpp"
#include "targets/target.h"

namespace smelt::tuner {

// What was asked of all devices of a target.
struct Asked {
  std::mutex mutex;
  std::vector<std::string> compiled;  // ways, ahead of their timing
  std::vector<std::string> loaded;    // ways, in order; empty: the default
};

// Seconds of one run by the way; empty: of the default.
using PlantedSeconds = std::function<double(const std::string& way)>;

class PlantedDeviceProgram : public measure::DeviceProgram {
 public:
  PlantedDeviceProgram(std::unique_ptr<hlo::Module> module, double seconds)
      : module_(std::move(module)), seconds_(seconds) {}
  absl::Status TakeInputs(const measure::InputSource& source) override {
    std::vector<hlo::Shape> shapes;
    for (const hlo::Instruction* parameter : module_->entry()->Parameters()) shapes.push_back(parameter->shape());
    absl::StatusOr<std::vector<hlo::Literal>> inputs = measure::MakeInputs(source, shapes);
    if (inputs.ok()) inputs_ = *std::move(inputs);
    return inputs.status();
  }
  absl::Status Run() override { return absl::OkStatus(); }
  absl::StatusOr<double> Sample() override { return seconds_; }
  absl::StatusOr<std::vector<hlo::Literal>> Outputs() const override {
    std::vector<const hlo::Literal*> arguments;
    for (const hlo::Literal& input : inputs_) arguments.push_back(&input);
    absl::StatusOr<hlo::Literal> result = hlo::Evaluate(*module_, arguments);
    if (!result.ok()) return result.status();
    std::vector<hlo::Literal> outputs;
    outputs.push_back(*std::move(result));
    return outputs;
  }

 private:
  const std::unique_ptr<hlo::Module> module_;
  const double seconds_;
  std::vector<hlo::Literal> inputs_;
};

class PlantedDevice : public measure::ProgramDevice {
 public:
  PlantedDevice(const PlantedSeconds& seconds, Asked& asked) : seconds_(seconds), asked_(asked) {}

 protected:
  absl::StatusOr<std::unique_ptr<measure::DeviceProgram>> Build(const nlohmann::json& request) override {
    std::string way;
    if (request.contains("knobs")) {
      for (const auto& [hash, value] : request["knobs"].items()) way = value.get<std::string>();
    }
    const std::lock_guard lock(asked_.mutex);
    asked_.loaded.push_back(way);
    return Make(request, way);
  }
  absl::StatusOr<std::unique_ptr<measure::DeviceProgram>> BuildKernel(const nlohmann::json& request) override {
    const std::lock_guard lock(asked_.mutex);
    asked_.compiled.push_back(request.value("way", ""));
    return Make(request, asked_.compiled.back());
  }

 private:
  absl::StatusOr<std::unique_ptr<measure::DeviceProgram>> Make(const nlohmann::json& request, const std::string& way) {
    absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(request.value("module", ""));
    if (!module.ok()) return module.status();
    const double seconds = seconds_(way);
    if (seconds < 0) return absl::InternalError("it cannot be built");
    return std::make_unique<PlantedDeviceProgram>(*std::move(module), seconds);
  }

  const PlantedSeconds& seconds_;
  Asked& asked_;
};

class PlantedTarget : public targets::Target {
 public:
  // Negative seconds: it cannot be built.
  explicit PlantedTarget(PlantedSeconds seconds) : seconds_(std::move(seconds)) {}
  machine::TargetId id() const override { return {"cpu", "planted", 1}; }
  std::string CompilerVersion() const override { return "planted 1"; }
  const machine::Machine& machine() const override { return machine_; }
  measure::DeviceFactory NewDevice(targets::DeviceUse) const override {
    return [this](double) -> absl::StatusOr<std::unique_ptr<measure::Device>> {
      return std::make_unique<PlantedDevice>(seconds_, asked_);
    };
  }
  bool HasTiles() const override { return true; }
  bool KeepsCode() const override { return keeps_code_; }

  Asked& asked() const { return asked_; }
  bool keeps_code_ = true;

 private:
  const PlantedSeconds seconds_;
  const machine::Machine machine_;
  mutable Asked asked_;
};

}  // namespace smelt::tuner
