#include "hlo/quantize/report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "base/str_cat.h"

namespace smelt::hlo::quantize {
namespace {

// The place of the largest of `count` elements; -1 where one is no number.
int64_t Largest(const Literal& values, int64_t begin, int64_t count) {
  int64_t best = begin;
  for (int64_t i = begin; i < begin + count; ++i) {
    const double value = values.GetDouble(i);
    if (std::isnan(value)) return -1;
    if (value > values.GetDouble(best)) best = i;
  }
  return best;
}

std::string Took(const LayerReport& layer) {
  std::string text = layer.opcode;
  if (layer.scaled) text += "+affine";
  if (layer.residual) text += "+residual";
  if (layer.clipped) text += "+clip";
  return text;
}

std::string Decibels(double value) {
  return std::isinf(value) ? std::string(value > 0 ? "exact" : "-") : absl::StrFormat("%.1f", value);
}

}  // namespace

void ErrorSum::Add(const Literal& want, const Literal& got) {
  for (int64_t i = 0; i < want.element_count(); ++i) {
    const double a = want.GetDouble(i), b = got.GetDouble(i);
    ++count_;
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      if (std::isfinite(a)) signal_ += a * a;
      continue;
    }
    const double error = std::fabs(a - b);
    max_ = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(max_, error);
    signal_ += std::isfinite(a) ? a * a : 0;
    noise_ += std::isfinite(error) ? error * error : std::numeric_limits<double>::infinity();
  }
}

double ErrorSum::RelativeRms() const {
  if (noise_ == 0) return 0;
  return std::sqrt(noise_ / signal_);
}

double ErrorSum::SignalToNoise() const {
  if (noise_ == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal_ / noise_);
}

Report DescribePlan(const Computation& computation, const Plan& plan, const KnownValues& known) {
  Report report;
  absl::flat_hash_map<const Instruction*, std::string> layer_of_member;
  for (const Layer& layer : plan.layers) {
    LayerReport& line = report.layers.emplace_back();
    line.name = layer.root->name();
    line.opcode = std::string(OpcodeName(layer.root->opcode()));
    line.out = layer.out->name();
    line.integer_out = layer.integer_out;
    line.residual = layer.residual != nullptr && layer.kind != LayerKind::kAdd;
    line.clipped = std::isfinite(layer.clip.low) || std::isfinite(layer.clip.high);
    line.scaled = std::any_of(layer.scale.begin(), layer.scale.end(), [](double s) { return s != 1; }) ||
                  std::any_of(layer.offset.begin(), layer.offset.end(), [](double b) { return b != 0; });
    if (layer.kind == LayerKind::kContraction) {
      line.weights = layer.weights->element_count();
      line.channels = static_cast<int64_t>(layer.scale.size());
      report.weight_bytes_before += layer.weights->byte_size();
      report.weight_bytes_after += layer.weights->element_count();
    }
    for (const Instruction* member : layer.members) layer_of_member[member] = StrCat("layer ", layer.root->name());
  }
  for (const Instruction* x : computation.PostOrder()) {
    const auto member = layer_of_member.find(x);
    const auto why = plan.why_float.find(x);
    const bool kept = plan.kept.contains(x);
    const bool contraction = x->opcode() == Opcode::kConvolution || x->opcode() == Opcode::kDot;
    if (contraction && !known.Is(*x)) {
      ++report.contractions;
      report.integer_contractions += member != layer_of_member.end();
    }
    if (member == layer_of_member.end() && why == plan.why_float.end() && !kept) continue;
    InstructionReport& line = report.instructions.emplace_back();
    line.name = x->name();
    line.opcode = std::string(OpcodeName(x->opcode()));
    line.shape = x->shape().ToString();
    line.integer = member != layer_of_member.end() || kept;
    line.why = member != layer_of_member.end() ? member->second : kept ? "at its operand's scale" : why->second;
  }
  return report;
}

void CountAgreement(const Literal& want, const Literal& got, Report* report) {
  if (want.elements().size() == 1) return CountAgreement(want.elements()[0], got.elements()[0], report);
  const Shape& shape = want.shape();
  if (!shape.IsArray() || shape.rank() != 2 || !IsFloat(shape.element_type) || shape.dimensions[1] < 2) return;
  report->is_classifier = true;
  const int64_t rows = shape.dimensions[0], classes = shape.dimensions[1];
  for (int64_t row = 0; row < rows; ++row) {
    ++report->classified;
    report->agreeing += Largest(want, row * classes, classes) == Largest(got, row * classes, classes);
  }
}

std::string ReportToText(const Report& report, bool all) {
  std::string text;
  if (!report.layers.empty()) {
    absl::StrAppendFormat(&text, "%-34s %-34s %9s %8s %11s %11s %10s %8s %8s\n", "layer", "what it takes in", "weights",
                          "channels", "data step", "out step", "max error", "rms", "SQNR dB");
    for (const LayerReport& layer : report.layers) {
      const std::string out = layer.integer_out ? absl::StrFormat("%.4g", layer.out_scale) : std::string("float");
      absl::StrAppendFormat(&text, "%-34s %-34s %9d %8d %11.4g %11s %10.3g %7.2f%% %8s\n", layer.name, Took(layer),
                            layer.weights, layer.channels, layer.data_scale, out, layer.error.max(),
                            100 * layer.error.RelativeRms(), Decibels(layer.error.SignalToNoise()));
    }
    text += "\n";
  }
  std::map<std::pair<std::string, std::string>, std::vector<const InstructionReport*>> floats;
  std::map<std::string, int64_t> integers;
  for (const InstructionReport& x : report.instructions) {
    if (all)
      absl::StrAppendFormat(&text, "%-5s %-40s %-24s %s: %s\n", x.integer ? "int8" : "float", x.name, x.shape, x.opcode,
                            x.why);
    if (x.integer) {
      ++integers[x.opcode];
    } else {
      floats[{x.opcode, x.why}].push_back(&x);
    }
  }
  if (all) text += "\n";
  text += "int8:";
  for (const auto& [opcode, count] : integers) absl::StrAppendFormat(&text, " %s %d", opcode, count);
  text += integers.empty() ? " nothing\n" : "\n";
  for (const auto& [key, list] : floats) {
    absl::StrAppendFormat(&text, "float: %s %d, %s (%s%s)\n", key.first, list.size(), key.second, list[0]->name,
                          list.size() > 1 ? ", ..." : "");
  }
  absl::StrAppendFormat(&text, "\n%d of %d convolutions and dots in int8; their weights take %d bytes instead of %d\n",
                        report.integer_contractions, report.contractions, report.weight_bytes_after,
                        report.weight_bytes_before);
  if (report.total.count() > 0) {
    absl::StrAppendFormat(&text,
                          "result against float on %d inputs: max error %.3g, rms %.2f%% of the signal, SQNR %s dB\n",
                          report.test_samples, report.total.max(), 100 * report.total.RelativeRms(),
                          Decibels(report.total.SignalToNoise()));
  }
  if (report.is_classifier) {
    absl::StrAppendFormat(&text, "top-1 agrees with float on %d of %d rows\n", report.agreeing, report.classified);
  }
  return text;
}

}  // namespace smelt::hlo::quantize
