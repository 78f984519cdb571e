// A kernel as VDLA runs it before it is unrolled: loops around copies, products and elementwise work with linear
// indices. Schedules are made into this tree, and the tree into instructions (emit.h).
//
//   Operations operations{.name = "copy"};
//   const DramBuffer x = operations.AddDram("x", isa::Memory::kAcc, 64, isa::Role::kInput);
//   const SramBuffer a = operations.AddSram("a", isa::Memory::kAcc, 16);
//   const Variable i = operations.AddVariable();
//   Copy load{.memory = isa::Memory::kAcc, .sram = a, .dram = x, .dram_index = 16 * Linear::Of(i)};
//   load.dims = {{.extent = 16}};
//   operations.body.push_back(Loop(i, 4, {Allocate(a, {Node(load)})}));
//
// The units are elements: batch * block_in int8 of an input, and so on (isa/config.h). Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "vdla/isa/instruction.h"
#include "vdla/isa/program.h"
#include "vdla/lower/linear.h"

namespace smelt::vdla::lower {

enum class SramBuffer : int {};  // index in Operations::sram
enum class DramBuffer : int {};  // index in Operations::dram

// A part of one memory on the chip; exists inside its Allocate.
struct SramDeclaration {
  std::string name;
  isa::Memory memory;  // kInp, kWgt or kAcc
  int64_t elements;
  // Where set, it is there `copies` times, and iterations of a loop around its Allocate take them in turn: the units
  // then work on as many iterations at once. Nothing may last from one iteration to the next.
  struct Turns {
    Variable variable;
    int64_t copies;
  };
  std::optional<Turns> turns = std::nullopt;
};
struct DramDeclaration {
  std::string name;
  isa::Memory memory;  // the form whose elements are counted; not kUop
  int64_t elements;
  isa::Role role;
  std::string bytes;  // of a constant; may be filled in later
};

// One dimension of a box that moves between DRAM and SRAM.
struct CopyDim {
  int64_t extent = 1;
  std::optional<Linear> remaining;  // where it is less, there is only so much: the last tile of a tensor
  int64_t sram_stride = 1, dram_stride = 1;
  // Where set, the dimension of the tensor in DRAM has `limit` positions, of which the i-th row of the box is
  // `origin + i * step`. A load pads where that is outside; a store moves nothing there. dram_index is where position
  // `origin` would be, in the tensor or not.
  struct Bounds {
    Linear origin;
    int64_t step = 1;
    int64_t limit = 0;
  };
  std::optional<Bounds> bounds;
};

// A LOAD or STORE of a box, dimensions from the slowest to the fastest; in SRAM it may have any strides.
struct Copy {
  bool store = false;
  isa::Memory memory = isa::Memory::kInp;  // also the form in DRAM: kAcc8 moves accumulators as int8
  SramBuffer sram{};
  Linear sram_index;
  DramBuffer dram{};
  Linear dram_index;
  std::vector<CopyDim> dims;
  int32_t pad_value = 0;
};

// One dimension of work on the chip, with the steps of the indices.
struct WorkDim {
  int64_t extent = 1;
  std::optional<Linear> remaining;  // as of CopyDim
  int64_t dst = 0, src = 0, wgt = 0;
};

// acc[dst] (+)= inp[src] * wgt[wgt]^T over the dimensions, in any order: sums of int32 wrap around.
struct Gemm {
  SramBuffer dst{}, src{}, wgt{};
  Linear dst_index, src_index, wgt_index;
  std::vector<WorkDim> dims;
  enum class Start {
    kNever,  // sums into what is there
    kZero,   // only zeros the destinations: the reset of a tensor intrinsic
    kFirst,  // the first product of each destination replaces what is there, where all variables of `first` are 0
  };
  Start start = Start::kNever;
  std::vector<Variable> first;
};

// acc[dst] = op(acc[dst], acc[src] or imm) over the dimensions, in their order.
struct Alu {
  isa::AluOp op = isa::AluOp::kMov;
  SramBuffer dst{};
  Linear dst_index;
  std::optional<SramBuffer> src;  // none: imm
  Linear src_index;
  int32_t imm = 0;
  std::vector<WorkDim> dims;
};

struct Node;

struct LoopNode {
  Variable variable = 0;
  int64_t extent = 0;
  // The threads of a virtual loop run the same program on memories of their own: what is allocated inside is there
  // `extent` times, and the operations inside are those of thread 0, thread 1, ... in turn (Section 4.4 of the TVM
  // paper). They must not depend on each other.
  bool virtual_threads = false;
  std::vector<Node> body;
};
struct AllocateNode {
  SramBuffer buffer{};
  std::vector<Node> body;
};

struct Node {
  std::variant<LoopNode, AllocateNode, Copy, Gemm, Alu> what;
  // Runs only where all of these are above 0. Those of a loop or an allocation must not depend on a virtual thread, as
  // the threads share it.
  std::vector<Linear> when;

  Node(LoopNode loop) : what(std::move(loop)) {}              // NOLINT: each of them is a node
  Node(AllocateNode allocate) : what(std::move(allocate)) {}  // NOLINT
  Node(Copy copy) : what(std::move(copy)) {}                  // NOLINT
  Node(Gemm gemm) : what(std::move(gemm)) {}                  // NOLINT
  Node(Alu alu) : what(std::move(alu)) {}                     // NOLINT
};

Node Loop(Variable variable, int64_t extent, std::vector<Node> body);
Node VirtualThreads(Variable variable, int64_t threads, std::vector<Node> body);
Node Allocate(SramBuffer buffer, std::vector<Node> body);

struct Operations {
  std::string name;
  int variables = 0;
  std::vector<SramDeclaration> sram;
  std::vector<DramDeclaration> dram;
  std::vector<Node> body;

  Variable AddVariable() { return variables++; }
  SramBuffer AddSram(std::string buffer_name, isa::Memory memory, int64_t elements);
  DramBuffer AddDram(std::string buffer_name, isa::Memory memory, int64_t elements, isa::Role role);
  const SramDeclaration& operator[](SramBuffer buffer) const { return sram[static_cast<size_t>(buffer)]; }
  const DramDeclaration& operator[](DramBuffer buffer) const { return dram[static_cast<size_t>(buffer)]; }

  // One line a node, for people: `for v0 < 4`, `  load INP inp[0] <- x[16*v0] {4 of 1, 16}`.
  std::string ToString() const;
};

}  // namespace smelt::vdla::lower
