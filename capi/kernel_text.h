// A kernel that is written down node by node, as HLO text.
//
//   KernelText text("scale");
//   const int x = text.Parameter("f32[64]");
//   text.Add("negate", "f32[64]", &x, 1, "");
//   std::string hlo = text.Finish().value();
//
// Whether the nodes make sense is the parser's business; here only what could change the text around them is refused.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace smelt::capi {

class KernelText {
 public:
  explicit KernelText(std::string_view name);

  // Each returns the node's number, or -1 where the words are wrong; Finish says why the first ones were.
  int Parameter(std::string_view shape);
  int Add(std::string_view opcode, std::string_view shape, const int* operands, int count, std::string_view attributes);
  // The node's number where there is one, otherwise that of a tuple of these.
  int Result(const int* nodes, int count);

  // The whole module. InvalidArgument: words that were wrong, or no node.
  absl::StatusOr<std::string> Finish() const;

 private:
  int Fail(const std::string& why);
  std::string WithReducers(std::string_view attributes, std::string_view type);

  std::string name_, lines_, why_;
  std::set<std::pair<std::string, std::string>> reducers_;  // opcode and element type
  int nodes_ = 0, parameters_ = 0, result_ = -1;
  std::string shapes_;  // of the nodes, a line each: what a tuple of results is made of
};

}  // namespace smelt::capi
