// Small hand-written kernels for the tests of code generation: elementwise over flat buffers, scalar or in vectors.
#pragma once

#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/codegen/codegen.h"
#include "kernels/ir/stmt.h"
#include "kernels/runtime/run_kernel.h"
#include "kernels/target.h"

namespace smelt::kernels::codegen {

inline Target HostTarget() {
  Target target;
  DescribeHost(&target.cpu, &target.features);
  target.vector_bytes = target.features.find("+avx512f") != std::string::npos ? 64 : 32;
  return target;
}

inline ir::Buffer Argument(std::string name, te::PrimitiveType type, int64_t size, int64_t position) {
  auto buffer = std::make_shared<ir::BufferNode>();
  buffer->name = std::move(name);
  buffer->type = type;
  buffer->shape = {size};
  buffer->argument = position;
  return buffer;
}

inline ir::Buffer Scratch(std::string name, te::PrimitiveType type, int64_t size, ir::Scope scope) {
  auto buffer = std::make_shared<ir::BufferNode>();
  buffer->name = std::move(name);
  buffer->type = type;
  buffer->shape = {size};
  buffer->scope = scope;
  return buffer;
}

// out[i] = body(in0[i], in1[i], ...) for i in [0, size), `lanes` at a time; size is a multiple of lanes.
inline ir::Function Elementwise(const std::vector<te::PrimitiveType>& inputs, te::PrimitiveType output, int64_t size,
                                int lanes, const std::function<te::Expr(const std::vector<te::Expr>&)>& body) {
  ir::Function function;
  function.name = "elementwise";
  function.input_count = static_cast<int64_t>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    function.arguments.push_back(Argument("in" + std::to_string(i), inputs[i], size, static_cast<int64_t>(i)));
  }
  function.arguments.push_back(Argument("out", output, size, function.input_count));
  te::Var i("i");
  const te::Expr index = lanes == 1 ? te::Expr(i) : te::Ramp(i * lanes, 1, lanes);
  std::vector<te::Expr> values;
  for (size_t k = 0; k < inputs.size(); ++k) values.push_back(te::Load(function.arguments[k], {index}));
  ir::Stmt store = ir::Store(function.arguments.back(), {index}, body(values));
  ir::Phase phase;
  phase.body = ir::For(i, 0, size / lanes, ir::ForKind::kSerial, store);
  function.phases.push_back(phase);
  return function;
}

inline std::shared_ptr<runtime::KernelCode> CompileForHost(const ir::Function& function) {
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
  runtime::AlignedBuffer scratch(code.descriptor().thread_scratch_bytes + 64);
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
  runtime::AlignedBuffer memory_;
  int64_t size_;
};

}  // namespace smelt::kernels::codegen
