// The functions of the C library that generated code may call. Nothing else resolves, whatever an object names.
#pragma once

#include <string_view>

namespace smelt::cpu::codegen {

// Address, or null.
void* FindRuntimeSymbol(std::string_view name);

}  // namespace smelt::cpu::codegen
