#include "tests/fusion/programs.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "hlo/text/parser.h"

namespace smelt::fusion {
namespace {

constexpr std::string_view kElementwise = R"(
HloModule elementwise
ENTRY main {
  x = f32[8,16] parameter(0)
  y = f32[8,16] parameter(1)
  half = f32[] constant(0.5)
  halves = f32[8,16] broadcast(half), dimensions={}
  add.1 = f32[8,16] add(x, y)
  mul.1 = f32[8,16] multiply(add.1, halves)
  tanh.1 = f32[8,16] tanh(mul.1)
  sub.1 = f32[8,16] subtract(tanh.1, add.1)
  neg.1 = f32[8,16] negate(mul.1)
  max.1 = f32[8,16] maximum(sub.1, neg.1)
  ROOT out = (f32[8,16], f32[8,16]) tuple(max.1, tanh.1)
}
)";

constexpr std::string_view kSoftmax = R"(
HloModule softmax
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY main {
  x = f32[4,6,32] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  reduce.max = f32[4,6] reduce(x, low), dimensions={2}, to_apply=max
  broadcast.max = f32[4,6,32] broadcast(reduce.max), dimensions={0,1}
  shifted = f32[4,6,32] subtract(x, broadcast.max)
  exp.1 = f32[4,6,32] exponential(shifted)
  reduce.sum = f32[4,6] reduce(exp.1, zero), dimensions={2}, to_apply=add
  broadcast.sum = f32[4,6,32] broadcast(reduce.sum), dimensions={0,1}
  ROOT div.1 = f32[4,6,32] divide(exp.1, broadcast.sum)
}
)";

constexpr std::string_view kLayerNorm = R"(
HloModule layer_norm
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY main {
  x = f32[16,64] parameter(0)
  gamma = f32[64] parameter(1)
  zero = f32[] constant(0)
  scale = f32[] constant(0.015625)
  scales = f32[16] broadcast(scale), dimensions={}
  epsilon = f32[] constant(1e-05)
  epsilons = f32[16] broadcast(epsilon), dimensions={}
  sum = f32[16] reduce(x, zero), dimensions={1}, to_apply=add
  mean = f32[16] multiply(sum, scales)
  square = f32[16,64] multiply(x, x)
  sum.squares = f32[16] reduce(square, zero), dimensions={1}, to_apply=add
  mean.squares = f32[16] multiply(sum.squares, scales)
  mean.2 = f32[16] multiply(mean, mean)
  variance = f32[16] subtract(mean.squares, mean.2)
  biased = f32[16] add(variance, epsilons)
  inverse = f32[16] rsqrt(biased)
  means = f32[16,64] broadcast(mean), dimensions={0}
  centred = f32[16,64] subtract(x, means)
  inverses = f32[16,64] broadcast(inverse), dimensions={0}
  normal = f32[16,64] multiply(centred, inverses)
  gammas = f32[16,64] broadcast(gamma), dimensions={1}
  scaled = f32[16,64] multiply(normal, gammas)
  ROOT out = (f32[16,64], f32[16]) tuple(scaled, inverse)
}
)";

constexpr std::string_view kBatchNorm = R"(
HloModule batch_norm_training
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY main {
  x = f32[64,32] parameter(0)
  zero = f32[] constant(0)
  sum = f32[32] reduce(x, zero), dimensions={0}, to_apply=add
  square = f32[64,32] multiply(x, x)
  sum.squares = f32[32] reduce(square, zero), dimensions={0}, to_apply=add
  scale = f32[] constant(0.015625)
  scales = f32[32] broadcast(scale), dimensions={}
  mean = f32[32] multiply(sum, scales)
  mean.squares = f32[32] multiply(sum.squares, scales)
  mean.2 = f32[32] multiply(mean, mean)
  variance = f32[32] subtract(mean.squares, mean.2)
  means = f32[64,32] broadcast(mean), dimensions={1}
  centred = f32[64,32] subtract(x, means)
  ROOT out = (f32[64,32], f32[32], f32[32]) tuple(centred, mean, variance)
}
)";

constexpr std::string_view kDense = R"(
HloModule dense
ENTRY main {
  x = f32[8,32] parameter(0)
  w = f32[32,64] parameter(1)
  b = f32[64] parameter(2)
  w2 = f32[16,64] parameter(3)
  exp.x = f32[8,32] exponential(x)
  dot.1 = f32[8,64] dot(exp.x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bias = f32[8,64] broadcast(b), dimensions={1}
  add.1 = f32[8,64] add(dot.1, bias)
  zero = f32[] constant(0)
  zeros = f32[8,64] broadcast(zero), dimensions={}
  relu = f32[8,64] maximum(add.1, zeros)
  view = f32[1,8,64] bitcast(relu)
  half = f32[] constant(0.5)
  halves = f32[1,8,64] broadcast(half), dimensions={}
  scaled = f32[1,8,64] multiply(view, halves)
  flat = f32[8,64] bitcast(scaled)
  turned = f32[64,16] transpose(w2), dimensions={1,0}
  dot.2 = f32[8,16] dot(flat, turned), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT out = (f32[8,16], f32[8,64]) tuple(dot.2, relu)
}
)";

constexpr std::string_view kResidual = R"(
HloModule residual_block
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
ENTRY main {
  x = f32[1,8,8,4] parameter(0)
  k1 = f32[3,3,4,4] parameter(1)
  k2 = f32[3,3,4,4] parameter(2)
  s = f32[4] parameter(3)
  conv.1 = f32[1,8,8,4] convolution(x, k1), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  epsilon = f32[] constant(1e-05)
  epsilons = f32[4] broadcast(epsilon), dimensions={}
  shifted = f32[4] add(s, epsilons)
  inverse = f32[4] rsqrt(shifted)
  inverses = f32[1,8,8,4] broadcast(inverse), dimensions={3}
  bn.1 = f32[1,8,8,4] multiply(conv.1, inverses)
  zero = f32[] constant(0)
  zeros = f32[1,8,8,4] broadcast(zero), dimensions={}
  relu.1 = f32[1,8,8,4] maximum(bn.1, zeros)
  conv.2 = f32[1,8,8,4] convolution(relu.1, k2), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  bn.2 = f32[1,8,8,4] multiply(conv.2, inverses)
  add.1 = f32[1,8,8,4] add(bn.2, relu.1)
  relu.2 = f32[1,8,8,4] maximum(add.1, zeros)
  low = f32[] constant(-inf)
  ROOT pool = f32[1,4,4,4] reduce-window(relu.2, low), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=max
}
)";

constexpr std::string_view kMovement = R"(
HloModule movement
ENTRY main {
  x = f32[6,10] parameter(0)
  i = s32[] parameter(1)
  indices = s32[4] parameter(2)
  zero = f32[] constant(0)
  neg = f32[6,10] negate(x)
  turned = f32[10,6] transpose(neg), dimensions={1,0}
  part = f32[4,6] slice(turned), slice={[2:6],[0:6]}
  back = f32[4,6] reverse(part), dimensions={0}
  padded = f32[6,8] pad(back, zero), padding=1_1x1_1
  exp.1 = f32[6,8] exponential(padded)
  joined = f32[12,8] concatenate(exp.1, padded), dimensions={0}
  one = s32[] constant(1)
  start = s32[] add(i, one)
  cut = f32[3,8] dynamic-slice(joined, start, one), dynamic_slice_sizes={3,8}
  rows = f32[4,8] gather(joined, indices), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
  count = s32[4,8] iota(), iota_dimension=1
  counted = f32[4,8] convert(count)
  mixed = f32[4,8] add(rows, counted)
  mixed.first = f32[3,4] slice(mixed), slice={[0:3],[0:4]}
  sums = f32[12] reshape(mixed.first)
  ROOT out = (f32[3,8], f32[4,8], f32[12]) tuple(cut, mixed, sums)
}
)";

constexpr std::string_view kAdam = R"(
HloModule adam_step
ENTRY main {
  p = f32[40,40] parameter(0)
  g = f32[40,40] parameter(1)
  m = f32[40,40] parameter(2)
  v = f32[40,40] parameter(3)
  b1 = f32[] constant(0.9)
  b1s = f32[40,40] broadcast(b1), dimensions={}
  c1 = f32[] constant(0.1)
  c1s = f32[40,40] broadcast(c1), dimensions={}
  m.old = f32[40,40] multiply(m, b1s)
  g.part = f32[40,40] multiply(g, c1s)
  m.new = f32[40,40] add(m.old, g.part)
  v.old = f32[40,40] multiply(v, b1s)
  g.2 = f32[40,40] multiply(g, g)
  g.2.part = f32[40,40] multiply(g.2, c1s)
  v.new = f32[40,40] add(v.old, g.2.part)
  size = f32[40,40] abs(v.new)
  root = f32[40,40] sqrt(size)
  safe = f32[40,40] add(root, c1s)
  step = f32[40,40] divide(m.new, safe)
  p.new = f32[40,40] subtract(p, step)
  ROOT out = (f32[40,40], f32[40,40], f32[40,40]) tuple(p.new, m.new, v.new)
}
)";

constexpr std::string_view kControlFlow = R"(
HloModule control_flow
body {
  state = (s32[], f32[16], f32[4,16]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = f32[16] get-tuple-element(state), index=1
  log = f32[4,16] get-tuple-element(state), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  half = f32[] constant(0.5)
  halves = f32[16] broadcast(half), dimensions={}
  scaled = f32[16] multiply(x, halves)
  y = f32[16] add(scaled, x)
  row = f32[1,16] reshape(y)
  zero = s32[] constant(0)
  update = f32[4,16] dynamic-update-slice(log, row, i, zero)
  ROOT out = (s32[], f32[16], f32[4,16]) tuple(next, y, update)
}
condition {
  state = (s32[], f32[16], f32[4,16]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  four = s32[] constant(4)
  ROOT less = pred[] compare(i, four), direction=LT
}
left { a = f32[4,16] parameter(0)  n = f32[4,16] negate(a)  ROOT e = f32[4,16] exponential(n) }
right { a = f32[4,16] parameter(0)  s = f32[4,16] sine(a)  ROOT e = f32[4,16] add(s, a) }
twice { a = f32[4,16] parameter(0)  s = f32[4,16] add(a, a)  ROOT e = f32[4,16] multiply(s, a) }
ENTRY main {
  x = f32[16] parameter(0)
  flag = pred[] parameter(1)
  zero = s32[] constant(0)
  nothing = f32[] constant(0)
  log = f32[4,16] broadcast(nothing), dimensions={}
  x.1 = f32[16] tanh(x)
  start = (s32[], f32[16], f32[4,16]) tuple(zero, x.1, log)
  loop = (s32[], f32[16], f32[4,16]) while(start), condition=condition, body=body
  logged = f32[4,16] get-tuple-element(loop), index=2
  chosen = f32[4,16] conditional(flag, logged, logged), true_computation=left, false_computation=right
  called = f32[4,16] call(chosen), to_apply=twice
  a = f32[4,16] add(called, logged)
  ROOT b = f32[4,16] multiply(a, a)
}
)";

constexpr std::string_view kOpaque = R"(
HloModule opaque_operations
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
argmax {
  a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT
  v = f32[] select(gt, a, b)
  k = s32[] select(gt, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k)
}
ENTRY main {
  x = f32[8,16] parameter(0)
  indices = s32[3] parameter(1)
  exp.1 = f32[8,16] exponential(x)
  sorted = f32[8,16] sort(exp.1), dimensions={1}, to_apply=less
  neg.1 = f32[8,16] negate(sorted)
  zero = f32[] constant(0)
  zeros = f32[8,16] broadcast(zero), dimensions={}
  flat = s32[3,1] bitcast(indices)
  updates = f32[3,16] slice(neg.1), slice={[0:3],[0:16]}
  scattered = f32[8,16] scatter(zeros, flat, updates), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  count = s32[8,16] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  none = s32[] constant(0)
  scaled = f32[8,16] multiply(scattered, exp.1)
  best = (f32[8], s32[8]) reduce(scaled, count, low, none), dimensions={1}, to_apply=argmax
  value = f32[8] get-tuple-element(best), index=0
  place = s32[8] get-tuple-element(best), index=1
  placed = f32[8] convert(place)
  sum = f32[8] add(value, placed)
  table = f32[8] constant({1, 2, 3, 4, 5, 6, 7, 8})
  total = f32[8] add(sum, table)
  ROOT out = (f32[8], f32[8,16], f32[8,16]) tuple(total, zeros, neg.1)
}
)";

constexpr std::string_view kOrdered = R"(
HloModule control_dependencies
ENTRY main {
  x = f32[64] parameter(0)
  a = f32[64] exponential(x)
  b = f32[64] negate(x)
  c = f32[64] add(a, b), control-predecessors={b}
  d = f32[64] multiply(c, b)
  ROOT e = f32[64] subtract(d, a)
}
)";

// A second output of `y` in the kernel of `z` would make that kernel wait for `sorted`, which waits for `y`.
constexpr std::string_view kCycle = R"(
HloModule cycle
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
ENTRY main {
  x = f32[2048] parameter(0)
  y = f32[2048] exponential(x)
  sorted = f32[2048] sort(y), dimensions={0}, to_apply=less
  w = f32[2048] negate(x)
  z = f32[2048] add(y, sorted)
  u = f32[2048] multiply(w, y)
  ROOT out = (f32[2048], f32[2048], f32[2048]) tuple(z, u, w)
}
)";

// The same value read through one bitcast as computed inside and as read from memory.
constexpr std::string_view kBitcasts = R"(
HloModule bitcasts
ENTRY main {
  x = f32[4,8] parameter(0)
  y = f32[4,8] sine(x)
  v = f32[32] bitcast(y)
  a = f32[32] negate(v)
  b = f32[32] exponential(v)
  c = f32[32] add(a, b)
  t = f32[8,4]{0,1} bitcast(y)
  d = f32[8,4] abs(t)
  n = s32[32] iota(), iota_dimension=0
  e = f32[32] convert(n)
  f = f32[32] multiply(c, e)
  m = f32[32] bitcast(f)
  ROOT out = (f32[32], f32[8,4], f32[32]) tuple(m, d, a)
}
)";

constexpr std::string_view kUpdateInPlace = R"(
HloModule update_in_place
ENTRY main {
  base = f32[16,32] parameter(0)
  x = f32[1,32] parameter(1)
  i = s32[] parameter(2)
  zero = s32[] constant(0)
  old = f32[1,32] dynamic-slice(base, i, zero), dynamic_slice_sizes={1,32}
  sum = f32[1,32] add(old, x)
  twice = f32[1,32] add(x, x)
  next = f32[16,32] dynamic-update-slice(base, sum, i, zero)
  other = f32[16,32] dynamic-update-slice(next, twice, zero, zero)
  ROOT out = f32[16,32] negate(other)
}
)";

// Equal layers, so that decisions repeat.
constexpr std::string_view kLayers = R"(
HloModule layers
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY main {
  x = f32[64,32] parameter(0)
  zero = f32[] constant(0)
  one.e = f32[64,32] exponential(x)
  one.s = f32[64] reduce(one.e, zero), dimensions={1}, to_apply=add
  one.b = f32[64,32] broadcast(one.s), dimensions={0}
  one.d = f32[64,32] divide(one.e, one.b)
  two.e = f32[64,32] exponential(one.d)
  two.s = f32[64] reduce(two.e, zero), dimensions={1}, to_apply=add
  two.b = f32[64,32] broadcast(two.s), dimensions={0}
  two.d = f32[64,32] divide(two.e, two.b)
  three.e = f32[64,32] exponential(two.d)
  three.s = f32[64] reduce(three.e, zero), dimensions={1}, to_apply=add
  three.b = f32[64,32] broadcast(three.s), dimensions={0}
  three.d = f32[64,32] divide(three.e, three.b)
  four.e = f32[64,32] exponential(three.d)
  four.s = f32[64] reduce(four.e, zero), dimensions={1}, to_apply=add
  four.b = f32[64,32] broadcast(four.s), dimensions={0}
  four.d = f32[64,32] divide(four.e, four.b)
  five.e = f32[64,32] exponential(four.d)
  five.s = f32[64] reduce(five.e, zero), dimensions={1}, to_apply=add
  five.b = f32[64,32] broadcast(five.s), dimensions={0}
  ROOT five.d = f32[64,32] divide(five.e, five.b)
}
)";

}  // namespace

const std::vector<Program>& Programs() {
  static const auto* const programs = new std::vector<Program>{
      {"elementwise", kElementwise},
      {"softmax", kSoftmax},
      {"layer_norm", kLayerNorm},
      {"batch_norm", kBatchNorm},
      {"dense", kDense},
      {"residual", kResidual},
      {"movement", kMovement},
      {"adam", kAdam},
      {"control_flow", kControlFlow},
      {"opaque", kOpaque},
      {"ordered", kOrdered},
      {"cycle", kCycle},
      {"bitcasts", kBitcasts},
      {"update", kUpdateInPlace},
      {"layers", kLayers},
  };
  return *programs;
}

std::string_view ProgramText(std::string_view name) {
  for (const Program& program : Programs()) {
    if (program.name == name) return program.text;
  }
  Check(false, "no such program");
  return "";
}

std::unique_ptr<hlo::Module> Parse(std::string_view text) {
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(text);
  Check(module.ok(), module.status().ToString());
  return std::move(*module);
}

Space BuildSpace(const hlo::Module& module, const Rules& target) {
  absl::StatusOr<Space> space = Space::Build(module, target);
  Check(space.ok(), space.status().ToString());
  return std::move(*space);
}

int32_t FindDecision(const Space& space, std::string_view name) {
  for (int32_t d = 0; d < space.size(); ++d) {
    if (space.Name(d) == name) return d;
  }
  return -1;
}

Config ConfigOf(const Space& space, const std::vector<std::string_view>& names) {
  Config config(space.size());
  for (std::string_view name : names) {
    const int32_t d = FindDecision(space, name);
    Check(d >= 0, name);
    config.Set(d, true);
  }
  return config;
}

const hlo::Instruction* FindInstruction(const hlo::Module& module, std::string_view name) {
  for (const hlo::Computation* computation : module.Computations()) {
    for (const hlo::Instruction* instruction : computation->Instructions()) {
      if (instruction->name() == name) return instruction;
    }
  }
  Check(false, name);
  return nullptr;
}

std::vector<Kernel> KernelsOf(const hlo::Module& fused) {
  absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(fused);
  Check(kernels.ok(), kernels.status().ToString());
  return std::move(*kernels);
}

std::string CorpusFolder() {
  const std::filesystem::path folder = std::filesystem::path(SMELT_SOURCE_DIR) / ".." / "shared" / "corpora";
  return std::filesystem::is_directory(folder) ? folder.string() : "";
}

std::vector<std::string> FilesIn(const std::string& folder, std::string_view ending) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (path.size() >= ending.size() && path.substr(path.size() - ending.size()) == ending) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace smelt::fusion
