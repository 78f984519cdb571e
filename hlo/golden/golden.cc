#include "hlo/golden/golden.h"

#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace smelt::hlo {
namespace {

using Json = nlohmann::json;

absl::Status Bad(const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": not a golden file: ", why));
}

const std::string* FindMetadata(const SafetensorsFile& file, const std::string& key) {
  auto it = file.metadata.find(key);
  return it == file.metadata.end() ? nullptr : &it->second;
}

absl::Status ReadNumber(const SafetensorsFile& file, const std::string& path, const std::string& key, double* value) {
  const std::string* text = FindMetadata(file, key);
  if (text != nullptr && !absl::SimpleAtod(*text, value))
    return Bad(path, absl::StrCat("`", key, "` is \"", *text, "\", not a number"));
  return absl::OkStatus();
}

// Sums what one output's error needs, over pairs of elements.
class ErrorSum {
 public:
  ErrorSum(double largest_want, double least) : floor_(std::max(0.001 * largest_want, 1e-300)), least_(least) {}

  void Add(double want, double got) {
    ++count_;
    if (std::isfinite(want)) {
      ++finite_;
      want_squares_ += want * want;
    }
    if (want == got || (std::isnan(want) && std::isnan(got))) return;
    if (std::abs(want) < least_ && std::abs(got) < least_) return;
    const double difference = std::abs(got - want);
    if (!std::isfinite(difference)) {
      broken_ = true;
      return;
    }
    difference_squares_ += difference * difference;
    largest_ = std::max(largest_, difference / std::max({std::abs(want), std::abs(got), floor_}));
  }

  double Error(GoldenMetric metric) const {
    if (broken_) return std::numeric_limits<double>::infinity();
    if (metric == GoldenMetric::kElementwise || count_ == 0) return largest_;
    const double scale = finite_ > 0 ? std::sqrt(want_squares_ / finite_) : 1;
    return std::sqrt(difference_squares_ / count_) / std::max(scale, 1e-30);
  }

 private:
  double floor_, least_;
  int64_t count_ = 0;
  int64_t finite_ = 0;
  double want_squares_ = 0;
  double difference_squares_ = 0;
  double largest_ = 0;
  bool broken_ = false;
};

bool ComparesExactly(PrimitiveType type) { return IsInteger(type) || type == PrimitiveType::kPred; }

// Error over `count` pairs: want's element i against got's element position(i). A complex value counts as two numbers,
// which `want` either holds as a complex one or as a last dimension of 2.
template <typename Position>
double ErrorOver(const Literal& want, const Literal& got, int64_t count, GoldenMetric metric, Position position) {
  if (ComparesExactly(got.shape().element_type)) {
    int64_t different = 0;
    for (int64_t i = 0; i < count; ++i) different += want.GetInteger(i) != got.GetInteger(position(i));
    return count == 0 ? 0 : static_cast<double>(different) / static_cast<double>(count);
  }
  const bool got_complex = IsComplex(got.shape().element_type);
  const bool want_complex = IsComplex(want.shape().element_type);
  const int64_t parts = got_complex ? 2 : 1;
  auto want_part = [&](int64_t i, int64_t part) {
    if (!got_complex) return want.GetDouble(i);
    if (!want_complex) return want.GetDouble(2 * i + part);
    return part == 0 ? want.GetComplex(i).real() : want.GetComplex(i).imag();
  };
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t part = 0; part < parts; ++part) {
      const double magnitude = std::abs(want_part(i, part));
      if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
    }
  }
  ErrorSum sum(largest, LeastOf(got.shape().element_type));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = position(i);
    if (got_complex) {
      const std::complex<double> value = got.GetComplex(at);
      // Which part of an undefined number is infinite and which is NaN depends on the order of the sums.
      const bool undefined = std::isnan(want_part(i, 0)) || std::isnan(want_part(i, 1));
      if (undefined && !(std::isfinite(value.real()) && std::isfinite(value.imag()))) continue;
      sum.Add(want_part(i, 0), value.real());
      sum.Add(want_part(i, 1), value.imag());
    } else {
      sum.Add(want_part(i, 0), got.GetDouble(at));
    }
  }
  return sum.Error(metric);
}

void AppendArrayLeaves(const Literal& literal, std::vector<const Literal*>* leaves) {
  if (literal.IsArray()) leaves->push_back(&literal);
  for (const Literal& element : literal.elements()) AppendArrayLeaves(element, leaves);
}

}  // namespace

double LeastOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF32:
    case PrimitiveType::kBF16:
    case PrimitiveType::kC64:
      return std::numeric_limits<float>::min();
    case PrimitiveType::kF64:
    case PrimitiveType::kC128:
      return std::numeric_limits<double>::min();
    default:
      return 0;
  }
}

absl::StatusOr<std::vector<Golden::Leaf>> Golden::ReadLeaves(const SafetensorsFile& file, const std::string& path,
                                                             const char* key, bool ranges) {
  const std::string* text = FindMetadata(file, key);
  if (text == nullptr) return Bad(path, absl::StrCat("its metadata lacks `", key, "`"));
  const Json json = ParseJson(*text);
  if (!json.is_array()) return Bad(path, absl::StrCat("`", key, "` is no JSON list"));
  std::vector<Leaf> leaves;
  for (const Json& entry : json) {
    const std::string where = absl::StrCat("entry ", leaves.size(), " of `", key, "` ");
    if (entry.is_object() && entry.contains("type") && entry["type"] == "token") continue;  // has no value
    if (!entry.is_object() || !entry.contains("type") || !entry["type"].is_string() || !entry.contains("dims") ||
        !entry["dims"].is_array()) {
      return Bad(path, where + "lacks type or dims");
    }
    Leaf leaf{.type = entry["type"].get<std::string>()};
    for (const Json& dimension : entry["dims"]) {
      if (!dimension.is_number_integer()) return Bad(path, where + "has a dimension that is no integer");
      leaf.dimensions.push_back(dimension.get<int64_t>());
    }
    if (ranges) {
      if (!entry.contains("low") || !entry["low"].is_number() || !entry.contains("high") ||
          !entry["high"].is_number()) {
        return Bad(path, where + "lacks low or high");
      }
      leaf.range = {entry["low"].get<double>(), entry["high"].get<double>()};
    }
    leaves.push_back(std::move(leaf));
  }
  return leaves;
}

absl::StatusOr<Golden> Golden::Load(const std::string& path) {
  Golden golden;
  golden.path_ = path;
  SMELT_ASSIGN_OR_RETURN(golden.file_, ReadSafetensors(path));
  const SafetensorsFile& file = golden.file_;
  SMELT_ASSIGN_OR_RETURN(golden.inputs_, ReadLeaves(file, path, "inputs", /*ranges=*/true));
  SMELT_ASSIGN_OR_RETURN(golden.outputs_, ReadLeaves(file, path, "outputs", /*ranges=*/false));

  double first_stream = 1;
  SMELT_RETURN_IF_ERROR(ReadNumber(file, path, "first_stream", &first_stream));
  if (!(first_stream >= 0 && first_stream < 0x1p53)) return Bad(path, "`first_stream` is out of range");
  golden.input_options_.first_stream = static_cast<uint64_t>(first_stream);
  if (const std::string* text = FindMetadata(file, "f64_arithmetic")) {
    if (*text != "double") return Bad(path, absl::StrCat("`f64_arithmetic` is \"", *text, "\", expected double"));
    golden.input_options_.double_arithmetic = true;
  }
  const std::string* metric = FindMetadata(file, "metric");
  if (metric == nullptr || (*metric != "rms" && *metric != "elementwise")) {
    return Bad(path,
               absl::StrCat("`metric` is ", metric == nullptr ? "absent" : *metric, ", expected elementwise or rms"));
  }
  golden.metric_ = *metric == "rms" ? GoldenMetric::kRms : GoldenMetric::kElementwise;

  SMELT_RETURN_IF_ERROR(ReadNumber(file, path, "integer_mismatch", &golden.integer_mismatch_));
  double tolerance = 0;
  SMELT_RETURN_IF_ERROR(ReadNumber(file, path, "tolerance", &tolerance));
  if (const std::string* text = FindMetadata(file, "tolerances")) {
    const Json json = ParseJson(*text);
    if (!json.is_array() || json.size() != golden.outputs_.size())
      return Bad(path, "`tolerances` is no JSON list with one entry per output");
    for (const Json& entry : json) {
      if (!entry.is_null() && !entry.is_number())
        return Bad(path, "`tolerances` holds something that is neither a number nor null");
      golden.tolerances_.push_back(entry.is_null() ? std::nullopt : std::optional<double>(entry.get<double>()));
    }
  } else {
    if (FindMetadata(file, "tolerance") == nullptr)
      return Bad(path, "its metadata has neither `tolerance` nor `tolerances`");
    golden.tolerances_.assign(golden.outputs_.size(), tolerance);
  }
  if (const std::string* note = FindMetadata(file, "note")) golden.note_ = *note;
  return golden;
}

absl::StatusOr<std::vector<Literal>> Golden::MakeInputs(const Module& module, int64_t sample) const {
  std::vector<const Shape*> leaves;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (parameter != nullptr) parameter->shape().AppendLeaves(&leaves);
  }
  std::erase_if(leaves, [](const Shape* shape) { return !shape->IsArray(); });
  auto describe = [](const Leaf& leaf) {
    return absl::StrCat(leaf.type, "[", absl::StrJoin(leaf.dimensions, ","), "]");
  };
  if (leaves.size() != inputs_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": made for another module: it has ", inputs_.size(),
                                                   " inputs, this module has ", leaves.size(), " parameter leaves"));
  }
  std::vector<InputRange> ranges;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (inputs_[i].type != PrimitiveTypeName(leaves[i]->element_type) ||
        inputs_[i].dimensions != leaves[i]->dimensions) {
      return absl::InvalidArgumentError(absl::StrCat(path_, ": made for another module: input ", i, " is ",
                                                     describe(inputs_[i]), ", this module's parameter leaf is ",
                                                     leaves[i]->ToString()));
    }
    ranges.push_back(inputs_[i].range);
  }
  InputOptions options = input_options_;
  options.first_stream += static_cast<uint64_t>(sample) * leaves.size();
  return hlo::MakeInputs(module, ranges, options);
}

absl::StatusOr<OutputComparison> Golden::CompareOutput(int64_t k, const Literal& got) const {
  auto bad = [&](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": output ", k, ": ", why));
  };
  if (got.shape().dimensions != outputs_[k].dimensions) {
    return bad(absl::StrCat("expected dimensions [", absl::StrJoin(outputs_[k].dimensions, ","), "], found ",
                            got.shape().ToString()));
  }
  const PrimitiveType type = got.shape().element_type;
  OutputComparison comparison{.index = k, .tolerance = tolerances_[k]};
  if (comparison.tolerance && ComparesExactly(type)) comparison.tolerance = integer_mismatch_;

  const std::string name = absl::StrCat("out.", k);
  const Literal* whole = file_.Find(name);
  const Literal* values = file_.Find(name + ".value");
  const Literal* index = file_.Find(name + ".index");
  const Literal* want = whole != nullptr ? whole : values;
  if (want == nullptr || (whole == nullptr && index == nullptr)) return bad("the file holds no values for it");
  const int64_t parts = IsComplex(type) ? 2 : 1;
  const int64_t count = whole != nullptr ? got.element_count() : index->element_count();
  if (want->element_count() != count * parts) {
    return bad(absl::StrCat("the file holds ", want->element_count(), " values, expected ", count * parts));
  }
  if (ComparesExactly(type) != ComparesExactly(want->shape().element_type)) {
    return bad(absl::StrCat("expected values like ", want->shape().ToString(), ", found ", got.shape().ToString()));
  }
  if (whole == nullptr) {
    if (index->shape().element_type != PrimitiveType::kS64) return bad("the positions are not I64");
    for (int64_t position : index->data<int64_t>()) {
      if (position < 0 || position >= got.element_count())
        return bad(absl::StrCat("position ", position, " is outside of ", got.shape().ToString()));
    }
  }
  comparison.error = ErrorOver(*want, got, count, metric_,
                               [&](int64_t i) { return whole != nullptr ? i : index->data<int64_t>()[i]; });
  comparison.ok = !comparison.tolerance || comparison.error <= *comparison.tolerance;
  return comparison;
}

absl::StatusOr<std::vector<OutputComparison>> Golden::Compare(const Literal& result) const {
  std::vector<const Literal*> leaves;
  AppendArrayLeaves(result, &leaves);
  if (leaves.size() != outputs_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": made for another module: it has ", outputs_.size(),
                                                   " outputs, the result has ", leaves.size()));
  }
  std::vector<OutputComparison> comparisons;
  for (size_t k = 0; k < leaves.size(); ++k) {
    SMELT_ASSIGN_OR_RETURN(OutputComparison comparison, CompareOutput(static_cast<int64_t>(k), *leaves[k]));
    comparisons.push_back(comparison);
  }
  return comparisons;
}

absl::StatusOr<double> ComparisonError(const Literal& want, const Literal& got, GoldenMetric metric) {
  if (!want.IsArray() || !got.IsArray() || !want.shape().SameDimensions(got.shape()) ||
      want.shape().element_type != got.shape().element_type) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", want.shape().ToString(), ", found ", got.shape().ToString()));
  }
  return ErrorOver(want, got, got.element_count(), metric, [](int64_t i) { return i; });
}

}  // namespace smelt::hlo
