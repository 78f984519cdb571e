#include "hlo/rounding.h"

#include <algorithm>

namespace smelt::hlo {
namespace {

bool HasFloats(const Shape& shape) {
  if (shape.IsTuple()) return std::any_of(shape.tuple_shapes.begin(), shape.tuple_shapes.end(), HasFloats);
  return shape.IsArray() && (IsFloat(shape.element_type) || IsComplex(shape.element_type));
}

}  // namespace

bool RoundsResult(const Instruction& instruction) {
  using enum Opcode;
  if (!HasFloats(instruction.shape())) return false;
  switch (instruction.opcode()) {
    case kAdd:
    case kSubtract:
    case kMultiply:
    case kDivide:
    case kRemainder:
    case kPower:
    case kAtan2:
    case kExp:
    case kExpm1:
    case kLog:
    case kLog1p:
    case kSqrt:
    case kRsqrt:
    case kCbrt:
    case kSin:
    case kCos:
    case kTan:
    case kTanh:
    case kLogistic:
    case kErf:
    case kAsin:
    case kAcos:
    case kAtanh:
    case kAcosh:
    case kAsinh:
    case kSinh:
    case kCosh:
    case kDot:
    case kConvolution:
    case kRaggedDot:
    case kScaledDot:
    case kReduce:
    case kReduceWindow:
    case kScatter:
    case kSelectAndScatter:
    case kScan:
    case kMap:
    case kFft:
    case kCholesky:
    case kTriangularSolve:
    case kBatchNormGrad:
    case kBatchNormInference:
    case kBatchNormTraining:
    case kCustomCall:
      return true;
    case kAbs:
      return IsComplex(instruction.operand(0)->shape().element_type);
    default:
      return false;
  }
}

}  // namespace smelt::hlo
