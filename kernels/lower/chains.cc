#include "kernels/lower/chains.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "kernels/ir/mutate.h"

namespace smelt::kernels::lower {
namespace {

using ir::StmtKind;
using te::ExprKind;

// Sums under way that keep two units of four cycles busy, and the most that sixteen registers have room for beside what
// is multiplied.
constexpr int64_t kEnoughSums = 8, kMostSums = 12;
// Additions to one sum in the whole loop, below which beginning and joining its chains costs more than it saves.
constexpr int64_t kFewestAdditions = 16;

// What a store adds to the element that it stores; null where it does something else.
Expr AddedBy(const ir::StmtNode& store) {
  if (store.kind != StmtKind::kStore || store.predicate || store.indices.size() != 1) return Expr();
  const Expr& value = store.value;
  if (value->kind != ExprKind::kBinary || value->binary() != te::BinaryOp::kAdd) return Expr();
  for (int i = 0; i < 2; ++i) {
    const Expr& sum = value->operands[i];
    if (sum->kind == ExprKind::kLoad && sum->buffer == store.buffer && !sum->predicate &&
        sum->operands[0].Same(store.indices[0]))
      return value->operands[1 - i];
  }
  return Expr();
}

// A loop that does nothing but add to few elements of one buffer, whose places do not change.
struct Sums {
  ir::Buffer buffer;
  te::DataType type;
  std::vector<Expr> places;
  // One a statement: its place, and which of the additions to that in one iteration it is.
  struct Addition {
    size_t place;
    int64_t number;
    Expr term;
  };
  std::vector<Addition> additions;
  int64_t fewest = 0;  // additions to one place in an iteration
};

std::optional<Sums> SumsOf(const ir::StmtNode& loop) {
  const Stmt& body = loop.body();
  const std::vector<Stmt> alone = {body};
  const std::vector<Stmt>& stores = body->kind == StmtKind::kSeq ? body->stmts : alone;
  Sums sums;
  std::vector<int64_t> counts;
  for (const Stmt& store : stores) {
    Expr term = AddedBy(*store);
    if (!term || !hlo::IsFloat(term.type().element)) return std::nullopt;
    if (sums.buffer == nullptr) {
      sums.buffer = store->buffer;
      sums.type = term.type();
    }
    const Expr& place = store->indices[0];
    if (store->buffer != sums.buffer || term.type() != sums.type || te::Mentions(place, loop.var)) return std::nullopt;
    if (te::Contains(term, [&](const Expr& e) { return e->kind == ExprKind::kLoad && e->buffer == sums.buffer; }))
      return std::nullopt;
    const auto known =
        std::find_if(sums.places.begin(), sums.places.end(), [&](const Expr& p) { return p.Same(place); });
    const auto at = static_cast<size_t>(known - sums.places.begin());
    if (known == sums.places.end()) {
      if (sums.places.size() + 1 >= kEnoughSums) return std::nullopt;
      sums.places.push_back(place);
      counts.push_back(0);
    }
    sums.additions.push_back({at, counts[at]++, std::move(term)});
  }
  if (counts.empty()) return std::nullopt;
  sums.fewest = *std::min_element(counts.begin(), counts.end());
  return sums;
}

Stmt Split(const Stmt& loop, const Sums& sums) {
  const auto count = static_cast<int64_t>(sums.places.size());
  int64_t chains = 1;
  while (count * chains < kEnoughSums && 2 * chains <= sums.fewest && 2 * chains * count <= kMostSums) chains *= 2;
  int64_t extent = 0;
  if (chains == 1 || !te::IsConstInt(loop->extent, &extent) || extent * sums.fewest < kFewestAdditions) return loop;
  const int64_t lanes = sums.type.lanes;
  const auto others =
      std::make_shared<const ir::BufferNode>(ir::BufferNode{.name = absl::StrCat(sums.buffer->name, ".chains"),
                                                            .type = sums.buffer->type,
                                                            .shape = {count * (chains - 1) * lanes},
                                                            .scope = te::Scope::kLocal});
  const auto place_in = [&](int64_t chain, size_t place) {
    const Expr first((chain - 1) * count * lanes + static_cast<int64_t>(place) * lanes);
    return lanes == 1 ? first : te::Ramp(first, Expr(1), static_cast<int>(lanes));
  };
  const auto add = [](const ir::Buffer& buffer, const Expr& place, const Expr& term) {
    return ir::Store(buffer, {place}, te::Binary(te::BinaryOp::kAdd, te::Load(buffer, {place}), term));
  };
  std::vector<Stmt> begin, body, join;
  for (int64_t chain = 1; chain < chains; ++chain) {
    for (size_t p = 0; p < sums.places.size(); ++p) {
      begin.push_back(ir::Store(others, {place_in(chain, p)}, te::FloatConst(sums.type, 0)));
      join.push_back(add(sums.buffer, sums.places[p], te::Load(others, {place_in(chain, p)})));
    }
  }
  for (const Sums::Addition& addition : sums.additions) {
    const int64_t chain = addition.number % chains;
    body.push_back(chain == 0 ? add(sums.buffer, sums.places[addition.place], addition.term)
                              : add(others, place_in(chain, addition.place), addition.term));
  }
  Stmt split = ir::For(loop->var, loop->min, loop->extent, loop->for_kind, ir::Seq(std::move(body)));
  return ir::Allocate(others, ir::Seq({ir::Seq(std::move(begin)), std::move(split), ir::Seq(std::move(join))}));
}

Stmt Visit(const Stmt& stmt) {
  if (stmt == nullptr) return nullptr;
  if (stmt->kind == StmtKind::kFor && stmt->for_kind == ir::ForKind::kSerial && stmt->body() != nullptr) {
    if (const std::optional<Sums> sums = SumsOf(*stmt)) return Split(stmt, *sums);
  }
  return ir::MapChildren(stmt, [&](const Stmt& child) { return Visit(child); });
}

}  // namespace

absl::StatusOr<ir::Function> SplitChains(ir::Function function, PassContext&) {
  for (ir::Phase& phase : function.phases) phase.body = Visit(phase.body);
  return function;
}

}  // namespace smelt::kernels::lower
