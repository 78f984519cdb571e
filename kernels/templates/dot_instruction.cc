#include "kernels/templates/dot_instruction.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/ceil_div.h"
#include "kernels/ir/stmt.h"
#include "kernels/schedule/state.h"
#include "kernels/templates/matrix_unit_tiles.h"
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
    {DotKind::kSigned, "amx-int8", 16, 16, 4, kS8, kS8, kS32, false, 2.0 / 3},
    {DotKind::kUnsignedSigned, "amx-int8", 16, 16, 4, kU8, kS8, kS32, false, 2.0 / 3},
    {DotKind::kSignedUnsigned, "amx-int8", 16, 16, 4, kS8, kU8, kS32, false, 2.0 / 3},
    {DotKind::kBrain, "amx-bf16", 16, 16, 4, kBF16, kBF16, kF32, false, 1.0 / 2},
    {DotKind::kUnsignedSigned, "avx512vnni", 1, 16, 24, kU8, kS8, kS32, false},
    {DotKind::kShiftedSigned, "avx512vnni", 1, 16, 24, kS8, kS8, kS32, true},
    {DotKind::kSignedUnsigned, "avx512vnni", 1, 16, 24, kS8, kU8, kS32, false},
    {DotKind::kBrain, "avx512bf16", 1, 16, 24, kBF16, kBF16, kF32, false},
    {DotKind::kUnsignedSigned, "avxvnni", 1, 8, 12, kU8, kS8, kS32, false},
    {DotKind::kShiftedSigned, "avxvnni", 1, 8, 12, kS8, kS8, kS32, true},
    {DotKind::kSignedUnsigned, "avxvnni", 1, 8, 12, kS8, kU8, kS32, false},
    {DotKind::kSigned, "avx512bw", 1, 16, 20, kS8, kS8, kS32, false},
    {DotKind::kUnsignedSigned, "avx512bw", 1, 16, 20, kU8, kS8, kS32, false},
    {DotKind::kSignedUnsigned, "avx512bw", 1, 16, 20, kS8, kU8, kS32, false},
    {DotKind::kSigned, "avx2", 1, 8, 8, kS8, kS8, kS32, false},
    {DotKind::kUnsignedSigned, "avx2", 1, 8, 8, kU8, kS8, kS32, false},
    {DotKind::kSignedUnsigned, "avx2", 1, 8, 8, kS8, kU8, kS32, false},
    {DotKind::kSigned, "dotprod", 1, 4, 20, kS8, kS8, kS32, false},
};

// Rows that share the right operand from which on packing it pays, columns and terms that fill a good part of a group.
constexpr double kFewRows = 8;
constexpr int64_t kFewColumns = 8;
constexpr double kFewTerms = 16;
constexpr int64_t kMostRows = 12;
// Rows of a tile from which on a matrix unit is faster than vectors are.
constexpr int64_t kFewTileRows = 4;

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

TensorIntrinsicRef TileProductOf(const DotInstruction& instruction, int64_t rows, bool transposed) {
  const int64_t terms = TermsOf(instruction);
  TensorIntrinsic product{.name = NameOf(instruction, rows)};
  const te::Tensor x = te::Placeholder("x", {rows, terms}, instruction.left),
                   w = Groups(instruction, terms, transposed);
  const te::ReduceAxis k(terms, "k");
  product.inputs = {x, w};
  product.output = te::Compute("y", {rows, instruction.lanes}, [&](te::Indices i) {
    const Expr right = te::Cast({instruction.sum, 1}, transposed ? w(i[1], k) : w(k, i[1]));
    return te::Sum(te::Binary(te::BinaryOp::kMul, Widened(instruction, x(i[0], k)), right), {k});
  });
  product.strides = {{}, PackedStrides(instruction, transposed), {}};
  product.reset = [rows](TensorRegions r) {
    return ir::Evaluate(te::Call(te::TileZero(), {r[2].Address(), Expr(r[2].strides[0]), Expr(rows)}));
  };
  product.update = [entry = te::TileDotIntrinsic(instruction.kind), rows, transposed](TensorRegions r) {
    return ir::Evaluate(
        te::Call(entry, {r[2].Address(), r[0].Address(), r[1].Address(), Expr(r[2].strides[0]), Expr(r[0].strides[0]),
                         Expr(r[1].block_strides[transposed ? 1 : 0]), Expr(rows)}));
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

std::vector<TensorIntrinsicRef> Declared(const DotInstruction& instruction) {
  std::vector<TensorIntrinsicRef> all;
  for (const bool transposed : {false, true}) {
    if (instruction.rows > 1) {
      for (int64_t rows = kFewTileRows; rows <= instruction.rows; ++rows)
        all.push_back(TileProductOf(instruction, rows, transposed));
    } else {
      all.push_back(ProductOf(instruction, transposed));
    }
    if (instruction.shifts) all.push_back(ColumnSumsOf(instruction, transposed));
    all.push_back(PackingOf(instruction, transposed));
  }
  return all;
}

bool IsZero(const Expr& e) {
  int64_t value = 1;
  return e->kind == te::ExprKind::kFloat ? e->float_value == 0 && !std::signbit(e->float_value)
                                         : te::IsConstInt(e, &value) && value == 0;
}

bool Mentions(const te::Operation& operation, const Access& access, int axis) {
  return std::any_of(access.indices.begin(), access.indices.end(),
                     [&](const Expr& index) { return te::Mentions(index, operation.axes[axis].var); });
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
    if (te::Mentions(left.indices[d], sum.var)) return false;
  }
  *transposed = right.indices[rank - 1].Same(sum.var) && right.indices[rank - 2].Same(column);
  if (!*transposed && !(right.indices[rank - 2].Same(sum.var) && right.indices[rank - 1].Same(column))) return false;
  if (padded && right.tensor->shape[rank - (*transposed ? 1 : 2)] != sum.extent) return false;
  for (size_t d = 0; d + 2 < rank; ++d) {
    if (te::Mentions(right.indices[d], sum.var) || te::Mentions(right.indices[d], column)) return false;
  }
  return true;
}

// Whether the rows of the left operand are tiles: the axis before the columns' walks over its last dimension but one.
bool HasTiles(const te::Operation& main, const Access& left, int row_axis, const DotInstruction& instruction) {
  const size_t rank = left.indices.size();
  if (row_axis < 0 || row_axis + 2 != static_cast<int>(main.axes.size()) || rank < 2) return false;
  const te::IterVar& row = main.axes[row_axis];
  if (row.extent < kFewTileRows || Coefficient(left.indices[rank - 2], row.var) != std::optional<int64_t>(1))
    return false;
  for (size_t d = 0; d < rank; ++d) {
    if (d != rank - 2 && te::Mentions(left.indices[d], row.var)) return false;
  }
  // Registers begin at zero, and take whole groups.
  const te::IterVar& sum = main.reduce_axes.back();
  const int64_t terms = TermsOf(instruction), groups = CeilDiv(sum.extent, terms);
  return IsZero(main.bodies[0]->init[0]) &&
         static_cast<double>(sum.extent) >= instruction.filled * static_cast<double>(groups * terms);
}

// Rows of a register tile, at most so many. The last pass over the rows has as many as the others, so that few passes
// and little beyond the end are wanted; each row costs what it computes, and each pass the loads of the right operand.
int64_t RowsOf(int64_t extent, int64_t most) {
  int64_t best = 1, least = INT64_MAX;
  for (int64_t rows = 1; rows <= std::min(extent, most); ++rows) {
    const int64_t cost = CeilDiv(extent, rows) * (rows + 1);
    if (cost <= least) {
      best = rows;
      least = cost;
    }
  }
  return best;
}

}  // namespace

int64_t TermsOf(const DotInstruction& instruction) { return te::DepthOf(instruction.kind) * instruction.rows; }

std::string NameOf(const DotInstruction& instruction, int64_t rows) {
  return instruction.rows > 1 ? absl::StrCat(te::TileDotIntrinsic(instruction.kind)->name, "_", rows)
                              : te::DotIntrinsic(instruction.kind, instruction.lanes)->name;
}

std::vector<TensorIntrinsicRef> DotInstructions(const machine::Machine& target) {
  // Every schedule asks, so each is declared once.
  static const auto* declared = [] {
    auto* all = new std::vector<std::vector<TensorIntrinsicRef>>();
    for (const DotInstruction& instruction : kInstructions) all->push_back(Declared(instruction));
    return all;
  }();
  std::vector<TensorIntrinsicRef> all;
  absl::flat_hash_set<std::string_view> names;
  for (size_t i = 0; i < std::size(kInstructions); ++i) {
    if (!Has(target, kInstructions[i].feature)) continue;
    for (const TensorIntrinsicRef& intrinsic : (*declared)[i]) {
      if (names.insert(intrinsic->name).second) all.push_back(intrinsic);
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
    DotForm form{.instruction = &instruction,
                 .row_axis = -1,
                 .left = left.tensor,
                 .right = right.tensor,
                 .transposed = false,
                 .batch_axes = {}};
    if (!Lies(main, left, right, instruction, &form.transposed)) continue;
    for (int a = columns - 1; a >= 0; --a) {
      if (Mentions(main, right, a)) {
        form.batch_axes.push_back(a);
      } else if (main.axes[a].extent > 1 && form.row_axis < 0) {
        form.row_axis = a;
      }
    }
    if (instruction.rows == 1) return form;
    if (!HasTiles(main, left, form.row_axis, instruction)) continue;
    const int64_t rows = main.axes[form.row_axis].extent;
    form.rows = TileRowsOf(rows, instruction.rows);
    for (int a = form.row_axis - 1; a >= 0 && form.rows == rows && form.line_axis < 0; --a) {
      if (main.axes[a].extent > 1 && !Mentions(main, right, a)) form.line_axis = a;
    }
    return form;
  }
  return std::nullopt;
}

std::vector<std::vector<int64_t>> DotTiles(const Nest& nest, const DotForm& form) {
  const te::Operation& main = *nest.main;
  if (form.instruction->rows > 1) return MatrixUnitTiles(main, form);
  const int64_t lanes = form.instruction->lanes, columns = main.axes.back().extent;
  const int64_t needed = CeilDiv(columns, lanes);
  std::vector<std::vector<int64_t>> tiles;
  for (const int64_t vectors : {std::min<int64_t>(needed, needed == 3 ? 3 : 2), std::min<int64_t>(needed, 4)}) {
    std::vector<int64_t> tile(main.axes.size(), 1);
    tile.back() = std::min(columns, vectors * lanes);
    if (form.row_axis >= 0) {
      tile[form.row_axis] = RowsOf(main.axes[form.row_axis].extent,
                                   std::min<int64_t>(kMostRows, form.instruction->accumulators / vectors));
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
