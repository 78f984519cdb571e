// Steps that take instructions away.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "fuzz/reduce/search.h"
#include "hlo/passes/call_inliner.h"

namespace smelt::fuzz {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

bool HasNoResult(const Instruction& instruction) {
  return instruction.shape().IsToken() || instruction.shape().element_type == hlo::PrimitiveType::kOpaque;
}

// The computations that combine or order scalars for another instruction.
absl::flat_hash_set<const hlo::Computation*> Reducers(const hlo::Module& module) {
  using enum Opcode;
  absl::flat_hash_set<const hlo::Computation*> reducers;
  for (const Instruction* instruction : AllInstructions(module)) {
    switch (instruction->opcode()) {
      case kReduce:
      case kReduceWindow:
      case kScatter:
      case kSelectAndScatter:
      case kSort:
      case kScan:
      case kAllReduce:
      case kReduceScatter:
        for (const hlo::Computation* called : instruction->called()) reducers.insert(called);
        break;
      default:
        break;
    }
  }
  return reducers;
}

// Candidates for cutting: everything that computes something.
std::vector<size_t> Cuttable(const ReduceSearch& search) {
  const hlo::Module& module = search.best();
  absl::flat_hash_set<const hlo::Computation*> kept;
  if (search.keep_reducers()) kept = Reducers(module);
  std::vector<size_t> positions;
  const std::vector<Instruction*> all = AllInstructions(module);
  for (size_t i = 0; i < all.size(); ++i) {
    const Instruction& instruction = *all[i];
    if (kept.contains(instruction.parent())) continue;
    if (instruction.opcode() == Opcode::kParameter || instruction.opcode() == Opcode::kConstant) continue;
    if (instruction.opcode() == Opcode::kBroadcast && instruction.operand(0)->opcode() == Opcode::kConstant) continue;
    if (HasNoResult(instruction) || (instruction.user_count() == 0 && !instruction.IsRoot())) continue;
    positions.push_back(i);
  }
  return positions;
}

}  // namespace

bool ReduceRoots(ReduceSearch& search) {
  bool changed = false;
  // Fewer elements of a tuple: half of them, then one less.
  for (int64_t chunk = std::max<int64_t>(search.best().entry()->root()->operand_count() / 2, 1); chunk >= 1;
       chunk /= 2) {
    for (int64_t first = 0; first < search.best().entry()->root()->operand_count();) {
      const auto drop = [&](hlo::Module& module) {
        Instruction& root = *module.entry()->root();
        if (root.opcode() != Opcode::kTuple || root.operand_count() < 2) return false;
        std::vector<Instruction*> kept;
        for (int64_t i = 0; i < root.operand_count(); ++i) {
          if (i < first || i >= first + chunk) kept.push_back(root.operand(i));
        }
        if (kept.empty()) return false;
        module.raw_attributes().clear();
        if (kept.size() == 1) {
          module.entry()->set_root(kept[0]);
          return true;
        }
        std::vector<Shape> shapes;
        for (const Instruction* element : kept) shapes.push_back(element->shape());
        module.entry()->set_root(module.entry()->Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), kept));
        return true;
      };
      if (search.Try(drop)) {
        changed = true;
      } else {
        first += chunk;
      }
    }
  }
  // Another root: early ones first, by halves of the program, then the operands of the root.
  const auto make_root = [&](size_t position) {
    return search.Try([&](hlo::Module& module) {
      const std::vector<Instruction*> all = module.entry()->Instructions();
      if (position >= all.size() || all[position]->IsRoot() || HasNoResult(*all[position])) return false;
      module.raw_attributes().clear();
      module.entry()->set_root(all[position]);
      return true;
    });
  };
  for (int64_t parts = 2; parts <= 16 && !search.Stopped(); parts *= 2) {
    for (int64_t k = 1; k < parts; k += 2) {
      const size_t count = search.best().entry()->Instructions().size();
      changed |= make_root(count * static_cast<size_t>(k) / static_cast<size_t>(parts));
    }
  }
  for (bool again = true; again && !search.Stopped();) {
    again = false;
    const std::vector<Instruction*> all = search.best().entry()->Instructions();
    const Instruction& root = *search.best().entry()->root();
    for (size_t i = 0; i < all.size() && !again; ++i) {
      if (std::find(root.operands().begin(), root.operands().end(), all[i]) != root.operands().end())
        again = make_root(i);
    }
    changed |= again;
  }
  return changed;
}

bool ReduceInstructions(ReduceSearch& search) {
  bool changed = false;
  for (const bool constant : {false, true}) {
    for (size_t chunk = std::max<size_t>(Cuttable(search).size() / 2, 1); chunk >= 1; chunk /= 2) {
      for (size_t first = 0; first < Cuttable(search).size() && !search.Stopped();) {
        const std::vector<size_t> positions = Cuttable(search);
        const auto cut = [&](hlo::Module& module) {
          const std::vector<Instruction*> all = AllInstructions(module);
          bool any = false;
          for (size_t i = first; i < std::min(first + chunk, positions.size()); ++i) {
            any |= ReplaceByInput(*all[positions[i]], constant);
          }
          return any;
        };
        if (search.Try(cut)) {
          changed = true;
        } else {
          first += chunk;
        }
      }
    }
  }
  // Past an instruction, to an operand or a parameter of the same shape.
  for (size_t next = 0; next < AllInstructions(search.best()).size() && !search.Stopped();) {
    const Instruction& instruction = *AllInstructions(search.best())[next];
    if (search.keep_reducers() && Reducers(search.best()).contains(instruction.parent())) {
      ++next;
      continue;
    }
    bool kept = false;
    if (instruction.opcode() != Opcode::kParameter) {
      for (int64_t k = 0; k < instruction.operand_count() && !kept; ++k) {
        if (!instruction.operand(k)->shape().SameAs(instruction.shape())) continue;
        kept = search.Try([&](hlo::Module& module) {
          Instruction& same = *AllInstructions(module)[next];
          same.ReplaceAllUsesWith(same.operand(k));
          return true;
        });
        if (kept) break;
      }
    }
    if (!kept) {
      const Instruction& unchanged = *AllInstructions(search.best())[next];
      if (unchanged.opcode() == Opcode::kParameter || unchanged.opcode() == Opcode::kConstant) {
        // Inputs that can be one: another parameter of the same shape, or a scalar constant.
        kept = search.Try([&](hlo::Module& module) {
          Instruction& same = *AllInstructions(module)[next];
          for (Instruction* other : same.parent()->Instructions()) {
            if (other == &same || other->opcode() != Opcode::kParameter || !other->shape().SameAs(same.shape()))
              continue;
            same.ReplaceAllUsesWith(other);
            return true;
          }
          return false;
        });
        if (!kept && unchanged.opcode() == Opcode::kConstant && !unchanged.shape().IsScalar()) {
          kept = search.Try(
              [&](hlo::Module& module) { return ReplaceByInput(*AllInstructions(module)[next], /*constant=*/true); });
        }
      }
    }
    changed |= kept;
    if (!kept) ++next;
  }
  return changed;
}

bool ReduceControlFlow(ReduceSearch& search) {
  bool changed = search.Try([](hlo::Module& module) {
    const absl::StatusOr<bool> inlined = hlo::InlineCalls(module);
    return inlined.ok() && *inlined;
  });
  for (size_t next = 0; next < AllInstructions(search.best()).size() && !search.Stopped(); ++next) {
    const Instruction& instruction = *AllInstructions(search.best())[next];
    std::vector<std::pair<int64_t, int64_t>> bodies;  // which called computation stands for it, on which operand
    if (instruction.opcode() == Opcode::kConditional) {
      for (int64_t b = 0; b < static_cast<int64_t>(instruction.called().size()); ++b) bodies.emplace_back(b, b + 1);
    } else if (instruction.opcode() == Opcode::kWhile) {
      bodies.emplace_back(0, 0);
    } else if (instruction.opcode() == Opcode::kFusion || instruction.opcode() == Opcode::kCall) {
      bodies.emplace_back(0, -1);
    }
    for (const auto& [body, operand] : bodies) {
      const bool kept = search.Try([&, body = body, operand = operand](hlo::Module& module) {
        Instruction& same = *AllInstructions(module)[next];
        std::vector<Instruction*> operands;
        if (operand >= 0) operands = {same.operand(operand)};
        if (operand < 0) operands.assign(same.operands().begin(), same.operands().end());
        Instruction* call = same.parent()->Add(Opcode::kCall, same.shape(), operands, {}, "", {same.called(body)});
        same.ReplaceAllUsesWith(call);
        return hlo::InlineCalls(module).ok();
      });
      changed |= kept;
      if (kept) break;
    }
  }
  return changed;
}

namespace {

// Position of a tuple's element that a loop only hands on, or that nothing reads: of `state`, element `index` goes.
Shape Without(const Shape& tuple, int64_t index) {
  Shape smaller = tuple;
  smaller.tuple_shapes.erase(smaller.tuple_shapes.begin() + index);
  return smaller;
}

// The tuple that is parameter `number` of a computation loses an element. Readers of that element get a constant.
bool DropFromParameter(hlo::Computation& computation, int64_t number, int64_t index) {
  Instruction* parameter = computation.Parameters()[number];
  if (parameter->IsRoot() || index >= static_cast<int64_t>(parameter->shape().tuple_shapes.size())) return false;
  const std::vector<Instruction*> users(parameter->users().begin(), parameter->users().end());
  for (Instruction* user : users) {
    if (user->opcode() != Opcode::kGetTupleElement) return false;
    const int64_t read = user->attributes<hlo::TupleIndexAttributes>().index;
    if (read == index) {
      Instruction* constant = MakeConstant(computation, user->shape(), 1);
      if (constant == nullptr) return false;
      user->ReplaceAllUsesWith(constant);
      computation.Remove(user);
    } else if (read > index) {
      user->set_attributes(hlo::TupleIndexAttributes{read - 1});
    }
  }
  parameter->shape() = Without(parameter->shape(), index);
  return true;
}

bool DropFromRoot(hlo::Computation& computation, int64_t index) {
  Instruction* root = computation.root();
  if (root->opcode() != Opcode::kTuple || index >= root->operand_count()) return false;
  std::vector<Instruction*> kept(root->operands().begin(), root->operands().end());
  kept.erase(kept.begin() + index);
  computation.set_root(computation.Add(Opcode::kTuple, Without(root->shape(), index), kept));
  return true;
}

bool DropFromOperand(Instruction& instruction, int64_t operand, int64_t index) {
  Instruction* tuple = instruction.operand(operand);
  if (tuple->opcode() == Opcode::kParameter && tuple->user_count() == 1 && !tuple->IsRoot() &&
      tuple->parent() == tuple->parent()->parent()->entry()) {
    tuple->shape() = Without(tuple->shape(), index);
    return true;
  }
  if (tuple->opcode() != Opcode::kTuple || index >= tuple->operand_count()) return false;
  std::vector<Instruction*> kept(tuple->operands().begin(), tuple->operands().end());
  kept.erase(kept.begin() + index);
  instruction.ReplaceOperand(operand, instruction.parent()->Add(Opcode::kTuple, Without(tuple->shape(), index), kept));
  return true;
}

// Users read a tuple that has an element less now.
bool DropFromUsers(Instruction& instruction, int64_t index) {
  // What the entry gives may change, what a called computation gives may not.
  if (instruction.IsRoot() && instruction.parent() != instruction.parent()->parent()->entry()) return false;
  const std::vector<Instruction*> users(instruction.users().begin(), instruction.users().end());
  for (Instruction* user : users) {
    if (user->opcode() != Opcode::kGetTupleElement) return false;
    const int64_t read = user->attributes<hlo::TupleIndexAttributes>().index;
    if (read == index) {
      if (!ReplaceByInput(*user, false)) return false;
      instruction.parent()->Remove(user);
    } else if (read > index) {
      user->set_attributes(hlo::TupleIndexAttributes{read - 1});
    }
  }
  instruction.shape() = Without(instruction.shape(), index);
  return true;
}

}  // namespace

bool ReduceTuples(ReduceSearch& search) {
  bool changed = false;
  for (size_t next = 0; next < AllInstructions(search.best()).size() && !search.Stopped(); ++next) {
    // What is kept changes the positions: the next one is looked at only while it is what it was.
    const auto has_element = [&](Opcode opcode, int64_t i) {
      const std::vector<Instruction*> all = AllInstructions(search.best());
      return next < all.size() && all[next]->opcode() == opcode &&
             i < static_cast<int64_t>(all[next]->shape().tuple_shapes.size());
    };
    if (has_element(Opcode::kWhile, 0)) {
      for (int64_t i = 0; has_element(Opcode::kWhile, i);) {
        const bool kept = search.Try([&](hlo::Module& module) {
          Instruction& loop = *AllInstructions(module)[next];
          return DropFromOperand(loop, 0, i) && DropFromParameter(*loop.called(0), 0, i) &&
                 DropFromParameter(*loop.called(1), 0, i) && DropFromRoot(*loop.called(0), i) && DropFromUsers(loop, i);
        });
        changed |= kept;
        if (!kept) ++i;
      }
    } else if (has_element(Opcode::kConditional, 0)) {
      for (int64_t i = 0; has_element(Opcode::kConditional, i);) {
        const bool kept = search.Try([&](hlo::Module& module) {
          Instruction& branches = *AllInstructions(module)[next];
          for (hlo::Computation* branch : branches.called()) {
            if (!DropFromRoot(*branch, i)) return false;
          }
          return DropFromUsers(branches, i);
        });
        changed |= kept;
        if (!kept) ++i;
      }
    }
  }
  return changed;
}

}  // namespace smelt::fuzz
