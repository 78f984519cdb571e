// The name of what a measurement, a model or a configuration holds for: whose code, on which CPU, on how many threads.
//
//   TargetId id = TargetId::Parse("xla:znver5,threads=2");
//   bool same_code = id.kind == TargetId::Parse("cpu:znver5").kind;  // false: XLA's code, and our own
//
// One spelling stands in records, corpora, models and configurations: `KIND:CPU,threads=N`. What is not known is left
// out: a configuration of an earlier version says `cpu` alone.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace smelt::machine {

struct TargetId {
  std::string kind;  // Rules::name: "cpu", our own code; "xla", XLA:CPU's. Empty: nothing is known
  std::string cpu;   // LLVM's name of the CPU, e.g. znver5; empty: not known
  int threads = 0;   // 0: not known

  // Reads every spelling that a version of Smelt has written, "xla, cpu:znver5,threads=1" of older corpora among them.
  // Any text is a target: one that this version cannot compile for has a kind of its own.
  static TargetId Parse(std::string_view text);
  // Reads what a user asks for: KIND, KIND:threads=N or KIND:CPU,threads=N and nothing else, with N from 1 to 1024.
  // InvalidArgument names what is wrong.
  static absl::StatusOr<TargetId> Read(std::string_view text);
  std::string ToString() const;

  // Whether the two can be one target: nothing that both know differs.
  bool Agrees(const TargetId& other) const;
  bool operator==(const TargetId&) const = default;
};

}  // namespace smelt::machine
