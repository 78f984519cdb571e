#include "kernels/cost/opcode_cost.h"

#include <array>

namespace smelt::kernels::cost {
namespace {

using hlo::Opcode;

struct Entry {
  Opcode opcode;
  double cost;
};
// Counted from the instructions that each takes: polynomials and their range reductions, and the dividers' throughput.
constexpr Entry kCosts[] = {
    {Opcode::kDivide, 20},
    {Opcode::kRemainder, 40},
    {Opcode::kSqrt, 24},
    {Opcode::kRsqrt, 44},
    {Opcode::kCbrt, 60},
    {Opcode::kExp, 28},
    {Opcode::kExpm1, 40},
    {Opcode::kLog, 36},
    {Opcode::kLog1p, 44},
    {Opcode::kTanh, 44},
    {Opcode::kLogistic, 50},
    {Opcode::kSin, 50},
    {Opcode::kCos, 50},
    {Opcode::kTan, 80},
    {Opcode::kErf, 48},
    {Opcode::kAsin, 60},
    {Opcode::kAcos, 60},
    {Opcode::kAtan2, 70},
    {Opcode::kAsinh, 80},
    {Opcode::kAcosh, 80},
    {Opcode::kAtanh, 60},
    {Opcode::kSinh, 60},
    {Opcode::kCosh, 60},
    {Opcode::kPower, 90},
    {Opcode::kClamp, 4},
    {Opcode::kSelect, 3},
    {Opcode::kCompare, 2},
    {Opcode::kSign, 6},
    {Opcode::kReducePrecision, 14},
    {Opcode::kConvert, 2},
    {Opcode::kPopulationCount, 6},
    {Opcode::kClz, 6},
    {Opcode::kRoundNearestAfz, 6},
    {Opcode::kMap, 6},
    {Opcode::kCopy, 0},
    {Opcode::kBitcastConvert, 0},
};

std::array<double, hlo::kOpcodeCount> MakeTable() {
  std::array<double, hlo::kOpcodeCount> table{};
  for (int i = 0; i < hlo::kOpcodeCount; ++i) table[i] = hlo::IsElementwise(static_cast<Opcode>(i)) ? 2 : 0;
  for (const Entry& entry : kCosts) table[static_cast<int>(entry.opcode)] = entry.cost;
  return table;
}

}  // namespace

double TypeFactor(hlo::PrimitiveType type) {
  switch (hlo::BitWidth(type)) {
    case 64:
      return 2;
    case 16:
      return hlo::IsFloat(type) ? 3 : 0.5;
    case 8:
      return type == hlo::PrimitiveType::kPred ? 0.5 : 0.5;
    default:
      return 1;
  }
}

double ElementCost(Opcode opcode, hlo::PrimitiveType type) {
  static const std::array<double, hlo::kOpcodeCount> table = MakeTable();
  return table[static_cast<int>(opcode)] * TypeFactor(type);
}

}  // namespace smelt::kernels::cost
