#include "gnn/features/node_features.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gnn/features/features.h"
#include "hlo/module.h"

namespace smelt::gnn {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// Up to this many entries of a dimension list are kept one by one; sum and product stand for the rest.
constexpr int kDims = 6;
constexpr int kSpatial = 3;

float Log1p(double x) { return static_cast<float>(std::copysign(std::log1p(std::fabs(x)), x)); }

// One group of columns: its names and what fills them. `out` starts at zero.
struct Group {
  std::string_view name;
  int width;
  std::string_view meaning;
  void (*fill)(const NodeInKernel& in_kernel, float* out);
};

// What is the same in every kernel that the node stands in.
template <void (*fill)(const Instruction& node, float* out)>
void Alone(const NodeInKernel& in_kernel, float* out) {
  fill(in_kernel.node, out);
}

// Entries outer first, -1 where there are fewer; then log of sum and of product.
void FillList(absl::Span<const int64_t> values, int keep, float* out) {
  double sum = 0, product = 1;
  for (int i = 0; i < keep; ++i) out[i] = i < static_cast<int>(values.size()) ? Log1p(values[i]) : -1.0f;
  for (int64_t v : values) {
    sum += v;
    product *= v;
  }
  out[keep] = Log1p(sum);
  out[keep + 1] = Log1p(product);
}

const hlo::Window* WindowOf(const Instruction& node) {
  if (auto* window = std::get_if<hlo::WindowAttributes>(&node.all_attributes())) return &window->window;
  if (auto* convolution = std::get_if<hlo::ConvolutionAttributes>(&node.all_attributes())) return &convolution->window;
  return nullptr;
}

template <typename Field>
void FillWindow(const Instruction& node, Field field, float* out) {
  const hlo::Window* window = WindowOf(node);
  if (window == nullptr) return;
  std::vector<int64_t> values;
  // Windows of reduce-window span all dimensions; those of size 1 say nothing.
  for (const hlo::WindowDimension& d : window->dimensions) {
    if (d.size != 1 || d.stride != 1 || d.padding_low != 0 || d.padding_high != 0 || d.base_dilation != 1 ||
        node.opcode() == Opcode::kConvolution) {
      values.push_back(field(d));
    }
  }
  FillList(values, kSpatial, out);
}

void FillElementType(const Instruction& node, float* out) {
  const hlo::Shape* shape = &node.shape();
  while (shape->IsTuple() && !shape->tuple_shapes.empty()) shape = &shape->tuple_shapes[0];
  static constexpr std::array kTypes = {hlo::PrimitiveType::kPred, hlo::PrimitiveType::kS8,  hlo::PrimitiveType::kU8,
                                        hlo::PrimitiveType::kS32,  hlo::PrimitiveType::kU32, hlo::PrimitiveType::kS64,
                                        hlo::PrimitiveType::kU64,  hlo::PrimitiveType::kF16, hlo::PrimitiveType::kBF16,
                                        hlo::PrimitiveType::kF32,  hlo::PrimitiveType::kF64};
  auto it = std::find(kTypes.begin(), kTypes.end(), shape->element_type);
  out[it - kTypes.begin()] = 1;  // the last column: any other
}

void FillRole(const Instruction& node, float* out) {
  out[0] = node.IsRoot() || (node.parent()->root()->shape().IsTuple() &&
                             std::count(node.users().begin(), node.users().end(), node.parent()->root()) > 0);
  out[1] = node.opcode() == Opcode::kParameter;
  out[2] = Log1p(node.user_count());
  out[3] = node.shape().IsScalar();
}

void FillDimensions(const Instruction& node, float* out) {
  if (node.shape().IsArray()) {
    FillList(node.shape().dimensions, kDims, out);
  } else {
    FillList({}, kDims, out);
  }
}

// Which output or operand dimensions the attribute `dimensions` names, as bits, minor first: a transpose of the minor
// dimension costs, one of the major dimensions does not.
void FillAttributeDimensions(const Instruction& node, float* out) {
  auto* attributes = std::get_if<hlo::DimensionsAttributes>(&node.all_attributes());
  if (attributes == nullptr || node.operand_count() == 0) return;
  const int64_t rank = node.opcode() == Opcode::kBroadcast ? node.shape().rank() : node.operand(0)->shape().rank();
  if (node.opcode() == Opcode::kTranspose) {
    for (int64_t i = 0; i < rank && i < kDims; ++i) out[i] = attributes->dimensions[rank - 1 - i] != rank - 1 - i;
    return;
  }
  for (int64_t d : attributes->dimensions) {
    const int64_t from_minor = rank - 1 - d;
    if (from_minor >= 0 && from_minor < kDims) out[from_minor] = 1;
  }
}

void FillContraction(const Instruction& node, float* out) {
  auto* dot = std::get_if<hlo::DotAttributes>(&node.all_attributes());
  auto* convolution = std::get_if<hlo::ConvolutionAttributes>(&node.all_attributes());
  if (dot != nullptr && node.operand_count() >= 2) {
    const hlo::Shape& lhs = node.operand(0)->shape();
    const hlo::Shape& rhs = node.operand(1)->shape();
    double k = 1, b = 1;
    for (int64_t d : dot->lhs_contracting) k *= lhs.dimensions[d];
    for (int64_t d : dot->lhs_batch) b *= lhs.dimensions[d];
    out[0] = Log1p(b);
    out[1] = Log1p(lhs.ElementCount() / std::max(b * k, 1.0));  // m
    out[2] = Log1p(rhs.ElementCount() / std::max(b * k, 1.0));  // n
    out[3] = Log1p(k);
    out[4] = !dot->lhs_contracting.empty() && dot->lhs_contracting[0] != lhs.rank() - 1;  // lhs stored k by m
    out[5] = !dot->rhs_contracting.empty() && dot->rhs_contracting[0] == rhs.rank() - 1;  // rhs stored n by k
  }
  if (convolution != nullptr) {
    const hlo::Shape& kernel = node.operand(1)->shape();
    out[6] = Log1p(kernel.dimensions[convolution->dimensions.kernel_input_feature]);
    out[7] = Log1p(kernel.dimensions[convolution->dimensions.kernel_output_feature]);
    out[8] = Log1p(convolution->feature_group_count);
    out[9] = Log1p(convolution->batch_group_count);
    out[10] = convolution->dimensions.output_feature != node.shape().rank() - 1;  // channels are not minor
    bool reversed = false;
    for (const auto& d : convolution->window.dimensions) reversed |= d.reversal;
    out[11] = reversed;
  }
}

void FillSlicing(const Instruction& node, float* out) {
  if (auto* slice = std::get_if<hlo::SliceAttributes>(&node.all_attributes())) {
    double start = 0, stride = 1;
    for (const auto& d : slice->dimensions) {
      start += d.start;
      stride *= d.stride;
    }
    out[0] = Log1p(start);
    out[1] = Log1p(stride);
    out[2] = !slice->dimensions.empty() && slice->dimensions.back().stride != 1;
  }
  if (auto* dynamic = std::get_if<hlo::DynamicSliceAttributes>(&node.all_attributes())) {
    double product = 1;
    for (int64_t size : dynamic->sizes) product *= size;
    out[3] = Log1p(product);
  }
  if (auto* pad = std::get_if<hlo::PadAttributes>(&node.all_attributes())) {
    double low = 0, high = 0, interior = 0;
    for (const auto& d : pad->dimensions) {
      low += d.low;
      high += d.high;
      interior += d.interior;
    }
    out[4] = Log1p(low);
    out[5] = Log1p(high);
    out[6] = Log1p(interior);
  }
  if (auto* gather = std::get_if<hlo::GatherAttributes>(&node.all_attributes())) {
    double product = 1;
    for (int64_t size : gather->slice_sizes) product *= size;
    out[7] = Log1p(product);
  }
}

// Work of the node alone, without what fusion or a tile makes of it.
void FillWork(const Instruction& node, float* out) {
  const double elements = node.shape().IsArray() ? node.shape().ElementCount() : 0;
  double read = 0, read_elements = 0;
  for (const Instruction* operand : node.operands()) {
    read += operand->shape().ByteSize();
    if (operand->shape().IsArray()) read_elements = std::max<double>(read_elements, operand->shape().ElementCount());
  }
  out[0] = Log1p(read);
  out[1] = Log1p(node.shape().ByteSize());
  out[2] = Log1p(std::max(elements, read_elements));
  out[3] = hlo::HasFlag(node.opcode(), hlo::kExpensive);
  out[4] = node.opcode() == Opcode::kReduce && !node.called().empty()
               ? 1.0f + static_cast<float>(node.called(0)->instruction_count())
               : 0.0f;
}

void FillMinorDimensions(const NodeInKernel& in_kernel, float* out) {
  const hlo::Shape& shape = in_kernel.node.shape();
  const int64_t rank = shape.IsArray() ? shape.rank() : 0;
  for (int64_t i = 0; i < kDims; ++i) out[i] = i < rank ? Log1p(shape.dimensions[rank - 1 - i]) : -1.0f;
}

void FillUse(const NodeInKernel& in_kernel, float* out) {
  const hlo::Shape& shape = in_kernel.node.shape();
  const double elements = shape.IsArray() ? std::max<double>(shape.ElementCount(), 1) : 1;
  const auto ratio = [](double a, double b) {
    return static_cast<float>(std::log(std::max(a, 1.0) / std::max(b, 1.0)));
  };
  out[0] = Log1p(in_kernel.work.evaluations);
  out[1] = ratio(in_kernel.work.evaluations, elements);
  out[2] = ratio(in_kernel.work.evaluations, in_kernel.results);
  out[3] = ratio(in_kernel.work.slowdown, 1);
}

void FillDistance(const NodeInKernel& in_kernel, float* out) {
  if (in_kernel.distance == 0) return;
  out[0] = 1;
  out[1] = Log1p(in_kernel.distance);
  out[2] = Log1p(in_kernel.touched);
}

constexpr Group kGroups[] = {
    {"role", 4, "is an output, is a parameter, number of users, is a scalar", Alone<FillRole>},
    {"type", 12, "element type, one of eleven or other", Alone<FillElementType>},
    {"dims", kDims + 2, "output dimensions outer first, sum, product", Alone<FillDimensions>},
    {"dimensions", kDims, "dimensions named by the attribute, minor first", Alone<FillAttributeDimensions>},
    {"window_size", kSpatial + 2, "window sizes, sum, product",
     [](const NodeInKernel& in_kernel, float* out) {
       FillWindow(
           in_kernel.node, [](const auto& d) { return d.size; }, out);
     }},
    {"window_stride", kSpatial + 2, "window strides, sum, product",
     [](const NodeInKernel& in_kernel, float* out) {
       FillWindow(
           in_kernel.node, [](const auto& d) { return d.stride; }, out);
     }},
    {"window_padding", kSpatial + 2, "padding low and high together, sum, product",
     [](const NodeInKernel& in_kernel, float* out) {
       FillWindow(
           in_kernel.node, [](const auto& d) { return d.padding_low + d.padding_high; }, out);
     }},
    {"window_dilation", kSpatial + 2, "window dilation, sum, product",
     [](const NodeInKernel& in_kernel, float* out) {
       FillWindow(
           in_kernel.node, [](const auto& d) { return d.window_dilation; }, out);
     }},
    {"base_dilation", kSpatial + 2, "base dilation, sum, product",
     [](const NodeInKernel& in_kernel, float* out) {
       FillWindow(
           in_kernel.node, [](const auto& d) { return d.base_dilation; }, out);
     }},
    {"contraction", 12,
     "dot: batch, m, n, k, lhs transposed, rhs transposed; convolution: input and output features, groups, layout, "
     "reversal",
     Alone<FillContraction>},
    {"slicing", 8, "slice start, stride, minor stride; dynamic-slice size; pad low, high, interior; gather slice",
     Alone<FillSlicing>},
    {"work", 5, "bytes read, bytes written, elements visited, is expensive, size of a reducer", Alone<FillWork>},
    {"minor_dims", kDims, "output dimensions minor first: vectors run over the first", FillMinorDimensions},
    {"use", 4, "elements that the kernel computes, over those that there are, over its results; lanes that lie idle",
     FillUse},
    {"distance", 3,
     "an operand or a result is far away, the bytes that its program touches meanwhile, those that the kernel "
     "touches of it",
     FillDistance},
};

}  // namespace

const std::vector<Column>& NodeColumns() {
  static const auto& columns = *[] {
    auto* list = new std::vector<Column>();
    for (const Group& group : kGroups) {
      for (int i = 0; i < group.width; ++i) list->push_back({group.name, group.meaning});
    }
    return list;
  }();
  return columns;
}

void FillNodeFeatures(const NodeInKernel& in_kernel, float* out) {
  for (const Group& group : kGroups) {
    group.fill(in_kernel, out);
    out += group.width;
  }
}

}  // namespace smelt::gnn
