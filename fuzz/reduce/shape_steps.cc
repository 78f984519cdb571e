// Steps that make arrays smaller and attributes plainer.
#include <algorithm>
#include <set>

#include "fuzz/reduce/search.h"
#include "hlo/literal.h"
#include "hlo/shape_inference/shape_inference.h"

namespace smelt::fuzz {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

void Substitute(int64_t from, int64_t to, std::vector<int64_t>* sizes) {
  for (int64_t& size : *sizes) {
    if (size == from) size = to;
  }
}

void Substitute(int64_t from, int64_t to, Shape* shape) {
  Substitute(from, to, &shape->dimensions);
  for (Shape& element : shape->tuple_shapes) Substitute(from, to, &element);
}

// Attributes that name sizes: windows are as large as the kernel's dimensions, slices end where the array does.
void SubstituteInAttributes(int64_t from, int64_t to, Instruction& instruction) {
  hlo::Attributes attributes = instruction.all_attributes();
  if (auto* slice = std::get_if<hlo::SliceAttributes>(&attributes)) {
    for (hlo::SliceDimension& d : slice->dimensions) {
      if (d.limit == from) d.limit = to;
      d.start = std::min(d.start, std::max<int64_t>(d.limit - 1, 0));
    }
  } else if (auto* part = std::get_if<hlo::DynamicSliceAttributes>(&attributes)) {
    Substitute(from, to, &part->sizes);
  } else if (auto* gather = std::get_if<hlo::GatherAttributes>(&attributes)) {
    Substitute(from, to, &gather->slice_sizes);
  } else if (auto* convolution = std::get_if<hlo::ConvolutionAttributes>(&attributes)) {
    for (hlo::WindowDimension& w : convolution->window.dimensions) {
      if (w.size == from) w.size = to;
    }
  } else if (auto* window = std::get_if<hlo::WindowAttributes>(&attributes)) {
    for (hlo::WindowDimension& w : window->window.dimensions) {
      if (w.size == from) w.size = to;
      if (w.padding_low == from - 1) w.padding_low = to - 1;
    }
  } else if (auto* fft = std::get_if<hlo::FftAttributes>(&attributes)) {
    Substitute(from, to, &fft->lengths);
  }
  instruction.set_attributes(std::move(attributes));
}

// A constant of the shape that its instruction now has: the first elements of what it was.
void CropConstant(Instruction& constant) {
  const hlo::Literal& old = constant.literal();
  if (!old.IsArray() || old.shape().dimensions == constant.shape().dimensions) return;
  hlo::Literal cropped(Shape::Array(old.shape().element_type, constant.shape().dimensions));
  if (old.element_count() > 0) {
    for (int64_t i = 0; i < cropped.element_count(); ++i)
      cropped.SetComplex(i, old.GetComplex(i % old.element_count()));
  }
  constant.set_attributes(hlo::ConstantAttributes{std::make_shared<const hlo::Literal>(std::move(cropped)), false});
}

// Shapes of results from those of operands, where the operands decide them.
void InferAgain(hlo::Module& module) {
  for (hlo::Computation* computation : module.PostOrder()) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kParameter || instruction->opcode() == Opcode::kConstant) continue;
      const absl::StatusOr<Shape> shape = hlo::InferShape(instruction->opcode(), instruction->operands(),
                                                          instruction->all_attributes(), instruction->called());
      if (!shape.ok() || instruction->shape().IsTuple() != shape->IsTuple()) continue;
      if (shape->IsArray()) {
        instruction->shape().dimensions = shape->dimensions;  // the element type may be the text's choice
      } else {
        instruction->shape() = *shape;
      }
    }
  }
}

void DropLayouts(Shape* shape) {
  shape->layout.reset();
  for (Shape& element : shape->tuple_shapes) DropLayouts(&element);
}

// The simplest window that says the same size.
bool Simplify(hlo::Window* window, int step) {
  bool changed = false;
  for (hlo::WindowDimension& w : window->dimensions) {
    hlo::WindowDimension plain = w;
    if (step == 0) plain.padding_low = plain.padding_high = 0;
    if (step == 1) plain.stride = 1;
    if (step == 2) plain.base_dilation = plain.window_dilation = 1;
    if (step == 3) plain.reversal = false;
    changed |= !(plain == w);
    w = plain;
  }
  return changed;
}

}  // namespace

bool ReduceSizes(ReduceSearch& search) {
  bool changed = false;
  // First the sizes of the whole module: every dimension of one size gets smaller at once, so that what must agree
  // still does.
  for (bool again = true; again && !search.Stopped();) {
    again = false;
    std::set<int64_t> sizes;
    for (const Instruction* instruction : AllInstructions(search.best())) {
      for (int64_t size : instruction->shape().dimensions) sizes.insert(size);
    }
    for (auto size = sizes.rbegin(); size != sizes.rend() && !again; ++size) {
      for (const int64_t smaller : {int64_t{1}, int64_t{2}, int64_t{3}, *size / 2, *size - 1}) {
        if (smaller < 1 || smaller >= *size) continue;
        again = search.Try([&](hlo::Module& module) {
          module.raw_attributes().clear();
          for (Instruction* instruction : AllInstructions(module)) {
            Substitute(*size, smaller, &instruction->shape());
            SubstituteInAttributes(*size, smaller, *instruction);
            if (instruction->opcode() == Opcode::kConstant) CropConstant(*instruction);
          }
          InferAgain(module);
          return true;
        });
        if (again) break;
      }
    }
    changed |= again;
  }
  // Then one parameter of the entry shrinks, followed through what uses it.
  for (size_t next = 0; next < search.best().entry()->Parameters().size() && !search.Stopped(); ++next) {
    const int64_t rank = search.best().entry()->Parameters()[next]->shape().rank();
    for (int64_t d = 0; d < rank; ++d) {
      // Parameters go when nothing reads them any more.
      if (next >= search.best().entry()->Parameters().size() ||
          search.best().entry()->Parameters()[next]->shape().rank() <= d)
        break;
      const int64_t size = search.best().entry()->Parameters()[next]->shape().dimensions[d];
      for (const int64_t smaller : {int64_t{1}, int64_t{2}, size / 2, size - 1}) {
        if (smaller < 1 || smaller >= size) continue;
        const bool kept = search.Try([&](hlo::Module& module) {
          module.raw_attributes().clear();
          module.entry()->Parameters()[next]->shape().dimensions[d] = smaller;
          InferAgain(module);
          return true;
        });
        changed |= kept;
        if (kept) break;
      }
    }
  }
  return changed;
}

bool ReduceAttributes(ReduceSearch& search) {
  bool changed = search.Try([](hlo::Module& module) {
    module.raw_attributes().clear();
    module.tables().clear();
    for (Instruction* instruction : AllInstructions(module)) instruction->raw_attributes().clear();
    return true;
  });
  changed |= search.Try([](hlo::Module& module) {
    for (Instruction* instruction : AllInstructions(module)) {
      DropLayouts(&instruction->shape());
      instruction->DropControlDependencies();
    }
    return true;
  });
  // One by one, where dropping all of them lost the failure.
  for (size_t next = 0; next < AllInstructions(search.best()).size() && !search.Stopped(); ++next) {
    for (size_t r = 0; r < AllInstructions(search.best())[next]->raw_attributes().size();) {
      const bool kept = search.Try([&](hlo::Module& module) {
        std::vector<hlo::RawAttribute>& raw = AllInstructions(module)[next]->raw_attributes();
        raw.erase(raw.begin() + static_cast<int64_t>(r));
        return true;
      });
      changed |= kept;
      if (!kept) ++r;
    }
    for (int step = 0; step < 4; ++step) {
      changed |= search.Try([&](hlo::Module& module) {
        Instruction& instruction = *AllInstructions(module)[next];
        hlo::Attributes attributes = instruction.all_attributes();
        hlo::Window* window = nullptr;
        if (auto* reduce = std::get_if<hlo::WindowAttributes>(&attributes)) window = &reduce->window;
        if (auto* convolution = std::get_if<hlo::ConvolutionAttributes>(&attributes)) window = &convolution->window;
        if (window == nullptr || !Simplify(window, step)) return false;
        instruction.set_attributes(std::move(attributes));
        InferAgain(module);
        return true;
      });
    }
  }
  return changed;
}

}  // namespace smelt::fuzz
