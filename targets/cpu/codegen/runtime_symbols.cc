#include "targets/cpu/codegen/runtime_symbols.h"

#include <cmath>
#include <cstring>

namespace smelt::cpu::codegen {
namespace {

struct Symbol {
  std::string_view name;
  void* address;
};

#define ONE(function)                                                                        \
  {#function, reinterpret_cast<void*>(static_cast<double (*)(double)>(&::function))}, {      \
#function "f", reinterpret_cast < void*>(static_cast <float (*)(float)>(&::function##f)) \
  }
#define TWO(function)                                                                               \
  {#function, reinterpret_cast<void*>(static_cast<double (*)(double, double)>(&::function))}, {     \
#function "f", reinterpret_cast < void*>(static_cast <float (*)(float, float)>(&::function##f)) \
  }

const Symbol kSymbols[] = {
    ONE(exp),
    ONE(exp2),  // LLVM's name for a power of 2, or of a half
    ONE(expm1),
    ONE(log),
    ONE(log1p),
    ONE(tanh),
    ONE(sin),
    ONE(cos),
    ONE(tan),
    ONE(erf),
    ONE(cbrt),
    ONE(asin),
    ONE(acos),
    ONE(atan),
    ONE(sinh),
    ONE(cosh),
    ONE(asinh),
    ONE(acosh),
    ONE(atanh),
    ONE(floor),
    ONE(ceil),
    ONE(round),
    ONE(trunc),
    ONE(rint),
    ONE(nearbyint),
    ONE(roundeven),
    TWO(pow),
    TWO(atan2),
    TWO(fmod),
    {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(&::fma))},
    {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(&::fmaf))},
    {"memcpy", reinterpret_cast<void*>(&std::memcpy)},
    {"memmove", reinterpret_cast<void*>(&std::memmove)},
    {"memset", reinterpret_cast<void*>(&std::memset)},
};

#undef ONE
#undef TWO

}  // namespace

void* FindRuntimeSymbol(std::string_view name) {
  for (const Symbol& symbol : kSymbols) {
    if (symbol.name == name) return symbol.address;
  }
  return nullptr;
}

}  // namespace smelt::cpu::codegen
