#include "kernels/cost/operation_cost.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "hlo/lapack_call.h"

namespace smelt::kernels::cost {
namespace {

using hlo::Instruction;
using hlo::Opcode;

double Elements(const hlo::Shape& shape) { return shape.IsArray() ? static_cast<double>(shape.ElementCount()) : 0; }

// How much wider an element is than those that the constants were fitted to.
double Wide(const hlo::Shape& shape, double bits) {
  return std::max(1.0, static_cast<double>(hlo::BitWidth(shape.element_type)) / bits);
}

bool HasSmallFactors(int64_t length) {
  for (int64_t prime : {2, 3, 5, 7}) {
    while (length > 1 && length % prime == 0) length /= prime;
  }
  return length <= 1;
}

// 5 n log2(n) operations, ten of them in a cycle. Lengths with large factors take two transforms of twice the length
// and more (Bluestein's convolution), a line without others beside it half-filled vectors.
double FftCycles(const Instruction& instruction) {
  const auto& attributes = instruction.attributes<hlo::FftAttributes>();
  const hlo::Shape &from = instruction.operand(0)->shape(), &to = instruction.shape();
  double length = 1, harder = 1;
  for (int64_t l : attributes.lengths) {
    length *= static_cast<double>(l);
    if (!HasSmallFactors(l)) harder = 5;
  }
  const bool real = !hlo::IsComplex(from.element_type) || !hlo::IsComplex(to.element_type);
  const double values = std::max(Elements(from), Elements(to)) / (real ? 2 : 1);
  const double bits = real && !hlo::IsComplex(to.element_type) ? 32 : 64;
  if (attributes.lengths.size() == 1 && std::max(Elements(from), Elements(to)) <= length) harder *= 2;
  return harder * (0.5 * std::log2(std::max(2.0, length)) + 1) * values * Wide(to, bits);
}

// Windows are found one by one, their innermost dimensions combined as vectors. Each is far from the one before where
// the array is larger than a cache.
double ScatterCycles(const Instruction& instruction) {
  const auto& attributes = instruction.attributes<hlo::ScatterAttributes>();
  const hlo::Shape& updates = instruction.operand(instruction.operand_count() - 1)->shape();
  double window = 1;
  for (int64_t d : attributes.update_window_dims) window *= static_cast<double>(updates.dimensions[d]);
  const double windows = Elements(updates) / std::max(1.0, window);
  const bool rows =
      !attributes.update_window_dims.empty() && attributes.update_window_dims.back() == updates.rank() - 1;
  const double arrays = static_cast<double>(instruction.operand_count() / 2);
  const double far = instruction.operand(0)->shape().ByteSize() > 1 << 20 ? 100 : 0;
  return arrays * windows * (10 + far + window * (rows ? 0.25 : 1.5) * Wide(updates, 32));
}

double SelectAndScatterCycles(const Instruction& instruction) {
  double taps = 1;
  const auto& windows = instruction.attributes<hlo::WindowAttributes>().window.dimensions;
  for (const hlo::WindowDimension& window : windows) taps *= static_cast<double>(window.size);
  const bool lanes = !windows.empty() && windows.back().size == 1;
  return Elements(instruction.operand(1)->shape()) * taps * (lanes ? 0.25 : 3) * Wide(instruction.shape(), 32);
}

// Digit by digit where lines are long, comparing where they are short, all lines at once where they lie beside each
// other.
double SortCycles(const Instruction& instruction) {
  const hlo::Shape& keys = instruction.operand(0)->shape();
  const int64_t dimension = instruction.attributes<hlo::SortAttributes>().dimension;
  const double length = keys.rank() == 0 ? 1 : static_cast<double>(keys.dimensions[dimension]);
  const double steps = std::log2(std::max(2.0, length));
  const bool beside = keys.rank() > 0 && dimension + 1 < keys.rank() && length <= 64;
  if (beside && instruction.operand_count() == 1) return Elements(keys) * steps * (steps + 1) / 16;
  const double permuted = 2 * static_cast<double>(instruction.operand_count());
  return Elements(keys) * (std::min(14.0, 2 + 2 * steps) * Wide(keys, 32) + permuted);
}

// A factor of the first operand's size: of a factorisation of its own, or of LAPACK's Cholesky.
double CholeskyCycles(const Instruction& instruction) {
  const hlo::Shape& shape = instruction.operand(0)->shape();
  const double n = shape.rank() == 0 ? 1 : static_cast<double>(shape.dimensions.back());
  return Elements(shape) * (3 + n / 48) * Wide(shape, 32);
}

double TriangularSolveCycles(const Instruction& instruction) {
  const hlo::Shape& matrix = instruction.operand(0)->shape();
  const double n = matrix.rank() == 0 ? 1 : static_cast<double>(matrix.dimensions.back());
  return 2 * Elements(matrix) + Elements(instruction.shape()) * (2 + n / 10);
}

double LuCycles(const Instruction& instruction) {
  const hlo::Shape& shape = instruction.operand(0)->shape();
  if (shape.rank() < 2) return Elements(shape);
  const double steps = static_cast<double>(std::min(shape.dimensions.back(), shape.dimensions[shape.rank() - 2]));
  return Elements(shape) * (6 + steps / 12) * Wide(shape, 32);
}

double TopKCycles(const Instruction& instruction) {
  const double chosen = static_cast<double>(instruction.attributes<hlo::TopKAttributes>().k);
  const hlo::Shape& from = instruction.operand(0)->shape();
  const double length = from.rank() == 0 ? 1 : std::max(1.0, static_cast<double>(from.dimensions.back()));
  const double rows = Elements(from) / length;
  // Few are inserted as they come; many are sorted.
  if (8 * chosen > length) return rows * length * 12;
  return rows * (0.5 * length + chosen * std::log2(std::max(2.0, length)) * 10);
}

double RandomCycles(const Instruction& instruction) {
  double elements = 0;
  for (const hlo::Shape& part : instruction.shape().tuple_shapes) elements += Elements(part) * Wide(part, 32);
  return 2 * elements;
}

struct Row {
  Opcode opcode;
  double (*cycles)(const Instruction& instruction);
};
constexpr Row kRows[] = {
    {Opcode::kFft, FftCycles},
    {Opcode::kScatter, ScatterCycles},
    {Opcode::kSelectAndScatter, SelectAndScatterCycles},
    {Opcode::kSort, SortCycles},
    {Opcode::kTopK, TopKCycles},
    {Opcode::kCholesky, CholeskyCycles},
    {Opcode::kTriangularSolve, TriangularSolveCycles},
    {Opcode::kRngBitGenerator, RandomCycles},
};

struct LapackRow {
  std::string_view family;
  double (*cycles)(const Instruction& instruction);
};
constexpr LapackRow kLapackRows[] = {
    {"potrf", CholeskyCycles},
    {"getrf", LuCycles},
    {"trsm", TriangularSolveCycles},
};

}  // namespace

std::optional<double> OperationCycles(const Instruction& instruction) {
  if (const auto lapack = hlo::ReadLapackCall(instruction); lapack && instruction.operand_count() > 0) {
    for (const LapackRow& row : kLapackRows) {
      if (row.family == lapack->family()) return row.cycles(instruction);
    }
  }
  for (const Row& row : kRows) {
    if (row.opcode == instruction.opcode()) return row.cycles(instruction);
  }
  return std::nullopt;
}

}  // namespace smelt::kernels::cost
