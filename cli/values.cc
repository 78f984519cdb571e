#include "cli/values.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "hlo/golden/safetensors.h"

namespace smelt::cli {
namespace {

void AppendLeaves(const hlo::Literal& value, std::vector<const hlo::Literal*>* leaves) {
  if (value.shape().IsTuple()) {
    for (const hlo::Literal& element : value.elements()) AppendLeaves(element, leaves);
  } else if (value.IsArray()) {
    leaves->push_back(&value);
  }
}

hlo::Literal AssembleFrom(const hlo::Shape& shape, std::vector<hlo::Literal>& leaves, size_t* next) {
  if (shape.IsTuple()) {
    std::vector<hlo::Literal> elements;
    for (const hlo::Shape& element : shape.tuple_shapes) elements.push_back(AssembleFrom(element, leaves, next));
    return hlo::Literal::Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return hlo::Literal(shape);
  return std::move(leaves[(*next)++]);
}

}  // namespace

std::vector<const hlo::Literal*> Leaves(absl::Span<const hlo::Literal> values) {
  std::vector<const hlo::Literal*> leaves;
  for (const hlo::Literal& value : values) AppendLeaves(value, &leaves);
  return leaves;
}

hlo::Literal Assemble(const hlo::Shape& shape, std::vector<hlo::Literal>& leaves) {
  size_t next = 0;
  return AssembleFrom(shape, leaves, &next);
}

absl::StatusOr<std::vector<hlo::Literal>> ReadInputs(const std::string& path, const hlo::Module& module,
                                                     const std::set<int64_t>& known) {
  SMELT_ASSIGN_OR_RETURN(hlo::SafetensorsFile file, hlo::ReadSafetensors(path));
  std::vector<hlo::Literal> inputs;
  int64_t leaf = 0;
  for (const hlo::Instruction* parameter : module.entry()->Parameters()) {
    std::vector<const hlo::Shape*> shapes;
    parameter->shape().AppendLeaves(&shapes);
    std::vector<hlo::Literal> leaves;
    if (known.contains(parameter->attributes<hlo::ParameterAttributes>().number)) {
      leaf += std::count_if(shapes.begin(), shapes.end(), [](const hlo::Shape* shape) { return shape->IsArray(); });
      inputs.emplace_back();
      continue;
    }
    for (const hlo::Shape* shape : shapes) {
      if (!shape->IsArray()) continue;
      const std::string name = absl::StrCat("in.", leaf++);
      const hlo::Literal* stored = file.Find(name);
      if (stored == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": has no tensor `", name, "` for a leaf of parameter `",
                                                       parameter->name(), "`, of shape ", shape->ToString()));
      }
      absl::StatusOr<hlo::Literal> literal = hlo::FromStorable(*stored, *shape);
      if (!literal.ok())
        return absl::InvalidArgumentError(absl::StrCat(path, ": tensor `", name, "`: ", literal.status().message()));
      leaves.push_back(*std::move(literal));
    }
    inputs.push_back(Assemble(parameter->shape(), leaves));
  }
  return inputs;
}

absl::Status WriteOutputs(const std::string& path, const hlo::Literal& result) {
  std::vector<const hlo::Literal*> leaves;
  AppendLeaves(result, &leaves);
  hlo::SafetensorsFile file;
  for (size_t i = 0; i < leaves.size(); ++i)
    file.tensors.push_back({absl::StrCat("out.", i), hlo::ToStorable(*leaves[i])});
  return hlo::WriteSafetensors(path, file);
}

void WarnOfElidedConstants(const hlo::Module& module, const std::string& path) {
  int64_t elided = 0;
  for (const hlo::Computation* computation : module.ExecutedComputations()) {
    for (const hlo::Instruction* instruction : computation->Instructions()) {
      elided +=
          instruction->opcode() == hlo::Opcode::kConstant && instruction->attributes<hlo::ConstantAttributes>().elided;
    }
  }
  if (elided == 0) return;
  std::fprintf(
      stderr,
      "%s: the text leaves the values of %lld %s out ({...}); a fixed pattern stands in for them, so that results "
      "are not those of the program that was dumped. Dump it as a proto, or with XLA's "
      "--xla_dump_large_constants\n",
      path.c_str(), static_cast<long long>(elided), elided == 1 ? "constant" : "constants");
}

bool PrintComparisons(const std::vector<hlo::OutputComparison>& comparisons) {
  bool all = true;
  for (const hlo::OutputComparison& c : comparisons) {
    const std::string tolerance = c.tolerance ? absl::StrFormat("%g", *c.tolerance) : "none";
    std::printf("out.%ld error=%.3g tolerance=%s %s\n", c.index, c.error, tolerance.c_str(), c.ok ? "ok" : "differs");
    all &= c.ok;
  }
  return all;
}

void PrintSummary(const hlo::Literal& result) {
  std::vector<const hlo::Literal*> leaves;
  AppendLeaves(result, &leaves);
  for (size_t k = 0; k < leaves.size(); ++k) {
    const hlo::Literal& leaf = *leaves[k];
    const int64_t count = leaf.element_count();
    int64_t nans = 0;
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double x = leaf.GetDouble(i);
      nans += std::isnan(x);
      if (std::isnan(x)) continue;
      low = std::min(low, x);
      high = std::max(high, x);
      sum += x;
    }
    std::printf("out.%zu %s", k, leaf.shape().ToString().c_str());
    if (nans > 0) std::printf(nans == count ? " all NaN" : " %ld of %ld NaN, the others", nans, count);
    if (nans < count) std::printf(" min=%.6g max=%.6g mean=%.6g", low, high, sum / static_cast<double>(count - nans));
    std::printf("\n");
  }
}

}  // namespace smelt::cli
