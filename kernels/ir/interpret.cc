#include "kernels/ir/interpret.h"

#include <cstring>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/float_mode.h"
#include "base/status_macros.h"
#include "kernels/te/program.h"

namespace smelt::kernels::ir {
namespace {

using te::ExprNode;
using te::Scalar;

class Interpreter {
 public:
  Interpreter(const Function& function, const InterpretOptions& options)
      : function_(function),
        options_(options),
        program_([this](const ExprNode& load, absl::Span<const int64_t> indices,
                        Scalar* value) { return Load(load, indices, value); },
                 [this](const ExprNode& address, absl::Span<const int64_t> indices, te::Place* place) {
                   return Locate(address, indices, place);
                 }) {}

  absl::Status Run(absl::Span<void* const> arguments) {
    if (arguments.size() != function_.arguments.size())
      return absl::InvalidArgumentError(absl::StrCat("`", function_.name, "` takes ", function_.arguments.size(),
                                                     " arguments, given ", arguments.size()));
    for (size_t i = 0; i < arguments.size(); ++i) memory_[function_.arguments[i].get()] = arguments[i];
    std::vector<std::vector<char>> shared;
    for (const Buffer& buffer : function_.shared) {
      shared.emplace_back(buffer->ByteSize() + 1, '\xff');
      memory_[buffer.get()] = shared.back().data();
    }
    for (const Phase& phase : function_.phases) {
      if (!phase.var) {
        SMELT_RETURN_IF_ERROR(Execute(phase.body));
        continue;
      }
      for (int64_t n = 0; n < phase.extent; ++n) {
        program_.Add(phase.var);
        program_.Set(phase.var, {.i = options_.reverse_parallel ? phase.extent - 1 - n : n});
        SMELT_RETURN_IF_ERROR(Execute(phase.body));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status FlatIndex(const BufferNode& buffer, absl::Span<const int64_t> indices, int64_t* flat) {
    *flat = 0;
    if (indices.size() != buffer.shape.size())
      return absl::InternalError(
          absl::StrCat(buffer.name, " has ", buffer.shape.size(), " dimensions, indexed by ", indices.size()));
    for (size_t d = 0; d < indices.size(); ++d) {
      if (indices[d] < 0 || indices[d] >= buffer.shape[d])
        return absl::OutOfRangeError(absl::StrCat("access of ", buffer.name, "[", absl::StrJoin(indices, ", "),
                                                  "] outside of [", absl::StrJoin(buffer.shape, ", "), "]"));
      *flat = *flat * buffer.shape[d] + indices[d];
    }
    return absl::OkStatus();
  }

  absl::StatusOr<void*> MemoryOf(const BufferNode& buffer) {
    auto it = memory_.find(&buffer);
    if (it == memory_.end() || it->second == nullptr)
      return absl::InternalError(absl::StrCat("access of ", buffer.name, ", which is not allocated there"));
    return it->second;
  }

  absl::Status Load(const ExprNode& load, absl::Span<const int64_t> indices, Scalar* value) {
    int64_t flat;
    SMELT_RETURN_IF_ERROR(FlatIndex(*load.buffer, indices, &flat));
    SMELT_ASSIGN_OR_RETURN(void* const memory, MemoryOf(*load.buffer));
    *value = te::LoadElement(load.buffer->type, memory, flat);
    return absl::OkStatus();
  }

  absl::Status Locate(const ExprNode& address, absl::Span<const int64_t> indices, te::Place* place) {
    place->buffer = address.buffer.get();
    SMELT_RETURN_IF_ERROR(FlatIndex(*address.buffer, indices, &place->element));
    SMELT_ASSIGN_OR_RETURN(place->memory, MemoryOf(*address.buffer));
    return absl::OkStatus();
  }

  int Number(const Expr& e) {
    auto [it, added] = numbers_.try_emplace(e.get(), 0);
    if (added) it->second = program_.Add(e);
    return it->second;
  }

  absl::Status Index(const Expr& e, int64_t* value) {
    program_.NextRound();
    Scalar scalar;
    SMELT_RETURN_IF_ERROR(program_.Evaluate(Number(e), &scalar));
    *value = scalar.i;
    return absl::OkStatus();
  }

  absl::Status Execute(const Stmt& stmt) {
    if (stmt == nullptr) return absl::OkStatus();
    switch (stmt->kind) {
      case StmtKind::kFor: {
        int64_t min = 0, extent = 0;
        SMELT_RETURN_IF_ERROR(Index(stmt->min, &min));
        SMELT_RETURN_IF_ERROR(Index(stmt->extent, &extent));
        Number(stmt->var);
        for (int64_t i = min; i < min + extent; ++i) {
          program_.Set(stmt->var, {.i = i});
          SMELT_RETURN_IF_ERROR(Execute(stmt->body()));
        }
        return absl::OkStatus();
      }
      case StmtKind::kStore:
        return ExecuteStore(*stmt);
      case StmtKind::kAllocate: {
        std::vector<char> memory(stmt->buffer->ByteSize() + 1, '\xff');
        void*& slot = memory_[stmt->buffer.get()];
        void* const before = slot;
        slot = memory.data();
        const absl::Status status = Execute(stmt->body());
        memory_[stmt->buffer.get()] = before;
        return status;
      }
      case StmtKind::kIf: {
        int64_t condition = 0;
        SMELT_RETURN_IF_ERROR(Index(stmt->condition, &condition));
        return Execute(condition != 0 ? stmt->then_case : stmt->else_case);
      }
      case StmtKind::kEvaluate: {
        if (++stores_ > options_.store_limit) return absl::ResourceExhaustedError("too many stores to interpret");
        program_.NextRound();
        absl::Span<const Scalar> ignored;
        return program_.Evaluate(Number(stmt->value), &ignored);
      }
      case StmtKind::kAttribute:
        return Execute(stmt->body());
      case StmtKind::kSeq:
        for (const Stmt& child : stmt->stmts) SMELT_RETURN_IF_ERROR(Execute(child));
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::Status ExecuteStore(const StmtNode& store) {
    if (++stores_ > options_.store_limit) return absl::ResourceExhaustedError("too many stores to interpret");
    program_.NextRound();
    const int lanes = store.value.type().lanes;
    absl::Span<const Scalar> values;
    std::vector<char> performed(lanes, 1);
    bool any = true;
    if (store.predicate) {
      if (store.predicate.type().lanes != lanes) return absl::InternalError("predicate and value of different lanes");
      SMELT_RETURN_IF_ERROR(program_.Evaluate(Number(store.predicate), &values));
      any = false;
      for (int lane = 0; lane < lanes; ++lane) any |= (performed[lane] = values[lane].i != 0) != 0;
    }
    std::vector<std::vector<int64_t>> indices(lanes, std::vector<int64_t>(store.indices.size()));
    for (size_t d = 0; d < store.indices.size(); ++d) {
      if (store.indices[d].type().lanes != lanes) return absl::InternalError("index and value of different lanes");
      SMELT_RETURN_IF_ERROR(program_.Evaluate(Number(store.indices[d]), &values));
      for (int lane = 0; lane < lanes; ++lane) indices[lane][d] = values[lane].i;
    }
    // Even where the predicate holds nowhere, vector code evaluates the value: its loads must be safe by themselves.
    if (!any && lanes == 1) return absl::OkStatus();
    SMELT_RETURN_IF_ERROR(program_.Evaluate(Number(store.value), &values));
    if (store.value.type().element != store.buffer->type)
      return absl::InternalError(absl::StrCat("store to ", store.buffer->name, " of another type"));
    SMELT_ASSIGN_OR_RETURN(void* const memory, MemoryOf(*store.buffer));
    for (int lane = 0; lane < lanes; ++lane) {
      if (performed[lane] == 0) continue;
      int64_t flat;
      SMELT_RETURN_IF_ERROR(FlatIndex(*store.buffer, indices[lane], &flat));
      te::StoreElement(store.buffer->type, memory, flat, values[lane]);
    }
    return absl::OkStatus();
  }

  const Function& function_;
  const InterpretOptions& options_;
  te::Program program_;
  absl::flat_hash_map<const BufferNode*, void*> memory_;
  absl::flat_hash_map<const ExprNode*, int> numbers_;
  int64_t stores_ = 0;
};

}  // namespace

absl::Status Interpret(const Function& function, absl::Span<void* const> arguments, const InterpretOptions& options) {
  ScopedFlushSubnormals flush;
  return Interpreter(function, options).Run(arguments);
}

}  // namespace smelt::kernels::ir
