#include "vdla/lower/operations.h"

#include "absl/strings/str_join.h"
#include "base/str_cat.h"

namespace smelt::vdla::lower {
namespace {

std::string Text(const Linear& linear) {
  std::string text = linear.terms.empty() || linear.constant != 0 ? StrCat(linear.constant) : "";
  for (const auto& [variable, coefficient] : linear.terms) {
    StrAppend(&text, text.empty() ? "" : " + ", coefficient == 1 ? "" : StrCat(coefficient, "*"), "v", variable);
  }
  return text;
}

std::string ExtentText(int64_t extent, const std::optional<Linear>& remaining) {
  return remaining.has_value() ? StrCat("min(", extent, ", ", Text(*remaining), ")") : StrCat(extent);
}

class Printer {
 public:
  explicit Printer(const Operations& operations) : operations_(operations) {}

  void Print(const std::vector<Node>& nodes, int depth) {
    for (const Node& node : nodes) {
      text_.append(2 * static_cast<size_t>(depth), ' ');
      if (!node.when.empty()) {
        StrAppend(
            &text_, "if ",
            absl::StrJoin(node.when, " && ",
                          [](std::string* out, const Linear& condition) { StrAppend(out, Text(condition), " > 0"); }),
            ": ");
      }
      std::visit([&](const auto& what) { One(what, depth); }, node.what);
    }
  }
  std::string text_;

 private:
  void One(const LoopNode& loop, int depth) {
    StrAppend(&text_, loop.virtual_threads ? "threads v" : "for v", loop.variable, " < ", loop.extent, "\n");
    Print(loop.body, depth + 1);
  }
  void One(const AllocateNode& allocate, int depth) {
    const SramDeclaration& buffer = operations_[allocate.buffer];
    StrAppend(&text_, "allocate ", isa::NameOf(buffer.memory), " ", buffer.name, "[", buffer.elements, "]");
    if (buffer.turns.has_value()) StrAppend(&text_, " ", buffer.turns->copies, " in turn by v", buffer.turns->variable);
    text_ += '\n';
    Print(allocate.body, depth + 1);
  }
  void One(const Copy& copy, int) {
    const std::string sram = StrCat(operations_[copy.sram].name, "[", Text(copy.sram_index), "]");
    const std::string dram = StrCat(operations_[copy.dram].name, "[", Text(copy.dram_index), "]");
    StrAppend(&text_, copy.store ? "store " : "load ", isa::NameOf(copy.memory), " ", copy.store ? dram : sram, " <- ",
              copy.store ? sram : dram, " {");
    StrAppend(&text_,
              absl::StrJoin(copy.dims, "; ",
                            [](std::string* out, const CopyDim& dim) {
                              StrAppend(out, ExtentText(dim.extent, dim.remaining), " of ", dim.sram_stride, ", ",
                                        dim.dram_stride);
                              if (dim.bounds.has_value())
                                StrAppend(out, " at ", Text(dim.bounds->origin), " by ", dim.bounds->step, " below ",
                                          dim.bounds->limit);
                            }),
              "}\n");
  }
  void One(const Gemm& gemm, int) {
    const char* kStarts[] = {" += ", " zeroed, as ", " starts at "};
    StrAppend(&text_, "gemm ", operations_[gemm.dst].name, "[", Text(gemm.dst_index), "]",
              kStarts[static_cast<int>(gemm.start)], operations_[gemm.src].name, "[", Text(gemm.src_index), "] * ",
              operations_[gemm.wgt].name, "[", Text(gemm.wgt_index), "] ");
    Dims(gemm.dims);
  }
  void One(const Alu& alu, int) {
    StrAppend(&text_, "alu ", isa::NameOf(alu.op), " ", operations_[alu.dst].name, "[", Text(alu.dst_index), "], ");
    if (alu.src.has_value()) {
      StrAppend(&text_, operations_[*alu.src].name, "[", Text(alu.src_index), "] ");
    } else {
      StrAppend(&text_, alu.imm, " ");
    }
    Dims(alu.dims);
  }
  void Dims(const std::vector<WorkDim>& dims) {
    StrAppend(&text_, "{",
              absl::StrJoin(dims, "; ",
                            [](std::string* out, const WorkDim& dim) {
                              StrAppend(out, ExtentText(dim.extent, dim.remaining), " of ", dim.dst, ", ", dim.src,
                                        ", ", dim.wgt);
                            }),
              "}\n");
  }

  const Operations& operations_;
};

}  // namespace

Node Loop(Variable variable, int64_t extent, std::vector<Node> body) {
  return LoopNode{.variable = variable, .extent = extent, .virtual_threads = false, .body = std::move(body)};
}
Node VirtualThreads(Variable variable, int64_t threads, std::vector<Node> body) {
  return LoopNode{.variable = variable, .extent = threads, .virtual_threads = true, .body = std::move(body)};
}
Node Allocate(SramBuffer buffer, std::vector<Node> body) {
  return AllocateNode{.buffer = buffer, .body = std::move(body)};
}

SramBuffer Operations::AddSram(std::string buffer_name, isa::Memory memory, int64_t elements) {
  sram.push_back({std::move(buffer_name), memory, elements});
  return static_cast<SramBuffer>(sram.size() - 1);
}

DramBuffer Operations::AddDram(std::string buffer_name, isa::Memory memory, int64_t elements, isa::Role role) {
  dram.push_back({std::move(buffer_name), memory, elements, role, {}});
  return static_cast<DramBuffer>(dram.size() - 1);
}

std::string Operations::ToString() const {
  Printer printer(*this);
  printer.Print(body, 0);
  return std::move(printer.text_);
}

}  // namespace smelt::vdla::lower
