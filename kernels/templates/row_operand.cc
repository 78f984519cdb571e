#include "kernels/templates/row_operand.h"

#include <algorithm>

#include "base/status_macros.h"
#include "kernels/templates/panel.h"

namespace smelt::kernels::nests {
namespace {

// Whether each element is read by the results of one row: every dimension is an axis of the sum, and all axes of the
// results but that of the vectors are among them.
bool IsReadByRow(const te::Operation& sum, const Access& access, int vector_axis) {
  const auto is = [](const te::IterVar& axis) { return [&](const te::Expr& index) { return index.Same(axis.var); }; };
  for (const te::Expr& index : access.indices) {
    const auto same = [&](const te::IterVar& axis) { return is(axis)(index); };
    if (std::none_of(sum.axes.begin(), sum.axes.end(), same) &&
        std::none_of(sum.reduce_axes.begin(), sum.reduce_axes.end(), same)) {
      return false;
    }
  }
  for (size_t a = 0; a < sum.axes.size(); ++a) {
    const bool read = std::any_of(access.indices.begin(), access.indices.end(), is(sum.axes[a]));
    if (read == (static_cast<int>(a) == vector_axis) && sum.axes[a].extent > 1) return false;
  }
  return true;
}

}  // namespace

std::vector<const Access*> RowOperandsOf(const NestInput& input, const std::vector<const te::Operation*>& sums,
                                         const RegisterTile& registers) {
  const int axis = registers.vector_axis;
  if (axis < 0 || sums.size() != 1 || !IsContraction(*sums[0])) return {};
  const te::Operation& sum = *sums[0];
  if (input.tile[axis] < sum.axes[axis].extent) return {};
  std::vector<const Access*> operands;
  for (const Access& access : input.nest.accesses) {
    const double bytes = Elements(*access.tensor) * static_cast<double>(hlo::StorageBytes(access.tensor->types[0]));
    const auto same_tensor = [&](const Access& other) { return other.tensor == access.tensor; };
    if (access.reader.get() == &sum && bytes > static_cast<double>(input.target.LevelBytes(1)) &&
        IsReadByRow(sum, access, axis) && IsPrivate(input.structure, access) &&
        std::count_if(input.nest.accesses.begin(), input.nest.accesses.end(), same_tensor) == 1) {
      operands.push_back(&access);
    }
  }
  return operands;
}

absl::Status ComputeRowsAt(schedule::Schedule& schedule, const NestInput& input, const Access& operand,
                           const std::string& consumer, const std::string& loop) {
  const te::OperationRef& rows = operand.tensor;
  SMELT_RETURN_IF_ERROR(schedule.SetScope(rows->name, ir::Scope::kThread));
  SMELT_RETURN_IF_ERROR(schedule.ComputeAt(rows->name, consumer, loop));
  input.placed->insert(rows.get());
  const auto nest = std::find_if(input.structure.nests.begin(), input.structure.nests.end(),
                                 [&](const Nest& other) { return other.root == rows; });
  return ScheduleSmallStage(schedule, {.operation = rows}, AccessesOf(*nest, *rows), input.target, consumer, loop);
}

}  // namespace smelt::kernels::nests
