#pragma GCC optimize("O3")

#include <bit>
#include <limits>

#include "hlo/evaluator/kernel_table.h"

namespace smelt::hlo {
namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

// Arithmetic on the unsigned type of at least 32 bits wraps; what C++ promotes to int would overflow.
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, Unsigned<T>>;

constexpr auto kDivide = []<typename T>(T a, T b) -> T {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(a));
  return static_cast<T>(a / b);
};
constexpr auto kRemainder = []<typename T>(T a, T b) -> T {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
};

constexpr auto kPower = []<typename T>(T base, T exponent) -> T {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == static_cast<T>(-1)) return static_cast<T>(exponent & 1 ? -1 : 1);
    return 0;
  }
  Wrapping<T> result = 1, square = static_cast<Wrapping<T>>(base);
  for (auto left = static_cast<Unsigned<T>>(exponent); left != 0; left = static_cast<Unsigned<T>>(left >> 1)) {
    if (left & 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
};

constexpr auto kMulHigh = []<typename T>(T a, T b) -> T {
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
};

// A shift amount is read as unsigned; the width or more shifts everything out.
template <typename T>
constexpr bool ShiftsAllOut(T amount) {
  return static_cast<Unsigned<T>>(amount) >= 8 * sizeof(T);
}
constexpr auto kShiftLeft = []<typename T>(T a, T b) -> T {
  return ShiftsAllOut(b) ? T{0} : static_cast<T>(static_cast<Wrapping<T>>(a) << b);
};
constexpr auto kShiftRightLogical = []<typename T>(T a, T b) -> T {
  return ShiftsAllOut(b) ? T{0} : static_cast<T>(static_cast<Unsigned<T>>(a) >> b);
};
constexpr auto kShiftRightArithmetic = []<typename T>(T a, T b) -> T {
  const auto value = static_cast<std::make_signed_t<T>>(a);
  return static_cast<T>(value >> (ShiftsAllOut(b) ? static_cast<T>(8 * sizeof(T) - 1) : b));
};

template <typename... Ts>
struct IntegerTypes {
  static void Add(KernelTable& table) {
    auto unary = [&](Opcode opcode, auto f) { AddUnary<Ts...>(table, opcode, f); };
    auto binary = [&](Opcode opcode, auto f) { AddBinary<Ts...>(table, opcode, f); };

    unary(Opcode::kAbs, []<typename T>(T x) -> T {
      return x < 0 ? static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x)) : x;
    });
    unary(Opcode::kNegate,
          []<typename T>(T x) -> T { return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(x)); });
    unary(Opcode::kCopy, []<typename T>(T x) -> T { return x; });
    unary(Opcode::kReal, []<typename T>(T x) -> T { return x; });
    unary(Opcode::kSign, []<typename T>(T x) -> T { return static_cast<T>((x > 0) - (x < 0)); });
    unary(Opcode::kNot, []<typename T>(T x) -> T { return static_cast<T>(~x); });
    unary(Opcode::kPopulationCount,
          []<typename T>(T x) -> T { return static_cast<T>(std::popcount(static_cast<Unsigned<T>>(x))); });
    unary(Opcode::kClz,
          []<typename T>(T x) -> T { return static_cast<T>(std::countl_zero(static_cast<Unsigned<T>>(x))); });

    binary(Opcode::kAdd, []<typename T>(T a, T b) -> T {
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    });
    binary(Opcode::kSubtract, []<typename T>(T a, T b) -> T {
      return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
    });
    binary(Opcode::kMultiply, []<typename T>(T a, T b) -> T {
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    });
    binary(Opcode::kDivide, kDivide);
    binary(Opcode::kRemainder, kRemainder);
    binary(Opcode::kMaximum, []<typename T>(T a, T b) -> T { return a < b ? b : a; });
    binary(Opcode::kMinimum, []<typename T>(T a, T b) -> T { return b < a ? b : a; });
    binary(Opcode::kPower, kPower);
    binary(Opcode::kMulhi, kMulHigh);
    binary(Opcode::kAnd, []<typename T>(T a, T b) -> T { return static_cast<T>(a & b); });
    binary(Opcode::kOr, []<typename T>(T a, T b) -> T { return static_cast<T>(a | b); });
    binary(Opcode::kXor, []<typename T>(T a, T b) -> T { return static_cast<T>(a ^ b); });
    binary(Opcode::kShiftLeft, kShiftLeft);
    binary(Opcode::kShiftRightLogical, kShiftRightLogical);
    binary(Opcode::kShiftRightArithmetic, kShiftRightArithmetic);

    AddTernary<Ts...>(table, Opcode::kClamp, []<typename T>(T low, T x, T high) -> T {
      const T raised = x < low ? low : x;
      return raised > high ? high : raised;
    });
  }
};

}  // namespace

void AddIntegerKernels(KernelTable& table) {
  IntegerTypes<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>::Add(table);

  // Predicates: numbers modulo nothing, as XLA has it: add and maximum are or, multiply and minimum are and.
  auto binary = [&](Opcode opcode, auto f) { AddBinary<Pred>(table, opcode, f); };
  constexpr auto kOr = [](Pred a, Pred b) -> Pred { return {static_cast<uint8_t>(a.value | b.value)}; };
  constexpr auto kAnd = [](Pred a, Pred b) -> Pred { return {static_cast<uint8_t>(a.value & b.value)}; };
  constexpr auto kXor = [](Pred a, Pred b) -> Pred { return {static_cast<uint8_t>(a.value ^ b.value)}; };
  for (Opcode opcode : {Opcode::kOr, Opcode::kAdd, Opcode::kMaximum}) binary(opcode, kOr);
  for (Opcode opcode : {Opcode::kAnd, Opcode::kMultiply, Opcode::kMinimum}) binary(opcode, kAnd);
  for (Opcode opcode : {Opcode::kXor, Opcode::kSubtract}) binary(opcode, kXor);
  AddUnary<Pred>(table, Opcode::kNot, [](Pred x) -> Pred { return {static_cast<uint8_t>(x.value ^ 1)}; });
  AddUnary<Pred>(table, Opcode::kCopy, [](Pred x) -> Pred { return x; });
  AddTernary<Pred>(table, Opcode::kClamp, [](Pred low, Pred x, Pred high) -> Pred {
    return {static_cast<uint8_t>((low.value | x.value) & high.value)};
  });
}

}  // namespace smelt::hlo
