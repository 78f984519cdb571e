// The values that an index takes while some loops run, as a symbolic base and a constant width.
#pragma once

#include <functional>

#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::lower {

// All values lie in [base, base + width]; base mentions only variables that are held fixed.
struct Region {
  te::Expr base;
  int64_t width = 0;
};

class RegionAnalysis {
 public:
  // `is_fixed` says of a variable whether it is held fixed; all others run over their ranges.
  RegionAnalysis(te::Simplifier& simplifier, std::function<bool(const te::Expr&)> is_fixed)
      : simplifier_(simplifier), is_fixed_(std::move(is_fixed)) {}

  // False when there is no bound (a loaded index, say).
  bool Of(const te::Expr& index, Region* region);
  // The smallest region of this form that holds both; false when their distance has no bound.
  bool Join(const Region& a, const Region& b, Region* joined);

 private:
  bool OfSum(const te::Expr& e, int depth, Region* region);
  bool OfAtom(const te::Expr& e, int depth, Region* region);
  bool Constant(const te::Expr& e, Region* region);
  bool AllFixed(const te::Expr& e);

  te::Simplifier& simplifier_;
  std::function<bool(const te::Expr&)> is_fixed_;
};

}  // namespace smelt::kernels::lower
