// Loops for integers of less than 8 bits where computing in 8 bits and wrapping would give another result: the width
// itself counts.
#include <bit>
#include <cstdint>

#include "hlo/evaluator/kernel_table.h"

namespace smelt::hlo {
namespace {

unsigned Low(int x, int bits) { return static_cast<unsigned>(x) & ((1u << bits) - 1); }
int SignExtended(int x, int bits) { return static_cast<int>(Low(x, bits) << (32 - bits)) >> (32 - bits); }

struct PopulationCount {
  static int Apply(int x, int, int bits) { return std::popcount(Low(x, bits)); }
};
struct LeadingZeros {
  static int Apply(int x, int, int bits) { return std::countl_zero(Low(x, bits)) - (32 - bits); }
};
// Operands come with the sign of their type, so the product is that of the values.
struct MultiplyHigh {
  static int Apply(int x, int y, int bits) { return (x * y) >> bits; }
};
// A shift amount is read as unsigned; the width or more shifts everything out.
struct ShiftRightLogical {
  static int Apply(int x, int y, int bits) {
    const unsigned amount = Low(y, bits);
    return amount >= static_cast<unsigned>(bits) ? 0 : static_cast<int>(Low(x, bits) >> amount);
  }
};
struct ShiftRightArithmetic {
  static int Apply(int x, int y, int bits) {
    const unsigned amount = Low(y, bits);
    return SignExtended(x, bits) >> (amount >= static_cast<unsigned>(bits) ? bits - 1 : static_cast<int>(amount));
  }
};

// ElementwiseKernel::Run wraps what comes out.
template <typename Operation, typename T>
void Loop(const void* const* operands, void* result, int64_t count, const ElementwiseKernel& kernel) {
  const T* a = static_cast<const T*>(operands[0]);
  const T* b = kernel.arity > 1 ? static_cast<const T*>(operands[1]) : a;
  T* r = static_cast<T*>(result);
  const int bits = BitWidth(kernel.result_type);
  for (int64_t i = 0; i < count; ++i) r[i] = static_cast<T>(Operation::Apply(a[i], b[i], bits));
}

template <typename Operation>
ElementwiseKernel::Function For(PrimitiveType type) {
  return IsSigned(type) ? &Loop<Operation, int8_t> : &Loop<Operation, uint8_t>;
}

}  // namespace

ElementwiseKernel::Function FindSubByteLoop(Opcode opcode, PrimitiveType type) {
  switch (opcode) {
    case Opcode::kPopulationCount:
      return For<PopulationCount>(type);
    case Opcode::kClz:
      return For<LeadingZeros>(type);
    case Opcode::kMulhi:
      return For<MultiplyHigh>(type);
    case Opcode::kShiftRightLogical:
      return For<ShiftRightLogical>(type);
    case Opcode::kShiftRightArithmetic:
      return For<ShiftRightArithmetic>(type);
    default:
      return nullptr;
  }
}

}  // namespace smelt::hlo
