#include "runtime/native/plan.h"

namespace smelt::runtime::native {
namespace {

struct Maker {
  std::unique_ptr<NativeOperation> operator()(const FftPlan& plan) const { return MakeFft(plan); }
  std::unique_ptr<NativeOperation> operator()(const ScatterPlan& plan) const { return MakeScatter(plan); }
  std::unique_ptr<NativeOperation> operator()(const SelectAndScatterPlan& plan) const {
    return MakeSelectAndScatter(plan);
  }
  std::unique_ptr<NativeOperation> operator()(const SortPlan& plan) const { return MakeSort(plan); }
  std::unique_ptr<NativeOperation> operator()(const TopKPlan& plan) const { return MakeTopK(plan); }
  std::unique_ptr<NativeOperation> operator()(const CholeskyPlan& plan) const { return MakeCholesky(plan); }
  std::unique_ptr<NativeOperation> operator()(const TriangularSolvePlan& plan) const {
    return MakeTriangularSolve(plan);
  }
  std::unique_ptr<NativeOperation> operator()(const LuPlan& plan) const { return MakeLu(plan); }
  std::unique_ptr<NativeOperation> operator()(const RandomBitsPlan& plan) const { return MakeRandomBits(plan); }
};

}  // namespace

std::unique_ptr<NativeOperation> MakeOperation(const Plan& plan) { return std::visit(Maker{}, plan); }

}  // namespace smelt::runtime::native
