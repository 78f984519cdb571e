#include "targets/cpu/codegen/target.h"

#include "base/str_cat.h"

namespace smelt::cpu {

std::string Target::ToString() const { return StrCat("cpu:", name, ",threads=", threads); }

Hash128 Target::CodeHash() const {
  return Hasher().Add(name).Add(features).Add(int64_t{vector_bytes}).Add(int64_t{vector_registers}).Finish();
}

}  // namespace smelt::cpu
