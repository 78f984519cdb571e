// Attributes by which a schedule tells passes of lowering what to do with the statements within: their keys, and what
// they carry.
//
//   Stmt piece = Annotate(kPipelinePiece, nullptr, Facts(i, 1, 0), function.phases[0].body);
//   if (const Stmt found = piece; IsAnnotation(*found, kPipelinePiece)) std::cout << te::ToString(FactsOf(*found)[1]);
//
// A pass takes away those that it has followed, so that none is left for code generation but kStreamingStore and
// kUnrollByCompiler. Whoever does not know one looks through it.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/ir/stmt.h"

namespace smelt::kernels::ir {

// A part of a pipelined loop's body: facts are the loop's variable, the step and the place in the order of emission.
inline constexpr std::string_view kPipelinePiece = "pipeline_piece";
// It is about a buffer: facts are an axis, counted from the last one, a factor and an offset: its stride is to be
// `offset` modulo `factor`.
inline constexpr std::string_view kStorageAlign = "storage_align";
// It is about a buffer: what the body reads of it is wanted some iterations ahead; facts are the loop's variable, the
// iterations and 0; or 0, 0 and 1: the body does nothing but name what is wanted, and goes.
inline constexpr std::string_view kPrefetchAhead = "prefetch_ahead";
// A branch that guards so much work that asking costs nothing: no loop is cut for its sake. Without facts.
inline constexpr std::string_view kRareBranch = "rare_branch";
// Loops within that would become at most so many statements are unrolled; facts are the statements, whether that
// happens in the loop IR (1) or is left to the compiler of the target (0), and 0.
inline constexpr std::string_view kAutoUnroll = "auto_unroll";
// Stores within to results of the kernel pass the caches by, where they can. Without facts.
inline constexpr std::string_view kNontemporal = "nontemporal";
// One vector store of which the same is known to be possible. Without facts.
inline constexpr std::string_view kStreamingStore = "streaming_store";
// One loop that the compiler of the target unrolls. Without facts.
inline constexpr std::string_view kUnrollByCompiler = "unroll_by_compiler";

// Three index expressions as the value of an attribute: a call that nothing evaluates.
Expr Facts(const Expr& a, const Expr& b, const Expr& c);
// The three; empty where the attribute has none.
std::vector<Expr> FactsOf(const StmtNode& attribute);

Stmt Annotate(std::string_view key, Buffer buffer, Expr facts, Stmt body);
bool IsAnnotation(const StmtNode& stmt, std::string_view key);
// The statement without attributes of that key.
Stmt DropAnnotations(const Stmt& stmt, std::string_view key);

}  // namespace smelt::kernels::ir
