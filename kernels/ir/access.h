// Every access of a statement, loads, stores and addresses alike, through one function: what passes do that move data.
//
// MapAccesses calls a function with the buffer and the indices of each, and puts what it gives in its place: a[i, j]
// becomes flat_a[i * 8 + j], for one; an empty Access leaves it as it is.
#pragma once

#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kernels/ir/stmt.h"

namespace smelt::kernels::ir {

struct Access {
  Buffer buffer;  // null: as it was
  std::vector<Expr> indices;
};
// Where the element lies instead. The indices are mapped already: they may hold loads.
using AccessMap = std::function<Access(const Buffer& buffer, const std::vector<Expr>& indices)>;

class AccessMapper {
 public:
  explicit AccessMapper(AccessMap map) : map_(std::move(map)) {}

  // One memo over all calls: what expressions share is mapped once. Linear, and does not recurse into expressions.
  Expr operator()(const Expr& e);
  // All accesses of the statement and of those below it. Allocations keep their buffers; `declare`, where given, says
  // which buffer an allocation or attribute names instead.
  Stmt operator()(const Stmt& stmt, const std::function<Buffer(const Buffer&)>& declare = nullptr);

 private:
  struct Entry {
    Expr input;  // keeps the key alive
    Expr result;
  };
  Expr Remapped(const Expr& e);

  AccessMap map_;
  absl::flat_hash_map<const te::ExprNode*, Entry> done_;
};

Stmt MapAccesses(const Stmt& stmt, AccessMap map);
// Other buffers at the same indices.
Stmt RenameBuffers(const Stmt& stmt, const absl::flat_hash_map<const BufferNode*, Buffer>& names);

}  // namespace smelt::kernels::ir
