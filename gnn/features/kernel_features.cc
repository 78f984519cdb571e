#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "gnn/features/features.h"
#include "gnn/features/log_time.h"
#include "gnn/features/node_features.h"
#include "gnn/features/schedule_features.h"
#include "hlo/cost_analysis.h"
#include "kernels/cost/analytical.h"

namespace smelt::gnn {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using kernels::cost::KernelWork;

float Log1p(double x) { return static_cast<float>(std::log1p(std::max(x, 0.0))); }

// What every column of a kernel is made from.
struct Summary {
  const hlo::Computation& kernel;
  const machine::Machine& target;
  const KernelWork& work;
  kernels::cost::CostEstimate estimate;
  const hlo::CostAnalysis& cost;
  double bytes_in = 0, bytes_out = 0, largest = 0;
  double far = 0, beyond_l2 = 0, beyond_l3 = 0, far_seconds = 0;
  double nodes = 0, parameters = 0, outputs = 1, expensive = 0, contractions = 0, reductions = 0, movements = 0;
};

// An array that the kernel reads or writes, and how far away it lies.
struct DistantArray {
  const Instruction* node = nullptr;
  double bytes = 0;  // that the kernel touches of it
  int64_t distance = 0;
};

std::vector<DistantArray> DistantArrays(const hlo::Computation& kernel, const hlo::CostAnalysis& cost,
                                        absl::Span<const int64_t> distances) {
  std::vector<DistantArray> arrays;
  if (distances.empty()) return arrays;
  const auto add = [&](const Instruction& node, double most_bytes) {
    std::vector<const hlo::Shape*> leaves;
    node.shape().AppendLeaves(&leaves);
    for (const hlo::Shape* leaf : leaves) {
      const int64_t distance = arrays.size() < distances.size() ? distances[arrays.size()] : 0;
      const double bytes = leaf->IsArray() ? static_cast<double>(leaf->ByteSize()) : 0;
      arrays.push_back({&node, std::min(bytes, most_bytes), distance});
    }
  };
  const std::vector<Instruction*> parameters = kernel.Parameters();
  for (size_t p = 0; p < parameters.size(); ++p)
    add(*parameters[p], p < cost.operand_bytes.size() ? cost.operand_bytes[p] : HUGE_VAL);
  if (kernel.root()->opcode() == Opcode::kTuple) {
    for (const Instruction* output : kernel.root()->operands()) add(*output, HUGE_VAL);
  } else {
    add(*kernel.root(), HUGE_VAL);
  }
  std::erase_if(arrays, [](const DistantArray& array) { return array.distance == 0; });
  return arrays;
}

Summary Summarise(const hlo::Computation& kernel, const machine::Machine& target, const KernelWork& work,
                  const KernelEstimate& estimate, const hlo::CostAnalysis& cost,
                  absl::Span<const DistantArray> distant) {
  Summary s{kernel, target, work, estimate ? estimate(kernel) : kernels::cost::EstimateKernel(kernel, work, target),
            cost};
  for (const Instruction* node : kernel.Instructions()) {
    ++s.nodes;
    const hlo::OpcodeInfo& info = hlo::GetOpcodeInfo(node->opcode());
    if (node->opcode() == Opcode::kParameter) {
      ++s.parameters;
      s.bytes_in += node->shape().ByteSize();
    }
    s.largest = std::max<double>(s.largest, node->shape().ByteSize());
    s.expensive += hlo::HasFlag(node->opcode(), hlo::kExpensive) && hlo::IsElementwise(node->opcode())
                       ? node->shape().ElementCount()
                       : 0;
    s.contractions += info.category == hlo::OpcodeCategory::kContraction;
    s.reductions += info.category == hlo::OpcodeCategory::kReduction;
    s.movements += info.category == hlo::OpcodeCategory::kDataMovement;
  }
  for (const DistantArray& array : distant) {
    const double passed = static_cast<double>(array.distance) + array.bytes;
    s.far += array.bytes;
    s.beyond_l2 += passed > static_cast<double>(target.LevelBytes(1)) ? array.bytes : 0;
    s.beyond_l3 += passed > static_cast<double>(target.LevelBytes(2)) ? array.bytes : 0;
    s.far_seconds += array.bytes / target.BandwidthOf(passed);
  }
  s.bytes_out = kernel.root()->shape().ByteSize();
  s.outputs = kernel.root()->shape().LeafCount();
  return s;
}

struct KernelColumn {
  Column column;
  float (*value)(const Summary&);
};

template <KernelWork::Loop loop>
float Operations(const Summary& s) {
  return Log1p(s.work.operations[loop]);
}

constexpr KernelColumn kKernelColumns[] = {
    {{"estimate", "log of the analytical model's seconds"},
     [](const Summary& s) { return static_cast<float>(LogTime(s.estimate.seconds())); }},
    {{"estimate_compute", "log of its compute seconds"},
     [](const Summary& s) { return static_cast<float>(LogTime(s.estimate.compute_seconds)); }},
    {{"estimate_memory", "log of its memory seconds"},
     [](const Summary& s) { return static_cast<float>(LogTime(s.estimate.memory_seconds)); }},
    {{"flops", "arithmetic operations"}, [](const Summary& s) { return Log1p(s.cost.flops); }},
    {{"transcendentals", "elements through exp, log, divide and the like"},
     [](const Summary& s) { return Log1p(s.cost.transcendentals); }},
    {{"bytes_accessed", "bytes really read and written"},
     [](const Summary& s) { return Log1p(s.cost.bytes_read + s.cost.bytes_written); }},
    {{"intensity", "arithmetic operations a byte"},
     [](const Summary& s) { return Log1p(s.cost.flops / std::max(1.0, s.cost.bytes_read + s.cost.bytes_written)); }},
    {{"bytes_in", "bytes of all parameters"}, [](const Summary& s) { return Log1p(s.bytes_in); }},
    {{"bytes_out", "bytes of all outputs"}, [](const Summary& s) { return Log1p(s.bytes_out); }},
    {{"largest", "bytes of the largest value inside"}, [](const Summary& s) { return Log1p(s.largest); }},
    {{"over_l1", "bytes in and out over the first-level cache"},
     [](const Summary& s) { return Log1p((s.bytes_in + s.bytes_out) / static_cast<double>(s.target.LevelBytes(0))); }},
    {{"over_l2", "bytes in and out over the second-level cache"},
     [](const Summary& s) { return Log1p((s.bytes_in + s.bytes_out) / static_cast<double>(s.target.LevelBytes(1))); }},
    {{"over_l3", "bytes in and out over the shared cache"},
     [](const Summary& s) { return Log1p((s.bytes_in + s.bytes_out) / static_cast<double>(s.target.LevelBytes(2))); }},
    {{"nodes", "instructions"}, [](const Summary& s) { return Log1p(s.nodes); }},
    {{"parameters", "operands of the kernel"}, [](const Summary& s) { return Log1p(s.parameters); }},
    {{"outputs", "results of the kernel"}, [](const Summary& s) { return Log1p(s.outputs); }},
    {{"expensive", "elements through expensive elementwise operations"},
     [](const Summary& s) { return Log1p(s.expensive); }},
    {{"contractions", "dots and convolutions"}, [](const Summary& s) { return Log1p(s.contractions); }},
    {{"reductions", "reductions"}, [](const Summary& s) { return Log1p(s.reductions); }},
    {{"movements", "data movement operations"}, [](const Summary& s) { return Log1p(s.movements); }},
    {{"threads", "workers of the target"}, [](const Summary& s) { return Log1p(s.target.threads); }},
    {{"vector_bytes", "widest vector of the target"}, [](const Summary& s) { return Log1p(s.target.vector_bytes); }},
    {{"peak_flops", "peak of one core"}, [](const Summary& s) { return Log1p(s.target.peak_flops_f32); }},
    {{"memory_bandwidth", "copy bandwidth of one core"},
     [](const Summary& s) { return Log1p(s.target.levels.back().bytes_per_second); }},
    {{"work_elementwise", "operations of elementwise loops, as the analytical model counts them (kernel_work.h)"},
     Operations<KernelWork::kElementwise>},
    {{"work_row_sums", "steps of sums along rows"}, Operations<KernelWork::kRowSums>},
    {{"work_row_ends", "results of these"}, Operations<KernelWork::kRowEnds>},
    {{"work_column_sums", "steps of other sums"}, Operations<KernelWork::kColumnSums>},
    {{"work_windows", "taps of windows"}, Operations<KernelWork::kWindows>},
    {{"work_strided", "elements that lie apart where they are read"}, Operations<KernelWork::kStrided>},
    {{"work_singles", "elements that come one by one"}, Operations<KernelWork::kSingles>},
    {{"work_native", "work of operations without a loop nest"}, Operations<KernelWork::kNative>},
    {{"work_packed", "bytes of panels that are packed"}, [](const Summary& s) { return Log1p(s.work.packed_bytes); }},
    {{"work_bytes", "bytes that the kernel's loops read and write"},
     [](const Summary& s) { return Log1p(s.work.bytes); }},
    {{"work_phases", "loops that follow each other"}, [](const Summary& s) { return Log1p(s.work.phases); }},
    {{"far", "bytes of operands and results that lie far away in its program"},
     [](const Summary& s) { return Log1p(s.far); }},
    {{"far_beyond_l2", "of these, beyond the second-level cache"}, [](const Summary& s) { return Log1p(s.beyond_l2); }},
    {{"far_beyond_l3", "of these, beyond the shared cache"}, [](const Summary& s) { return Log1p(s.beyond_l3); }},
    {{"far_seconds", "log of the seconds that the machine's bandwidth gives for them"},
     [](const Summary& s) { return s.far_seconds > 0 ? static_cast<float>(LogTime(s.far_seconds)) : 0.0f; }},
};

// Elements of a kernel's first result.
double ResultsOf(const hlo::Computation& kernel) {
  std::vector<const hlo::Shape*> leaves;
  kernel.root()->shape().AppendLeaves(&leaves);
  return leaves.empty() || !leaves[0]->IsArray() ? 1 : static_cast<double>(leaves[0]->ElementCount());
}

}  // namespace

const std::vector<Column>& KernelColumns() {
  static const auto& columns = *[] {
    auto* list = new std::vector<Column>();
    for (const KernelColumn& column : kKernelColumns) list->push_back(column.column);
    for (const std::string& name : ScheduleFeatureNames()) list->push_back({name, "of the kernel's default schedule"});
    return list;
  }();
  return columns;
}

KernelGraph ExtractFeatures(const hlo::Computation& kernel, const machine::Machine& target,
                            const KernelEstimate& estimate, absl::Span<const int64_t> distances, bool scheduled) {
  KernelGraph graph;
  const std::vector<Instruction*> order = kernel.PostOrder();
  const size_t width = NodeColumns().size();
  absl::flat_hash_map<const Instruction*, int32_t> number;
  number.reserve(order.size());
  graph.node_features.resize(order.size() * width);
  std::vector<kernels::cost::InstructionWork> of_each;
  const KernelWork work = kernels::cost::WorkOf(kernel, target, &of_each);
  const double results = ResultsOf(kernel);
  const hlo::CostAnalysis cost = hlo::AnalyzeCost(kernel);
  const std::vector<DistantArray> distant = DistantArrays(kernel, cost, distances);
  const auto distance_of = [&](const Instruction& node) {
    DistantArray furthest;
    for (const DistantArray& array : distant) {
      if (array.node == &node && array.distance > furthest.distance) furthest = array;
    }
    return furthest;
  };
  graph.operand_begin.push_back(0);
  for (size_t i = 0; i < order.size(); ++i) {
    const Instruction& node = *order[i];
    number[&node] = static_cast<int32_t>(i);
    graph.opcodes.push_back(static_cast<int32_t>(node.opcode()));
    const DistantArray furthest = distance_of(node);
    FillNodeFeatures({node, of_each[i], results, furthest.distance, furthest.bytes}, &graph.node_features[i * width]);
    for (const Instruction* operand : node.operands()) graph.operands.push_back(number.at(operand));
    graph.operand_begin.push_back(static_cast<int32_t>(graph.operands.size()));
  }
  const Summary summary = Summarise(kernel, target, work, estimate, cost, distant);
  for (const KernelColumn& column : kKernelColumns) graph.kernel_features.push_back(column.value(summary));
  // A target with an estimate of its own runs kernels in another way.
  if (scheduled && !estimate) {
    const std::vector<float> of_schedule = ScheduleFeatures(kernel, target);
    graph.kernel_features.insert(graph.kernel_features.end(), of_schedule.begin(), of_schedule.end());
  }
  graph.kernel_features.resize(KernelColumns().size(), 0.0f);
  return graph;
}

}  // namespace smelt::gnn
