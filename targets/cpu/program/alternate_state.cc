#include "targets/cpu/program/alternate_state.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "targets/cpu/program/liveness.h"

namespace smelt::cpu {
namespace {

using runtime::BufferId;
using runtime::Sequence;
using runtime::Step;
using Kind = runtime::ProgramBuffer::Kind;
using Places = absl::flat_hash_map<BufferId, BufferId>;  // where what a buffer held lies now; absent: where it was

// Less is copied in the time that a step takes.
constexpr int64_t kLeastBytes = 1024;
// Two values that swap, or three that rotate: (previous, current) -> (current, next).
constexpr size_t kLongestCycle = 3;
// Steps of all bodies of a loop.
constexpr int64_t kMostSteps = 8192;

// Where in the program, counted in steps, a buffer is named first and last.
struct Extent {
  int64_t first, last;
};

void FindExtents(const Sequence& steps, int64_t* position, std::vector<Extent>* extents) {
  for (const Step& step : steps) {
    const int64_t here = (*position)++;
    for (const std::vector<BufferId>* ids : {&step.reads, &step.writes}) {
      for (const BufferId id : *ids) {
        (*extents)[id].first = std::min((*extents)[id].first, here);
        (*extents)[id].last = here;
      }
    }
    for (const Sequence& sequence : step.sequences) FindExtents(sequence, position, extents);
  }
}

int64_t CountSteps(const Sequence& steps) {
  int64_t count = static_cast<int64_t>(steps.size());
  for (const Step& step : steps) {
    for (const Sequence& sequence : step.sequences) count += CountSteps(sequence);
  }
  return count;
}

BufferId PlaceOf(const Places& places, BufferId id) {
  const auto at = places.find(id);
  return at == places.end() ? id : at->second;
}

Sequence Renamed(Sequence steps, const Places& places) {
  for (Step& step : steps) {
    for (BufferId& id : step.reads) id = PlaceOf(places, id);
    for (BufferId& id : step.writes) id = PlaceOf(places, id);
    for (Sequence& sequence : step.sequences) sequence = Renamed(std::move(sequence), places);
  }
  return steps;
}

// One loop's copies that can go.
struct Alternation {
  Places next;            // where each value lies after one body, of those that move
  int64_t period = 1;     // bodies after which all lie where they began
  Sequence body, copies;  // the body without these copies; the copies alone, in their order
};

bool AsksOthers(const Sequence& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    return step.kind == Step::Kind::kOpaque || std::any_of(step.sequences.begin(), step.sequences.end(), AsksOthers);
  });
}

class Alternating {
 public:
  explicit Alternating(runtime::Program* program)
      : program_(*program), extents_(program->buffers.size(), {std::numeric_limits<int64_t>::max(), -1}) {
    int64_t position = 0;
    FindExtents(program_.steps, &position, &extents_);
  }

  int64_t Run() {
    Visit(&program_.steps);
    return loops_;
  }

 private:
  // Inner loops first: what they become is part of the bodies around them.
  void Visit(Sequence* steps) {
    Sequence after;
    for (Step& step : *steps) {
      ++position_;
      Extent last_sequence{};
      for (Sequence& sequence : step.sequences) {
        last_sequence.first = position_;
        Visit(&sequence);
        last_sequence.last = position_ - 1;
      }
      const bool is_loop = step.kind == Step::Kind::kRepeat || step.kind == Step::Kind::kWhile;
      const std::optional<Alternation> found = is_loop ? Find(step, last_sequence) : std::nullopt;
      loops_ += found.has_value();
      if (found && step.kind == Step::Kind::kRepeat) {
        Unroll(std::move(step), *found, &after);
        continue;
      }
      if (found) TakeTurns(*found, &step);
      after.push_back(std::move(step));
    }
    *steps = std::move(after);
  }

  int64_t Bytes(BufferId id) const { return program_.buffers[id].bytes; }
  bool IsOurs(BufferId id) const {
    return program_.buffers[id].kind == Kind::kArena || program_.buffers[id].kind == Kind::kOutput;
  }

  // Every place of which the value moves leads to the next of its cycle: a state takes the place of its next value, and
  // where that was a value of the body alone, the place of the state at the other end becomes free for it.
  // `inside`: the body's steps, as the program had them.
  std::optional<Alternation> Find(const Step& loop, Extent inside) const {
    const Sequence& body = loop.sequences.back();
    const auto is_copy = [](const Step& step) { return step.kind == Step::Kind::kCopy; };
    const auto first_copy = std::find_if_not(body.rbegin(), body.rend(), is_copy).base();
    if (first_copy == body.end()) return std::nullopt;
    // Values that only the body knows: nobody else names the buffer, and the body writes it before it reads it.
    const absl::flat_hash_set<BufferId> exposed = ReadBeforeWritten(body);
    const auto is_local = [&](BufferId id) {
      return program_.buffers[id].kind == Kind::kArena && extents_[id].first >= inside.first &&
             extents_[id].last <= inside.last && !exposed.contains(id);
    };
    Alternation found;
    // What a place holds after the copies was at `source` before them.
    Places source;
    absl::flat_hash_set<BufferId> targets, taken;
    for (auto copy = first_copy; copy != body.end(); ++copy) {
      source[copy->writes[0]] = PlaceOf(source, copy->reads[0]);
      if (!targets.insert(copy->writes[0]).second) return std::nullopt;
    }
    for (auto copy = first_copy; copy != body.end(); ++copy) {
      const BufferId to = copy->writes[0], from = source.at(to);
      const bool moves = Bytes(to) >= kLeastBytes && Bytes(to) == Bytes(from) && IsOurs(to) &&
                         (is_local(from) || (targets.contains(from) && IsOurs(from))) && taken.insert(from).second;
      if (moves) found.next[to] = from;
    }
    Close(is_local, &found.next);
    if (found.next.empty()) return std::nullopt;
    absl::flat_hash_set<BufferId> moved;
    found.body.assign(body.begin(), first_copy);
    for (auto copy = first_copy; copy != body.end(); ++copy) {
      if (found.next.contains(copy->writes[0])) {
        moved.insert(copy->writes[0]);
        found.copies.push_back(*copy);
      } else {
        // It would read what was to be overwritten before it.
        if (moved.contains(copy->reads[0])) return std::nullopt;
        found.body.push_back(*copy);
      }
    }
    found.period = Period(found.next);
    if ((found.period + 1) * CountSteps(body) > kMostSteps) return std::nullopt;
    if (loop.kind == Step::Kind::kRepeat) return found.period <= loop.trips ? std::optional(found) : std::nullopt;
    // The condition is asked once more where the loop ends in the middle.
    return found.period == 2 && !AsksOthers(loop.sequences[0]) ? std::optional(found) : std::nullopt;
  }

  // Takes out chains that end where a value has to stay, or that are too long, and closes the others.
  static void Close(const std::function<bool(BufferId)>& is_local, Places* next) {
    std::vector<BufferId> begins;
    absl::flat_hash_set<BufferId> followed;
    for (const auto& [to, from] : *next) followed.insert(from);
    for (const auto& [to, from] : *next) {
      if (!followed.contains(to)) begins.push_back(to);
    }
    for (const BufferId begin : begins) {
      std::vector<BufferId> chain = {begin};
      while (next->contains(chain.back())) chain.push_back(next->at(chain.back()));
      if (is_local(chain.back()) && chain.size() <= kLongestCycle) {
        (*next)[chain.back()] = begin;
      } else {
        for (const BufferId id : chain) next->erase(id);
      }
    }
    // Cycles without a value of the body are left to the copies: nothing is computed there.
    std::vector<BufferId> idle;
    for (const auto& [to, from] : *next) {
      BufferId at = from;
      bool computes = is_local(to);
      for (size_t i = 0; i < kLongestCycle && at != to; ++i, at = next->at(at)) computes |= is_local(at);
      if (!computes) idle.push_back(to);
    }
    for (const BufferId id : idle) next->erase(id);
  }

  static int64_t Period(const Places& next) {
    int64_t period = 1;
    for (const auto& [to, from] : next) {
      int64_t length = 1;
      for (BufferId at = from; at != to; at = next.at(at)) ++length;
      period = std::lcm(period, length);
    }
    return period;
  }

  // Where values lie after `bodies` of them.
  static Places After(const Places& next, int64_t bodies) {
    Places places;
    for (const auto& [begin, unused] : next) {
      BufferId at = begin;
      for (int64_t i = 0; i < bodies; ++i) at = next.at(at);
      places[begin] = at;
    }
    return places;
  }

  static void Unroll(Step step, const Alternation& found, Sequence* out) {
    Step rest = step;
    step.trips /= found.period;
    rest.trips %= found.period;
    step.sequences[0].clear();
    for (int64_t i = 0; i < found.period; ++i) {
      Sequence body = Renamed(found.body, After(found.next, i));
      std::move(body.begin(), body.end(), std::back_inserter(step.sequences[0]));
    }
    out->push_back(std::move(step));
    if (rest.trips > 0) out->push_back(std::move(rest));
  }

  // The body twice, with the condition asked between; where it says no, the copies bring the values home.
  static void TakeTurns(const Alternation& found, Step* step) {
    const Places other = After(found.next, 1);
    Sequence body = found.body;
    Sequence asked = Renamed(step->sequences[0], other);
    std::move(asked.begin(), asked.end(), std::back_inserter(body));
    Step choice;
    choice.kind = Step::Kind::kConditional;
    choice.predicate_form = true;
    choice.reads = {PlaceOf(other, step->reads[0])};
    choice.sequences = {Renamed(found.body, other), found.copies};
    body.push_back(std::move(choice));
    step->sequences[1] = std::move(body);
  }

  runtime::Program& program_;
  std::vector<Extent> extents_;
  int64_t position_ = 0;  // steps of the program as it was that are visited
  int64_t loops_ = 0;
};

}  // namespace

int64_t AlternateLoopState(runtime::Program* program) { return Alternating(program).Run(); }

}  // namespace smelt::cpu
