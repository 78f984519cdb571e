#include "kernels/te/intrinsic.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace smelt::kernels::te {
namespace {

absl::Status CheckInside(const Place& place, int64_t offset) {
  const int64_t index = place.element + offset, count = place.buffer->ElementCount();
  if (index >= 0 && index < count) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("a call reaches element ", index, " of ", place.buffer->name, ", which has ", count));
}

bool IsConstantUpTo(const Expr& e, int64_t most) {
  int64_t value = 0;
  return IsConstInt(e, &value) && value >= 0 && value <= most;
}

}  // namespace

absl::Status Place::Load(int64_t offset, Scalar* value) const {
  if (absl::Status status = CheckInside(*this, offset); !status.ok()) return status;
  *value = LoadElement(buffer->type, memory, element + offset);
  return absl::OkStatus();
}

absl::Status Place::Store(int64_t offset, const Scalar& value) const {
  if (absl::Status status = CheckInside(*this, offset); !status.ok()) return status;
  StoreElement(buffer->type, memory, element + offset, value);
  return absl::OkStatus();
}

bool Intrinsic::IsPure() const {
  return !ordered &&
         std::all_of(operands.begin(), operands.end(), [](OperandRole role) { return role == OperandRole::kValue; });
}

absl::StatusOr<DataType> Intrinsic::TypeOf(absl::Span<const Expr> given) const {
  if (given.size() != operands.size())
    return absl::InvalidArgumentError(
        absl::StrCat("`", name, "` takes ", operands.size(), " operands, given ", given.size()));
  for (size_t i = 0; i < given.size(); ++i) {
    const bool address = given[i]->kind == ExprKind::kAddress;
    if (address != (operands[i] != OperandRole::kValue))
      return absl::InvalidArgumentError(absl::StrCat(
          "operand ", i, " of `", name, "` is ",
          address ? "an address and should be a value" : "a value and should be the address of an element"));
  }
  if (type == nullptr) return DataType{PrimitiveType::kToken, 1};
  absl::StatusOr<DataType> result = type(given);
  if (result.ok()) return result;
  return absl::Status(result.status().code(), absl::StrCat("`", name, "`: ", std::string(result.status().message())));
}

IntrinsicRef MakeIntrinsic(Intrinsic entry) { return std::make_shared<const Intrinsic>(std::move(entry)); }

absl::StatusOr<DataType> SameAsFirst(absl::Span<const Expr> operands) {
  for (const Expr& operand : operands) {
    if (operand.type() != operands[0].type()) return absl::InvalidArgumentError("operands of different types");
  }
  return operands[0].type();
}

const IntrinsicRef& Prefetch() {
  static const auto* entry = new IntrinsicRef(MakeIntrinsic(
      {.name = "prefetch",
       .operands = {OperandRole::kHint, OperandRole::kValue, OperandRole::kValue},
       .type = [](absl::Span<const Expr> operands) -> absl::StatusOr<DataType> {
         if (!IsConstantUpTo(operands[1], 1) || !IsConstantUpTo(operands[2], 3))
           return absl::InvalidArgumentError("its second operand is 0 or 1, its third a constant from 0 to 3");
         return DataType{PrimitiveType::kToken, 1};
       },
       .interpret = [](Arguments, absl::Span<Scalar>) { return absl::OkStatus(); }}));
  return *entry;
}

}  // namespace smelt::kernels::te
