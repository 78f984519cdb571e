#include "kernels/te/simplify/linear.h"

#include <algorithm>

#include "kernels/te/intrinsic.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::te {
namespace {

constexpr size_t kLongestSum = 64;

// -1, 0 or 1 by everything but the operands.
template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int CompareHeads(const ExprNode& a, const ExprNode& b) {
  if (int order = Order(a.kind, b.kind)) return order;
  if (int order = Order(a.op, b.op)) return order;
  if (int order = Order(a.type.lanes, b.type.lanes)) return order;
  if (int order = Order(a.type.element, b.type.element)) return order;
  if (int order = Order(a.int_value, b.int_value)) return order;
  if (int order = Order(a.float_value, b.float_value)) return order;
  if (int order = Order(a.operands.size(), b.operands.size())) return order;
  if (a.kind == ExprKind::kCall) return Order(a.intrinsic->name, b.intrinsic->name);
  if (a.kind == ExprKind::kLoad || a.kind == ExprKind::kAddress) return Order(a.buffer->name, b.buffer->name);
  if (a.kind == ExprKind::kTensorRead) return Order(a.tensor->name, b.tensor->name);
  return 0;
}

// Appends factor * e to the terms, unsorted.
bool Collect(const Expr& root, LinearSum* sum) {
  struct Item {
    const Expr* e;
    int64_t factor;
  };
  std::vector<Item> stack{{&root, 1}};
  while (!stack.empty()) {
    const auto [e, factor] = stack.back();
    stack.pop_back();
    const ExprNode& node = **e;
    if (node.kind == ExprKind::kInt) {
      int64_t product;
      if (__builtin_mul_overflow(node.int_value, factor, &product) ||
          __builtin_add_overflow(sum->constant, product, &sum->constant))
        return false;
      continue;
    }
    if (node.kind == ExprKind::kBinary) {
      const BinaryOp op = node.binary();
      if (op == BinaryOp::kAdd || op == BinaryOp::kSub) {
        int64_t second = factor;
        if (op == BinaryOp::kSub && __builtin_mul_overflow(factor, int64_t{-1}, &second)) return false;
        stack.push_back({&node.operands[1], second});
        stack.push_back({&node.operands[0], factor});
        continue;
      }
      int64_t constant;
      if (op == BinaryOp::kMul && IsConstInt(node.operands[1], &constant)) {
        int64_t product;
        if (__builtin_mul_overflow(factor, constant, &product)) return false;
        stack.push_back({&node.operands[0], product});
        continue;
      }
    }
    if (node.kind == ExprKind::kUnary && node.unary() == UnaryOp::kNegate) {
      int64_t negated;
      if (__builtin_mul_overflow(factor, int64_t{-1}, &negated)) return false;
      stack.push_back({&node.operands[0], negated});
      continue;
    }
    if (sum->terms.size() >= kLongestSum) return false;
    sum->terms.emplace_back(*e, factor);
  }
  return true;
}

bool Normalize(LinearSum* sum) {
  auto& terms = sum->terms;
  if (!std::is_sorted(terms.begin(), terms.end(),
                      [](const auto& a, const auto& b) { return Precedes(a.first, b.first); }))
    std::stable_sort(terms.begin(), terms.end(),
                     [](const auto& a, const auto& b) { return Precedes(a.first, b.first); });
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    int64_t coefficient = terms[i].second;
    size_t j = i + 1;
    for (; j < terms.size() && terms[j].first.Same(terms[i].first); ++j) {
      if (__builtin_add_overflow(coefficient, terms[j].second, &coefficient)) return false;
    }
    if (coefficient != 0) {
      if (kept != i) terms[kept] = std::move(terms[i]);
      terms[kept++].second = coefficient;
    }
    i = j;
  }
  terms.resize(kept);
  return true;
}

}  // namespace

bool Precedes(const Expr& first, const Expr& second) {
  // Descends to the first place where the two differ.
  const ExprNode* a = first.get();
  const ExprNode* b = second.get();
  while (a != b) {
    if (int order = CompareHeads(*a, *b)) return order < 0;
    const ExprNode* next_a = a;
    const ExprNode* next_b = b;
    for (size_t i = 0; i < a->operands.size(); ++i) {
      if (!a->operands[i].Same(b->operands[i])) {
        next_a = a->operands[i].get();
        next_b = b->operands[i].get();
        break;
      }
    }
    if (next_a == a) {  // differ in predicate or the like only
      if (!a->predicate || !b->predicate || a->predicate.Same(b->predicate)) return !a->predicate && b->predicate;
      next_a = a->predicate.get();
      next_b = b->predicate.get();
    }
    a = next_a;
    b = next_b;
  }
  return false;
}

std::optional<LinearSum> ToLinear(const Expr& e) {
  LinearSum sum;
  if (!Collect(e, &sum) || !Normalize(&sum)) return std::nullopt;
  return sum;
}

Expr FromLinear(const LinearSum& sum) {
  Expr result;
  // A positive term first, so that the others read as additions and subtractions.
  const auto first = std::find_if(sum.terms.begin(), sum.terms.end(), [](const auto& t) { return t.second > 0; });
  if (first != sum.terms.end()) result = first->first * Expr(first->second);
  for (auto it = sum.terms.begin(); it != sum.terms.end(); ++it) {
    if (it == first) continue;
    const auto& [atom, coefficient] = *it;
    if (!result) {
      result = atom * Expr(coefficient);
    } else if (coefficient < 0 && coefficient != INT64_MIN) {
      result = result - atom * Expr(-coefficient);
    } else {
      result = result + atom * Expr(coefficient);
    }
  }
  if (!result) return Expr(sum.constant);
  if (sum.constant < 0 && sum.constant != INT64_MIN) return result - Expr(-sum.constant);
  return result + Expr(sum.constant);
}

std::optional<LinearSum> AddScaled(const LinearSum& a, const LinearSum& b, int64_t factor) {
  LinearSum sum = a;
  int64_t product;
  if (__builtin_mul_overflow(b.constant, factor, &product) ||
      __builtin_add_overflow(sum.constant, product, &sum.constant))
    return std::nullopt;
  if (a.terms.size() + b.terms.size() > kLongestSum) return std::nullopt;
  for (const auto& [atom, coefficient] : b.terms) {
    if (__builtin_mul_overflow(coefficient, factor, &product)) return std::nullopt;
    sum.terms.emplace_back(atom, product);
  }
  if (!Normalize(&sum)) return std::nullopt;
  return sum;
}

}  // namespace smelt::kernels::te
