// Applies a printed trace to a fresh schedule.
#include <algorithm>
#include <climits>
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "kernels/schedule/state.h"
#include "kernels/schedule/words.h"

namespace smelt::kernels::schedule {
namespace {

constexpr std::string_view kTails[] = {"guard", "predicate", "round_up", "shift_inwards"};

using Words = std::vector<std::string>;

absl::StatusOr<int64_t> Number(const std::string& word) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(word, &value)) return absl::InvalidArgumentError(absl::StrCat("`", word, "` is not a number"));
  return value;
}

absl::Status ReplaySplit(Schedule& schedule, const Words& words, bool parts) {
  SMELT_ASSIGN_OR_RETURN(const int64_t factor, Number(words[2]));
  const auto tail = TailFromName(words[3]);
  if (!tail) return absl::InvalidArgumentError(absl::StrCat("`", words[3], "` is no tail strategy"));
  return parts ? schedule.SplitParts(words[0], words[1], factor, *tail).status()
               : schedule.Split(words[0], words[1], factor, *tail).status();
}

absl::StatusOr<ir::Scope> ReadScope(const Schedule& schedule, const std::string& word) {
  const te::ScopeTable& scopes = schedule.state().scopes;
  const std::optional<ir::Scope> scope = scopes.Find(word);
  if (!scope) return absl::InvalidArgumentError(absl::StrCat("`", word, "` is no scope; there are: ", scopes.Names()));
  return *scope;
}

// The words from `first` on, of the form small:number.
absl::StatusOr<std::vector<std::pair<int, int64_t>>> Pairs(const Words& words, size_t first, const char* form) {
  std::vector<std::pair<int, int64_t>> pairs;
  for (size_t i = first; i < words.size(); ++i) {
    const Words parts = absl::StrSplit(words[i], ':');
    if (parts.size() != 2)
      return absl::InvalidArgumentError(absl::StrCat("`", words[i], "` is not of the form ", form));
    SMELT_ASSIGN_OR_RETURN(const int64_t small, Number(parts[0]));
    SMELT_ASSIGN_OR_RETURN(const int64_t number, Number(parts[1]));
    if (small < 0 || small > 1000)
      return absl::InvalidArgumentError(absl::StrCat("`", words[i], "` begins with a number beyond 1000"));
    pairs.emplace_back(static_cast<int>(small), number);
  }
  return pairs;
}

absl::Status ReplayLayout(Schedule& schedule, const Words& words) {
  SMELT_ASSIGN_OR_RETURN(const auto layout, Pairs(words, 1, "axis:block"));
  return schedule.TransformLayout(words[0], layout);
}

absl::Status ReplayPipeline(Schedule& schedule, const Words& words) {
  SMELT_ASSIGN_OR_RETURN(const auto pairs, Pairs(words, 2, "step:order"));
  std::vector<int> steps, order;
  for (const auto& [step, place] : pairs) {
    steps.push_back(step);
    order.push_back(static_cast<int>(std::clamp<int64_t>(place, -1, INT_MAX)));
  }
  return schedule.Pipeline(words[0], words[1], steps, order);
}

absl::Status ReplayAlign(Schedule& schedule, const Words& words) {
  SMELT_ASSIGN_OR_RETURN(const int64_t axis, Number(words[1]));
  SMELT_ASSIGN_OR_RETURN(const int64_t factor, Number(words[2]));
  SMELT_ASSIGN_OR_RETURN(const int64_t offset, Number(words[3]));
  return schedule.StorageAlign(words[0], static_cast<int>(std::clamp<int64_t>(axis, -1, INT_MAX)), factor, offset);
}

absl::Status ReplayBind(Schedule& schedule, const Words& words) {
  for (const ir::ForKind binding : {ir::ForKind::kBlock, ir::ForKind::kThread, ir::ForKind::kVirtualThread}) {
    if (words[2] == ir::ForKindName(binding)) return schedule.Bind(words[0], words[1], binding);
  }
  return absl::InvalidArgumentError(absl::StrCat("`", words[2], "` is nothing to bind a loop to"));
}

Words From(const Words& words, size_t first) { return Words(words.begin() + first, words.end()); }

struct Primitive {
  std::string_view name;
  size_t fewest, most;  // arguments
  absl::Status (*apply)(Schedule&, const Words&);
};

constexpr size_t kAny = 1000;

const Primitive kPrimitives[] = {
    {"split", 4, 4, [](Schedule& s, const Words& w) { return ReplaySplit(s, w, false); }},
    {"split_parts", 4, 4, [](Schedule& s, const Words& w) { return ReplaySplit(s, w, true); }},
    {"fuse", 3, 3, [](Schedule& s, const Words& w) { return s.Fuse(w[0], w[1], w[2]).status(); }},
    {"reorder", 1, kAny, [](Schedule& s, const Words& w) { return s.Reorder(w[0], From(w, 1)); }},
    {"vectorize", 2, 2, [](Schedule& s, const Words& w) { return s.Vectorize(w[0], w[1]); }},
    {"unroll", 2, 2, [](Schedule& s, const Words& w) { return s.Unroll(w[0], w[1]); }},
    {"parallel", 2, 2, [](Schedule& s, const Words& w) { return s.Parallel(w[0], w[1]); }},
    {"bind", 3, 3, ReplayBind},
    {"compute_at", 3, 3, [](Schedule& s, const Words& w) { return s.ComputeAt(w[0], w[1], w[2]); }},
    {"compute_inline", 1, 1, [](Schedule& s, const Words& w) { return s.ComputeInline(w[0]); }},
    {"compute_root", 1, 1, [](Schedule& s, const Words& w) { return s.ComputeRoot(w[0]); }},
    {"cache_read", 3, kAny,
     [](Schedule& s, const Words& w) -> absl::Status {
       SMELT_ASSIGN_OR_RETURN(const ir::Scope scope, ReadScope(s, w[1]));
       return s.CacheRead(w[0], scope, From(w, 2)).status();
     }},
    {"cache_write", 2, 2,
     [](Schedule& s, const Words& w) -> absl::Status {
       SMELT_ASSIGN_OR_RETURN(const ir::Scope scope, ReadScope(s, w[1]));
       return s.CacheWrite(w[0], scope).status();
     }},
    {"rfactor", 2, 2, [](Schedule& s, const Words& w) { return s.Rfactor(w[0], w[1]).status(); }},
    {"tensorize", 3, 3, [](Schedule& s, const Words& w) { return s.Tensorize(w[0], w[1], w[2]); }},
    {"set_scope", 2, 2,
     [](Schedule& s, const Words& w) -> absl::Status {
       SMELT_ASSIGN_OR_RETURN(const ir::Scope scope, ReadScope(s, w[1]));
       return s.SetScope(w[0], scope);
     }},
    {"transform_layout", 1, kAny, ReplayLayout},
    {"pad_reduction", 3, 3,
     [](Schedule& s, const Words& w) -> absl::Status {
       SMELT_ASSIGN_OR_RETURN(const int64_t multiple, Number(w[2]));
       return s.PadReduction(w[0], w[1], multiple).status();
     }},
    {"shift_operand", 2, 2, [](Schedule& s, const Words& w) { return s.ShiftOperand(w[0], w[1]).status(); }},
    {"double_buffer", 1, 1, [](Schedule& s, const Words& w) { return s.DoubleBuffer(w[0]); }},
    {"pipeline", 2, kAny, ReplayPipeline},
    {"storage_align", 4, 4, ReplayAlign},
    {"prefetch", 4, 5,
     [](Schedule& s, const Words& w) -> absl::Status {
       SMELT_ASSIGN_OR_RETURN(const int64_t iterations, Number(w[3]));
       return s.Prefetch(w[0], w[1], w[2], iterations, w.size() > 4 ? std::string_view(w[4]) : "");
     }},
    {"pragma", 4, 4,
     [](Schedule& s, const Words& w) -> absl::Status {
       SMELT_ASSIGN_OR_RETURN(const int64_t value, Number(w[3]));
       return s.Pragma(w[0], w[1], w[2], value);
     }},
};

absl::Status ReplayLine(Schedule& schedule, const Words& words) {
  for (const Primitive& primitive : kPrimitives) {
    if (primitive.name != words[0]) continue;
    const size_t count = words.size() - 1;
    if (count < primitive.fewest || count > primitive.most) {
      return absl::InvalidArgumentError(
          absl::StrCat("`", words[0], "` takes ", primitive.fewest, " words, found ", count));
    }
    return primitive.apply(schedule, From(words, 1));
  }
  return absl::InvalidArgumentError(absl::StrCat("`", words[0], "` is no primitive"));
}

}  // namespace

std::string TailName(TailStrategy tail) { return std::string(kTails[static_cast<int>(tail)]); }

std::optional<TailStrategy> TailFromName(std::string_view name) {
  for (int i = 0; i < 4; ++i) {
    if (kTails[i] == name) return static_cast<TailStrategy>(i);
  }
  return std::nullopt;
}

absl::StatusOr<Schedule> Schedule::Replay(te::Graph graph, std::string_view trace, te::ScopeTable scopes,
                                          std::vector<TensorIntrinsicRef> instructions) {
  Schedule schedule(std::move(graph), std::move(scopes), std::move(instructions));
  int number = 0;
  for (const auto& line : absl::StrSplit(absl::string_view(trace.data(), trace.size()), '\n')) {
    ++number;
    const Words words = absl::StrSplit(line, ' ', absl::SkipWhitespace());
    if (words.empty()) continue;
    if (absl::Status status = ReplayLine(schedule, words); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, " of the trace: ", status.message()));
    }
  }
  return schedule;
}

}  // namespace smelt::kernels::schedule
