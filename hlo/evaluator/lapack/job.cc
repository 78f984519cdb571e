#include "hlo/evaluator/lapack/job.h"

#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace smelt::hlo {

absl::StatusOr<LapackJob> LapackJob::Create(const Call& call, LapackCall lapack) {
  LapackJob job;
  job.call_ = &call;
  job.lapack_ = std::move(lapack);
  const std::string& routine = job.routine();
  for (const Value& operand : call.operands) {
    if (!operand.IsArray() || operand.shape().rank() < 1)
      return absl::InvalidArgumentError(absl::StrCat("an operand of LAPACK's ", routine, " is no matrix"));
    for (const int64_t size : operand.shape().dimensions) {
      if (size > std::numeric_limits<int>::max() / 4)
        return absl::InvalidArgumentError(absl::StrCat(operand.shape().ToString(), " is too large for LAPACK"));
    }
  }
  if (call.operands.empty()) return absl::InvalidArgumentError(absl::StrCat("LAPACK's ", routine, " has no operand"));
  // A tridiagonal system is three vectors before its matrix of right sides; all others begin with a matrix.
  const std::vector<int64_t>& dimensions = call.operands[0].shape().dimensions;
  const size_t own = absl::EndsWith(routine, "gtsv") ? 1 : 2;
  if (dimensions.size() < own)
    return absl::InvalidArgumentError(absl::StrCat("LAPACK's ", routine, " on ", call.operands[0].shape().ToString()));
  job.batch_.assign(dimensions.begin(), dimensions.end() - static_cast<std::ptrdiff_t>(own));
  job.rows_ = static_cast<int>(dimensions[dimensions.size() - own]);
  job.columns_ = static_cast<int>(dimensions.back());
  job.matrices_ = job.rows_ == 0 || job.columns_ == 0 ? 0 : 1;
  for (const int64_t size : job.batch_) job.matrices_ *= size;
  std::vector<const Shape*> leaves;
  call.shape().AppendLeaves(&leaves);
  for (const Shape* leaf : leaves) {
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(*leaf));
    // No routine runs that would write them.
    if (job.matrices_ == 0) std::memset(result->raw(), 0, static_cast<size_t>(result->byte_size()));
    job.results_.push_back(std::move(result));
  }
  return job;
}

std::vector<int64_t> LapackJob::Dimensions(size_t operand) const {
  const std::vector<int64_t>& all = call_->operands[operand].shape().dimensions;
  if (all.size() < batch_.size()) return {};
  return {all.begin() + static_cast<std::ptrdiff_t>(batch_.size()), all.end()};
}

std::vector<int64_t> LapackJob::ResultDimensions(size_t result) const {
  if (result >= results_.size()) return {};
  const std::vector<int64_t>& all = results_[result]->shape().dimensions;
  if (all.size() < batch_.size()) return {};
  return {all.begin() + static_cast<std::ptrdiff_t>(batch_.size()), all.end()};
}

namespace {

absl::Status Expect(const std::string& routine, const std::string& what, const Shape& shape, PrimitiveType type,
                    std::vector<int64_t> expected, const std::vector<int64_t>& dimensions) {
  expected.insert(expected.end(), dimensions.begin(), dimensions.end());
  if (shape.element_type == type && shape.dimensions == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("LAPACK's ", routine, ": ", what, " is ", shape.ToString(),
                                                 ", expected ", Shape::Array(type, expected).ToString()));
}

}  // namespace

absl::Status LapackJob::ExpectOperands(size_t count) const {
  if (call_->operands.size() >= count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("LAPACK's ", routine(), " has ", call_->operands.size(), " operands, expected ", count));
}

absl::Status LapackJob::ExpectSquare() const {
  if (rows_ == columns_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("LAPACK's ", routine(), " wants a square matrix, not ", rows_, " rows and ", columns_, " columns"));
}

absl::Status LapackJob::ExpectOperand(size_t operand, PrimitiveType type,
                                      const std::vector<int64_t>& dimensions) const {
  SMELT_RETURN_IF_ERROR(ExpectOperands(operand + 1));
  return Expect(routine(), absl::StrCat("operand ", operand), call_->operands[operand].shape(), type, batch_,
                dimensions);
}

absl::Status LapackJob::ExpectResults(
    const std::vector<std::pair<PrimitiveType, std::vector<int64_t>>>& types_and_dimensions) const {
  if (results_.size() != types_and_dimensions.size())
    return absl::InvalidArgumentError(absl::StrCat("LAPACK's ", routine(), " has ", results_.size(),
                                                   " results, expected ", types_and_dimensions.size()));
  for (size_t i = 0; i < results_.size(); ++i) {
    const auto& [type, dimensions] = types_and_dimensions[i];
    SMELT_RETURN_IF_ERROR(
        Expect(routine(), absl::StrCat("result ", i), results_[i]->shape(), type, batch_, dimensions));
  }
  return absl::OkStatus();
}

Value LapackJob::TakeResult() {
  if (!call_->shape().IsTuple()) return Value(std::move(results_[0]));
  std::vector<Value> elements;
  for (std::shared_ptr<Literal>& result : results_) elements.emplace_back(std::move(result));
  return Value(std::move(elements));
}

}  // namespace smelt::hlo
