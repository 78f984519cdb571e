#include "kernels/templates/shared_lines.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {
namespace {

// Lines together where registers are many, and otherwise.
constexpr int64_t kLines = 4;
constexpr int64_t kFewerLines = 2;
constexpr int64_t kManyRegisters = 32;
// Vectors that the lines together load, over the registers: fewer than so many, since what is shared has to stay there
// from its first line to its last. On AVX2's 16 two arrays of 3 x 3, 24 vectors, take 1.04 of their time line by line,
// 14 and 16 take 0.94; on AVX-512's 32 the 36 of four lines take 0.69, 42 of another program 0.9.
constexpr double kMostLoads = 1.5;
// Vectors that a line must save at least, of those that it loads by itself.
constexpr double kLeastSaved = 1;
// Elements that a result may read, those in between among them: each is code, once for every line.
constexpr size_t kMostReads = 256;

// An element of an array: of this output, at this place of row-major storage.
using Element = std::tuple<const te::Operation*, int64_t, int64_t>;

// The elements of arrays in memory that one result reads, in an order that only the branches change which are taken on
// the way. Known where no data decides them.
class Reads {
 public:
  explicit Reads(const Nest& nest) : root_(*nest.root) {
    for (const Access& access : nest.accesses) in_memory_.insert(access.tensor.get());
  }

  // Nothing where they are not known, or too many.
  std::optional<std::vector<Element>> At(const std::vector<int64_t>& place) {
    seen_.clear();
    nodes_.clear();
    elements_.clear();
    if (!Visit(root_, {}, place)) return std::nullopt;
    return elements_;
  }

 private:
  bool Visit(const te::Operation& operation, std::optional<int64_t> output, const std::vector<int64_t>& place) {
    if (operation.IsReduction()) return false;
    std::vector<std::pair<te::Expr, te::Expr>> at;
    for (size_t a = 0; a < place.size(); ++a) at.emplace_back(operation.axes[a].var, te::Expr(place[a]));
    for (size_t i = 0; i < operation.bodies.size(); ++i) {
      if (output && static_cast<size_t>(*output) != i) continue;
      // Constants fold, conditions on the place among them.
      const te::Expr body = te::Substitute(operation.bodies[i], at);
      if (!te::VisitWhile(body, [&](const te::Expr& e) { return VisitRead(e); })) return false;
    }
    return true;
  }

  bool VisitRead(const te::Expr& e) {
    if (e->kind != te::ExprKind::kTensorRead || !seen_.insert(e.get()).second) return true;
    nodes_.push_back(e);  // which keeps its address from being another's
    if (nodes_.size() > kMostReads) return false;
    std::vector<int64_t> place(e->operands.size());
    int64_t address = 0;
    for (size_t d = 0; d < place.size(); ++d) {
      if (!te::IsConstInt(e->operands[d], &place[d])) return false;
      address = address * e->tensor->shape[d] + place[d];
    }
    if (!in_memory_.contains(e->tensor.get())) return Visit(*e->tensor, e->int_value, place);
    elements_.push_back({e->tensor.get(), e->int_value, address});
    return true;
  }

  const te::Operation& root_;
  absl::flat_hash_set<const te::Operation*> in_memory_;
  absl::flat_hash_set<const te::ExprNode*> seen_;
  std::vector<te::Expr> nodes_;
  std::vector<Element> elements_;
};

// A place away from borders, and from where halves, quarters and eighths of an array meet.
std::vector<int64_t> SteadyPlace(const std::vector<int64_t>& shape) {
  std::vector<int64_t> place;
  for (const int64_t extent : shape) place.push_back(extent * 5 / 16);
  return place;
}

// The vectors that one line loads, and that `lines` of them do, but for those that lie at one place for all lines.
// Empty where lines read in different ways.
struct Loads {
  absl::flat_hash_set<Element> apart, together;
};
Loads LoadsOf(const te::Operation& root, int axis, int64_t lines, Reads& reads) {
  const std::vector<int64_t> place = SteadyPlace(root.shape);
  std::vector<int64_t> beside = place;
  ++beside.back();
  const std::optional<std::vector<Element>> next = reads.At(beside);
  if (!next) return {};
  std::vector<std::vector<Element>> of_line;
  for (int64_t line = 0; line < lines; ++line) {
    std::vector<int64_t> at = place;
    at[axis] += line;
    std::optional<std::vector<Element>> elements = reads.At(at);
    if (!elements || elements->size() != next->size()) return {};
    of_line.push_back(*std::move(elements));
  }
  const auto address = [](const Element& element) { return std::get<2>(element); };
  Loads loads;
  for (size_t i = 0; i < next->size(); ++i) {
    const bool is_vector = address((*next)[i]) == address(of_line[0][i]) + 1;
    if (!is_vector || of_line[1][i] == of_line[0][i]) continue;
    loads.apart.insert(of_line[0][i]);
    for (const std::vector<Element>& line : of_line) loads.together.insert(line[i]);
  }
  return loads;
}

// Whether some array is read at several places, which is soon told.
bool ReadsSomethingTwice(const Nest& nest) {
  absl::flat_hash_map<const te::Operation*, int> reads;
  return std::any_of(nest.accesses.begin(), nest.accesses.end(),
                     [&](const Access& access) { return ++reads[access.tensor.get()] > 1; });
}

}  // namespace

SharedLines SharedLinesOf(const Nest& nest, const machine::Machine& target) {
  const te::Operation& root = *nest.root;
  const int last = static_cast<int>(root.axes.size()) - 1;
  SharedLines best;
  // Shorter rows share vectors.
  if (last < 1 || root.shape[last] < LanesOf(root, target) || !ReadsSomethingTwice(nest)) return best;
  const int64_t lines = target.vector_registers >= kManyRegisters ? kLines : kFewerLines;
  Reads reads(nest);
  double most_saved = 0;
  for (int axis = last - 1; axis >= 0; --axis) {
    if (root.shape[axis] < 2 * lines) continue;
    const Loads loads = LoadsOf(root, axis, lines, reads);
    const auto apart = static_cast<double>(loads.apart.size()), together = static_cast<double>(loads.together.size());
    const double saved = apart - together / static_cast<double>(lines);
    if (saved < kLeastSaved || saved <= most_saved || together >= kMostLoads * target.vector_registers) continue;
    most_saved = saved;
    best = {axis, lines};
  }
  return best;
}

}  // namespace smelt::kernels::nests
