// Small hand-written kernels for the tests of code generation: elementwise over flat buffers, scalar or in vectors.
#pragma once

#include <functional>
#include <vector>

#include "base/aligned_buffer.h"
#include "gtest/gtest.h"
#include "kernels/ir/stmt.h"
#include "runtime/run_kernel.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::cpu::codegen {

inline Target HostTarget() {
  Target target;
  DescribeHost(&target.name, &target.features);
  target.vector_bytes = target.features.find("+avx512f") != std::string::npos ? 64 : 32;
  return target;
}

inline kernels::ir::Buffer Argument(std::string name, kernels::te::PrimitiveType type, int64_t size, int64_t position) {
  auto buffer = std::make_shared<kernels::ir::BufferNode>();
  buffer->name = std::move(name);
  buffer->type = type;
  buffer->shape = {size};
  buffer->argument = position;
  return buffer;
}

inline kernels::ir::Buffer Scratch(std::string name, kernels::te::PrimitiveType type, int64_t size,
                                   kernels::ir::Scope scope) {
  auto buffer = std::make_shared<kernels::ir::BufferNode>();
  buffer->name = std::move(name);
  buffer->type = type;
  buffer->shape = {size};
  buffer->scope = scope;
  return buffer;
}

// out[i] = body(in0[i], in1[i], ...) for i in [0, size), `lanes` at a time; size is a multiple of lanes.
inline kernels::ir::Function Elementwise(
    const std::vector<kernels::te::PrimitiveType>& inputs, kernels::te::PrimitiveType output, int64_t size, int lanes,
    const std::function<kernels::te::Expr(const std::vector<kernels::te::Expr>&)>& body) {
  kernels::ir::Function function;
  function.name = "elementwise";
  function.input_count = static_cast<int64_t>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    function.arguments.push_back(Argument("in" + std::to_string(i), inputs[i], size, static_cast<int64_t>(i)));
  }
  function.arguments.push_back(Argument("out", output, size, function.input_count));
  kernels::te::Var i("i");
  const kernels::te::Expr index = lanes == 1 ? kernels::te::Expr(i) : kernels::te::Ramp(i * lanes, 1, lanes);
  std::vector<kernels::te::Expr> values;
  for (size_t k = 0; k < inputs.size(); ++k) values.push_back(kernels::te::Load(function.arguments[k], {index}));
  kernels::ir::Stmt store = kernels::ir::Store(function.arguments.back(), {index}, body(values));
  kernels::ir::Phase phase;
  phase.body = kernels::ir::For(i, 0, size / lanes, kernels::ir::ForKind::kSerial, store);
  function.phases.push_back(phase);
  return function;
}

inline std::shared_ptr<runtime::KernelCode> CompileForHost(const kernels::ir::Function& function) {
  auto object = EmitObject(function, HostTarget());
  EXPECT_TRUE(object.ok()) << object.status();
  if (!object.ok()) return nullptr;
  auto code = LoadObject(*object);
  EXPECT_TRUE(code.ok()) << code.status();
  return code.ok() ? *code : nullptr;
}

// Runs a kernel on raw buffers, arguments first, then shared scratch.
inline void Execute(const runtime::KernelCode& code, std::vector<void*> buffers) {
  runtime::ThreadPool pool(1);
  AlignedBuffer scratch(code.descriptor().thread_scratch_bytes + 64);
  runtime::RunKernel(code, buffers.data(), scratch.data(), 0, pool);
}

// An aligned array for kernels' arguments.
template <typename T>
class Array {
 public:
  explicit Array(int64_t size) : memory_(size * static_cast<int64_t>(sizeof(T)) + 64), size_(size) {
    for (int64_t i = 0; i < size; ++i) data()[i] = T();
  }
  T* data() { return reinterpret_cast<T*>(memory_.data()); }
  T& operator[](int64_t i) { return data()[i]; }
  int64_t size() const { return size_; }

 private:
  AlignedBuffer memory_;
  int64_t size_;
};

}  // namespace smelt::cpu::codegen
