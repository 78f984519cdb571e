// Inside the evaluator: the table of elementwise loops by opcode and computing type, and the templates that fill it.
#pragma once

#include <cstdint>

#include "hlo/evaluator/elementwise_kernel.h"
#include "hlo/evaluator/type_of.h"

namespace smelt::hlo {

inline constexpr int kComputeTypes = static_cast<int>(PrimitiveType::kTuple);

struct KernelTable {
  ElementwiseKernel::Function functions[kOpcodeCount][kComputeTypes] = {};

  ElementwiseKernel::Function& at(Opcode opcode, PrimitiveType type) {
    return functions[static_cast<int>(opcode)][static_cast<int>(type)];
  }
  ElementwiseKernel::Function at(Opcode opcode, PrimitiveType type) const {
    return functions[static_cast<int>(opcode)][static_cast<int>(type)];
  }
};

// `F` is a stateless lambda, so the loop has its body inline.
template <typename F, typename T>
void UnaryLoop(const void* const* operands, void* result, int64_t count, const ElementwiseKernel&) {
  const T* a = static_cast<const T*>(operands[0]);
  using R = decltype(F{}(T{}));
  R* r = static_cast<R*>(result);
  for (int64_t i = 0; i < count; ++i) r[i] = F{}(a[i]);
}

template <typename F, typename T>
void BinaryLoop(const void* const* operands, void* result, int64_t count, const ElementwiseKernel&) {
  const T* a = static_cast<const T*>(operands[0]);
  const T* b = static_cast<const T*>(operands[1]);
  using R = decltype(F{}(T{}, T{}));
  R* r = static_cast<R*>(result);
  for (int64_t i = 0; i < count; ++i) r[i] = F{}(a[i], b[i]);
}

template <typename F, typename T>
void TernaryLoop(const void* const* operands, void* result, int64_t count, const ElementwiseKernel&) {
  const T* a = static_cast<const T*>(operands[0]);
  const T* b = static_cast<const T*>(operands[1]);
  const T* c = static_cast<const T*>(operands[2]);
  T* r = static_cast<T*>(result);
  for (int64_t i = 0; i < count; ++i) r[i] = F{}(a[i], b[i], c[i]);
}

template <typename... Ts, typename F>
void AddUnary(KernelTable& table, Opcode opcode, F) {
  ((table.at(opcode, TypeOf<Ts>()) = &UnaryLoop<F, Ts>), ...);
}
template <typename... Ts, typename F>
void AddBinary(KernelTable& table, Opcode opcode, F) {
  ((table.at(opcode, TypeOf<Ts>()) = &BinaryLoop<F, Ts>), ...);
}
template <typename... Ts, typename F>
void AddTernary(KernelTable& table, Opcode opcode, F) {
  ((table.at(opcode, TypeOf<Ts>()) = &TernaryLoop<F, Ts>), ...);
}

// What each file adds. Entries are keyed by the computing type of the first operand.
void AddFloatKernels(KernelTable& table);
void AddIntegerKernels(KernelTable& table);
void AddComplexKernels(KernelTable& table);

// Keyed by more than an opcode and a type, so they stand beside the table. nullptr: no such loop.
ElementwiseKernel::Function FindCompareLoop(const CompareAttributes& attributes, PrimitiveType type);
ElementwiseKernel::Function FindConvertLoop(PrimitiveType from, PrimitiveType to);
ElementwiseKernel::Function FindSelectLoop(PrimitiveType type);
ElementwiseKernel::Function FindReducePrecisionLoop(PrimitiveType type);
// The loop for an integer of less than 8 bits, for the opcodes to which its width matters; nullptr: the 8-bit loop
// serves.
ElementwiseKernel::Function FindSubByteLoop(Opcode opcode, PrimitiveType type);

}  // namespace smelt::hlo
