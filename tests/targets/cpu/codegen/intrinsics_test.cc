// Code of intrinsics by name, and the refusal of those that have none.
#include <gmock/gmock.h>

#include "kernels/te/intrinsic.h"
#include "tests/targets/cpu/codegen/vector_kernel.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::ir::Evaluate;
using kernels::te::Expr;
using kernels::te::PrimitiveType;
using testing::HasSubstr;

// out[i] = in[i], with a call before each store.
kernels::ir::Function Copying(const std::function<Expr(const kernels::ir::Function&, const Expr& i)>& call) {
  kernels::ir::Function function;
  function.name = "copying";
  function.input_count = 1;
  function.arguments = {Argument("in", PrimitiveType::kF32, 64, 0), Argument("out", PrimitiveType::kF32, 64, 1)};
  kernels::te::Var i("i");
  const Expr value = kernels::te::Load(function.arguments[0], {i});
  kernels::ir::Phase phase;
  phase.body = kernels::ir::For(
      i, 0, 64, kernels::ir::ForKind::kSerial,
      kernels::ir::Attribute(
          "ignored", nullptr, i,
          kernels::ir::Seq({Evaluate(call(function, i)), kernels::ir::Store(function.arguments[1], {i}, value)})));
  function.phases.push_back(phase);
  return function;
}

TEST(Intrinsics, PrefetchBecomesItsInstruction) {
  const kernels::ir::Function function = Copying([](const kernels::ir::Function& f, const Expr& i) {
    return kernels::te::Call(kernels::te::Prefetch(), {kernels::te::AddressOf(f.arguments[0], {i + 16}), 0, 3});
  });
  Target target = HostTarget();
  std::string assembly;
  CodegenOptions options;
  options.assembly_text = &assembly;
  const auto object = EmitObject(function, target, options);
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_THAT(assembly, HasSubstr("prefetcht0"));
  auto code = CompileForHost(function);
  Array<float> in(64), out(64);
  for (int i = 0; i < 64; ++i) in.data()[i] = static_cast<float>(i);
  Execute(*code, {in.data(), out.data()});
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out.data()[i], static_cast<float>(i));
}

TEST(Intrinsics, WithoutCodeAreRefusedByName) {
  const kernels::te::IntrinsicRef unknown = kernels::te::MakeIntrinsic({.name = "no_such_instruction"});
  const auto object = EmitObject(
      Copying([&](const kernels::ir::Function&, const Expr&) { return kernels::te::Call(unknown, {}); }), HostTarget());
  EXPECT_EQ(object.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(object.status().message()), HasSubstr("intrinsic `no_such_instruction` has no code"));
}

}  // namespace
}  // namespace smelt::cpu::codegen
