#include "vdla/lower/memories.h"

#include "vdla/isa/alu.h"

namespace smelt::vdla::lower {
namespace {

using isa::Memory;

te::Scope RowOf(std::string_view name, Memory memory, const isa::Config& config) {
  const int64_t element = config.SramElementBytes(memory);
  return {.name = name,
          .rank = te::ScopeRank::kCall,
          .capacity_bytes = config.DepthOf(memory) * element,
          .alignment = static_cast<int>(element),
          .granularity_bytes = element,
          .allocator = te::Allocator::kTarget};
}

}  // namespace

te::ScopeTable Memories(const isa::Config& config) {
  const te::Scope dram{
      .name = "dram", .capacity_bytes = config.dram_bytes, .alignment = 4096, .allocator = te::Allocator::kTarget};
  const te::Scope acc = RowOf("acc", Memory::kAcc, config);
  return {.argument = te::Scope::kArgument,
          .root = dram,
          .attached = acc,
          .others = {RowOf("inp", Memory::kInp, config), RowOf("wgt", Memory::kWgt, config)}};
}

std::optional<Memory> MemoryOf(const te::Scope& scope) {
  if (scope.name == "inp") return Memory::kInp;
  if (scope.name == "wgt") return Memory::kWgt;
  if (scope.name == "acc") return Memory::kAcc;
  return std::nullopt;
}

const te::IntrinsicRef& MulShift() {
  static const te::IntrinsicRef& intrinsic =
      *new te::IntrinsicRef(te::MakeIntrinsic({.name = "vdla_mulshift",
                                               .operands = {te::OperandRole::kValue, te::OperandRole::kValue},
                                               .type = te::SameAsFirst,
                                               .interpret = [](te::Arguments x, absl::Span<te::Scalar> result) {
                                                 for (size_t lane = 0; lane < result.size(); ++lane) {
                                                   result[lane].i = isa::ApplyAlu(
                                                       isa::AluOp::kMulShift, static_cast<int32_t>(x[0].lanes[lane].i),
                                                       static_cast<int32_t>(x[1].lanes[lane].i));
                                                 }
                                                 return absl::OkStatus();
                                               }}));
  return intrinsic;
}

}  // namespace smelt::vdla::lower
