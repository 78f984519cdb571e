#include "hlo/evaluator/elementwise_kernel.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/evaluator/kernel_table.h"
#include "hlo/small_float.h"

namespace smelt::hlo {
namespace {

constexpr int64_t kBlock = 512;  // elements widened at once: the buffers stay in the first cache

bool IsSmallFloat(PrimitiveType type) { return IsFloat(type) && BitWidth(type) <= 16; }
bool IsSubByteInteger(PrimitiveType type) { return IsInteger(type) && BitWidth(type) < 8; }

const KernelTable& Table() {
  static const KernelTable& table = *[] {
    auto* built = new KernelTable();
    AddFloatKernels(*built);
    AddIntegerKernels(*built);
    AddComplexKernels(*built);
    return built;
  }();
  return table;
}

// Keeps the low bits of each byte, sign-extended for signed types.
void WrapSubByte(PrimitiveType type, void* values, int64_t count) {
  const int shift = 8 - BitWidth(type);
  if (IsSigned(type)) {
    auto* bytes = static_cast<int8_t*>(values);
    for (int64_t i = 0; i < count; ++i)
      bytes[i] = static_cast<int8_t>(static_cast<int8_t>(static_cast<uint8_t>(bytes[i]) << shift) >> shift);
  } else {
    auto* bytes = static_cast<uint8_t*>(values);
    for (int64_t i = 0; i < count; ++i)
      bytes[i] = static_cast<uint8_t>(static_cast<uint8_t>(bytes[i] << shift) >> shift);
  }
}

// A float becomes a sub-byte integer by saturating to that type's range, which the 8-bit loop knows nothing of.
template <typename T>
void ConvertFloatToSubByte(const void* const* operands, void* result, int64_t count, const ElementwiseKernel& kernel) {
  const T* a = static_cast<const T*>(operands[0]);
  auto* r = static_cast<int8_t*>(result);
  const int bits = BitWidth(kernel.result_type);
  const T low = IsSigned(kernel.result_type) ? static_cast<T>(-(1 << (bits - 1))) : T{0};
  const T high = static_cast<T>((1 << (IsSigned(kernel.result_type) ? bits - 1 : bits)) - 1);
  for (int64_t i = 0; i < count; ++i)
    r[i] = a[i] != a[i] ? int8_t{0} : static_cast<int8_t>(std::min(std::max(a[i], low), high));
}

// A double becomes a float of eight bits or fewer in one rounding. One of 16 bits it becomes by way of f32, as in XLA
// but for processors with AVX512-FP16, where XLA rounds to f16 once: what Smelt gives is the same on all.
void ConvertDoubleToSmallFloat(const void* const* operands, void* result, int64_t count,
                               const ElementwiseKernel& kernel) {
  EncodeFloats(kernel.result_type, static_cast<const double*>(operands[0]), result, count);
}

void CopyBits(const void* const* operands, void* result, int64_t count, const ElementwiseKernel& kernel) {
  std::memcpy(result, operands[0], static_cast<size_t>(count * StorageBytes(kernel.result_type)));
}

// Loops on the bits of small floats themselves: no widening, and so neither rounding nor a change of subnormals and NaN
// payloads.
ElementwiseKernel::Function FindBitLoop(Opcode opcode, absl::Span<const PrimitiveType> operand_types,
                                        PrimitiveType result_type) {
  if (opcode == Opcode::kSelect) return FindSelectLoop(result_type);
  const bool same_bits = BitWidth(operand_types[0]) == BitWidth(result_type);
  if ((opcode == Opcode::kBitcastConvert || opcode == Opcode::kBitcast) && same_bits) return &CopyBits;
  if (opcode == Opcode::kCopy || (opcode == Opcode::kConvert && operand_types[0] == result_type)) return &CopyBits;
  return nullptr;
}

// Small floats as f32, by their bits: what is subnormal in bf16 is so in f32, which the processor takes for zero.
void WidenedIsNotZero(const void* const* operands, void* result, int64_t count, const ElementwiseKernel&) {
  const auto* bits = static_cast<const uint32_t*>(operands[0]);
  auto* is_not_zero = static_cast<uint8_t*>(result);
  for (int64_t i = 0; i < count; ++i) is_not_zero[i] = (bits[i] & 0x7fffffffu) != 0;
}

}  // namespace

PrimitiveType ComputeType(PrimitiveType type) {
  if (IsSmallFloat(type)) return PrimitiveType::kF32;
  if (IsSubByteInteger(type)) return IsSigned(type) ? PrimitiveType::kS8 : PrimitiveType::kU8;
  return type;
}

void ElementwiseKernel::Run(const void* const* operands, void* result, int64_t count) const {
  if (direct) {
    function(operands, result, count, *this);
    return;
  }
  alignas(64) float widened[3][kBlock];
  alignas(64) float computed[kBlock];
  const int64_t result_bytes = StorageBytes(result_type);
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t block = std::min(kBlock, count - start);
    const void* block_operands[3];
    for (int i = 0; i < arity; ++i) {
      const void* operand = static_cast<const char*>(operands[i]) + start * StorageBytes(operand_types[i]);
      block_operands[i] = operand;
      if (IsSmallFloat(operand_types[i])) {
        DecodeFloats(operand_types[i], operand, widened[i], block);
        block_operands[i] = widened[i];
      }
    }
    void* block_result = static_cast<char*>(result) + start * result_bytes;
    if (IsSmallFloat(result_type)) {
      function(block_operands, computed, block, *this);
      for (int64_t i = 0; through_f16 && i < block; ++i) computed[i] = Float16ToFloat(FloatToFloat16(computed[i]));
      EncodeFloats(result_type, computed, block_result, block);
    } else {
      function(block_operands, block_result, block, *this);
      if (IsSubByteInteger(result_type)) WrapSubByte(result_type, block_result, block);
    }
  }
}

bool ComputesInF16(PrimitiveType type) {
  return IsFloat(type) && BitWidth(type) <= 8 && type != PrimitiveType::kF8E8M0FNU;
}

absl::StatusOr<ElementwiseKernel> FindElementwiseKernel(Opcode opcode, absl::Span<const PrimitiveType> operand_types,
                                                        PrimitiveType result_type, const Attributes& attributes) {
  ElementwiseKernel kernel;
  kernel.arity = static_cast<int>(operand_types.size());
  kernel.result_type = result_type;
  if (operand_types.empty() || operand_types.size() > kernel.operand_types.size()) {
    return absl::UnimplementedError(
        absl::StrCat(std::string(OpcodeName(opcode)), " of ", operand_types.size(), " operands"));
  }
  std::copy(operand_types.begin(), operand_types.end(), kernel.operand_types.begin());

  kernel.function = FindBitLoop(opcode, operand_types, result_type);
  if (kernel.function != nullptr) return kernel;
  for (PrimitiveType type : operand_types) kernel.direct = kernel.direct && !IsSmallFloat(type);
  kernel.direct = kernel.direct && !IsSmallFloat(result_type) && !IsSubByteInteger(result_type);

  kernel.through_f16 = opcode != Opcode::kConvert && ComputesInF16(result_type);

  const PrimitiveType from = operand_types[0];
  const PrimitiveType computed = ComputeType(from);
  switch (opcode) {
    case Opcode::kConvert:
      if (from == PrimitiveType::kF64 && IsSmallFloat(result_type) && BitWidth(result_type) < 16) {
        kernel.function = &ConvertDoubleToSmallFloat;
        kernel.direct = true;
      } else if (IsFloat(from) && IsSubByteInteger(result_type)) {
        kernel.function = from == PrimitiveType::kF64 ? &ConvertFloatToSubByte<double> : &ConvertFloatToSubByte<float>;
      } else if (IsSmallFloat(from) && result_type == PrimitiveType::kPred) {
        kernel.function = &WidenedIsNotZero;
      } else {
        kernel.function = FindConvertLoop(computed, ComputeType(result_type));
      }
      break;
    case Opcode::kCompare:
      kernel.function = FindCompareLoop(std::get<CompareAttributes>(attributes), computed);
      break;
    case Opcode::kReducePrecision: {
      const auto& precision = std::get<ReducePrecisionAttributes>(attributes);
      kernel.exponent_bits = static_cast<int>(std::clamp<int64_t>(precision.exponent_bits, 1, 11));
      kernel.mantissa_bits = static_cast<int>(std::clamp<int64_t>(precision.mantissa_bits, 0, 52));
      kernel.function = FindReducePrecisionLoop(from);
      break;
    }
    default:
      if (IsSubByteInteger(from)) kernel.function = FindSubByteLoop(opcode, from);
      if (kernel.function != nullptr) break;
      if (static_cast<int>(computed) < kComputeTypes) kernel.function = Table().at(opcode, computed);
  }
  if (kernel.function == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(std::string(OpcodeName(opcode)), " on ", std::string(PrimitiveTypeName(from))));
  }
  return kernel;
}

absl::StatusOr<ElementwiseKernel> FindElementwiseKernel(const Instruction& instruction) {
  PrimitiveType types[3];
  const int64_t count = instruction.operand_count();
  if (count > 3)
    return absl::UnimplementedError(
        absl::StrCat(std::string(OpcodeName(instruction.opcode())), " of ", count, " operands"));
  for (int64_t i = 0; i < count; ++i) types[i] = instruction.operand(i)->shape().element_type;
  return FindElementwiseKernel(instruction.opcode(), absl::MakeConstSpan(types, count),
                               instruction.shape().element_type, instruction.all_attributes());
}

}  // namespace smelt::hlo
