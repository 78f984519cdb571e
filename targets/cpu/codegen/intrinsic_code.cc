#include "targets/cpu/codegen/intrinsic_code.h"

#include <llvm/IR/Intrinsics.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "targets/cpu/codegen/dot_code.h"

namespace smelt::cpu::codegen {
namespace {

using Operands = absl::Span<llvm::Value* const>;

llvm::Value* EmitPrefetch(Builder& builder, const kernels::te::ExprNode& call, Operands operands) {
  llvm::Value* write = builder.getInt32(static_cast<uint32_t>(call.operands[1]->int_value));
  llvm::Value* locality = builder.getInt32(static_cast<uint32_t>(call.operands[2]->int_value));
  llvm::Value* data_cache = builder.getInt32(1);
  return builder.CreateIntrinsic(llvm::Intrinsic::prefetch, {operands[0]->getType()},
                                 {operands[0], write, locality, data_cache});
}

// The best code of a name first.
constexpr IntrinsicCode kIntrinsics[] = {
    {"prefetch", "", EmitPrefetch},
    {"interleave", "", EmitInterleave},
    {"dot_u8s8_16", "avx512vnni", EmitVpdpbusd},
    {"dot_s8shifted_s8_16", "avx512vnni", EmitVpdpbusdShifted},
    {"dot_s8u8_16", "avx512vnni", EmitVpdpbusdSwapped},
    {"sum_s8_16", "avx512vnni", EmitVpdpbusdOnes},
    {"dot_u8s8_8", "avxvnni", EmitVpdpbusd},
    {"dot_s8shifted_s8_8", "avxvnni", EmitVpdpbusdShifted},
    {"dot_s8u8_8", "avxvnni", EmitVpdpbusdSwapped},
    {"sum_s8_8", "avxvnni", EmitVpdpbusdOnes},
    {"dot_s8s8_16", "avx512bw", EmitVpmaddwd},
    {"dot_u8s8_16", "avx512bw", EmitVpmaddwd},
    {"dot_s8u8_16", "avx512bw", EmitVpmaddwd},
    {"dot_s8s8_8", "avx2", EmitVpmaddwd},
    {"dot_u8s8_8", "avx2", EmitVpmaddwd},
    {"dot_s8u8_8", "avx2", EmitVpmaddwd},
    {"dot_bf16_16", "avx512bf16", EmitVdpbf16ps},
    {"tile_zero", "amx-tile", nullptr},
    {"tile_dot_s8s8", "amx-int8", nullptr},
    {"tile_dot_u8s8", "amx-int8", nullptr},
    {"tile_dot_s8u8", "amx-int8", nullptr},
    {"tile_dot_bf16", "amx-bf16", nullptr},
    {"dot_s8s8_4", "dotprod", EmitSdot},
};

}  // namespace

absl::StatusOr<const IntrinsicCode*> FindIntrinsicCode(std::string_view name, const HasFeature& has_feature) {
  std::vector<std::string> needed;
  for (const IntrinsicCode& entry : kIntrinsics) {
    if (entry.name != name) continue;
    if (entry.feature.empty() || has_feature(entry.feature)) return &entry;
    needed.push_back(absl::StrCat("`", std::string(entry.feature), "`"));
  }
  if (needed.empty()) return absl::UnimplementedError(absl::StrCat("intrinsic `", std::string(name), "` has no code"));
  return absl::UnimplementedError(absl::StrCat("intrinsic `", std::string(name), "` needs ",
                                               absl::StrJoin(needed, " or "), ", which this CPU has not"));
}

}  // namespace smelt::cpu::codegen
