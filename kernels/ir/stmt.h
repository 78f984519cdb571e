// The loop IR: what a schedule lowers to and a code generator reads. Expressions are those of te/expr.h with kLoad
// instead of kTensorRead.
//
// Few statement kinds, immutable, shared. Print with ToString: it reads like C.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/te/buffer.h"
#include "kernels/te/expr.h"

namespace smelt::kernels::ir {

using te::Buffer;
using te::BufferNode;
using te::DataType;
using te::Expr;
using te::PrimitiveType;
using te::Scope;

enum class StmtKind : uint8_t {
  kFor,
  kStore,
  kAllocate,
  kIf,
  kSeq,
  kEvaluate,   // a call for its effect
  kAttribute,  // what some pass or code generator should know of the statement within; the rest look through it
};
// What a loop is bound to, that is what runs its iterations. Whatever the binding, running them one after the other
// means the same, barriers aside; the interpreter does so.
enum class ForKind : uint8_t {
  kSerial,
  kParallel,       // workers that share memory; in a phase only
  kVectorized,     // lanes of vectors
  kUnrolled,       // copies of the body
  kBlock,          // blocks of a grid, which do not meet; nested ones are its axes, the innermost the fastest
  kThread,         // threads of a block, which meet at barriers; nested ones likewise
  kVirtualThread,  // threads that lowering interleaves in one stream, so that one's loads overlap another's arithmetic
};
// Its word in printed loops: "for", "parallel", "vectorized", "unrolled", "block", "thread", "vthread".
std::string_view ForKindName(ForKind kind);

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

struct StmtNode {
  StmtKind kind;
  // kFor: for (var = min; var < min + extent; ++var) body
  Expr var, min, extent;
  ForKind for_kind = ForKind::kSerial;
  // kStore: buffer[indices] = value, where predicate (null: always) holds
  Buffer buffer;  // also kAllocate: lives during body; kAttribute: what it is about, may be null
  std::vector<Expr> indices;
  Expr value;  // also kEvaluate: the call; kAttribute: may be null
  Expr predicate;
  // kIf
  Expr condition;
  Stmt then_case;           // kIf; also the body of kFor, kAllocate and kAttribute
  Stmt else_case;           // may be null
  std::vector<Stmt> stmts;  // kSeq
  std::string key;          // kAttribute: its name

  const Stmt& body() const { return then_case; }
};

Stmt For(Expr var, Expr min, Expr extent, ForKind kind, Stmt body);
Stmt Store(Buffer buffer, std::vector<Expr> indices, Expr value, Expr predicate = Expr());
Stmt Allocate(Buffer buffer, Stmt body);
Stmt IfThen(Expr condition, Stmt then_case, Stmt else_case = nullptr);
Stmt Seq(std::vector<Stmt> stmts);  // flattens nested sequences, drops nulls
Stmt Evaluate(Expr call);
Stmt Attribute(std::string key, Buffer buffer, Expr value, Stmt body);

// A top-level piece of a kernel: either a parallel loop over [0, extent) whose iterations are independent, or serial
// code (extent 1). Phases run one after the other with a barrier between them; each is a launch: its parallel loop is
// the one axis of the grid, or loops bound to blocks and threads stand outermost in serial code.
struct Phase {
  Expr var;  // the parallel loop's variable; null when serial
  int64_t extent = 1;
  Stmt body;  // all scratch that does not last for the call is allocated within
};

// A lowered kernel.
struct Function {
  std::string name;
  std::vector<Buffer> arguments;  // inputs in parameter order, then outputs
  int64_t input_count = 0;
  std::vector<Buffer> shared;  // scratch of rank kCall: lasts for the whole call
  std::vector<Phase> phases;
};

std::string ToString(const Stmt& stmt, int indent = 0);
std::string ToString(const Function& function);

}  // namespace smelt::kernels::ir
