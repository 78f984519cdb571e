#include "kernels/target_probe.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "hlo/status_macros.h"
#include "kernels/codegen/codegen.h"
#include "kernels/ir/stmt.h"
#include "kernels/runtime/run_kernel.h"

namespace smelt::kernels {
namespace {

using te::Expr;
using te::PrimitiveType;

constexpr double kSecondsPerFigure = 0.08;
constexpr int64_t kFloatBytes = 4;

ir::Buffer MakeBuffer(std::string name, int64_t elements, ir::Scope scope, int64_t argument = -1) {
  auto buffer = std::make_shared<ir::BufferNode>();
  buffer->name = std::move(name);
  buffer->type = PrimitiveType::kF32;
  buffer->shape = {elements};
  buffer->scope = scope;
  buffer->argument = argument;
  return buffer;
}

// A kernel (in, out) whose one phase repeats `body`: the number of repeats is the phase's range.
ir::Function Repeat(ir::Buffer in, ir::Buffer out, ir::Stmt body) {
  ir::Function function;
  function.name = "probe";
  function.arguments = {std::move(in), std::move(out)};
  function.input_count = 1;
  function.phases.push_back({te::Var("repeat"), int64_t{1} << 40, std::move(body)});
  return function;
}

// `accumulators` independent vectors, each `steps` times acc = f(acc, step), kept in registers.
ir::Stmt Accumulate(const ir::Buffer& in, const ir::Buffer& out, int accumulators, int lanes, int64_t steps,
                    const std::function<Expr(Expr accumulator, Expr step, int which)>& next) {
  ir::Buffer local = MakeBuffer("accumulators", int64_t{accumulators} * lanes, ir::Scope::kLocal);
  auto at = [&](int i) { return te::Ramp(i * lanes, 1, lanes); };
  te::Var step("step");
  std::vector<ir::Stmt> begin, loop, end;
  for (int i = 0; i < accumulators; ++i) {
    begin.push_back(ir::Store(local, {at(i)}, te::Load(in, {at(i)})));
    loop.push_back(ir::Store(local, {at(i)}, next(te::Load(local, {at(i)}), step, i)));
    end.push_back(ir::Store(out, {at(i)}, te::Load(local, {at(i)})));
  }
  return ir::Allocate(
      local, ir::Seq({ir::Seq(begin), ir::For(step, 0, steps, ir::ForKind::kSerial, ir::Seq(loop)), ir::Seq(end)}));
}

struct Probe {
  std::shared_ptr<runtime::KernelCode> code;
  runtime::AlignedBuffer in, out;

  static absl::StatusOr<Probe> Make(const ir::Function& function, const Target& target) {
    Probe probe;
    SMELT_ASSIGN_OR_RETURN(codegen::ObjectCode object, codegen::EmitObject(function, target));
    SMELT_ASSIGN_OR_RETURN(probe.code, codegen::LoadObject(object));
    for (auto [buffer, bytes] : {std::pair{&probe.in, function.arguments[0]->ByteSize()},
                                 std::pair{&probe.out, function.arguments[1]->ByteSize()}}) {
      *buffer = runtime::AlignedBuffer(bytes);
      if (buffer->data() == nullptr) return absl::ResourceExhaustedError("no memory to measure this machine");
      std::fill(buffer->data(), buffer->data() + bytes, 0);
    }
    return probe;
  }

  // Seconds of one repeat, the best of several runs.
  double Seconds() const {
    void* buffers[] = {in.data(), out.data()};
    auto run = [&](int64_t repeats) {
      const auto start = std::chrono::steady_clock::now();
      code->function(0)(buffers, nullptr, 0, repeats);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    int64_t repeats = 1;
    double seconds = run(repeats);
    while (seconds < kSecondsPerFigure / 8 && repeats < (int64_t{1} << 32)) seconds = run(repeats *= 2);
    for (int i = 0; i < 8; ++i) seconds = std::min(seconds, run(repeats));
    return seconds / static_cast<double>(repeats);
  }
};

// Seconds of a call that does nothing, on one thread or split over all.
double MeasureCall(int threads) {
  auto nothing = [](void* const*, void*, int64_t, int64_t) {};
  runtime::KernelDescriptor descriptor;
  descriptor.phases.push_back({"nothing", threads});
  const runtime::KernelCode code(descriptor, {nothing}, nullptr);
  runtime::ThreadPool pool(threads);
  void* buffers[] = {nullptr};
  double best = 1;
  for (int run = 0; run < 20; ++run) {
    constexpr int kCalls = 200;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) runtime::RunKernel(code, buffers, nullptr, 0, pool);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count() / kCalls);
  }
  return best;
}

}  // namespace

absl::StatusOr<double> MeasurePeakFlops(const Target& target) {
  const int lanes = static_cast<int>(target.vector_bytes / kFloatBytes);
  const int accumulators = target.vector_registers >= 32 ? 24 : 12;
  constexpr int64_t kSteps = 4096;
  ir::Buffer in = MakeBuffer("in", int64_t{accumulators + 1} * lanes, ir::Scope::kArgument, 0);
  ir::Buffer out = MakeBuffer("out", int64_t{accumulators} * lanes, ir::Scope::kArgument, 1);
  const Expr factor = te::Load(in, {te::Ramp(accumulators * lanes, 1, lanes)});
  ir::Stmt body = Accumulate(in, out, accumulators, lanes, kSteps, [&](Expr accumulator, Expr, int) {
    return te::Binary(te::BinaryOp::kAdd, te::Binary(te::BinaryOp::kMul, accumulator, factor), factor);
  });
  SMELT_ASSIGN_OR_RETURN(Probe probe, Probe::Make(Repeat(in, out, body), target));
  return 2.0 * lanes * accumulators * kSteps / probe.Seconds();
}

absl::StatusOr<double> MeasureReadBandwidth(const Target& target, int64_t bytes) {
  const int lanes = static_cast<int>(target.vector_bytes / kFloatBytes);
  constexpr int kAccumulators = 8;
  const int64_t steps = std::max<int64_t>(bytes / (kFloatBytes * kAccumulators * lanes), 1);
  ir::Buffer in = MakeBuffer("in", steps * kAccumulators * lanes, ir::Scope::kArgument, 0);
  ir::Buffer out = MakeBuffer("out", int64_t{kAccumulators} * lanes, ir::Scope::kArgument, 1);
  ir::Stmt body = Accumulate(in, out, kAccumulators, lanes, steps, [&](Expr accumulator, Expr step, int which) {
    const Expr index = te::Ramp((step * kAccumulators + which) * lanes, 1, lanes);
    return te::Binary(te::BinaryOp::kAdd, accumulator, te::Load(in, {index}));
  });
  SMELT_ASSIGN_OR_RETURN(Probe probe, Probe::Make(Repeat(in, out, body), target));
  return static_cast<double>(in->ByteSize()) / probe.Seconds();
}

absl::StatusOr<double> MeasureCopyBandwidth(const Target& target, int64_t bytes) {
  const int lanes = static_cast<int>(target.vector_bytes / kFloatBytes);
  const int64_t steps = std::max<int64_t>(bytes / (kFloatBytes * lanes), 1);
  ir::Buffer in = MakeBuffer("in", steps * lanes, ir::Scope::kArgument, 0);
  ir::Buffer out = MakeBuffer("out", steps * lanes, ir::Scope::kArgument, 1);
  te::Var step("step");
  const Expr index = te::Ramp(step * lanes, 1, lanes);
  ir::Stmt body = ir::For(step, 0, steps, ir::ForKind::kSerial, ir::Store(out, {index}, te::Load(in, {index})));
  SMELT_ASSIGN_OR_RETURN(Probe probe, Probe::Make(Repeat(in, out, body), target));
  return 2.0 * static_cast<double>(in->ByteSize()) / probe.Seconds();
}

absl::Status MeasureTarget(Target* target) {
  SMELT_ASSIGN_OR_RETURN(target->peak_flops_f32, MeasurePeakFlops(*target));
  SMELT_ASSIGN_OR_RETURN(target->l1_bandwidth, MeasureReadBandwidth(*target, target->l1_bytes / 2));
  SMELT_ASSIGN_OR_RETURN(target->l2_bandwidth, MeasureReadBandwidth(*target, target->l2_bytes / 2));
  SMELT_ASSIGN_OR_RETURN(target->l3_bandwidth,
                         MeasureReadBandwidth(*target, std::max(target->l3_bytes / 4, 2 * target->l2_bytes)));
  // Both sides together several times what the last cache holds, within what any machine has.
  const int64_t beyond = std::clamp<int64_t>(2 * target->l3_bytes, int64_t{32} << 20, int64_t{256} << 20);
  SMELT_ASSIGN_OR_RETURN(target->memory_bandwidth, MeasureCopyBandwidth(*target, beyond));
  // A kernel's call proper is a few nanoseconds; what a program pays is the cold start of its code and data.
  constexpr double kColdStart = 1e-7;
  target->launch_seconds = MeasureCall(1) + kColdStart;
  if (target->threads > 1) target->fork_seconds = std::max(MeasureCall(target->threads), 1e-7);
  return absl::OkStatus();
}

}  // namespace smelt::kernels
