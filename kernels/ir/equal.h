// Structural equality of statements and functions: the same up to the names and identities of what they declare.
//
// "for i < 4: a[i] = x" equals "for j < 4: a[j] = x".
#pragma once

#include "kernels/ir/stmt.h"

namespace smelt::kernels::ir {

// Loop variables and allocated buffers stand for each other by where they are declared; whatever is declared outside
// must be the same. Buffers must agree in type, shape and scope, not in name.
bool Equal(const Stmt& a, const Stmt& b);
// Arguments and shared scratch correspond by position.
bool Equal(const Function& a, const Function& b);

}  // namespace smelt::kernels::ir
