#include "hlo/evaluator/evaluation.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/float_mode.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/other_roundings.h"
#include "hlo/evaluator/plan.h"

namespace smelt::hlo {
namespace {

// Nested calls run on the C++ stack; no real program comes near this, and a module made to overflow it is refused.
constexpr int64_t kMaxDepth = 500;
constexpr double kThreadStartSeconds = 40e-6;
constexpr int64_t kRememberedShare = 16;  // a sixteenth of the memory may hold what loop bodies made of constants

// What the machine has, or what this process may have of it.
int64_t UsableMemory() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  if (bytes <= 0) bytes = int64_t{1} << 34;
  rlimit limit;
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur < static_cast<rlim_t>(bytes))
    bytes = static_cast<int64_t>(limit.rlim_cur);
  return bytes;
}

Shape WithoutLayout(const Shape& shape) { return Shape::Array(shape.element_type, shape.dimensions); }

}  // namespace

// An array that counts against the limit while it lives.
struct Evaluation::Tracked : Literal {
  Tracked(Literal literal, std::shared_ptr<std::atomic<int64_t>> live)
      : Literal(std::move(literal)), live_bytes(std::move(live)), bytes(byte_size()) {
    live_bytes->fetch_add(bytes, std::memory_order_relaxed);
  }
  ~Tracked() { live_bytes->fetch_sub(bytes, std::memory_order_relaxed); }
  std::shared_ptr<std::atomic<int64_t>> live_bytes;
  int64_t bytes;
};

Evaluation::Evaluation(const EvaluateOptions& options) : options_(options) {
  if (options_.threads <= 0) options_.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (options_.max_bytes <= 0) options_.max_bytes = UsableMemory() / 10 * 8;
  if (options_.max_seconds > 0) {
    deadline_ = std::chrono::steady_clock::now() +
                std::chrono::microseconds(static_cast<int64_t>(std::min(options_.max_seconds, 1e9) * 1e6));
  }
}

Evaluation::~Evaluation() = default;

absl::StatusOr<std::shared_ptr<Literal>> Evaluation::Track(absl::StatusOr<Literal> literal) {
  if (!literal.ok()) return literal.status();
  return std::static_pointer_cast<Literal>(std::make_shared<Tracked>(*std::move(literal), live_bytes_));
}

absl::StatusOr<std::shared_ptr<Literal>> Evaluation::NewArray(const Shape& shape) {
  return Track(Literal::CreateUninitialized(WithoutLayout(shape),
                                            options_.max_bytes - live_bytes_->load(std::memory_order_relaxed)));
}

absl::StatusOr<std::shared_ptr<Literal>> Evaluation::NewZeroArray(const Shape& shape) {
  return Track(
      Literal::Create(WithoutLayout(shape), options_.max_bytes - live_bytes_->load(std::memory_order_relaxed)));
}

absl::StatusOr<std::shared_ptr<Literal>> Evaluation::NewScratch(PrimitiveType type, int64_t count) {
  return NewArray(Shape::Array(type, {count}));
}

absl::StatusOr<std::shared_ptr<Literal>> Evaluation::ReuseOrNew(Value& operand, const Shape& shape) {
  if (operand.IsUnique() && operand.shape().element_type == shape.element_type &&
      operand.shape().SameDimensions(shape)) {
    return operand.TakeArray();
  }
  return NewArray(shape);
}

absl::Status Evaluation::CheckLimits() {
  if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed))
    return absl::CancelledError("the evaluation was cancelled");
  if (options_.max_seconds > 0 && ++limit_checks_ % 8 == 0 && std::chrono::steady_clock::now() > deadline_) {
    return absl::DeadlineExceededError(
        absl::StrCat("the evaluation took longer than the limit of ", options_.max_seconds, " seconds"));
  }
  return absl::OkStatus();
}

void Evaluation::ParallelFor(int64_t count, double seconds_per_item, const std::function<void(int64_t, int64_t)>& body,
                             int64_t granularity) {
  if (count <= 0) return;
  const double work = static_cast<double>(count) * seconds_per_item;
  const int64_t parts_possible = (count + granularity - 1) / granularity;
  int64_t threads = std::min<int64_t>(options_.threads, parts_possible);
  threads = std::min<int64_t>(threads, static_cast<int64_t>(std::min(work / (4 * kThreadStartSeconds), 1e6)));
  if (threads <= 1) {
    body(0, count);
    return;
  }
  // A few parts per thread, handed out as threads become free: other work on the machine slows some of them.
  const int64_t part = (parts_possible + threads * 4 - 1) / (threads * 4) * granularity;
  std::atomic<int64_t> next{0};
  auto work_on_parts = [&] {
    ScopedFlushSubnormals flush;
    for (int64_t begin; (begin = next.fetch_add(part)) < count;) body(begin, std::min(count, begin + part));
  };
  std::vector<std::thread> workers;
  for (int64_t t = 1; t < threads; ++t) {
    try {
      workers.emplace_back(work_on_parts);
    } catch (const std::system_error&) {
      break;  // no more threads to be had: those that run do the work
    }
  }
  work_on_parts();
  for (std::thread& worker : workers) worker.join();
}

absl::StatusOr<Plan*> Evaluation::PlanOf(const Computation& computation) {
  std::unique_ptr<Plan>& plan = plans_[&computation];
  if (plan == nullptr) {
    SMELT_ASSIGN_OR_RETURN(plan, MakePlan(computation));
  }
  return plan.get();
}

void Evaluation::Remember(Plan* plan, std::vector<Value> collected) {
  int64_t bytes = remembered_bytes_;
  for (const Value& value : collected) {
    if (value.IsArray()) bytes += value.array().byte_size();
  }
  plan->memory = Plan::Memory::kTooLarge;
  if (bytes > options_.max_bytes / kRememberedShare) return;
  remembered_bytes_ = bytes;
  plan->memory = Plan::Memory::kKnown;
  plan->known = std::move(collected);
}

absl::StatusOr<Value> Evaluation::Run(const Computation& computation, std::vector<Value> arguments) {
  if (++depth_ > kMaxDepth) {
    --depth_;
    return absl::ResourceExhaustedError(absl::StrCat("computations call each other more than ", kMaxDepth, " deep"));
  }
  struct Leave {
    int64_t& depth;
    ~Leave() { --depth; }
  } leave{depth_};

  SMELT_ASSIGN_OR_RETURN(Plan* const plan, PlanOf(computation));
  std::vector<Value> values(plan->steps.size());
  const bool known = plan->memory == Plan::Memory::kKnown;
  // Other roundings are others in every run.
  std::vector<Value> collected;
  if (plan->memory == Plan::Memory::kOnce && options_.other_roundings == 0) collected.resize(plan->steps.size());
  for (size_t p = 0; p < plan->parameter_steps.size(); ++p) {
    const int32_t step = plan->parameter_steps[p];
    if (step < 0) continue;
    if (p >= arguments.size()) {
      return absl::UnimplementedError(
          absl::StrCat(computation.name(), " gets ", arguments.size(), " operands where it starts, and needs more"));
    }
    values[step] = std::move(arguments[p]);
  }
  arguments.clear();

  absl::InlinedVector<Value, 8> operands;
  for (size_t s = 0; s < plan->steps.size(); ++s) {
    const Step& step = plan->steps[s];
    if (step.handler == nullptr) {
      if (step.instruction->opcode() == Opcode::kConstant) values[s] = step.constant;
      continue;
    }
    if (known && step.fixed) {
      if (step.boundary) values[s] = plan->known[s];
      continue;
    }
    SMELT_RETURN_IF_ERROR(CheckLimits());
    operands.clear();
    for (size_t i = 0; i < step.operands.size(); ++i) {
      if (step.last_use[i]) {
        operands.push_back(std::move(values[step.operands[i]]));
        values[step.operands[i]] = Value();
      } else {
        operands.push_back(values[step.operands[i]]);
      }
    }
    if (options_.other_roundings != 0 && step.chooses)
      SMELT_RETURN_IF_ERROR(ChooseOtherwise(*step.instruction, absl::MakeSpan(operands), *this));
    const Call call = {*this, step, *step.instruction, absl::MakeSpan(operands)};
    const bool at_runtime_sizes =
        !HandlesRuntimeSizes(step.instruction->opcode()) &&
        std::any_of(operands.begin(), operands.end(), [](const Value& v) { return v.runtime_sizes() != nullptr; });
    absl::StatusOr<Value> value = at_runtime_sizes ? RunAtRuntimeSizes(call) : step.handler(call);
    if (!value.ok()) {
      // The innermost instruction names itself; callers on the way out do not add theirs.
      if (absl::StartsWith(value.status().message(), "instruction `")) return value.status();
      return absl::Status(value.status().code(),
                          absl::StrCat("instruction `", step.instruction->name(), "`: ", value.status().message()));
    }
    if (options_.other_roundings != 0 && step.rounds) {
      SMELT_ASSIGN_OR_RETURN(value, RoundOtherwise(*std::move(value), *this));
    }
    values[s] = *std::move(value);
    if (!collected.empty() && step.fixed && step.boundary) collected[s] = values[s];
  }
  if (!collected.empty()) Remember(plan, std::move(collected));
  if (plan->memory == Plan::Memory::kNone) plan->memory = Plan::Memory::kOnce;
  return std::move(values[plan->root]);
}

}  // namespace smelt::hlo
