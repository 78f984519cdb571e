#include "kernels/nests/structure.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "kernels/nests/body_cost.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/te/hlo/pairs.h"
#include "kernels/te/hlo/position.h"
#include "kernels/te/hlo/winograd.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::nests {
namespace {

using te::BinaryOp;
using te::Expr;
using te::ExprKind;
using te::Operation;
using te::OperationRef;

// More places than this where an operation would be computed anew, and it is kept whatever it costs: expressions grow.
constexpr size_t kContextLimit = 24;
// Reads of one sum that are followed to what they come down to.
constexpr size_t kLookAhead = 128;
// Arithmetic per element whose repetition outweighs a store and a load in the nearest cache, and in memory.
constexpr double kKeepNear = 24;
constexpr double kKeepFar = 120;
// Times that a sum reads each of a few elements of a large array from which on a copy of these pays: where the sum's
// vectors run along memory, and where they do not.
constexpr double kPickedPasses = 32;
constexpr double kPickedPassesApart = 8;
// Scratch of one iteration that is still near.
constexpr double kNearElements = 32 * 1024;

int PositionOf(const Operation& operation, const Expr& e) {
  for (size_t i = 0; i < operation.axes.size(); ++i) {
    if (operation.axes[i].var.Same(e)) return static_cast<int>(i);
  }
  return -1;
}

// Times that a read is made when loops run in the order of the axes, reduce axes innermost, and what does not change
// in an inner loop is taken out of it. Short inner loops share their vectors with the next ones, and nothing is taken
// out of them.
double Evaluations(const Access& access) {
  const Operation& reader = *access.reader;
  if (IsContraction(reader)) return Steps(reader);
  double all = 1;
  double until_last = 1;
  const auto loop = [&](const te::IterVar& axis) {
    all *= static_cast<double>(axis.extent);
    for (const Expr& index : access.indices) {
      if (te::Mentions(index, axis.var)) {
        until_last = all;
        break;
      }
    }
  };
  for (const te::IterVar& axis : reader.axes) loop(axis);
  for (const te::IterVar& axis : reader.reduce_axes) loop(axis);
  const bool shares = reader.reduce_axes.empty() && all <= until_last * static_cast<double>(kShortRow);
  return shares ? all : until_last;
}

// A border around an array: inside, the array's element at the same distance from each other.
bool IsBorder(const Operation& operation) {
  if (!te::IsPadding(operation)) return false;
  return std::none_of(operation.bodies.begin(), operation.bodies.end(), [](const Expr& body) {
    return te::Contains(body, [](const Expr& e) {
      return e->kind == ExprKind::kBinary && (e->binary() == BinaryOp::kFloorMod || e->binary() == BinaryOp::kFloorDiv);
    });
  });
}

// A small window over each channel apart, channels last: every element of the picture is read for a few products only,
// so that a bordered copy of it would cost as much as they do. The gradient of such a window's taps, each a sum over
// the picture, is the same with the two exchanged.
bool IsDepthwiseWindow(const OperationRef& operation) {
  if (operation->tag != "convolution" || operation->axes.empty()) return false;
  const double taps = std::min(Steps(*operation) / Elements(*operation),
                               Elements(*operation) / static_cast<double>(operation->axes.back().extent));
  if (taps > kUnborderedTaps) return false;
  const std::vector<Access> reads = DirectReads(operation);
  return std::all_of(reads.begin(), reads.end(), [&](const Access& read) {
    return Stride(read, operation->axes.back().var) == std::optional<int64_t>(1);
  });
}

// Arrays beside each other, places at which they are read, and elements of a row of what reads them, for which loops
// are cut into few pieces, most of them the steady one.
constexpr size_t kMostParts = 3, kMostPlaces = 9;
constexpr int64_t kLongRow = 64;

// Whether loops that go through what reads it are cut where its parts begin (lower/partition.h), so that to choose
// among them costs nothing: a border, or a few arrays beside each other, as an array that is rolled is.
bool IsChosenByLoops(const Operation& operation, const std::vector<Access>& contexts) {
  const bool beside = operation.tag == "concatenate" && operation.Inputs().size() <= kMostParts;
  if (!(beside || IsBorder(operation)) || contexts.size() > kMostPlaces) return false;
  return std::all_of(contexts.begin(), contexts.end(), [](const Access& context) {
    const Operation& reader = *context.reader;
    if (reader.IsReduction() || reader.axes.empty() || reader.axes.back().extent < kLongRow) return false;
    return std::all_of(reader.axes.begin(), reader.axes.end(), [&](const te::IterVar& axis) {
      return std::all_of(context.indices.begin(), context.indices.end(),
                         [&](const Expr& index) { return Coefficient(index, axis.var).has_value(); });
    });
  });
}

// The fields of the stages that their output's nest computes, by tag.
struct WinogradField {
  std::string_view tag;
  OperationRef WinogradStages::*field;
};
constexpr WinogradField kWinogradFields[] = {
    {te::kWinogradBorder, &WinogradStages::border},
    {te::kWinogradInputHalf, &WinogradStages::input_half},
    {te::kWinogradInput, &WinogradStages::input},
    {te::kWinogradWeightsHalf, &WinogradStages::weights_half},
    {te::kWinogradWeights, &WinogradStages::weights},
    {te::kWinogradProduct, &WinogradStages::product},
    {te::kWinogradOutputHalf, &WinogradStages::output_half},
};

const WinogradField* FindWinogradField(const Operation& operation) {
  for (const WinogradField& entry : kWinogradFields) {
    if (entry.tag == operation.tag) return &entry;
  }
  return nullptr;
}

// The elements of the largest array that an operation reads.
double ElementsRead(const OperationRef& operation) {
  double elements = 0;
  for (const OperationRef& input : operation->Inputs()) elements = std::max(elements, Elements(*input));
  return elements;
}

class Analysis {
 public:
  explicit Analysis(te::Graph graph) { structure_.graph = std::move(graph); }

  Structure Run() {
    const std::vector<OperationRef>& operations = structure_.graph.operations;
    for (const te::Tensor& output : structure_.graph.outputs) outputs_.insert(output.op.get());
    for (const OperationRef& operation : operations) {
      chain_cost_[operation.get()] = ChainCost(*operation);
      if (Picks(operation)) picks_.insert(operation.get());
    }
    for (size_t i = operations.size(); i-- > 0;) {
      const OperationRef& operation = operations[i];
      if (operation->kind == te::OperationKind::kPlaceholder) {
        Record(operation);
      } else {
        Decide(operation);
      }
    }
    Finish();
    return std::move(structure_);
  }

 private:
  struct Place {
    size_t nest = 0;
    int depth = 0;               // see Attached; the root's own is its rank
    std::vector<int> root_axis;  // of each axis: the root's axis that it equals, -1
  };

  double ChainCost(const Operation& operation) {
    if (operation.kind == te::OperationKind::kPlaceholder) return 0;
    double cost = BodyCost(operation);
    if (operation.IsReduction()) return cost;
    for (const OperationRef& input : operation.Inputs()) {
      if (!input->IsReduction()) cost += chain_cost_[input.get()];
    }
    return std::min(cost, 1e6);
  }

  // Whether it moves a part of a larger array, or what data points at: a layer's weights in a stack of them, the pages
  // of a cache. A sum that packs what it reads could not tell this part from the rest.
  bool Picks(const OperationRef& operation) const {
    if (operation->kind == te::OperationKind::kPlaceholder || operation->IsReduction() || BodyCost(*operation) > 0)
      return false;
    if (ElementsRead(operation) >= 2 * Elements(*operation)) return true;
    for (const Access& read : DirectReads(operation)) {
      if (picks_.contains(read.tensor.get()) || IsPositionData(read)) return true;
    }
    return false;
  }

  // Whether a contraction reads the part so often along its vectors that it is worth a copy.
  bool IsWorthPicking(const Operation& operation, const std::vector<Access>& contexts) const {
    if (!picks_.contains(&operation)) return false;
    return std::any_of(contexts.begin(), contexts.end(), [&](const Access& context) {
      if (!IsContraction(*context.reader) || context.reader->axes.empty()) return false;
      const te::Expr& last = context.reader->axes.back().var;
      if (!DependsOn(context, last)) return false;
      const double passes = Stride(context, last) == 1 ? kPickedPasses : kPickedPassesApart;
      return Evaluations(context) >= passes * Elements(operation);
    });
  }

  // Whether it brings what lies apart beside each other, along the vectors, for a sum that reads each of its elements
  // several times: channels of a depthwise one, or positions of one whose taps are the same for all of them.
  bool LaysChannelsOut(const Operation& operation, const std::vector<Access>& contexts) const {
    return std::any_of(contexts.begin(), contexts.end(), [&](const Access& context) {
      const Operation& sum = *context.reader;
      if (!IsContraction(sum) || sum.axes.empty()) return false;
      const te::Expr& last = sum.axes.back().var;
      const auto along = [&](const Access& read) { return Stride(read, last) == 1; };
      const auto fits = [&](const Access& read) { return along(read) || Stride(read, last) == 0; };
      const std::vector<Access> operands = DirectReads(context.reader), sources = ReadsThrough(context);
      return along(context) && std::all_of(operands.begin(), operands.end(), fits) &&
             !std::all_of(sources.begin(), sources.end(), fits) && Evaluations(context) >= 2 * Elements(operation);
    });
  }

  // The reads of `operation` by what is already placed become the accesses of those nests.
  void Record(const OperationRef& operation) {
    for (const Access& access : pending_[operation.get()]) {
      structure_.nests[places_.at(access.reader.get()).nest].accesses.push_back(access);
    }
  }

  void Decide(const OperationRef& operation) {
    if (places_.contains(operation.get())) return;
    const std::vector<Access>& contexts = pending_[operation.get()];
    if (contexts.empty() && !outputs_.contains(operation.get())) return;  // dead
    if (operation->tag == te::kWinogradResult) return DecideWinograd(operation);
    if (const WinogradField* stage = FindWinogradField(*operation)) return PlaceWinograd(operation, *stage);
    if (outputs_.contains(operation.get())) {
      Record(operation);
      NewNest(operation);
      return;
    }
    size_t nest = 0;
    const int depth = PrefixDepth(*operation, contexts, &nest);
    if (operation->IsReduction()) {
      Record(operation);
      AxisMatch match;
      if (TileMatch(*operation, contexts, &nest, &match)) {
        Attach(operation, nest, 0, std::move(match));
      } else if (depth > 0 && !IsContraction(*operation) && !LosesVectors(*operation, contexts, depth)) {
        Attach(operation, nest, depth, {});
      } else {
        NewNest(operation);
      }
      return;
    }
    const bool near = depth > 0 && depth < static_cast<int>(structure_.nests[nest].root->axes.size());
    if (!Keep(*operation, contexts, near)) {
      structure_.inlined.push_back(operation);
      Inline(contexts);
      return;
    }
    Record(operation);
    if (near) {
      Attach(operation, nest, depth, {});
    } else {
      NewNest(operation);
    }
  }

  // The result goes into the loops of what follows where these walk over its tiles, and has loops of its own otherwise;
  // its tiles are computed inside them.
  void DecideWinograd(const OperationRef& result) {
    const std::vector<Access> reads = DirectReads(result);
    const OperationRef& output = reads[0].tensor;
    const std::vector<Access>& contexts = pending_[result.get()];
    const auto matches = [&](const std::vector<Access>& of_output) {
      size_t nest = 0;
      AxisMatch match;
      if (!TileMatch(*output, of_output, &nest, &match)) return false;
      Attach(output, nest, 0, std::move(match));
      structure_.nests[nest].winograd = WinogradStages{.output = output};
      return true;
    };
    if (!outputs_.contains(result.get()) && contexts.size() == 1) {
      Inline(contexts);
      if (matches(pending_[output.get()])) {
        structure_.inlined.push_back(result);
        Record(output);
        return;
      }
      pending_[output.get()].clear();
    }
    Record(result);
    NewNest(result);
    Check(matches(pending_[output.get()]), "a convolution's own loops do not walk over its tiles");
    Record(output);
  }

  void PlaceWinograd(const OperationRef& operation, const WinogradField& stage) {
    const size_t nest = places_.at(pending_[operation.get()][0].reader.get()).nest;
    Record(operation);
    places_[operation.get()] = {.nest = nest, .depth = 0, .root_axis = std::vector<int>(operation->axes.size(), -1)};
    WinogradStages& stages = *structure_.nests[nest].winograd;
    stages.*stage.field = operation;
    if (stage.tag == te::kWinogradProduct) {
      const std::vector<int64_t>& shape = operation->shape;
      stages.extents = {shape[0], shape[1], shape[2], shape[5]};
    }
    AddReads(operation);
  }

  bool Keep(const Operation& operation, const std::vector<Access>& contexts, bool near) {
    if (contexts.size() > kContextLimit) return true;
    const double own = BodyCost(operation);
    // Movement alone is index arithmetic wherever it is read.
    if (own == 0 && operation.tag != te::kReadAgain)
      return IsWorthPicking(operation, contexts) || LaysChannelsOut(operation, contexts);
    // Partition takes the border out of the steady part of its loops.
    if (own == chain_cost_[&operation]) {
      const auto in_window = [](const Access& context) { return IsDepthwiseWindow(context.reader); };
      if (IsBorder(operation) && std::all_of(contexts.begin(), contexts.end(), in_window)) return false;
      if (IsChosenByLoops(operation, contexts)) return false;
    }
    const double elements = Elements(operation);
    double evaluations = 0, stacked = 0;
    bool feeds_contraction = false;
    for (const Access& context : contexts) {
      const double times = Evaluations(context);
      if (StacksShortRows(*context.reader)) {
        stacked = std::max(stacked, times / static_cast<double>(context.reader->shape.back()));
      } else {
        evaluations += times;
      }
      feeds_contraction = feeds_contraction || (IsContraction(*context.reader) && times > 4 * elements);
    }
    if (feeds_contraction) return true;
    evaluations += stacked;
    const double waste = (evaluations / elements - 1) * chain_cost_[&operation];
    if (waste < kKeepNear) return false;
    // Far away it pays where the array is small beside what reads it, or costs very much.
    return near || elements * 8 <= evaluations || waste >= kKeepFar;
  }

  static void AddNew(Access access, std::vector<Access>* list) {
    for (const Access& other : *list) {
      if (other.reader != access.reader || other.tensor != access.tensor || other.output != access.output) continue;
      bool same = true;
      for (size_t i = 0; i < access.indices.size(); ++i) same = same && access.indices[i].Same(other.indices[i]);
      if (same) return;
    }
    list->push_back(std::move(access));
  }

  // An index where quotients and remainders that belong together are one again: what one reshape has split and another
  // one joins.
  static Expr Joined(const Expr& index, const Access& context) {
    const bool divides = te::Contains(
        index, [](const Expr& e) { return e->kind == ExprKind::kBinary && e->binary() == BinaryOp::kFloorMod; });
    if (!divides) return index;
    te::Simplifier simplifier;
    for (const auto* axes : {&context.reader->axes, &context.reader->reduce_axes}) {
      for (const te::IterVar& axis : *axes) simplifier.Bind(axis.var, {0, axis.extent - 1});
    }
    return simplifier.Simplify(index);
  }

  // The reads that a read of an elementwise operation comes down to where that is inlined.
  static std::vector<Access> ReadsThrough(const Access& context) {
    const OperationRef& operation = context.tensor;
    std::vector<std::pair<Expr, Expr>> replacements;
    for (size_t i = 0; i < operation->axes.size(); ++i)
      replacements.emplace_back(operation->axes[i].var, context.indices[i]);
    std::vector<Access> reads;
    for (const Access& read : DirectReads(operation)) {
      std::vector<Expr> indices;
      for (const Expr& index : read.indices) indices.push_back(Joined(te::Substitute(index, replacements), context));
      reads.push_back({context.reader, read.tensor, read.output, std::move(indices)});
    }
    return reads;
  }

  // Reads made at `contexts` go on to the operands at the indices that follow.
  void Inline(const std::vector<Access>& contexts) {
    for (const Access& context : contexts) {
      for (Access& read : ReadsThrough(context)) AddPending(std::move(read));
    }
  }

  // The reads of a sum before it is placed, as they will be then: through what is computed beside it, as far as a short
  // look goes.
  std::vector<Access> ReadsToCome(const Operation& sum) {
    std::vector<Access> reads, seen = DirectReads(sum.shared_from_this());
    for (size_t i = 0; i < seen.size(); ++i) {
      const Access read = seen[i];
      const Operation& producer = *read.tensor;
      const bool placed_alone = producer.kind == te::OperationKind::kPlaceholder || producer.IsReduction() ||
                                producer.tag == te::kWinogradResult || FindWinogradField(producer) != nullptr ||
                                outputs_.contains(&producer);
      if (placed_alone || seen.size() > kLookAhead || Keep(producer, {read}, false)) {
        reads.push_back(read);
        continue;
      }
      for (Access& further : ReadsThrough(read)) AddNew(std::move(further), &seen);
    }
    return reads;
  }

  void AddPending(Access access) { AddNew(std::move(access), &pending_[access.tensor.get()]); }

  void AddReads(const OperationRef& operation) {
    for (Access& read : DirectReads(operation)) AddPending(std::move(read));
  }

  void NewNest(const OperationRef& operation) {
    Nest nest;
    nest.root = operation;
    Place place;
    place.nest = structure_.nests.size();
    place.depth = static_cast<int>(operation->axes.size());
    for (int i = 0; i < place.depth; ++i) place.root_axis.push_back(i);
    places_[operation.get()] = std::move(place);
    structure_.nests.push_back(std::move(nest));
    AddReads(operation);
  }

  void Attach(const OperationRef& operation, size_t nest, int depth, AxisMatch match) {
    Place place;
    place.nest = nest;
    place.depth = depth;
    place.root_axis.assign(operation->axes.size(), -1);
    // The axes that equal a root axis wherever the operation is read.
    bool first = true;
    for (const Access& context : pending_[operation.get()]) {
      const Place& reader = places_.at(context.reader.get());
      for (size_t d = 0; d < context.indices.size(); ++d) {
        const int position = PositionOf(*context.reader, context.indices[d]);
        const int axis = position >= 0 ? reader.root_axis[position] : -1;
        if (first) {
          place.root_axis[d] = axis;
        } else if (place.root_axis[d] != axis) {
          // Another read walks over the whole axis: only outer loops are shared.
          if (place.root_axis[d] >= depth || axis >= depth || axis < 0 || place.root_axis[d] < 0) {
            place.root_axis[d] = -1;
          }
        }
      }
      first = false;
    }
    structure_.nests[nest].attached.push_back({operation, depth, std::move(match), place.root_axis});
    places_[operation.get()] = std::move(place);
    AddReads(operation);
  }

  // How many of the root's outer axes every read follows one to one, so that computing the operation inside them
  // repeats nothing. 0: readers are in several nests, or there is no such axis.
  int PrefixDepth(const Operation& operation, const std::vector<Access>& contexts, size_t* nest) {
    int depth = -1;
    double near_elements = Elements(operation);
    for (size_t c = 0; c < contexts.size(); ++c) {
      const Access& context = contexts[c];
      const Place& place = places_.at(context.reader.get());
      if (c > 0 && place.nest != *nest) return 0;
      *nest = place.nest;
      const Nest& of_reader = structure_.nests[place.nest];
      if (HasTileAttached(of_reader)) return 0;
      if (of_reader.root->IsReduction() && KindOfReduction(*of_reader.root) != NestKind::kRowReduction) return 0;
      const std::vector<int64_t>& root_shape = of_reader.root->shape;
      std::vector<bool> follows(root_shape.size(), false);
      for (const Expr& index : context.indices) {
        const int position = PositionOf(*context.reader, index);
        if (position >= 0 && place.root_axis[position] >= 0) follows[place.root_axis[position]] = true;
      }
      int common = 0;
      while (common < static_cast<int>(root_shape.size()) && common < place.depth &&
             (follows[common] || root_shape[common] == 1)) {
        ++common;
      }
      depth = depth < 0 ? common : std::min(depth, common);
    }
    if (depth <= 0) return 0;
    const std::vector<int64_t>& root_shape = structure_.nests[*nest].root->shape;
    bool real = false;
    for (int i = 0; i < depth; ++i) {
      real = real || root_shape[i] > 1;
      near_elements /= static_cast<double>(root_shape[i]);
    }
    return real && near_elements <= kNearElements ? depth : 0;
  }

  // Whether the results that follow each other in memory, which vectors would run over, are those of different rounds
  // of the outer loops: inside these, one is summed at a time, and each step of it lies far from the one before.
  bool LosesVectors(const Operation& operation, const std::vector<Access>& contexts, int depth) {
    const std::vector<Access> reads = ReadsToCome(operation);
    const int axis = VectorAxis(operation, reads);
    const bool far_apart = std::any_of(reads.begin(), reads.end(), [&](const Access& read) {
      const std::optional<int64_t> step = Stride(read, operation.reduce_axes.back().var);
      return !step || *step > kShortRow;
    });
    if (axis < 0 || !far_apart) return false;
    return std::any_of(contexts.begin(), contexts.end(), [&](const Access& context) {
      const int position = PositionOf(*context.reader, context.indices[axis]);
      const int root_axis = position < 0 ? -1 : places_.at(context.reader.get()).root_axis[position];
      return root_axis >= 0 && root_axis < depth;
    });
  }

  static bool HasTileAttached(const Nest& nest) {
    return std::any_of(nest.attached.begin(), nest.attached.end(), [](const Attached& a) { return a.depth == 0; });
  }

  NestKind KindOfReduction(const Operation& operation) {
    if (Elements(operation) == 1) return NestKind::kRowReduction;
    if (IsContraction(operation)) return NestKind::kTiled;
    std::vector<Access> accesses;
    for (const Nest& nest : structure_.nests) {
      for (const Access& access : nest.accesses) {
        if (access.reader.get() == &operation) accesses.push_back(access);
      }
    }
    if (accesses.empty()) accesses = ReadsToCome(operation);
    return VectorAxis(operation, accesses) >= 0 ? NestKind::kTiled : NestKind::kRowReduction;
  }

  // Whether the operation can be computed tile by tile inside the loops of its one reader, a nest of elementwise work.
  bool TileMatch(const Operation& operation, const std::vector<Access>& contexts, size_t* nest, AxisMatch* match) {
    if (contexts.size() != 1 || Elements(operation) == 1) return false;
    const Access& context = contexts[0];
    const Place& place = places_.at(context.reader.get());
    const Nest& of_reader = structure_.nests[place.nest];
    if (context.reader != of_reader.root || of_reader.root->IsReduction()) return false;
    if (operation.tag != te::kWinogradOutput && KindOfReduction(operation) != NestKind::kTiled) return false;
    for (const Attached& other : of_reader.attached) {
      if (other.depth != 0 || other.operation->shape != operation.shape ||
          IsContraction(*other.operation) != IsContraction(operation)) {
        return false;
      }
    }
    std::optional<AxisMatch> found = MatchAxes(*of_reader.root, operation, context.indices);
    if (!found) return false;
    for (const Attached& other : of_reader.attached) {
      for (size_t d = 0; d < found->sources.size(); ++d) {
        const AxisSource& a = found->sources[d];
        const AxisSource& b = other.match.sources[d];
        if (a.axes != b.axes || a.divisor != b.divisor || a.modulus != b.modulus) return false;
      }
    }
    *nest = place.nest;
    *match = std::move(*found);
    return true;
  }

  void Finish() {
    for (const OperationRef& operation : structure_.inlined) inlined_.insert(operation.get());
    std::reverse(structure_.nests.begin(), structure_.nests.end());
    double most = -1;
    for (size_t i = 0; i < structure_.nests.size(); ++i) {
      Nest& nest = structure_.nests[i];
      std::reverse(nest.attached.begin(), nest.attached.end());
      nest.main = nest.root;
      if (nest.root->IsReduction()) nest.kind = KindOfReduction(*nest.root);
      if (!nest.attached.empty()) {
        nest.kind = HasTileAttached(nest)      ? NestKind::kTiled
                    : nest.root->IsReduction() ? NestKind::kRowReduction
                                               : NestKind::kRows;
        if (nest.kind == NestKind::kTiled) {
          for (const Attached& attached : nest.attached) {
            if (nest.main == nest.root || Steps(*attached.operation) > Steps(*nest.main)) {
              nest.main = attached.operation;
            }
          }
        }
      }
      nest.inlined_cost = InlinedCost(*nest.main);
      if (nest.Work() > most) {
        most = nest.Work();
        structure_.main = i;
      }
    }
  }

  // BodyCost of the operations that are computed where `reader` reads them, each counted once.
  double InlinedCost(const Operation& reader) const {
    double cost = 0;
    absl::flat_hash_set<const Operation*> seen;
    std::vector<const Operation*> open = {&reader};
    while (!open.empty()) {
      const Operation& operation = *open.back();
      open.pop_back();
      for (const OperationRef& input : operation.Inputs()) {
        if (!inlined_.contains(input.get()) || !seen.insert(input.get()).second) continue;
        cost += BodyCost(*input);
        open.push_back(input.get());
      }
    }
    return cost;
  }

  Structure structure_;
  absl::flat_hash_set<const Operation*> outputs_, picks_, inlined_;
  absl::flat_hash_map<const Operation*, double> chain_cost_;
  absl::flat_hash_map<const Operation*, std::vector<Access>> pending_;
  absl::flat_hash_map<const Operation*, Place> places_;
};

}  // namespace

bool StacksShortRows(const te::Operation& operation) {
  const size_t rank = operation.axes.size();
  if (operation.tag != "concatenate" || rank < 2) return false;
  const int64_t width = operation.shape[rank - 1];
  if (width < 2 || width > kShortRow || operation.shape[rank - 2] < 2 * kShortRow) return false;
  const std::vector<te::OperationRef> parts = operation.Inputs();
  return std::any_of(parts.begin(), parts.end(), [&](const te::OperationRef& part) {
    return part->shape.size() == rank && part->shape[rank - 1] != width;
  });
}

bool IsContraction(const Operation& operation) {
  return operation.IsReduction() && (operation.tag == "dot" || operation.tag == "convolution" ||
                                     operation.tag == te::kWinogradProduct || operation.tag == te::kPairsTag);
}

namespace {

// The most by which a read moves from one element of an axis to the next, backwards never: its stride, or for groups of
// neighbours that share an element what lies between two of these.
std::optional<int64_t> MostJump(const Access& access, const Expr& axis) {
  if (const std::optional<int64_t> stride = Stride(access, axis)) return *stride < 0 ? std::nullopt : stride;
  int64_t jump = 0, row = 1;
  for (size_t d = access.indices.size(); d-- > 0;) {
    const Expr& index = access.indices[d];
    const std::optional<int64_t> step = Coefficient(index, axis);
    const bool by_groups = index->kind == ExprKind::kBinary && index->binary() == BinaryOp::kFloorDiv &&
                           index->operands[0].Same(axis) && index->operands[1]->kind == ExprKind::kInt;
    if (step ? *step < 0 : !by_groups) return std::nullopt;
    jump += step.value_or(1) * row;
    row *= access.tensor->shape[d];
  }
  return jump;
}

// The innermost kept axis of at least `least` elements along which every read moves by at most `jump`, and some read at
// all; -1: there is none.
int AxisOfSmallJumps(const Operation& reduction, const std::vector<Access>& accesses, int64_t least, int64_t jump) {
  for (size_t i = reduction.axes.size(); i-- > 0;) {
    if (reduction.axes[i].extent < least) continue;
    bool moves = false, possible = true;
    for (const Access& access : accesses) {
      const std::optional<int64_t> most = MostJump(access, reduction.axes[i].var);
      possible = possible && most && *most <= jump;
      moves = moves || (most && *most > 0);
    }
    if (possible && moves) return static_cast<int>(i);
  }
  return -1;
}

// Whether some read goes along memory with the sum for as long as a few vectors.
bool SumsAlongMemory(const Operation& reduction, const std::vector<Access>& accesses) {
  constexpr int64_t kFewElements = 8;
  return std::any_of(reduction.reduce_axes.begin(), reduction.reduce_axes.end(), [&](const te::IterVar& axis) {
    if (axis.extent < kFewElements) return false;
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](const Access& access) { return Stride(access, axis.var) == 1; });
  });
}

}  // namespace

int VectorAxis(const Operation& reduction, const std::vector<Access>& accesses) {
  constexpr int64_t kLeast = 4, kLeastOfJumps = 8;
  const int axis = AxisOfSmallJumps(reduction, accesses, kLeast, 1);
  if (axis >= 0 || SumsAlongMemory(reduction, accesses)) return axis;
  return AxisOfSmallJumps(reduction, accesses, kLeastOfJumps, kShortJump);
}

double Nest::Work() const {
  double work = 0;
  const auto add = [&](const Operation& operation) {
    work += Steps(operation) * (operation.IsReduction() ? 2 : 1) * (1 + BodyCost(operation) / 16);
  };
  add(*root);
  for (const Attached& a : attached) add(*a.operation);
  if (winograd) add(*winograd->product);
  return work;
}

Structure AnalyseStructure(te::Graph graph) { return Analysis(std::move(graph)).Run(); }

}  // namespace smelt::kernels::nests
