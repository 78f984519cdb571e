#include "targets/cpu/codegen/tile_code.h"

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "kernels/te/buffer.h"
#include "kernels/te/dot_intrinsics.h"
#include "kernels/te/intrinsic.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::Expr;
using kernels::te::ExprNode;

// Registers 0 to 3 are sums, 4 and 5 left operands, 6 and 7 right ones.
constexpr int kRegisters = 8;
constexpr int kFirstRight = 6;
constexpr uint8_t kRowBytes = 64;
// The layout that LDTILECFG reads: the palette, bytes of a row from the 16th on, rows from the 48th on.
constexpr size_t kConfigurationBytes = 64;
constexpr size_t kBytesAt = 16, kRowsAt = 48;

struct TileInstruction {
  std::string_view name;
  llvm::Intrinsic::ID instruction;
};

constexpr TileInstruction kInstructions[] = {
    {"tile_dot_s8s8", llvm::Intrinsic::x86_tdpbssd},
    {"tile_dot_u8s8", llvm::Intrinsic::x86_tdpbusd},
    {"tile_dot_s8u8", llvm::Intrinsic::x86_tdpbsud},
    {"tile_dot_bf16", llvm::Intrinsic::x86_tdpbf16ps},
};

}  // namespace

void TileCode::Configure(int64_t rows) {
  std::array<uint8_t, kConfigurationBytes> bytes{};
  bytes[0] = 1;
  for (int i = 0; i < kRegisters; ++i) {
    bytes[kBytesAt + 2 * static_cast<size_t>(i)] = kRowBytes;
    bytes[kRowsAt + static_cast<size_t>(i)] = static_cast<uint8_t>(i < kFirstRight ? rows : kernels::te::kTileGroups);
  }
  const std::string name = absl::StrCat("tiles_of_", rows);
  llvm::GlobalVariable* configuration = module_.getNamedGlobal(name);
  if (configuration == nullptr) {
    llvm::Constant* value = llvm::ConstantDataArray::get(module_.getContext(), llvm::ArrayRef<uint8_t>(bytes));
    configuration = new llvm::GlobalVariable(module_, value->getType(), /*isConstant=*/true,
                                             llvm::GlobalValue::PrivateLinkage, value, name);
    configuration->setAlignment(llvm::Align(kConfigurationBytes));
  }
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {configuration});
}

void TileCode::Release() { builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {}); }

llvm::Value* TileCode::StrideOf(const Expr& address, int64_t stride) {
  return builder_.getInt64(static_cast<uint64_t>(stride * hlo::StorageBytes(address->buffer->type)));
}

void TileCode::Begin(size_t sum, const TileSum& tile, llvm::Value* pointer) {
  if (tile.begins_at_zero) return;
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {},
                           {Register(sum), pointer, StrideOf(tile.address, tile.stride)});
}

void TileCode::End(size_t sum, const TileSum& tile, llvm::Value* pointer) {
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {},
                           {Register(sum), pointer, StrideOf(tile.address, tile.stride)});
}

void TileCode::Zero(size_t sum) { builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {Register(sum)}); }

void TileCode::Dot(const ExprNode& call, size_t sum, llvm::Value* left, llvm::Value* right) {
  llvm::Value* x = Held(left_, left, call.operands[1], call.operands[4]->int_value);
  llvm::Value* w = Held(right_, right, call.operands[2], call.operands[5]->int_value);
  const auto* found = std::find_if(std::begin(kInstructions), std::end(kInstructions),
                                   [&](const TileInstruction& row) { return row.name == call.intrinsic->name; });
  builder_.CreateIntrinsic(found->instruction, {}, {Register(sum), x, w});
}

void TileCode::Forget() {
  for (Operands* operands : {&left_, &right_})
    std::fill(operands->held.begin(), operands->held.end(), Operands::Tile{nullptr, 0});
}

// Equal addresses are one node.
llvm::Value* TileCode::Held(Operands& operands, llvm::Value* pointer, const Expr& address, int64_t stride) {
  const Operands::Tile tile{address.get(), stride};
  for (size_t i = 0; i < operands.held.size(); ++i) {
    if (operands.held[i] == tile) return Register(static_cast<size_t>(operands.first) + i);
  }
  const size_t i = operands.next;
  operands.next = (i + 1) % operands.held.size();
  operands.held[i] = tile;
  llvm::Value* number = Register(static_cast<size_t>(operands.first) + i);
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {}, {number, pointer, StrideOf(address, stride)});
  return number;
}

}  // namespace smelt::cpu::codegen
