#include "kernels/templates/dot_instruction.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/ir/stmt.h"
#include "kernels/schedule/state.h"
#include "kernels/templates/register_tile.h"

namespace smelt::kernels::nests {
namespace {

using enum hlo::PrimitiveType;
using schedule::TensorIntrinsic;
using schedule::TensorIntrinsicRef;
using schedule::TensorRegions;
using te::DataType;
using te::DotKind;
using te::Expr;

// Widest first: the first that the machine has serves.
constexpr DotInstruction kInstructions[] = {
    {DotKind::kSigned, "amx-int8", 16, 16, 4, kS8, kS8, kS32, false},
    {DotKind::kBrain, "amx-bf16", 16, 16, 4, kBF16, kBF16, kF32, false},
    {DotKind::kUnsignedSigned, "avx512vnni", 1, 16, 24, kU8, kS8, kS32, false},
    {DotKind::kShiftedSigned, "avx512vnni", 1, 16, 24, kS8, kS8, kS32, true},
    {DotKind::kSignedUnsigned, "avx512vnni", 1, 16, 24, kS8, kU8, kS32, false},
    {DotKind::kBrain, "avx512bf16", 1, 16, 24, kBF16, kBF16, kF32, false},
    {DotKind::kUnsignedSigned, "avxvnni", 1, 8, 12, kU8, kS8, kS32, false},
    {DotKind::kShiftedSigned, "avxvnni", 1, 8, 12, kS8, kS8, kS32, true},
    {DotKind::kSignedUnsigned, "avxvnni", 1, 8, 12, kS8, kU8, kS32, false},
    {DotKind::kSigned, "dotprod", 1, 4, 20, kS8, kS8, kS32, false},
};

// Rows that share the right operand from which on packing it pays, columns and terms that fill a good part of a group.
constexpr double kFewRows = 8;
constexpr int64_t kFewColumns = 8;
constexpr double kFewTerms = 16;
constexpr int64_t kMostRows = 12;

bool Has(const machine::Machine& target, std::string_view feature) {
  return std::find(target.instructions.begin(), target.instructions.end(), feature) != target.instructions.end();
}

Expr Widened(const DotInstruction& instruction, Expr x) {
  const DataType sum{instruction.sum, 1};
  if (!instruction.shifts) return te::Cast(sum, std::move(x));
  const Expr shifted = te::Binary(te::BinaryOp::kXor, std::move(x), te::IntConst({kS8, 1}, -128));
  return te::Cast(sum, te::BitCast({kU8, 1}, shifted));
}

TensorIntrinsicRef Finished(TensorIntrinsic intrinsic, bool transposed) {
  if (transposed) intrinsic.name += ".transposed";
  return std::make_shared<const TensorIntrinsic>(std::move(intrinsic));
}

// The right operand of so many terms, as its tensor has it.
te::Tensor Groups(const DotInstruction& instruction, int64_t depth, bool transposed) {
  const int64_t lanes = instruction.lanes;
  return te::Placeholder("w", transposed ? std::vector<int64_t>{lanes, depth} : std::vector<int64_t>{depth, lanes},
                         instruction.right);
}

std::vector<int64_t> PackedStrides(const DotInstruction& instruction, bool transposed) {
  const int64_t depth = te::DepthOf(instruction.kind);
  return transposed ? std::vector<int64_t>{depth, 1} : std::vector<int64_t>{1, depth};
}

TensorIntrinsicRef ProductOf(const DotInstruction& instruction, bool transposed) {
  const int64_t depth = te::DepthOf(instruction.kind);
  TensorIntrinsic product{.name = te::DotIntrinsic(instruction.kind, instruction.lanes)->name};
  const te::Tensor x = te::Placeholder("x", {depth}, instruction.left), w = Groups(instruction, depth, transposed);
  const te::ReduceAxis k(depth, "k");
  product.inputs = {x, w};
  product.output = te::Compute("y", {instruction.lanes}, [&](te::Indices j) {
    const Expr right = te::Cast({instruction.sum, 1}, transposed ? w(j[0], k) : w(k, j[0]));
    return te::Sum(te::Binary(te::BinaryOp::kMul, Widened(instruction, x(k)), right), {k});
  });
  product.strides = {{1}, PackedStrides(instruction, transposed), {1}};
  product.update = [entry = te::DotIntrinsic(instruction.kind, instruction.lanes)](TensorRegions r) {
    return ir::Evaluate(te::Call(entry, {r[2].Address(), r[0].Address(), r[1].Address()}));
  };
  return Finished(std::move(product), transposed);
}

TensorIntrinsicRef TileProductOf(const DotInstruction& instruction, bool transposed) {
  const int64_t terms = TermsOf(instruction);
  TensorIntrinsic product{.name = NameOf(instruction)};
  const te::Tensor x = te::Placeholder("x", {instruction.rows, terms}, instruction.left),
                   w = Groups(instruction, terms, transposed);
  const te::ReduceAxis k(terms, "k");
  product.inputs = {x, w};
  product.output = te::Compute("y", {instruction.rows, instruction.lanes}, [&](te::Indices i) {
    const Expr right = te::Cast({instruction.sum, 1}, transposed ? w(i[1], k) : w(k, i[1]));
    return te::Sum(te::Binary(te::BinaryOp::kMul, Widened(instruction, x(i[0], k)), right), {k});
  });
  product.strides = {{}, PackedStrides(instruction, transposed), {}};
  product.update = [entry = te::TileDotIntrinsic(instruction.kind), transposed](TensorRegions r) {
    return ir::Evaluate(te::Call(entry, {r[2].Address(), r[0].Address(), r[1].Address(), Expr(r[2].strides[0]),
                                         Expr(r[0].strides[0]), Expr(r[1].block_strides[transposed ? 1 : 0])}));
  };
  return Finished(std::move(product), transposed);
}

TensorIntrinsicRef ColumnSumsOf(const DotInstruction& instruction, bool transposed) {
  TensorIntrinsic sums{.name = te::DotIntrinsic(DotKind::kOnesSigned, instruction.lanes)->name};
  const te::Tensor w = Groups(instruction, te::DepthOf(instruction.kind), transposed);
  const te::ReduceAxis k(te::DepthOf(instruction.kind), "k");
  sums.inputs = {w};
  sums.output = te::Compute("y", {instruction.lanes}, [&](te::Indices j) {
    return te::Sum(te::Cast({instruction.sum, 1}, transposed ? w(j[0], k) : w(k, j[0])), {k});
  });
  sums.strides = {PackedStrides(instruction, transposed), {1}};
  sums.update = [entry = te::DotIntrinsic(DotKind::kOnesSigned, instruction.lanes)](TensorRegions r) {
    return ir::Evaluate(te::Call(entry, {r[1].Address(), r[0].Address()}));
  };
  return Finished(std::move(sums), transposed);
}

std::string PackingName(const DotInstruction& instruction) {
  return absl::StrCat("interleave_", te::DepthOf(instruction.kind), "x", instruction.lanes, "_",
                      std::string(hlo::PrimitiveTypeName(instruction.right)));
}

TensorIntrinsicRef PackingOf(const DotInstruction& instruction, bool transposed) {
  TensorIntrinsic packing{.name = PackingName(instruction)};
  const te::Tensor w = Groups(instruction, te::DepthOf(instruction.kind), transposed);
  packing.inputs = {w};
  packing.output = te::Compute("y", {w.shape().begin(), w.shape().end()}, [&](te::Indices i) { return w(i[0], i[1]); });
  packing.strides = {{}, PackedStrides(instruction, transposed)};
  packing.full = [lanes = instruction.lanes, depth = te::DepthOf(instruction.kind), transposed](TensorRegions r) {
    const int64_t along_k = r[0].strides[transposed ? 1 : 0], along_columns = r[0].strides[transposed ? 0 : 1];
    return ir::Evaluate(te::Call(te::Interleave(), {r[1].Address(), r[0].Address(), Expr(along_k), Expr(lanes),
                                                    Expr(depth), Expr(along_columns)}));
  };
  return Finished(std::move(packing), transposed);
}

bool Mentions(const te::Operation& operation, const Access& access, int axis) {
  return std::any_of(access.indices.begin(), access.indices.end(),
                     [&](const Expr& index) { return DependsOn(index, operation.axes[axis].var); });
}

// Whether both operands lie as the instruction wants them.
bool Lies(const te::Operation& main, const Access& left, const Access& right, const DotInstruction& instruction,
          bool* transposed) {
  const Expr& column = main.axes.back().var;
  const te::IterVar& sum = main.reduce_axes.back();
  const size_t rank = right.indices.size();
  if (left.indices.empty() || rank < 2) return false;
  const std::optional<int64_t> along = Coefficient(left.indices.back(), sum.var);
  if (!along || *along != 1) return false;
  // What is padded is read as a whole.
  const bool padded = sum.extent % TermsOf(instruction) != 0;
  if (padded && (!left.indices.back().Same(sum.var) || left.tensor->shape.back() != sum.extent)) return false;
  for (size_t d = 0; d + 1 < left.indices.size(); ++d) {
    if (DependsOn(left.indices[d], sum.var)) return false;
  }
  *transposed = right.indices[rank - 1].Same(sum.var) && right.indices[rank - 2].Same(column);
  if (!*transposed && !(right.indices[rank - 2].Same(sum.var) && right.indices[rank - 1].Same(column))) return false;
  if (padded && right.tensor->shape[rank - (*transposed ? 1 : 2)] != sum.extent) return false;
  for (size_t d = 0; d + 2 < rank; ++d) {
    if (DependsOn(right.indices[d], sum.var) || DependsOn(right.indices[d], column)) return false;
  }
  return true;
}

// Whether the rows of the left operand are tiles: the axis before the columns' walks over its last dimension but one.
bool HasTiles(const te::Operation& main, const Access& left, int row_axis, const DotInstruction& instruction) {
  const size_t rank = left.indices.size();
  if (row_axis < 0 || row_axis + 2 != static_cast<int>(main.axes.size()) || rank < 2) return false;
  const te::IterVar& row = main.axes[row_axis];
  if (row.extent < instruction.rows || Coefficient(left.indices[rank - 2], row.var) != std::optional<int64_t>(1))
    return false;
  for (size_t d = 0; d < rank; ++d) {
    if (d != rank - 2 && DependsOn(left.indices[d], row.var)) return false;
  }
  return true;
}

// Rows of a register tile, at most so many. The last pass over the rows has as many as the others, so that few passes
// and little beyond the end are wanted; each row costs what it computes, and each pass the loads of the right operand.
int64_t RowsOf(int64_t extent, int64_t most) {
  int64_t best = 1, least = INT64_MAX;
  for (int64_t rows = 1; rows <= std::min(extent, most); ++rows) {
    const int64_t cost = (extent + rows - 1) / rows * (rows + 1);
    if (cost <= least) {
      best = rows;
      least = cost;
    }
  }
  return best;
}

}  // namespace

int64_t TermsOf(const DotInstruction& instruction) { return te::DepthOf(instruction.kind) * instruction.rows; }

std::string NameOf(const DotInstruction& instruction) {
  return instruction.rows > 1 ? te::TileDotIntrinsic(instruction.kind)->name
                              : te::DotIntrinsic(instruction.kind, instruction.lanes)->name;
}

std::vector<TensorIntrinsicRef> DotInstructions(const machine::Machine& target) {
  std::vector<TensorIntrinsicRef> all;
  const auto add = [&](TensorIntrinsicRef intrinsic) {
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const TensorIntrinsicRef& other) { return other->name == intrinsic->name; });
    if (!known) all.push_back(std::move(intrinsic));
  };
  for (const DotInstruction& instruction : kInstructions) {
    if (!Has(target, instruction.feature)) continue;
    for (const bool transposed : {false, true}) {
      add(instruction.rows > 1 ? TileProductOf(instruction, transposed) : ProductOf(instruction, transposed));
      if (instruction.shifts) add(ColumnSumsOf(instruction, transposed));
      add(PackingOf(instruction, transposed));
    }
  }
  return all;
}

std::optional<DotForm> DotFormOf(const Nest& nest, const machine::Machine& target) {
  const te::Operation& main = *nest.main;
  if (target.instructions.empty() || nest.kind != NestKind::kTiled || !IsContraction(main)) return std::nullopt;
  if (nest.main != nest.root && nest.attached.size() != 1) return std::nullopt;
  const int columns = static_cast<int>(main.axes.size()) - 1;
  if (columns < 0 || VectorAxisOf(nest) != columns || main.axes[columns].extent < kFewColumns) return std::nullopt;
  const std::vector<Access> accesses = AccessesOf(nest, main);
  if (accesses.size() != 2 || Steps(main) / Elements(main) < kFewTerms) return std::nullopt;
  const bool first_shared = !Mentions(main, accesses[0], columns);
  const Access& left = accesses[first_shared ? 0 : 1];
  const Access& right = accesses[first_shared ? 1 : 0];
  if (Mentions(main, left, columns) || !Mentions(main, right, columns) || Reuse(main, right) < kFewRows)
    return std::nullopt;
  for (const DotInstruction& instruction : kInstructions) {
    if (!Has(target, instruction.feature) || main.types[0] != instruction.sum ||
        left.tensor->types[left.output] != instruction.left || right.tensor->types[right.output] != instruction.right)
      continue;
    DotForm form{&instruction, -1, left.tensor, right.tensor, false};
    if (!Lies(main, left, right, instruction, &form.transposed)) continue;
    for (int a = columns - 1; a >= 0 && form.row_axis < 0; --a) {
      if (main.axes[a].extent > 1 && !Mentions(main, right, a)) form.row_axis = a;
    }
    if (instruction.rows > 1 && !HasTiles(main, left, form.row_axis, instruction)) continue;
    return form;
  }
  return std::nullopt;
}

std::vector<std::vector<int64_t>> DotTiles(const Nest& nest, const DotForm& form) {
  const te::Operation& main = *nest.main;
  const int64_t lanes = form.instruction->lanes, columns = main.axes.back().extent;
  const int64_t needed = (columns + lanes - 1) / lanes;
  std::vector<std::vector<int64_t>> tiles;
  for (const int64_t vectors : {std::min<int64_t>(needed, needed == 3 ? 3 : 2), std::min<int64_t>(needed, 4)}) {
    std::vector<int64_t> tile(main.axes.size(), 1);
    tile.back() = std::min(columns, vectors * lanes);
    if (form.row_axis >= 0) {
      const int64_t extent = main.axes[form.row_axis].extent, rows = form.instruction->rows;
      if (rows > 1) {
        tile[form.row_axis] = extent >= 2 * rows && vectors <= 2 ? 2 * rows : rows;
      } else {
        tile[form.row_axis] = RowsOf(extent, std::min<int64_t>(kMostRows, form.instruction->accumulators / vectors));
      }
    }
    if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(std::move(tile));
  }
  return tiles;
}

bool IsDirectProduct(const schedule::Schedule& schedule, const NestInput& input, const DotForm& form) {
  const schedule::State& state = schedule.state();
  schedule::Stage stage = state.stages[state.IndexOf(input.nest.main->name)];
  schedule::ResolveInlined(state, &stage);
  if (stage.bodies.size() != 1 || stage.bodies[0]->kind != te::ExprKind::kReduce) return false;
  const Expr& source = stage.bodies[0]->operands[0];
  if (source->kind != te::ExprKind::kBinary || source->binary() != te::BinaryOp::kMul) return false;
  return std::all_of(source->operands.begin(), source->operands.end(), [&](const Expr& factor) {
    if (factor->kind != te::ExprKind::kCast || factor->operands[0]->kind != te::ExprKind::kTensorRead) return false;
    const te::Operation* tensor = factor->operands[0]->tensor.get();
    return tensor == form.left.get() || tensor == form.right.get();
  });
}

}  // namespace smelt::kernels::nests
