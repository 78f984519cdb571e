#include "capi/kernel_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace smelt::capi {
namespace {

constexpr std::string_view kReducers[] = {"add", "multiply", "minimum", "maximum", "and", "or"};
constexpr std::string_view kToApply = "to_apply=";

bool IsWord(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
}

// What stands on one line and opens nothing that it does not close.
bool IsClosed(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\0' || c == '"' || c == '%' || c == '/') return false;
    if (c == '{' || c == '(' || c == '[') ++depth;
    if (c == '}' || c == ')' || c == ']') --depth;
    if (depth < 0) return false;
  }
  return depth == 0;
}

// "f32" of "f32[64,128]{1,0}".
std::string ElementType(std::string_view shape) { return std::string(shape.substr(0, shape.find('['))); }

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

KernelText::KernelText(std::string_view name) {
  for (const char c : name) name_ += absl::ascii_isalnum(c) ? c : '_';
  if (name_.empty() || absl::ascii_isdigit(name_[0])) name_ = "kernel_" + name_;
}

int KernelText::Fail(const std::string& why) {
  if (why_.empty()) why_ = absl::StrCat("kernel `", name_, "`, node ", nodes_, ": ", why);
  return -1;
}

int KernelText::Parameter(std::string_view shape) {
  if (!IsClosed(shape) || shape.empty()) return Fail(absl::StrCat("`", View(shape), "` is no shape"));
  absl::StrAppend(&lines_, "  n", nodes_, " = ", View(shape), " parameter(", parameters_++, ")\n");
  absl::StrAppend(&shapes_, View(shape), "\n");
  return nodes_++;
}

std::string KernelText::WithReducers(std::string_view attributes, std::string_view type) {
  std::string text(attributes);
  const size_t at = text.find(kToApply);
  if (at == std::string::npos) return text;
  const size_t begin = at + kToApply.size();
  const size_t end = std::min(text.find_first_of(", ", begin), text.size());
  const std::string opcode = text.substr(begin, end - begin);
  if (std::find(std::begin(kReducers), std::end(kReducers), opcode) == std::end(kReducers)) {
    Fail(absl::StrCat("to_apply names `", opcode, "`, expected one of ",
                      absl::StrJoin(std::vector<std::string>(std::begin(kReducers), std::end(kReducers)), ", ")));
    return text;
  }
  reducers_.insert({opcode, std::string(type)});
  return absl::StrCat(text.substr(0, begin), opcode, "_", std::string(type), text.substr(end));
}

int KernelText::Add(std::string_view opcode, std::string_view shape, const int* operands, int count,
                    std::string_view attributes) {
  if (!IsWord(opcode)) return Fail(absl::StrCat("`", View(opcode), "` is no opcode"));
  if (!IsClosed(shape) || shape.empty()) return Fail(absl::StrCat("`", View(shape), "` is no shape"));
  if (!IsClosed(attributes)) return Fail(absl::StrCat("`", View(attributes), "` are no attributes on one line"));
  if (opcode == "parameter") return Fail("a parameter is added by smelt_kernel_parameter");
  std::string names;
  for (int i = 0; i < count; ++i) {
    if (operands[i] < 0 || operands[i] >= nodes_)
      return Fail(absl::StrCat("operand ", i, " is node ", operands[i], ", and there are ", nodes_, " before it"));
    absl::StrAppend(&names, i > 0 ? ", n" : "n", operands[i]);
  }
  std::string rest = WithReducers(attributes, ElementType(shape));
  if (opcode == "constant") {
    names = std::move(rest);
    rest.clear();
  }
  absl::StrAppend(&lines_, "  n", nodes_, " = ", View(shape), " ", View(opcode), "(", names, ")",
                  rest.empty() ? "" : ", ", rest, "\n");
  absl::StrAppend(&shapes_, View(shape), "\n");
  return nodes_++;
}

int KernelText::Result(const int* nodes, int count) {
  for (int i = 0; i < count; ++i) {
    if (nodes[i] < 0 || nodes[i] >= nodes_) return Fail(absl::StrCat("result ", i, " is no node: ", nodes[i]));
  }
  if (count < 1) return Fail("no result is named");
  if (count == 1) return result_ = nodes[0];
  const std::vector<std::string> shapes = absl::StrSplit(shapes_, '\n');
  std::vector<std::string> of_results;
  for (int i = 0; i < count; ++i) of_results.push_back(shapes[nodes[i]]);
  return result_ = Add("tuple", absl::StrCat("(", absl::StrJoin(of_results, ", "), ")"), nodes, count, "");
}

absl::StatusOr<std::string> KernelText::Finish() const {
  if (!why_.empty()) return absl::InvalidArgumentError(why_);
  if (nodes_ == 0) return absl::InvalidArgumentError(absl::StrCat("kernel `", name_, "` has no node"));
  std::string text = absl::StrCat("HloModule ", name_, "\n\n");
  for (const auto& [opcode, type] : reducers_) {
    absl::StrAppend(&text, opcode, "_", type, " {\n  a = ", type, "[] parameter(0)\n  b = ", type,
                    "[] parameter(1)\n  ROOT r = ", type, "[] ", opcode, "(a, b)\n}\n\n");
  }
  const int result = result_ >= 0 ? result_ : nodes_ - 1;
  std::string lines = lines_;
  lines.insert(lines.find(absl::StrCat("  n", result, " = ")) + 2, "ROOT ");
  return absl::StrCat(text, "ENTRY body {\n", lines, "}\n");
}

}  // namespace smelt::capi
