#include "hlo/quantize/partition.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/passes/dead_code.h"
#include "hlo/quantize/channels.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo::quantize {
namespace {

// Constants and their broadcasts go wherever they are read.
bool IsConstant(const Instruction& x) {
  return x.opcode() == Opcode::kConstant ||
         (x.opcode() == Opcode::kBroadcast && x.operand(0)->opcode() == Opcode::kConstant);
}

// Names of values, with nothing to run.
bool IsNothing(const Instruction& x) {
  return x.opcode() == Opcode::kParameter || x.opcode() == Opcode::kTuple || x.opcode() == Opcode::kGetTupleElement;
}

int64_t MultiplyAdds(const Instruction& x) {
  if (x.opcode() == Opcode::kDot) {
    return x.shape().ElementCount() *
           PlaceCount(x.operand(0)->shape().dimensions, x.attributes<DotAttributes>().lhs_contracting);
  }
  if (x.opcode() != Opcode::kConvolution) return 0;
  const Shape& kernel = x.operand(1)->shape();
  const int64_t features = kernel.dimensions[x.attributes<ConvolutionAttributes>().dimensions.kernel_output_feature];
  return x.shape().ElementCount() * (kernel.ElementCount() / std::max<int64_t>(1, features));
}

class Cutter {
 public:
  Cutter(const Module& module, const AcceleratorRule& rule, const PartitionOptions& options)
      : options_(options), order_(), module_(module.Clone(nullptr, &map_)) {
    order_ = module_->entry()->PostOrder();
    for (const Instruction* x : module.entry()->PostOrder()) {
      if (IsConstant(*x)) continue;
      why_[map_.at(x)] = IsNothing(*x) ? "nothing runs" : rule(*x);
    }
    // What a control dependency orders stays where the order is kept.
    for (const Instruction* x : order_) {
      if (!x->control_predecessors().empty() || !x->control_successors().empty()) why_[x] = "is ordered by hand";
    }
  }

  absl::StatusOr<Partition> Run() {
    do {
      Group();
    } while (DropSmall());
    Partition result;
    for (const auto& [key, members] : Ordered()) result.regions.push_back(Describe(members));
    int64_t number = 0;
    for (Region& region : result.regions) {
      region.name = region.accelerator ? StrCat("accelerator.", number++) : "cpu";
    }
    size_t r = 0;
    for (const auto& [key, members] : Ordered()) {
      Region& region = result.regions[r++];
      if (region.accelerator) Extract(members, &region);
    }
    std::erase_if(result.regions, [](const Region& region) { return region.operations.empty(); });
    SMELT_RETURN_IF_ERROR(EliminateDeadCode(*module_).status());
    result.module = std::move(module_);
    return result;
  }

 private:
  using Members = std::vector<Instruction*>;

  bool OnAccelerator(const Instruction* x) const { return why_.at(x).empty(); }

  // Levels count the changes of side on the longest way to an instruction; a region is what hangs together on one side
  // at one level. A way out of it leads to higher levels, so that none comes back.
  void Group() {
    level_.clear();
    parent_.clear();
    for (Instruction* x : order_) {
      if (IsConstant(*x)) continue;
      int64_t level = 0;
      auto reach = [&](const Instruction* before) {
        if (IsConstant(*before)) return;
        level = std::max(level, level_.at(before) + (OnAccelerator(before) != OnAccelerator(x) ? 1 : 0));
      };
      for (const Instruction* operand : x->operands()) reach(operand);
      for (const Instruction* before : x->control_predecessors()) reach(before);
      level_[x] = level;
      parent_[x] = x;
      for (const Instruction* operand : x->operands()) {
        if (IsConstant(*operand) || level_.at(operand) != level || OnAccelerator(operand) != OnAccelerator(x)) continue;
        if (OnAccelerator(x)) parent_[Top(operand)] = Top(x);
      }
    }
  }

  const Instruction* Top(const Instruction* x) {
    while (parent_.at(x) != x) x = parent_[x] = parent_.at(parent_.at(x));
    return x;
  }

  // Regions of the accelerator by level and first instruction; the CPU has one a level, before them.
  std::map<std::pair<int64_t, int64_t>, Members> Ordered() {
    absl::flat_hash_map<const Instruction*, int64_t> first;
    std::map<std::pair<int64_t, int64_t>, Members> regions;
    for (size_t i = 0; i < order_.size(); ++i) {
      Instruction* x = order_[i];
      if (IsConstant(*x)) continue;
      int64_t place = -1;
      if (OnAccelerator(x)) place = first.try_emplace(Top(x), static_cast<int64_t>(i)).first->second;
      regions[{level_.at(x), place}].push_back(x);
    }
    return regions;
  }

  // Sends regions that do too little to the CPU; whether there were any.
  bool DropSmall() {
    bool dropped = false;
    for (const auto& [key, members] : Ordered()) {
      if (!OnAccelerator(members[0])) continue;
      int64_t work = 0;
      for (const Instruction* x : members) work += MultiplyAdds(*x);
      if (work >= options_.least_multiply_adds) continue;
      for (const Instruction* x : members) why_[x] = "too little work around it";
      dropped = true;
    }
    return dropped;
  }

  Region Describe(const Members& members) {
    Region region;
    region.accelerator = OnAccelerator(members[0]);
    const absl::flat_hash_set<const Instruction*> inside(members.begin(), members.end());
    absl::flat_hash_set<const Instruction*> read;
    for (const Instruction* x : members) {
      if (!IsNothing(*x)) {
        ++region.operations[std::string(OpcodeName(x->opcode()))];
        if (!region.accelerator) ++region.reasons[why_.at(x)];
      }
      region.multiply_adds += MultiplyAdds(*x);
      for (const Instruction* operand : x->operands()) {
        const Instruction* constant = operand->opcode() == Opcode::kBroadcast ? operand->operand(0) : operand;
        if (!IsConstant(*operand)) {
          if (!inside.contains(operand) && read.insert(operand).second) region.bytes_in += operand->shape().ByteSize();
        } else if (constant->shape().rank() > 0 && read.insert(constant).second) {
          region.constant_bytes += constant->shape().ByteSize();
        }
      }
      if (IsRead(*x, inside)) region.bytes_out += x->shape().ByteSize();
    }
    return region;
  }

  // Whether something outside reads x.
  static bool IsRead(const Instruction& x, const absl::flat_hash_set<const Instruction*>& inside) {
    if (x.IsRoot()) return true;
    return std::any_of(x.users().begin(), x.users().end(),
                       [&](const Instruction* user) { return !inside.contains(user); });
  }

  // Makes a computation of the region, and a call in its place.
  void Extract(const Members& members, Region* region) {
    const absl::flat_hash_set<const Instruction*> inside(members.begin(), members.end());
    Computation& entry = *module_->entry();
    Computation& body = *module_->AddComputation(region->name);
    absl::flat_hash_map<const Instruction*, Instruction*> copies;
    std::vector<Instruction*> inputs;
    auto take = [&](Instruction* x) {
      Instruction*& copy = copies[x];
      if (copy == nullptr) {
        copy = body.Add(Opcode::kParameter, x->shape(), {}, ParameterAttributes{static_cast<int64_t>(inputs.size())});
        inputs.push_back(x);
      }
      return copy;
    };
    auto operand_of = [&](Instruction* x) -> Instruction* {
      if (const auto at = copies.find(x); at != copies.end()) return at->second;
      if (!IsConstant(*x)) return take(x);
      if (x->opcode() == Opcode::kConstant) return x->shape().rank() > 0 ? take(x) : copies[x] = body.AddClone(*x, {});
      Instruction* constant = x->operand(0);
      Instruction* copy = copies.contains(constant)      ? copies.at(constant)
                          : constant->shape().rank() > 0 ? take(constant)
                                                         : copies[constant] = body.AddClone(*constant, {});
      return copies[x] = body.AddClone(*x, {copy});
    };
    std::vector<Instruction*> outputs;
    for (Instruction* x : members) {
      std::vector<Instruction*> operands;
      for (Instruction* operand : x->operands()) operands.push_back(operand_of(operand));
      copies[x] = body.AddClone(*x, operands, x->name());
      if (IsRead(*x, inside)) outputs.push_back(x);
    }
    std::vector<Instruction*> results;
    for (const Instruction* x : outputs) results.push_back(copies.at(x));
    body.set_root(results.size() == 1 ? results[0] : GraphBuilder(body).Tuple(results));
    region->computation = &body;
    region->call = entry.Add(Opcode::kFusion, body.root()->shape(), inputs, FusionAttributes{FusionKind::kCustom},
                             region->name, {&body});
    for (size_t i = 0; i < outputs.size(); ++i) {
      Instruction* value = region->call;
      if (outputs.size() > 1) value = GraphBuilder(entry).GetTupleElement(region->call, static_cast<int64_t>(i));
      const std::vector<Instruction*> users(outputs[i]->users().begin(), outputs[i]->users().end());
      for (Instruction* user : users) {
        if (!inside.contains(user)) outputs[i]->ReplaceUsesIn(user, value);
      }
      if (outputs[i]->IsRoot()) entry.set_root(value);
    }
  }

  const PartitionOptions& options_;
  absl::flat_hash_map<const Instruction*, Instruction*> map_;
  std::vector<Instruction*> order_;
  std::unique_ptr<Module> module_;
  absl::flat_hash_map<const Instruction*, std::string> why_;  // not on the accelerator
  absl::flat_hash_map<const Instruction*, int64_t> level_;
  absl::flat_hash_map<const Instruction*, const Instruction*> parent_;
};

}  // namespace

absl::StatusOr<Partition> PartitionModule(const Module& module, const AcceleratorRule& rule,
                                          const PartitionOptions& options) {
  return Cutter(module, rule, options).Run();
}

std::string PartitionToText(const Partition& partition) {
  std::string text = absl::StrFormat("%-16s %14s %12s %12s %12s  %s\n", "region", "multiply-adds", "bytes in",
                                     "bytes out", "constants", "operations");
  int64_t work[2] = {0, 0}, regions[2] = {0, 0}, crossing = 0;
  for (const Region& region : partition.regions) {
    std::string operations;
    for (const auto& [opcode, count] : region.operations)
      StrAppend(&operations, operations.empty() ? "" : ", ", opcode, " ", count);
    absl::StrAppendFormat(&text, "%-16s %14d %12d %12d %12d  %s\n", region.name, region.multiply_adds, region.bytes_in,
                          region.bytes_out, region.constant_bytes, operations);
    for (const auto& [why, count] : region.reasons) absl::StrAppendFormat(&text, "%-16s %s: %d\n", "", why, count);
    work[region.accelerator] += region.multiply_adds;
    ++regions[region.accelerator];
    if (region.accelerator) crossing += region.bytes_in + region.bytes_out;
  }
  const double share =
      work[0] + work[1] == 0 ? 0 : 100.0 * static_cast<double>(work[1]) / static_cast<double>(work[0] + work[1]);
  absl::StrAppendFormat(&text,
                        "%d regions on the accelerator with %.1f%% of the multiply-adds, %d on the CPU; %d bytes cross "
                        "in a run\n",
                        regions[1], share, regions[0], crossing);
  return text;
}

}  // namespace smelt::hlo::quantize
