#include "kernels/config/decisions.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/ceil_div.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::config {
namespace {

// Statements of the innermost loop's body that are still code, not tables.
constexpr int64_t kMostUnrolledStatements = 1024;
// A packed operand of the whole call.
constexpr double kMostPackedBytes = 512 << 20;
// Work beyond the ends of all axes together, as a factor.
constexpr double kMostTail = 1.6;

absl::Status Refuse(std::string_view stage, std::string_view loop, std::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("stage `", std::string(stage), "`, loop `", std::string(loop), "`: ", std::string(why)));
}

// Elements of dimension `d` of the operand that one tile reads.
double Span(const MainNest& nest, const Decisions& decisions, const NestOperand& operand, size_t d, bool block) {
  const nests::Access& access = *operand.access;
  const double whole = static_cast<double>(access.tensor->shape[d]);
  double span = 1;
  const auto add = [&](const te::Expr& variable, int64_t steps) {
    const std::optional<int64_t> step = nests::Coefficient(access.indices[d], variable);
    span += step ? std::abs(static_cast<double>(*step)) * static_cast<double>(steps - 1) : whole;
  };
  for (size_t a = 0; a < nest.axes.size(); ++a) {
    add(operand.sum->axes[nest.axes[a].position()].var, std::min(decisions.axes[a].tile(), nest.axes[a].extent));
  }
  for (size_t r = 0; r < operand.sum->reduce_axes.size(); ++r) {
    int64_t steps = operand.sum->reduce_axes[r].extent;
    for (size_t k = 0; block && k < nest.reduces.size(); ++k) {
      if (nest.reduces[k] == static_cast<int>(r) && nest.SharesSum(*operand.sum)) steps = decisions.reduces[k].block();
    }
    add(operand.sum->reduce_axes[r].var, steps);
  }
  return std::min(span, whole);
}

// Vectors along the sum of a contraction: an operand that lies across it would be gathered for every element of the
// result, which takes hundreds of times as long.
absl::Status CheckAlongSum(const MainNest& nest) {
  const te::Operation& sum = *nest.sums[0];
  for (const nests::Access& access : nest.nest().accesses) {
    if (access.reader.get() != &sum) continue;
    const auto lies_along = [&](int r) {
      const te::Expr& variable = sum.reduce_axes[r].var;
      const std::optional<int64_t> stride = nests::Stride(access, variable);
      return !nests::DependsOn(access, variable) || (stride && *stride == 1);
    };
    if (std::none_of(nest.reduces.begin(), nest.reduces.end(), lies_along)) {
      return Refuse(sum.name, "sum",
                    absl::StrCat("vectors along the sum would be gathered from `", access.tensor->name, "`"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckVectors(const MainNest& nest, const Decisions& decisions) {
  const int vector = decisions.VectorAxis(nest);
  const int64_t lanes = decisions.Lanes(nest);
  for (size_t a = 0; a < nest.axes.size(); ++a) {
    const NestAxis& axis = nest.axes[a];
    const int64_t registers = decisions.axes[a].registers;
    if (static_cast<int>(a) == vector) {
      const bool whole = registers == axis.extent;
      if (registers % lanes != 0 && !whole) {
        return Refuse(nest.domain->name, axis.name,
                      absl::StrCat(registers, " elements of a register tile are no whole vectors of ", lanes));
      }
    } else if (registers > 16) {
      return Refuse(
          nest.domain->name, axis.name,
          absl::StrCat(registers, " rows of a register tile, and vectors run along another loop: at most 16"));
    }
  }
  if (vector < 0) {
    const bool chosen = nest.vectors.size() > 1 && !nest.sums.empty() && nests::IsContraction(*nest.sums[0]);
    return chosen ? CheckAlongSum(nest) : absl::OkStatus();
  }
  // What does not lie along the vectors must be packed.
  for (size_t o = 0; o < nest.operands.size(); ++o) {
    const NestOperand& operand = nest.operands[o];
    const int position = nest.axes[vector].position();
    const te::Expr& variable = operand.sum->axes[position].var;
    if (!nests::DependsOn(*operand.access, variable) || decisions.packing[o] != Packing::kNone) continue;
    const std::optional<int64_t> stride = nests::Stride(*operand.access, variable);
    int dimension = -1;
    if ((!stride || *stride != 1) && CanLieAlong(*operand.access, *operand.sum, position, &dimension)) {
      return Refuse(operand.sum->name, nest.axes[vector].name,
                    absl::StrCat("vectors would be gathered from `", operand.access->tensor->name, "`: pack it"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRegisters(const MainNest& nest, const Decisions& decisions, const machine::Machine& target) {
  const int vector = decisions.VectorAxis(nest);
  double tail = 1;
  for (size_t a = 0; a < nest.axes.size(); ++a) {
    // Along vectors the knob has no widths that waste more than they must; elementwise work stops at the end.
    if (static_cast<int>(a) == vector || nest.sums.empty()) continue;
    const AxisSplit& split = decisions.axes[a];
    tail *= static_cast<double>(CeilDiv(nest.axes[a].extent, split.registers) * split.registers) /
            static_cast<double>(nest.axes[a].extent);
  }
  if (tail > kMostTail) {
    return Refuse(
        nest.domain->name, nest.axes[0].name,
        absl::StrCat("register tiles reach beyond the ends of axes: ", tail, " times the work, at most ", kMostTail));
  }
  if (nest.sums.empty() || (vector < 0 && !nest.vectors.empty())) return absl::OkStatus();
  const int64_t accumulators = Accumulators(nest, decisions);
  const int64_t width = vector < 0 ? 1 : std::max<int64_t>(1, decisions.axes[vector].registers / decisions.Lanes(nest));
  const std::string loop = nest.axes.empty() ? "(none)" : nest.axes[std::max(vector, 0)].name;
  // Beside the accumulators: the vectors of one step, and what multiplies them.
  const int64_t most = target.vector_registers - std::min<int64_t>(width, 4) - 1;
  if (accumulators > most) {
    return Refuse(nest.sums[0]->name, loop,
                  absl::StrCat(accumulators, " vectors of accumulators, and ", most, " of ", target.vector_registers,
                               " registers are free for them"));
  }
  int64_t unrolled = accumulators;
  for (const SumSplit& split : decisions.reduces) unrolled *= split.unrolled;
  if (unrolled > kMostUnrolledStatements) {
    return Refuse(nest.sums[0]->name, nest.reduces.empty() ? loop : nests::ReduceName(nest.reduces.back()),
                  absl::StrCat(unrolled, " statements unrolled, at most ", kMostUnrolledStatements));
  }
  return absl::OkStatus();
}

absl::Status CheckCaches(const MainNest& nest, const Decisions& decisions, const machine::Machine& target) {
  const double near = static_cast<double>(target.LevelBytes(1));
  double panels = 0;
  for (size_t o = 0; o < nest.operands.size(); ++o) {
    if (decisions.packing[o] == Packing::kNone) continue;
    const double bytes = PackedBytes(nest, decisions, o);
    const NestOperand& operand = nest.operands[o];
    if (decisions.packing[o] == Packing::kRoot) {
      if (bytes > kMostPackedBytes)
        return Refuse(operand.access->tensor->name, "(root)", absl::StrCat("packed it takes ", bytes, " bytes"));
      continue;
    }
    panels += bytes;
    if (panels > near) {
      return Refuse(operand.sum->name, nest.axes[0].name,
                    absl::StrCat("the packed `", operand.access->tensor->name, "` of a tile brings its operands to ",
                                 panels, " bytes, and the second cache holds ", near));
    }
  }
  if (!nest.sums.empty() && (decisions.epilogue_in_tile || decisions.Blocks() > 1)) {
    double bytes = 0;
    for (const te::Operation* sum : nest.sums) {
      double elements = 1;
      for (size_t a = 0; a < nest.axes.size(); ++a)
        elements *= static_cast<double>(std::min(decisions.axes[a].tile(), nest.axes[a].extent));
      for (te::PrimitiveType type : sum->types) bytes += elements * static_cast<double>(hlo::StorageBytes(type));
    }
    if (bytes > near) {
      return Refuse(nest.sums[0]->name, nest.axes[0].name,
                    absl::StrCat("the sums of a tile take ", bytes, " bytes, and the second cache holds ", near));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t Decisions::Blocks() const {
  int64_t blocks = 1;
  for (const SumSplit& split : reduces) blocks *= split.blocks;
  return blocks;
}

int Decisions::VectorAxis(const MainNest& nest) const { return nest.vectors.empty() ? -1 : nest.vectors[vectors].axis; }

int64_t Decisions::Lanes(const MainNest& nest) const { return std::max<int64_t>(1, nest.lanes / lanes_divisor); }

int64_t Accumulators(const MainNest& nest, const Decisions& decisions) {
  const int vector = decisions.VectorAxis(nest);
  int64_t count = 0;
  for (const te::Operation* sum : nest.sums) {
    int64_t vectors = static_cast<int64_t>(sum->types.size());
    for (size_t a = 0; a < nest.axes.size(); ++a) {
      const int64_t registers = decisions.axes[a].registers;
      vectors *= static_cast<int>(a) == vector ? CeilDiv(registers, decisions.Lanes(nest)) : registers;
    }
    count += vectors;
  }
  return count;
}

size_t PackingDepth(const MainNest& nest, const Decisions& decisions, size_t operand) {
  const NestOperand& of = nest.operands[operand];
  size_t depth = static_cast<size_t>(decisions.parallel);
  for (size_t i = 0; i < decisions.tile_order.size(); ++i) {
    const int64_t a = decisions.tile_order[i];
    const int64_t tiles = CeilDiv(nest.axes[a].extent, decisions.axes[a].tile());
    if (tiles > 1 && nests::DependsOn(*of.access, of.sum->axes[nest.axes[a].position()].var))
      depth = std::max(depth, i + 1);
  }
  return depth;
}

double PackedBytes(const MainNest& nest, const Decisions& decisions, size_t operand) {
  const NestOperand& of = nest.operands[operand];
  const bool all = decisions.packing[operand] == Packing::kRoot;
  const bool block = decisions.Blocks() > 1 && nest.SharesSum(*of.sum);
  double bytes = static_cast<double>(hlo::StorageBytes(of.access->tensor->types[of.access->output]));
  for (size_t d = 0; d < of.access->indices.size(); ++d) {
    bytes *= all ? static_cast<double>(of.access->tensor->shape[d]) : Span(nest, decisions, of, d, block);
  }
  return bytes;
}

absl::Status CheckDecisions(const MainNest& nest, const Decisions& decisions, const machine::Machine& target) {
  if (absl::Status status = CheckVectors(nest, decisions); !status.ok()) return status;
  if (absl::Status status = CheckRegisters(nest, decisions, target); !status.ok()) return status;
  return CheckCaches(nest, decisions, target);
}

}  // namespace smelt::kernels::config
