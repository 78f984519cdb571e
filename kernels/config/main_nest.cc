#include "kernels/config/main_nest.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::config {
namespace {

using nests::Access;
using nests::NestKind;

// Shorter axes fill no vector worth having.
constexpr int64_t kShortestVector = 4;

// Whether the value of an element depends on its place other than through what it reads, so that fusing loops would
// bring divisions into the arithmetic.
bool UsesPositions(const nests::Structure& structure) {
  for (const te::OperationRef& operation : structure.graph.operations) {
    std::vector<te::Expr> pending(operation->bodies.begin(), operation->bodies.end());
    absl::flat_hash_set<const te::ExprNode*> seen;
    while (!pending.empty()) {
      const te::Expr e = pending.back();
      pending.pop_back();
      if (!seen.insert(e.get()).second || e->kind == te::ExprKind::kTensorRead) continue;
      if (e->kind == te::ExprKind::kVar && e->type == te::kIndex) return true;
      pending.insert(pending.end(), e->operands.begin(), e->operands.end());
    }
  }
  return false;
}

// Whether every access walks over both axes as over one.
bool RunsThrough(const nests::Nest& nest, int outer, int inner) {
  const te::Operation& root = *nest.root;
  return std::all_of(nest.accesses.begin(), nest.accesses.end(), [&](const Access& access) {
    const std::optional<int64_t> a = nests::Stride(access, root.axes[outer].var);
    const std::optional<int64_t> b = nests::Stride(access, root.axes[inner].var);
    return a && b && *a == *b * root.shape[inner];
  });
}

class MainNestAnalysis {
 public:
  MainNestAnalysis(nests::Structure structure, const machine::Machine& target)
      : found_(std::make_unique<MainNest>()), target_(target) {
    found_->structure = std::move(structure);
  }

  std::unique_ptr<const MainNest> Run() {
    const nests::Nest& nest = found_->nest();
    const bool tiled = nest.kind == NestKind::kTiled;
    found_->domain = tiled ? nest.main.get() : nest.root.get();
    found_->lanes = nests::LanesOf(*found_->domain, target_);
    FindSums();
    for (const nests::Attached& attached : nest.attached)
      found_->row_depth = std::max(found_->row_depth, attached.depth);
    FindAxes();
    FindOperands();
    FindVectors();
    // Sums along vectors of themselves read their operands where these are.
    const bool along_axes = std::any_of(found_->vectors.begin(), found_->vectors.end(),
                                        [](const VectorDirection& direction) { return direction.axis >= 0; });
    if (found_->axes.empty() || (!found_->vectors.empty() && !along_axes)) found_->operands.clear();
    return std::move(found_);
  }

 private:
  void FindSums() {
    const nests::Nest& nest = found_->nest();
    if (nest.root->IsReduction()) {
      if (nest.attached.empty()) found_->sums = {nest.root.get()};
    } else if (nest.kind == NestKind::kTiled) {
      // The main one first: the knobs of the sum are cut to it.
      found_->sums = {nest.main.get()};
      for (const nests::Attached& attached : nest.attached) {
        if (attached.operation != nest.main) found_->sums.push_back(attached.operation.get());
      }
    }
    if (found_->sums.empty()) return;
    const te::Operation& sum = *found_->sums[0];
    for (size_t r = 0; r < sum.reduce_axes.size(); ++r) {
      if (sum.reduce_axes[r].extent > 1) found_->reduces.push_back(static_cast<int>(r));
    }
  }

  void FindAxes() {
    const nests::Nest& nest = found_->nest();
    const bool may_fuse = found_->sums.empty() && found_->row_depth == 0 && !UsesPositions(found_->structure);
    for (size_t a = 0; a < found_->domain->axes.size(); ++a) {
      const int position = static_cast<int>(a);
      const int64_t extent = found_->domain->axes[a].extent;
      if (extent == 1) continue;
      if (may_fuse && !found_->axes.empty() && found_->axes.back().positions.back() + 1 == position &&
          RunsThrough(nest, position - 1, position)) {
        found_->axes.back().positions.push_back(position);
        found_->axes.back().extent *= extent;
        continue;
      }
      found_->axes.push_back({nests::AxisName(position), {position}, extent});
    }
  }

  // Elementwise work that only this read needs and that is no result.
  bool IsPrivate(const Access& access) const {
    const nests::Structure& structure = found_->structure;
    const nests::Nest* producer = nullptr;
    for (const nests::Nest& nest : structure.nests) {
      if (nest.root == access.tensor) producer = &nest;
      for (const Access& other : nest.accesses) {
        if (&other != &access && other.tensor == access.tensor) return false;
      }
    }
    if (producer == nullptr || producer->kind != NestKind::kInjective || !producer->attached.empty()) return false;
    return std::none_of(structure.graph.outputs.begin(), structure.graph.outputs.end(),
                        [&](const te::Tensor& output) { return output.op == access.tensor; });
  }

  void FindOperands() {
    for (const te::Operation* sum : found_->sums) {
      if (!nests::IsContraction(*sum)) continue;
      for (const Access& access : found_->nest().accesses) {
        if (access.reader.get() != sum || access.tensor->shape.empty()) continue;
        // Read twice in different ways: one copy would not serve both.
        const auto again = [&](const Access& other) {
          return &other != &access && other.reader.get() == sum && other.tensor == access.tensor;
        };
        const std::vector<Access>& all = found_->nest().accesses;
        if (std::any_of(all.begin(), all.end(), again)) continue;
        found_->operands.push_back({&access, sum, IsPrivate(access)});
      }
    }
  }

  int AxisAt(int position) const {
    for (size_t a = 0; a < found_->axes.size(); ++a) {
      const std::vector<int>& positions = found_->axes[a].positions;
      if (std::find(positions.begin(), positions.end(), position) != positions.end()) return static_cast<int>(a);
    }
    return -1;
  }

  void AddVector(int axis) {
    if (axis < 0) return;
    for (const VectorDirection& other : found_->vectors) {
      if (other.axis == axis) return;
    }
    found_->vectors.push_back({axis, found_->axes[axis].name});
  }

  // Whether each operand that changes along the axis lies along it, or can be packed to.
  bool VectorsCanRun(int axis) const {
    const int position = found_->axes[axis].position();
    bool contiguous = false;
    for (const te::Operation* sum : found_->sums) {
      for (const Access& access : found_->nest().accesses) {
        if (access.reader.get() != sum || !nests::DependsOn(access, sum->axes[position].var)) continue;
        const std::optional<int64_t> stride = nests::Stride(access, sum->axes[position].var);
        contiguous = contiguous || (stride && *stride == 1);
        int dimension = -1;
        if (!(stride && *stride == 1) && !CanLieAlong(access, *sum, position, &dimension)) return false;
      }
    }
    return contiguous || position + 1 == static_cast<int>(found_->domain->axes.size());
  }

  // Whether whole vectors run along the axis with nothing to be packed for them: then no other axis does better.
  bool FillsVectors(int axis) const {
    if (axis < 0 || found_->axes[axis].extent < found_->lanes) return false;
    const int position = found_->axes[axis].position();
    for (const te::Operation* sum : found_->sums) {
      for (const Access& access : found_->nest().accesses) {
        if (access.reader.get() != sum) continue;
        const std::optional<int64_t> stride = nests::Stride(access, sum->axes[position].var);
        if (!stride || (*stride != 0 && *stride != 1)) return false;
      }
    }
    return true;
  }

  void FindVectors() {
    const nests::Nest& nest = found_->nest();
    const int last = static_cast<int>(found_->axes.size()) - 1;
    if (found_->sums.empty()) {
      if (nest.root->IsReduction()) {
        found_->vectors.push_back({-1, "sum"});
        return;
      }
      AddVector(last);
      if (found_->row_depth > 0) return;
      for (int a = 0; a < last; ++a) {
        if (found_->axes[a].extent < kShortestVector || found_->axes[a].positions.size() > 1) continue;
        const te::Expr& variable = nest.root->axes[found_->axes[a].position()].var;
        const auto along = [&](const Access& access) {
          const std::optional<int64_t> stride = nests::Stride(access, variable);
          return stride && *stride == 1;
        };
        if (std::any_of(nest.accesses.begin(), nest.accesses.end(), along)) AddVector(a);
      }
      return;
    }
    if (nest.kind == NestKind::kTiled) {
      const int usual = nests::VectorAxisOf(nest);
      if (usual >= 0) AddVector(AxisAt(usual));
      if (nests::IsContraction(*found_->domain) && !(usual >= 0 && FillsVectors(AxisAt(usual)))) {
        for (int a = 0; a <= last; ++a) {
          if (found_->axes[a].extent >= kShortestVector && VectorsCanRun(a)) AddVector(a);
        }
      }
    }
    if (found_->sums[0]->bodies[0]->combiner->identity.empty()) return;
    bool along_sum = false;
    for (const Access& access : nest.accesses) {
      if (access.reader.get() != found_->sums[0]) continue;
      for (int r : found_->reduces) {
        const std::optional<int64_t> stride = nests::Stride(access, found_->sums[0]->reduce_axes[r].var);
        along_sum = along_sum || (stride && *stride == 1 && found_->sums[0]->reduce_axes[r].extent >= kShortestVector);
      }
    }
    if (along_sum) found_->vectors.push_back({-1, "sum"});
  }

  std::unique_ptr<MainNest> found_;
  const machine::Machine& target_;
};

}  // namespace

bool MainNest::SharesSum(const te::Operation& sum) const {
  if (sum.reduce_axes.size() != sums[0]->reduce_axes.size()) return false;
  for (size_t r = 0; r < sum.reduce_axes.size(); ++r) {
    if (sum.reduce_axes[r].extent != sums[0]->reduce_axes[r].extent) return false;
  }
  return true;
}

bool CanLieAlong(const Access& access, const te::Operation& sum, int position, int* dimension) {
  *dimension = -1;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    if (!te::Mentions(access.indices[d], sum.axes[position].var)) continue;
    const std::optional<int64_t> step = nests::Coefficient(access.indices[d], sum.axes[position].var);
    if (*dimension >= 0 || !step || *step != 1) return false;
    *dimension = static_cast<int>(d);
  }
  return *dimension >= 0;
}

absl::StatusOr<std::unique_ptr<const MainNest>> AnalyseMainNest(nests::Structure structure,
                                                                const machine::Machine& target) {
  if (structure.nests.empty()) return absl::UnimplementedError("the kernel has no loop nest");
  return MainNestAnalysis(std::move(structure), target).Run();
}

}  // namespace smelt::kernels::config
