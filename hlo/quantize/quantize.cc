#include "hlo/quantize/quantize.h"

#include <algorithm>
#include <cmath>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/passes/pipeline.h"
#include "hlo/quantize/plan.h"
#include "hlo/quantize/quantized_graph.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo::quantize {
namespace {

using Sample = std::vector<Literal>;

bool IsContraction(const Instruction& x) { return x.opcode() == Opcode::kConvolution || x.opcode() == Opcode::kDot; }

absl::Status CheckInputs(const Module& module, const Weights& weights, const std::vector<Sample>& samples) {
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  auto fits = [](const Literal& literal, const Instruction& parameter) {
    return literal.shape().SameAs(parameter.shape());
  };
  for (const auto& [number, literal] : weights) {
    if (number < 0 || number >= static_cast<int64_t>(parameters.size()))
      return absl::InvalidArgumentError(
          StrCat("a weight is given for parameter ", number, ", and there are ", parameters.size()));
    if (!fits(literal, *parameters[number]))
      return absl::InvalidArgumentError(StrCat("the weight for parameter `", parameters[number]->name(), "` is ",
                                               literal.shape().ToString(), ", expected ",
                                               parameters[number]->shape().ToString()));
  }
  if (samples.empty()) return absl::InvalidArgumentError("no input is given to calibrate on");
  for (size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].size() != parameters.size())
      return absl::InvalidArgumentError(
          StrCat("input ", s, " has ", samples[s].size(), " arguments, expected ", parameters.size()));
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (weights.contains(static_cast<int64_t>(p)) || fits(samples[s][p], *parameters[p])) continue;
      return absl::InvalidArgumentError(StrCat("input ", s, ": the argument for parameter `", parameters[p]->name(),
                                               "` is ", samples[s][p].shape().ToString(), ", expected ",
                                               parameters[p]->shape().ToString()));
    }
  }
  return absl::OkStatus();
}

std::vector<const Literal*> Arguments(const Weights& weights, const Sample& sample) {
  std::vector<const Literal*> arguments;
  for (size_t p = 0; p < sample.size(); ++p) {
    const auto weight = weights.find(static_cast<int64_t>(p));
    arguments.push_back(weight != weights.end() ? &weight->second : &sample[p]);
  }
  return arguments;
}

// int8 values that share a scale: what rearranges or chooses among values leaves their scale as it is.
class ScaleGroups {
 public:
  explicit ScaleGroups(const Plan& plan) {
    for (const Instruction* x : plan.quantized) group_[x] = x;
    for (const Instruction* x : plan.kept) {
      for (const Instruction* operand : x->operands()) {
        if (plan.quantized.contains(operand)) Join(x, operand);
      }
    }
  }
  const Instruction* Of(const Instruction* x) {
    const Instruction*& parent = group_.at(x);
    if (parent == x) return x;
    const Instruction* top = parent;
    while (group_.at(top) != top) top = group_.at(top);
    return parent = top;
  }

 private:
  void Join(const Instruction* a, const Instruction* b) { group_[Of(a)] = Of(b); }
  absl::flat_hash_map<const Instruction*, const Instruction*> group_;
};

class Session {
 public:
  Session(const Weights& weights, const Engine& engine, const QuantizeOptions& options)
      : weights_(weights), engine_(engine), options_(options) {}

  // Runs a module on samples, and shows each result.
  template <typename Visit>
  absl::Status ForEach(const char* stage, const Run& run, const std::vector<Sample>& samples, const Visit& visit) {
    for (size_t s = 0; s < samples.size(); ++s) {
      SMELT_RETURN_IF_ERROR(Progress(stage, s, samples.size()));
      SMELT_ASSIGN_OR_RETURN(const Literal result, run(Arguments(weights_, samples[s])));
      SMELT_RETURN_IF_ERROR(visit(s, result));
    }
    return Progress(stage, samples.size(), samples.size());
  }

  absl::Status Progress(const char* stage, size_t done, size_t count) const {
    if (options_.cancel != nullptr && *options_.cancel) return absl::CancelledError("interrupted");
    if (options_.progress) options_.progress(stage, static_cast<int64_t>(done), static_cast<int64_t>(count));
    return absl::OkStatus();
  }

  // A scale for every int8 value of the plan.
  absl::StatusOr<Scales> Calibrate(const Module& module, const Plan& plan, const std::vector<Sample>& samples) {
    std::vector<const Instruction*> watched;
    for (const Instruction* x : module.entry()->PostOrder()) {
      if (plan.quantized.contains(x) && !plan.kept.contains(x)) watched.push_back(x);
    }
    SMELT_RETURN_IF_ERROR(Progress("compiling the float program", 0, 1));
    SMELT_ASSIGN_OR_RETURN(const Run run, engine_(*WithProbes(module, watched)));
    std::vector<RangeObserver> observers(watched.size());
    SMELT_RETURN_IF_ERROR(ForEach("calibrating", run, samples, [&](size_t, const Literal& result) {
      for (size_t i = 0; i < watched.size(); ++i) observers[i].Add(result.elements()[i]);
      return absl::OkStatus();
    }));
    ScaleGroups groups(plan);
    absl::flat_hash_map<const Instruction*, double> range;  // by group
    for (size_t i = 0; i < watched.size(); ++i) {
      if (observers[i].not_finite() > 0) {
        return absl::InvalidArgumentError(
            StrCat("`", watched[i]->name(), "` has ", observers[i].not_finite(),
                   " infinite values or NaN under these inputs: give others (--inputs, --weights, --golden)"));
      }
      double& largest = range[groups.Of(watched[i])];
      largest = std::max(largest, observers[i].Range(options_.calibration));
    }
    Scales scales;
    for (const Instruction* x : plan.quantized) {
      const double largest = range[groups.Of(x)];
      scales[x] = largest > 0 ? largest / 127 : 1;
    }
    return scales;
  }

  // Errors of each layer and of the result.
  absl::Status Compare(const Module& module, const Module& probed, const Plan& plan, const std::vector<Sample>& samples,
                       Report* report) {
    std::vector<const Instruction*> outs;
    for (const Layer& layer : plan.layers) outs.push_back(layer.out);
    SMELT_ASSIGN_OR_RETURN(const Run want_run, engine_(*WithProbes(module, outs)));
    SMELT_RETURN_IF_ERROR(Progress("compiling the int8 program", 0, 1));
    SMELT_ASSIGN_OR_RETURN(const Run got_run, engine_(probed));
    report->test_samples = static_cast<int64_t>(samples.size());
    return ForEach("comparing", want_run, samples, [&](size_t s, const Literal& want) -> absl::Status {
      SMELT_ASSIGN_OR_RETURN(const Literal got, got_run(Arguments(weights_, samples[s])));
      for (size_t i = 0; i < outs.size(); ++i) report->layers[i].error.Add(want.elements()[i], got.elements()[i]);
      AddResult(want.elements().back(), got.elements().back(), report);
      CountAgreement(want.elements().back(), got.elements().back(), report);
      return absl::OkStatus();
    });
  }

 private:
  static void AddResult(const Literal& want, const Literal& got, Report* report) {
    if (want.IsArray() && IsFloat(want.shape().element_type)) report->total.Add(want, got);
    for (size_t i = 0; i < want.elements().size(); ++i) AddResult(want.elements()[i], got.elements()[i], report);
  }

  const Weights& weights_;
  const Engine& engine_;
  const QuantizeOptions& options_;
};

// What convolutions and dots outside of the entry computation are, and that they stay float.
void AddInnerContractions(const Module& module, Report* report) {
  for (const Computation* computation : module.PostOrder()) {
    if (computation == module.entry()) continue;
    for (const Instruction* x : computation->PostOrder()) {
      if (!IsContraction(*x)) continue;
      ++report->contractions;
      report->instructions.push_back({x->name(), std::string(OpcodeName(x->opcode())), x->shape().ToString(), false,
                                      "it stands in the body of a loop, branch or fusion"});
    }
  }
}

absl::Status DropUnreadParameters(Module& module) {
  for (const RawAttribute& attribute : module.raw_attributes()) {
    if (attribute.name == "input_output_alias" || attribute.name == "buffer_donor") {
      return absl::InvalidArgumentError(
          StrCat("parameters cannot be dropped: the module's ", attribute.name, " names them by number"));
    }
  }
  int64_t number = 0;
  for (Instruction* parameter : module.entry()->Parameters()) {
    if (parameter->user_count() == 0 && !parameter->IsRoot()) {
      module.entry()->Remove(parameter);
    } else {
      parameter->mutable_attributes<ParameterAttributes>().number = number++;
    }
  }
  return absl::OkStatus();
}

}  // namespace

Engine EvaluatorEngine(const std::atomic<bool>* cancel) {
  return [cancel](const Module& module) -> absl::StatusOr<Run> {
    return Run(
        [kept = std::shared_ptr<const Module>(module.Clone()), cancel](absl::Span<const Literal* const> arguments) {
          return Evaluate(*kept, arguments, {.cancel = cancel});
        });
  };
}

absl::StatusOr<QuantizedProgram> Quantize(const Module& module, const Weights& weights,
                                          const std::vector<std::vector<Literal>>& samples, const Engine& engine,
                                          const QuantizeOptions& options) {
  SMELT_RETURN_IF_ERROR(CheckInputs(module, weights, samples));
  const std::vector<Sample>& tests = options.test_samples != nullptr ? *options.test_samples : samples;
  if (options.test_samples != nullptr) SMELT_RETURN_IF_ERROR(CheckInputs(module, weights, tests));
  const std::unique_ptr<Module> plain = module.Clone();
  SMELT_RETURN_IF_ERROR(
      RunPasses(*plain, {"call-inliner", "batch-norm-expander", "tuple-simplifier", "dead-code"}).status());
  bool any = false;
  for (const Computation* computation : plain->Computations()) {
    for (const Instruction* x : computation->Instructions()) any = any || IsContraction(*x);
  }
  if (!any)
    return absl::InvalidArgumentError(
        StrCat("module ", module.name(), " has no convolution and no dot: there is nothing to quantise"));

  KnownValues known(*plain->entry(), weights);
  PlanOptions plan_options;
  plan_options.keep_float.insert(options.keep_float.begin(), options.keep_float.end());
  for (const std::string& name : options.keep_float) {
    const Instruction* x = plain->FindInstruction(name);
    if (x == nullptr || !IsContraction(*x))
      return absl::InvalidArgumentError(
          StrCat("module ", module.name(), " has no convolution or dot `", name, "` to keep float"));
  }
  SMELT_ASSIGN_OR_RETURN(const Plan plan, MakePlan(*plain->entry(), known, plan_options));
  QuantizedProgram result;
  result.report = DescribePlan(*plain->entry(), plan, known);
  result.report.samples = static_cast<int64_t>(samples.size());
  AddInnerContractions(*plain, &result.report);
  if (plan.layers.empty()) {
    result.module = module.Clone();
    return result;
  }

  Session session(weights, engine, options);
  SMELT_ASSIGN_OR_RETURN(const Scales scales, session.Calibrate(*plain, plan, samples));
  SMELT_ASSIGN_OR_RETURN(QuantizedGraph graph, WriteQuantizedGraph(*plain, plan, scales, /*keep_probes=*/false));
  SMELT_ASSIGN_OR_RETURN(const QuantizedGraph probed, WriteQuantizedGraph(*plain, plan, scales, /*keep_probes=*/true));
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    result.report.layers[i].data_scale = scales.at(plan.layers[i].data());
    if (plan.layers[i].integer_out) result.report.layers[i].out_scale = scales.at(plan.layers[i].out);
  }
  SMELT_RETURN_IF_ERROR(session.Compare(*plain, *probed.module, plan, tests, &result.report));
  result.module = std::move(graph.module);
  if (options.drop_unread_parameters) SMELT_RETURN_IF_ERROR(DropUnreadParameters(*result.module));
  return result;
}

}  // namespace smelt::hlo::quantize
