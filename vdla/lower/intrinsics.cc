#include "vdla/lower/intrinsics.h"

#include "absl/strings/match.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/lower/memories.h"

namespace smelt::vdla::lower {
namespace {

using te::OperandRole;

struct Body {
  const char* prefix;
  GemmCall call;
};
// `full` and `update` say whether the sum starts at zero.
const Body kBodies[] = {{"vdla_gemm_reset_", {.is_gemm = true, .resets = true, .multiplies = false}},
                        {"vdla_gemm_update_", {.is_gemm = true, .resets = false, .multiplies = true}},
                        {"vdla_gemm_full_", {.is_gemm = true, .resets = true, .multiplies = true}}};

// Sums wrap around at 32 bits, as accumulators do.
absl::Status RunGemm(const GemmCall& call, int64_t batch, int64_t ins, int64_t outs, te::Arguments x) {
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t n = 0; n < outs; ++n) {
      te::Scalar sum;
      if (!call.resets) SMELT_RETURN_IF_ERROR(x[0].place.Load(b * outs + n, &sum));
      for (int64_t k = 0; call.multiplies && k < ins; ++k) {
        te::Scalar inp, wgt;
        SMELT_RETURN_IF_ERROR(x[1].place.Load(b * ins + k, &inp));
        SMELT_RETURN_IF_ERROR(x[2].place.Load(n * ins + k, &wgt));
        sum.i += inp.i * wgt.i;
      }
      sum.i = static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(sum.i)));
      SMELT_RETURN_IF_ERROR(x[0].place.Store(b * outs + n, sum));
    }
  }
  return absl::OkStatus();
}

te::IntrinsicRef Make(const Body& body, const isa::Config& config) {
  te::Intrinsic intrinsic;
  const int64_t batch = config.batch, ins = config.block_in, outs = config.block_out;
  intrinsic.name = StrCat(body.prefix, batch, "x", outs, "x", ins);
  intrinsic.operands = {body.call.resets ? OperandRole::kWrite : OperandRole::kUpdate};
  if (body.call.multiplies) intrinsic.operands.insert(intrinsic.operands.end(), 2, OperandRole::kRead);
  intrinsic.interpret = [call = body.call, batch, ins, outs](te::Arguments x, absl::Span<te::Scalar>) {
    return RunGemm(call, batch, ins, outs, x);
  };
  return te::MakeIntrinsic(std::move(intrinsic));
}

// The product of one micro-op as a tensor expression.
struct Declaration {
  te::Tensor inp, wgt, out;
};
Declaration DeclareGemm(const isa::Config& config) {
  using te::PrimitiveType;
  const te::DataType s32{PrimitiveType::kS32, 1};
  const te::Tensor inp = te::Placeholder("inp", {config.batch, config.block_in}, PrimitiveType::kS8);
  const te::Tensor wgt = te::Placeholder("wgt", {config.block_out, config.block_in}, PrimitiveType::kS8);
  const te::ReduceAxis k(config.block_in, "k");
  const te::Tensor out = te::Compute("out", {config.batch, config.block_out}, [&](te::Indices i) {
    return te::Sum(te::Binary(te::BinaryOp::kMul, te::Cast(s32, inp(i[0], k)), te::Cast(s32, wgt(i[1], k))), {k});
  });
  return {inp, wgt, out};
}

}  // namespace

GemmIntrinsics GemmIntrinsicsOf(const isa::Config& config) {
  const Declaration declared = DeclareGemm(config);
  return {.declaration = te::MakeGraph({declared.inp, declared.wgt}, {declared.out}),
          .reset = Make(kBodies[0], config),
          .update = Make(kBodies[1], config),
          .full = Make(kBodies[2], config)};
}

kernels::schedule::TensorIntrinsicRef GemmInstruction(const isa::Config& config) {
  using kernels::schedule::TensorRegions;
  namespace ir = kernels::ir;
  const Declaration declared = DeclareGemm(config);
  const GemmIntrinsics calls = GemmIntrinsicsOf(config);
  const te::ScopeTable memories = Memories(config);
  const auto multiply = [](const te::IntrinsicRef& call) {
    return [call](TensorRegions r) {
      return ir::Evaluate(te::Call(call, {r[2].Address(), r[0].Address(), r[1].Address()}));
    };
  };
  return std::make_shared<const kernels::schedule::TensorIntrinsic>(kernels::schedule::TensorIntrinsic{
      .name = "vdla_gemm",
      .inputs = {declared.inp, declared.wgt},
      .output = declared.out,
      .scopes = {memories.Find("inp"), memories.Find("wgt"), memories.Find("acc")},
      .reset = [call = calls.reset](TensorRegions r) { return ir::Evaluate(te::Call(call, {r[2].Address()})); },
      .update = multiply(calls.update),
      .full = multiply(calls.full)});
}

GemmCall GemmCallOf(const te::Intrinsic& intrinsic) {
  for (const Body& body : kBodies) {
    if (absl::StartsWith(intrinsic.name, body.prefix)) return body.call;
  }
  return {};
}

}  // namespace smelt::vdla::lower
