#include "targets/cpu/processor/probe.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/status_macros.h"
#include "kernels/ir/stmt.h"
#include "runtime/run_kernel.h"
#include "targets/cpu/codegen/codegen.h"

namespace smelt::cpu {
namespace {

using kernels::te::Expr;
using kernels::te::PrimitiveType;

// Many short runs: where other work has its turns on this core, one of them lies between two turns.
constexpr double kSecondsPerFigure = 0.08, kSecondsPerRun = 0.0005;
constexpr int kFewestRuns = 8;
// All figures are measured so many times, because other work also comes and goes.
constexpr int kPasses = 2;
constexpr int64_t kFloatBytes = 4;

kernels::ir::Buffer MakeBuffer(std::string name, int64_t elements, kernels::ir::Scope scope, int64_t argument = -1) {
  auto buffer = std::make_shared<kernels::ir::BufferNode>();
  buffer->name = std::move(name);
  buffer->type = PrimitiveType::kF32;
  buffer->shape = {elements};
  buffer->scope = scope;
  buffer->argument = argument;
  return buffer;
}

// A kernel (in, out) whose one phase repeats `body`: the number of repeats is the phase's range.
kernels::ir::Function Repeat(kernels::ir::Buffer in, kernels::ir::Buffer out, kernels::ir::Stmt body) {
  kernels::ir::Function function;
  function.name = "probe";
  function.arguments = {std::move(in), std::move(out)};
  function.input_count = 1;
  function.phases.push_back({kernels::te::Var("repeat"), int64_t{1} << 40, std::move(body)});
  return function;
}

// `accumulators` independent vectors, each `steps` times acc = f(acc, step), kept in registers.
kernels::ir::Stmt Accumulate(const kernels::ir::Buffer& in, const kernels::ir::Buffer& out, int accumulators, int lanes,
                             int64_t steps, const std::function<Expr(Expr accumulator, Expr step, int which)>& next) {
  kernels::ir::Buffer local = MakeBuffer("accumulators", int64_t{accumulators} * lanes, kernels::ir::Scope::kLocal);
  auto at = [&](int i) { return kernels::te::Ramp(i * lanes, 1, lanes); };
  kernels::te::Var step("step");
  std::vector<kernels::ir::Stmt> begin, loop, end;
  for (int i = 0; i < accumulators; ++i) {
    begin.push_back(kernels::ir::Store(local, {at(i)}, kernels::te::Load(in, {at(i)})));
    loop.push_back(kernels::ir::Store(local, {at(i)}, next(kernels::te::Load(local, {at(i)}), step, i)));
    end.push_back(kernels::ir::Store(out, {at(i)}, kernels::te::Load(local, {at(i)})));
  }
  return kernels::ir::Allocate(
      local, kernels::ir::Seq({kernels::ir::Seq(begin),
                               kernels::ir::For(step, 0, steps, kernels::ir::ForKind::kSerial, kernels::ir::Seq(loop)),
                               kernels::ir::Seq(end)}));
}

struct Probe {
  std::shared_ptr<runtime::KernelCode> code;
  AlignedBuffer in, out;

  static absl::StatusOr<Probe> Make(const kernels::ir::Function& function, const Target& target) {
    Probe probe;
    SMELT_ASSIGN_OR_RETURN(codegen::ObjectCode object, codegen::EmitObject(function, target));
    SMELT_ASSIGN_OR_RETURN(probe.code, codegen::LoadObject(object));
    for (auto [buffer, bytes] : {std::pair{&probe.in, function.arguments[0]->ByteSize()},
                                 std::pair{&probe.out, function.arguments[1]->ByteSize()}}) {
      *buffer = AlignedBuffer(bytes);
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
    while (seconds < kSecondsPerRun && repeats < (int64_t{1} << 32)) seconds = run(repeats *= 2);
    double spent = 0;
    for (int runs = 0; runs < kFewestRuns || spent < kSecondsPerFigure; ++runs) {
      const double once = run(repeats);
      seconds = std::min(seconds, once);
      spent += once;
    }
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

// Flop/s of multiply-adds of whole vectors into so many accumulators in turn.
absl::StatusOr<double> MeasureMultiplyAdds(const Target& target, int accumulators) {
  const int lanes = static_cast<int>(target.vector_bytes / kFloatBytes);
  constexpr int64_t kSteps = 4096;
  kernels::ir::Buffer in = MakeBuffer("in", int64_t{accumulators + 1} * lanes, kernels::ir::Scope::kArgument, 0);
  kernels::ir::Buffer out = MakeBuffer("out", int64_t{accumulators} * lanes, kernels::ir::Scope::kArgument, 1);
  const Expr factor = kernels::te::Load(in, {kernels::te::Ramp(accumulators * lanes, 1, lanes)});
  kernels::ir::Stmt body = Accumulate(in, out, accumulators, lanes, kSteps, [&](Expr accumulator, Expr, int) {
    return kernels::te::Binary(kernels::te::BinaryOp::kAdd,
                               kernels::te::Binary(kernels::te::BinaryOp::kMul, accumulator, factor), factor);
  });
  SMELT_ASSIGN_OR_RETURN(Probe probe, Probe::Make(Repeat(in, out, body), target));
  return 2.0 * lanes * accumulators * kSteps / probe.Seconds();
}

}  // namespace

absl::StatusOr<double> MeasurePeakFlops(const Target& target) {
  return MeasureMultiplyAdds(target, target.vector_registers >= 32 ? 24 : 12);
}

absl::StatusOr<double> MeasureVectorFlops(const Target& target) {
  // Cycles of a multiply-add on Intel's processors since Skylake, AMD's since Zen 3 and Arm's Neoverse.
  constexpr double kLatency = 4;
  SMELT_ASSIGN_OR_RETURN(const double chain, MeasureMultiplyAdds(target, 1));
  return kLatency * chain;
}

absl::StatusOr<double> MeasureReadBandwidth(const Target& target, int64_t bytes) {
  const int lanes = static_cast<int>(target.vector_bytes / kFloatBytes);
  constexpr int kAccumulators = 8;
  const int64_t steps = std::max<int64_t>(bytes / (kFloatBytes * kAccumulators * lanes), 1);
  kernels::ir::Buffer in = MakeBuffer("in", steps * kAccumulators * lanes, kernels::ir::Scope::kArgument, 0);
  kernels::ir::Buffer out = MakeBuffer("out", int64_t{kAccumulators} * lanes, kernels::ir::Scope::kArgument, 1);
  kernels::ir::Stmt body =
      Accumulate(in, out, kAccumulators, lanes, steps, [&](Expr accumulator, Expr step, int which) {
        const Expr index = kernels::te::Ramp((step * kAccumulators + which) * lanes, 1, lanes);
        return kernels::te::Binary(kernels::te::BinaryOp::kAdd, accumulator, kernels::te::Load(in, {index}));
      });
  SMELT_ASSIGN_OR_RETURN(Probe probe, Probe::Make(Repeat(in, out, body), target));
  return static_cast<double>(in->ByteSize()) / probe.Seconds();
}

absl::StatusOr<double> MeasureCopyBandwidth(const Target& target, int64_t bytes) {
  const int lanes = static_cast<int>(target.vector_bytes / kFloatBytes);
  const int64_t steps = std::max<int64_t>(bytes / (kFloatBytes * lanes), 1);
  kernels::ir::Buffer in = MakeBuffer("in", steps * lanes, kernels::ir::Scope::kArgument, 0);
  kernels::ir::Buffer out = MakeBuffer("out", steps * lanes, kernels::ir::Scope::kArgument, 1);
  kernels::te::Var step("step");
  const Expr index = kernels::te::Ramp(step * lanes, 1, lanes);
  kernels::ir::Stmt body = kernels::ir::For(step, 0, steps, kernels::ir::ForKind::kSerial,
                                            kernels::ir::Store(out, {index}, kernels::te::Load(in, {index})));
  SMELT_ASSIGN_OR_RETURN(Probe probe, Probe::Make(Repeat(in, out, body), target));
  return 2.0 * static_cast<double>(in->ByteSize()) / probe.Seconds();
}

namespace {

absl::Status MeasureOnce(Target* target) {
  SMELT_ASSIGN_OR_RETURN(target->peak_flops_f32, MeasurePeakFlops(*target));
  SMELT_ASSIGN_OR_RETURN(target->vector_flops_f32, MeasureVectorFlops(*target));
  std::vector<machine::MemoryLevel>& levels = target->levels;  // three caches, and the memory
  SMELT_ASSIGN_OR_RETURN(levels[0].bytes_per_second, MeasureReadBandwidth(*target, levels[0].bytes / 2));
  SMELT_ASSIGN_OR_RETURN(levels[1].bytes_per_second, MeasureReadBandwidth(*target, levels[1].bytes / 2));
  SMELT_ASSIGN_OR_RETURN(levels[2].bytes_per_second,
                         MeasureReadBandwidth(*target, std::max(levels[2].bytes / 4, 2 * levels[1].bytes)));
  // Both sides together several times what the last cache holds, within what any machine has.
  const int64_t beyond = std::clamp<int64_t>(2 * levels[2].bytes, int64_t{32} << 20, int64_t{256} << 20);
  SMELT_ASSIGN_OR_RETURN(levels[3].bytes_per_second, MeasureCopyBandwidth(*target, beyond));
  // A kernel's call proper is a few nanoseconds; what a program pays is the cold start of its code and data.
  constexpr double kColdStart = 1e-7;
  target->launch_seconds = MeasureCall(1) + kColdStart;
  if (target->threads > 1) target->fork_seconds = std::max(MeasureCall(target->threads), 1e-7);
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureTarget(Target* target) {
  SMELT_RETURN_IF_ERROR(MeasureOnce(target));
  for (int pass = 1; pass < kPasses; ++pass) {
    Target again = *target;
    SMELT_RETURN_IF_ERROR(MeasureOnce(&again));
    target->peak_flops_f32 = std::max(target->peak_flops_f32, again.peak_flops_f32);
    target->vector_flops_f32 = std::max(target->vector_flops_f32, again.vector_flops_f32);
    for (size_t level = 0; level < again.levels.size(); ++level) {
      double& best = target->levels[level].bytes_per_second;
      best = std::max(best, again.levels[level].bytes_per_second);
    }
    target->launch_seconds = std::min(target->launch_seconds, again.launch_seconds);
    target->fork_seconds = std::min(target->fork_seconds, again.fork_seconds);
  }
  target->vector_flops_f32 = std::min(target->vector_flops_f32, target->peak_flops_f32);
  return absl::OkStatus();
}

}  // namespace smelt::cpu
