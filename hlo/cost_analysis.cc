#include "hlo/cost_analysis.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"

namespace smelt::hlo {
namespace {

constexpr double kRandomFlops = 20;  // integer operations per random word
constexpr double kBatchNormFlops = 8;

struct Work {
  double flops = 0;
  double transcendentals = 0;
};

double Elements(const Shape& shape) {
  if (!shape.IsTuple()) return shape.IsArray() ? static_cast<double>(shape.ElementCount()) : 0;
  double elements = 0;
  for (const Shape& element : shape.tuple_shapes) elements += Elements(element);
  return elements;
}

double Bytes(const Shape& shape) { return static_cast<double>(shape.ByteSize()); }

bool IsTranscendental(Opcode opcode) {
  return IsElementwise(opcode) && HasFlag(opcode, kExpensive) && opcode != Opcode::kDivide &&
         opcode != Opcode::kRemainder;
}

// Copies and type-free selection of parts do no arithmetic.
bool OnlyMoves(Opcode opcode) {
  return opcode == Opcode::kCopy || opcode == Opcode::kReal || opcode == Opcode::kImag || opcode == Opcode::kComplex;
}

// Work of a computation on scalars, done once.
Work ScalarWork(const Computation& computation) {
  Work work;
  for (const Instruction* instruction : computation.Instructions()) {
    if (!IsElementwise(instruction->opcode()) || OnlyMoves(instruction->opcode())) continue;
    (IsTranscendental(instruction->opcode()) ? work.transcendentals : work.flops) += 1;
  }
  return work;
}

Work Times(const Work& work, double count) { return {work.flops * count, work.transcendentals * count}; }

// Pairs of an output position and a window element that meet an element of the input, in one dimension.
double ValidTaps(const WindowDimension& window, int64_t input, int64_t output) {
  constexpr int64_t kFewSteps = 1 << 16;
  if (output > kFewSteps || window.size > kFewSteps || output * window.size > 16 * kFewSteps)
    return static_cast<double>(output) * static_cast<double>(window.size);
  double taps = 0;
  for (int64_t o = 0; o < output; ++o) {
    for (int64_t w = 0; w < window.size; ++w) {
      const int64_t at = o * window.stride + w * window.window_dilation - window.padding_low;
      taps += at >= 0 && at % window.base_dilation == 0 && at / window.base_dilation < input;
    }
  }
  return taps;
}

double ConvolutionFlops(const Instruction& instruction) {
  const auto& attributes = instruction.attributes<ConvolutionAttributes>();
  const ConvolutionDimensions& dims = attributes.dimensions;
  const Shape &input = instruction.operand(0)->shape(), &kernel = instruction.operand(1)->shape(),
              &output = instruction.shape();
  double products = static_cast<double>(output.dimensions[dims.output_batch]) *
                    static_cast<double>(output.dimensions[dims.output_feature]) *
                    static_cast<double>(kernel.dimensions[dims.kernel_input_feature]);
  for (size_t d = 0; d < attributes.window.dimensions.size(); ++d) {
    products *= ValidTaps(attributes.window.dimensions[d], input.dimensions[dims.input_spatial[d]],
                          output.dimensions[dims.output_spatial[d]]);
  }
  return 2 * products;
}

double DotFlops(const Instruction& instruction) {
  double depth = 1;
  for (int64_t d : instruction.attributes<DotAttributes>().lhs_contracting)
    depth *= static_cast<double>(instruction.operand(0)->shape().dimensions[d]);
  return 2 * depth * Elements(instruction.shape());
}

double WindowElements(const Instruction& instruction) {
  double elements = 1;
  for (const WindowDimension& d : instruction.attributes<WindowAttributes>().window.dimensions)
    elements *= static_cast<double>(d.size);
  return elements;
}

// All of an instruction's work, called computations of scalars included; not what fusions, calls and loops do.
Work WorkOf(const Instruction& instruction) {
  const Shape& shape = instruction.shape();
  const double elements = Elements(shape);
  auto operand_elements = [&](int64_t i) { return Elements(instruction.operand(i)->shape()); };
  const Opcode opcode = instruction.opcode();
  if (IsElementwise(opcode)) {
    if (OnlyMoves(opcode)) return {};
    return IsTranscendental(opcode) ? Work{0, elements} : Work{elements, 0};
  }
  switch (opcode) {
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
      return {DotFlops(instruction), 0};
    case Opcode::kConvolution:
      return {ConvolutionFlops(instruction), 0};
    case Opcode::kReduce: {
      const int64_t arrays = instruction.operand_count() / 2;
      const double outputs = elements / static_cast<double>(std::max<int64_t>(1, arrays));
      return Times(ScalarWork(*instruction.called(0)), std::max(0.0, operand_elements(0) - outputs));
    }
    case Opcode::kReduceWindow: {
      const double outputs = elements / static_cast<double>(std::max<int64_t>(1, instruction.operand_count() / 2));
      return Times(ScalarWork(*instruction.called(0)), outputs * std::max(0.0, WindowElements(instruction) - 1));
    }
    case Opcode::kSelectAndScatter: {
      Work work = Times(ScalarWork(*instruction.called(0)),
                        operand_elements(1) * std::max(0.0, WindowElements(instruction) - 1));
      work.flops += ScalarWork(*instruction.called(1)).flops * operand_elements(1);
      return work;
    }
    case Opcode::kScatter:
      return Times(ScalarWork(*instruction.called(0)), operand_elements(instruction.operand_count() - 1));
    case Opcode::kMap:
      return Times(ScalarWork(*instruction.called(0)), elements);
    case Opcode::kSort: {
      const Shape& first = instruction.operand(0)->shape();
      const double length =
          first.rank() == 0 ? 1
                            : static_cast<double>(first.dimensions[instruction.attributes<SortAttributes>().dimension]);
      return Times(ScalarWork(*instruction.called(0)), Elements(first) * std::log2(std::max(2.0, length)));
    }
    case Opcode::kTopK:
      return {operand_elements(0), 0};
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad:
      return {kBatchNormFlops * operand_elements(0), operand_elements(1)};
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
      return {kRandomFlops * elements, 0};
    case Opcode::kFft: {
      double length = 1;
      for (int64_t l : instruction.attributes<FftAttributes>().lengths) length *= static_cast<double>(l);
      return {5 * std::max(elements, operand_elements(0)) * std::log2(std::max(2.0, length)), 0};
    }
    case Opcode::kCholesky: {
      const double n = shape.rank() == 0 ? 1 : static_cast<double>(shape.dimensions.back());
      return {elements * n / 3, n == 0 ? 0 : elements / n};
    }
    case Opcode::kTriangularSolve: {
      const Shape& a = instruction.operand(0)->shape();
      return {elements * (a.rank() == 0 ? 1 : static_cast<double>(a.dimensions.back())), 0};
    }
    default:
      return {};
  }
}

// Elements of operand i that are read for `computed` of the instruction's elements.
double OperandElementsRead(const Instruction& instruction, int64_t i, double computed) {
  const double all = Elements(instruction.operand(i)->shape());
  const double elements = std::max(1.0, Elements(instruction.shape()));
  const double share = std::min(1.0, computed / elements);
  switch (instruction.opcode()) {
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
      return i == 0 ? std::min(all, computed) : instruction.opcode() == Opcode::kGather ? all * share : all;
    case Opcode::kDynamicUpdateSlice: {
      if (i != 0) return all;
      return std::max(0.0, computed - Elements(instruction.operand(1)->shape()));
    }
    case Opcode::kReduce:
      return i < instruction.operand_count() / 2 ? all * share : all;
    case Opcode::kConcatenate:
      return all * share;
    case Opcode::kReduceWindow:
      return i < instruction.operand_count() / 2 ? std::min(all, computed * WindowElements(instruction)) : all;
    default:
      break;
  }
  const OpcodeCategory category = GetOpcodeInfo(instruction.opcode()).category;
  if (category <= OpcodeCategory::kShapeOnly || category == OpcodeCategory::kDataMovement)
    return std::min(all, computed);
  return all;
}

bool MovesNothing(Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kBitcast:
    case Opcode::kAfterAll:
    case Opcode::kAddDependency:
    case Opcode::kOptimizationBarrier:
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
    case Opcode::kGetDimensionSize:
      return true;
    default:
      return false;
  }
}

const Instruction* ThroughBitcasts(const Instruction* instruction) {
  while (instruction->opcode() == Opcode::kBitcast || instruction->opcode() == Opcode::kReshape ||
         instruction->opcode() == Opcode::kCopy) {
    instruction = instruction->operand(0);
  }
  return instruction;
}

// Bytes that a result costs to write: of an update in place, the update.
double BytesWritten(const Instruction& result) {
  if (result.opcode() == Opcode::kTuple) {
    double bytes = 0;
    for (const Instruction* element : result.operands()) bytes += BytesWritten(*element);
    return bytes;
  }
  const Instruction& inner = *ThroughBitcasts(&result);
  if (inner.opcode() == Opcode::kDynamicUpdateSlice) return Bytes(inner.operand(1)->shape());
  if (inner.opcode() == Opcode::kScatter) {
    double bytes = 0;
    for (int64_t i = inner.operand_count() / 2 + 1; i < inner.operand_count(); ++i)
      bytes += Bytes(inner.operand(i)->shape());
    return bytes;
  }
  return Bytes(result.shape());
}

void AddTimes(const CostAnalysis& cost, double times, CostAnalysis* total) {
  total->flops += cost.flops * times;
  total->transcendentals += cost.transcendentals * times;
  total->bytes_read += cost.bytes_read * times;
  total->bytes_written += cost.bytes_written * times;
}

// `"known_trip_count":{"n":"5"}` in a while's backend_config.
double TripCount(const Instruction& instruction) {
  for (const RawAttribute& attribute : instruction.raw_attributes()) {
    if (attribute.name != "backend_config") continue;
    size_t at = attribute.value.find("known_trip_count");
    if (at == std::string::npos) continue;
    at = attribute.value.find_first_of("0123456789", at);
    if (at == std::string::npos) continue;
    const size_t end = attribute.value.find_first_not_of("0123456789", at);
    int64_t count;
    if (absl::SimpleAtoi(attribute.value.substr(at, end - at), &count)) return static_cast<double>(count);
  }
  return 1;
}

// Costs of the computations that a program executes, each once per call, callees first.
CostAnalysis ExecutedCost(const Computation& computation,
                          const absl::flat_hash_map<const Computation*, CostAnalysis>& done) {
  CostAnalysis total;
  auto of = [&](const Computation* callee) {
    auto it = done.find(callee);
    return it == done.end() ? CostAnalysis() : it->second;
  };
  for (const Instruction* instruction : computation.Instructions()) {
    switch (instruction->opcode()) {
      case Opcode::kWhile: {
        const double trips = TripCount(*instruction);
        for (const Computation* callee : instruction->called()) AddTimes(of(callee), trips, &total);
        break;
      }
      case Opcode::kConditional: {
        CostAnalysis largest;
        for (const Computation* callee : instruction->called()) {
          CostAnalysis branch = of(callee);
          if (branch.bytes() >= largest.bytes()) largest = std::move(branch);
        }
        AddTimes(largest, 1, &total);
        break;
      }
      case Opcode::kCall:
      case Opcode::kAsyncStart:
        for (const Computation* callee : instruction->called()) AddTimes(of(callee), 1, &total);
        break;
      default:
        AddTimes(AnalyzeCost(*instruction), 1, &total);
    }
  }
  return total;
}

}  // namespace

CostAnalysis AnalyzeCost(const Computation& kernel) {
  CostAnalysis cost;
  const std::vector<Instruction*> order = kernel.PostOrder();
  // From the root back: how many elements of each value are needed by what reads it.
  absl::flat_hash_map<const Instruction*, double> needed;
  needed.reserve(order.size());
  const Instruction* root = kernel.root();
  needed[root] = Elements(root->shape());
  std::vector<const Instruction*> results = {root};
  if (root->opcode() == Opcode::kTuple) results.assign(root->operands().begin(), root->operands().end());
  cost.operand_bytes.assign(kernel.Parameters().size(), 0);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Instruction& instruction = **it;
    auto found = needed.find(&instruction);
    if (found == needed.end()) continue;
    const double all = Elements(instruction.shape());
    const double computed = std::min(all, found->second);
    const double share = all == 0 ? 1 : computed / all;
    if (instruction.opcode() == Opcode::kParameter) {
      const size_t number = static_cast<size_t>(instruction.attributes<ParameterAttributes>().number);
      if (number < cost.operand_bytes.size()) cost.operand_bytes[number] += share * Bytes(instruction.shape());
      continue;
    }
    if (instruction.opcode() == Opcode::kTuple) {
      for (const Instruction* operand : instruction.operands()) needed[operand] += Elements(operand->shape());
      continue;
    }
    if (instruction.opcode() == Opcode::kFusion || instruction.opcode() == Opcode::kCall) {
      const CostAnalysis inner = AnalyzeCost(*instruction.called(0));
      cost.flops += inner.flops;
      cost.transcendentals += inner.transcendentals;
      for (int64_t i = 0; i < instruction.operand_count(); ++i) {
        const Shape& shape = instruction.operand(i)->shape();
        const double bytes = Bytes(shape);
        if (bytes > 0) needed[instruction.operand(i)] += Elements(shape) * inner.operand_bytes[i] / bytes;
      }
      continue;
    }
    const Work work = WorkOf(instruction);
    cost.flops += work.flops * share;
    cost.transcendentals += work.transcendentals * share;
    // An update of a slice whose whole result is wanted as a result of the kernel happens in place: the rest is not
    // read.
    const bool in_place = instruction.opcode() == Opcode::kDynamicUpdateSlice &&
                          std::any_of(results.begin(), results.end(),
                                      [&](const Instruction* r) { return ThroughBitcasts(r) == &instruction; });
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      needed[instruction.operand(i)] += in_place && i == 0 ? 0 : OperandElementsRead(instruction, i, computed);
    }
  }
  for (double bytes : cost.operand_bytes) cost.bytes_read += bytes;
  cost.bytes_written = BytesWritten(*root);
  return cost;
}

CostAnalysis AnalyzeCost(const Instruction& instruction) {
  CostAnalysis cost;
  cost.operand_bytes.assign(instruction.operand_count(), 0);
  if (MovesNothing(instruction.opcode())) return cost;
  if ((instruction.opcode() == Opcode::kFusion || instruction.opcode() == Opcode::kCall) &&
      !instruction.called().empty()) {
    return AnalyzeCost(*instruction.called(0));
  }
  const Work work = WorkOf(instruction);
  cost.flops = work.flops;
  cost.transcendentals = work.transcendentals;
  const double elements = Elements(instruction.shape());
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    const Shape& shape = instruction.operand(i)->shape();
    double read = OperandElementsRead(instruction, i, elements);
    if (i == 0 && instruction.opcode() == Opcode::kDynamicUpdateSlice) read = 0;
    if (i < instruction.operand_count() / 2 && instruction.opcode() == Opcode::kScatter) {
      read = Elements(instruction.operand(instruction.operand_count() - 1)
                          ->shape());  // the elements that are combined with updates
    }
    const double all = Elements(shape);
    cost.operand_bytes[i] = all == 0 ? 0 : Bytes(shape) * std::min(1.0, read / all);
    cost.bytes_read += cost.operand_bytes[i];
  }
  cost.bytes_written = BytesWritten(instruction);
  return cost;
}

CostAnalysis AnalyzeProgramCost(const Module& module) {
  absl::flat_hash_map<const Computation*, CostAnalysis> done;
  for (const Computation* computation : module.ExecutedComputations())
    done[computation] = ExecutedCost(*computation, done);
  return done[module.entry()];
}

}  // namespace smelt::hlo
