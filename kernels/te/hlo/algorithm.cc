#include "kernels/te/hlo/algorithm.h"

#include "absl/strings/str_cat.h"

namespace smelt::kernels::te {
namespace {

struct Entry {
  ConvolutionAlgorithm algorithm;
  std::string_view name;
  int64_t output_tile;
};
constexpr Entry kAlgorithms[] = {
    {ConvolutionAlgorithm::kDirect, "direct", 0},
    {ConvolutionAlgorithm::kWinograd2, "winograd2", 2},
    {ConvolutionAlgorithm::kWinograd4, "winograd4", 4},
};

const Entry& EntryOf(ConvolutionAlgorithm algorithm) { return kAlgorithms[static_cast<int>(algorithm)]; }

// What of a convolution stands against minimal filtering; empty: nothing.
std::string Obstacle(const hlo::Instruction& convolution) {
  const hlo::ConvolutionAttributes& attributes = convolution.attributes<hlo::ConvolutionAttributes>();
  const hlo::Shape* const shapes[] = {&convolution.shape(), &convolution.operand(0)->shape(),
                                      &convolution.operand(1)->shape()};
  for (const hlo::Shape* shape : shapes) {
    const hlo::PrimitiveType type = shape->element_type;
    if (type == hlo::PrimitiveType::kF32) continue;
    return absl::StrCat("has elements of type ", std::string(hlo::PrimitiveTypeName(type)),
                        ", and only f32 bears the rounding of the transforms");
  }
  if (attributes.window.dimensions.size() != 2) {
    return absl::StrCat("has ", attributes.window.dimensions.size(), " spatial dimensions, and the transforms take 2");
  }
  if (attributes.feature_group_count != 1 || attributes.batch_group_count != 1) {
    return absl::StrCat("has ", attributes.feature_group_count, " feature groups and ", attributes.batch_group_count,
                        " batch groups, and the transforms pay where one group shares them");
  }
  for (const hlo::WindowDimension& window : attributes.window.dimensions) {
    if (window.size != 3) return absl::StrCat("has a window of size ", window.size, ", and the transforms are for 3x3");
    if (window.stride != 1) return absl::StrCat("has stride ", window.stride, ", and the transforms are for stride 1");
    if (window.window_dilation != 1 || window.base_dilation != 1) return "is dilated, which the transforms are not for";
  }
  return "";
}

}  // namespace

std::string_view AlgorithmName(ConvolutionAlgorithm algorithm) { return EntryOf(algorithm).name; }

absl::StatusOr<ConvolutionAlgorithm> ParseAlgorithm(std::string_view name) {
  for (const Entry& entry : kAlgorithms) {
    if (entry.name == name) return entry.algorithm;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("algorithm `", std::string(name), "`: expected direct, winograd2 or winograd4"));
}

int64_t OutputTile(ConvolutionAlgorithm algorithm) { return EntryOf(algorithm).output_tile; }

const hlo::Instruction* OnlyConvolution(const hlo::Computation& kernel) {
  const hlo::Instruction* found = nullptr;
  for (const hlo::Instruction* instruction : kernel.PostOrder()) {
    if (instruction->opcode() != hlo::Opcode::kConvolution) continue;
    if (found != nullptr) return nullptr;
    found = instruction;
  }
  return found;
}

absl::Status CheckAlgorithm(const hlo::Computation& kernel, ConvolutionAlgorithm algorithm) {
  if (algorithm == ConvolutionAlgorithm::kDirect) return absl::OkStatus();
  const std::string name(AlgorithmName(algorithm));
  const hlo::Instruction* convolution = OnlyConvolution(kernel);
  if (convolution == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": ", kernel.name(), " has no convolution or several, and the algorithm is for kernels with one; leave ",
        "the algorithm out to compute it directly"));
  }
  const std::string obstacle = Obstacle(*convolution);
  if (obstacle.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": ", convolution->name(), " ", obstacle, "; leave the algorithm out to compute it directly"));
}

}  // namespace smelt::kernels::te
