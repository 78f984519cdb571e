#include "tests/kernels/agreement/snippets.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "hlo/text/parser.h"

namespace smelt::kernels {
namespace {

constexpr const char* kReducers = R"(
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
mul { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] multiply(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
min { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] minimum(a, b) }
add_f64 { a = f64[] parameter(0)  b = f64[] parameter(1)  ROOT r = f64[] add(a, b) }
add_bf16 { a = bf16[] parameter(0)  b = bf16[] parameter(1)  ROOT r = bf16[] add(a, b) }
max_bf16 { a = bf16[] parameter(0)  b = bf16[] parameter(1)  ROOT r = bf16[] maximum(a, b) }
add_s32 { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = s32[] add(a, b) }
min_u8 { a = u8[] parameter(0)  b = u8[] parameter(1)  ROOT r = u8[] minimum(a, b) }
or { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] or(a, b) }
and { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] and(a, b) }
call_add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] call(b, a), to_apply=add }
larger_magnitude {
  a = f32[] parameter(0)  b = f32[] parameter(1)
  m = f32[] abs(a)  n = f32[] abs(b)
  c = pred[] compare(m, n), direction=GE
  ROOT r = f32[] select(c, m, n)
}
log_add_exp {
  a = f32[] parameter(0)  b = f32[] parameter(1)
  d = f32[] subtract(a, b)  w = pred[] compare(d, d), direction=NE  s = f32[] add(a, b)
  m = f32[] maximum(a, b)  n = f32[] abs(d)  o = f32[] negate(n)  e = f32[] exponential(o)
  l = f32[] log-plus-one(e)  t = f32[] add(m, l)  ROOT r = f32[] select(w, s, t)
}
halved_sum { a = f32[] parameter(0)  b = f32[] parameter(1)  h = f32[] constant(0.5)  s = f32[] add(a, b)  ROOT r = f32[] multiply(s, h) }
argmax {
  a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT
  eq = pred[] compare(a, b), direction=EQ
  lt = pred[] compare(i, j), direction=LT
  tie = pred[] and(eq, lt)
  left = pred[] or(gt, tie)
  v = f32[] select(left, a, b)
  k = s32[] select(left, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k)
}
square_plus { a = f32[] parameter(0)  b = f32[] parameter(1)  s = f32[] multiply(a, a)  ROOT r = f32[] add(s, b) }
)";

std::vector<Snippet> OtherSnippets() {
  return {
      // Elementwise.
      {"AddVector", "x = f32[37] parameter(0)  y = f32[37] parameter(1)  ROOT r = f32[37] add(x, y)"},
      {"ScalarChain",
       "x = f32[] parameter(0)  y = f32[] parameter(1)  m = f32[] multiply(x, y)  ROOT r = f32[] exponential(m)"},
      {"Chain", R"(x = f32[5,33] parameter(0)  y = f32[5,33] parameter(1)
        c = f32[] constant(0.5)  b = f32[5,33] broadcast(c), dimensions={}
        m = f32[5,33] multiply(x, b)  t = f32[5,33] tanh(m)  ROOT r = f32[5,33] subtract(t, y))"},
      {"Activations", R"(x = f32[3,70] parameter(0)
        e = f32[3,70] exponential(x)  l = f32[3,70] logistic(x)  s = f32[3,70] sine(x)  a = f32[3,70] add(e, l)
        ROOT r = f32[3,70] multiply(a, s))"},
      {"Logarithms", R"(x = f32[41] parameter(0)  a = f32[41] abs(x)  l = f32[41] log(a)  p = f32[41] log-plus-one(a)
        q = f32[41] rsqrt(a)  s = f32[41] sqrt(a)  u = f32[41] add(l, p)  v = f32[41] add(q, s)
        ROOT r = f32[41] add(u, v))"},
      {"Rounding", R"(x = f32[40] parameter(0)  c = f32[] constant(7)  b = f32[40] broadcast(c), dimensions={}
        m = f32[40] multiply(x, b)  f = f32[40] floor(m)  g = f32[40] ceil(m)  n = f32[40] round-nearest-even(m)
        z = f32[40] round-nearest-afz(m)  s = f32[40] sign(x)  u = f32[40] add(f, g)  v = f32[40] add(n, z)
        w = f32[40] add(u, v)  ROOT r = f32[40] add(w, s))"},
      {"PowerAtan2", R"(x = f32[29] parameter(0)  y = f32[29] parameter(1)  a = f32[29] abs(x)
        p = f32[29] power(a, y)  t = f32[29] atan2(x, y)  ROOT r = f32[29] add(p, t))"},
      {"ErfCbrtTan", R"(x = f32[50] parameter(0)  e = f32[50] erf(x)  c = f32[50] cbrt(x)  t = f32[50] tan(x)
        m = f32[50] exponential-minus-one(x)  k = f32[50] cosine(x)  a = f32[50] add(e, c)  b = f32[50] add(t, m)
        d = f32[50] add(a, b)  ROOT r = f32[50] add(d, k))"},
      {"Clamp", R"(lo = f32[] parameter(0)  x = f32[17] parameter(1)  hi = f32[17] parameter(2)
        l = f32[17] broadcast(lo), dimensions={}  ROOT r = f32[17] clamp(l, x, hi))"},
      {"ClampScalars",
       "lo = f32[] parameter(0)  x = f32[17] parameter(1)  hi = f32[] parameter(2)  ROOT r = f32[17] clamp(lo, x, hi)"},
      {"CompareSelect", R"(x = f32[4,9] parameter(0)  y = f32[4,9] parameter(1)
        c = pred[4,9] compare(x, y), direction=LT  ROOT r = f32[4,9] select(c, x, y))"},
      {"ComparePred",
       "x = f32[19] parameter(0)  y = f32[19] parameter(1)  ROOT c = pred[19] compare(x, y), direction=GE"},
      {"TotalOrder", R"(x = f32[19] parameter(0)  y = f32[19] parameter(1)
        ROOT c = pred[19] compare(x, y), direction=GT, type=TOTALORDER)"},
      {"Predicates", R"(p = pred[33] parameter(0)  q = pred[33] parameter(1)  a = pred[33] and(p, q)
        o = pred[33] or(p, q)  n = pred[33] not(a)  ROOT x = pred[33] xor(n, o))"},
      {"PredArithmetic", R"(p = pred[33] parameter(0)  q = pred[33] parameter(1)  a = pred[33] add(p, q)
        m = pred[33] multiply(a, q)  x = pred[33] maximum(m, p)  ROOT r = pred[33] compare(x, q), direction=EQ)"},
      {"Integers", R"(x = s32[31] parameter(0)  y = s32[31] parameter(1)  d = s32[31] divide(x, y)
        m = s32[31] remainder(x, y)  s = s32[31] shift-left(x, y)  a = s32[31] add(d, m)  n = s32[31] negate(a)
        ROOT r = s32[31] xor(n, s))"},
      {"Unsigned8", R"(x = u8[65] parameter(0)  y = u8[65] parameter(1)  a = u8[65] subtract(x, y)
        m = u8[65] multiply(a, a)  ROOT r = u8[65] maximum(m, y))"},
      {"Signed64", R"(x = s64[11] parameter(0)  y = s64[11] parameter(1)  m = s64[11] multiply(x, y)
        c = s64[11] count-leading-zeros(m)  p = s64[11] popcnt(y)  ROOT r = s64[11] add(c, p))"},
      {"Doubles", R"(x = f64[21] parameter(0)  y = f64[21] parameter(1)  e = f64[21] exponential(x)
        ROOT r = f64[21] multiply(e, y))"},
      {"BFloat16", R"(x = bf16[45] parameter(0)  y = bf16[45] parameter(1)  m = bf16[45] multiply(x, y)
        ROOT r = bf16[45] add(m, x))"},
      {"Float8", R"(x = f8e4m3fn[45] parameter(0)  y = f8e4m3fn[45] parameter(1)  m = f8e4m3fn[45] multiply(x, y)
        ROOT r = f8e4m3fn[45] add(m, x))"},
      {"Nibbles", R"(x = s4[45] parameter(0)  y = s4[45] parameter(1)  m = s4[45] multiply(x, y)
        ROOT r = s4[45] subtract(m, y))"},
      {"HighHalves", R"(x = s64[31] parameter(0)  y = s64[31] parameter(1)  c = s64[] constant(3037000499123456789)
        b = s64[31] broadcast(c), dimensions={}  p = s64[31] multiply(x, b)  q = s64[31] multiply(y, b)
        h = s64[31] mulhi(p, q)  u = u64[31] bitcast-convert(p)  v = u64[31] bitcast-convert(q)  k = u64[31] mulhi(u, v)
        l = s64[31] bitcast-convert(k)  ROOT r = s64[31] xor(h, l))"},
      {"StochasticConvert", R"(x = f32[37] parameter(0)  n = u32[37] parameter(1)  c = f32[] constant(20)
        b = f32[37] broadcast(c), dimensions={}  m = f32[37] multiply(x, b)  k = u32[] constant(429496729)
        d = u32[37] broadcast(k), dimensions={}  e = u32[37] multiply(n, d)  ROOT r = s8[37] stochastic-convert(m, e))"},
      {"BitcastToParts", "x = f32[9,5] parameter(0)  n = f32[9,5] negate(x)  ROOT r = u8[9,5,4] bitcast-convert(n)"},
      {"BitcastToWhole", "x = u16[9,5,2] parameter(0)  n = u16[9,5,2] not(x)  ROOT r = s32[9,5] bitcast-convert(n)"},
      {"Half", R"(x = f16[45] parameter(0)  y = f16[45] parameter(1)  m = f16[45] multiply(x, y)
        ROOT r = f16[45] subtract(m, x))"},
      {"Converts", R"(x = f32[39] parameter(0)  c = f32[] constant(9)  b = f32[39] broadcast(c), dimensions={}
        m = f32[39] multiply(x, b)  i = s32[39] convert(m)  j = s8[39] convert(i)  h = bf16[39] convert(x)
        f = f32[39] convert(h)  g = f32[39] convert(j)  p = pred[39] convert(i)  q = f32[39] convert(p)
        s = f32[39] add(f, g)  ROOT r = f32[39] add(s, q))"},
      {"BitcastConvert", R"(x = f32[23] parameter(0)  i = s32[23] bitcast-convert(x)  c = s32[] constant(2147483647)
        b = s32[23] broadcast(c), dimensions={}  a = s32[23] and(i, b)  ROOT r = f32[23] bitcast-convert(a))"},
      {"ReducePrecision",
       "x = f32[37] parameter(0)  ROOT r = f32[37] reduce-precision(x), exponent_bits=5, mantissa_bits=10"},
      {"PowerOfHalf", R"(x = f64[7] parameter(0)  c = f64[] constant(0.5)  b = f64[7] broadcast(c), dimensions={}
        ROOT r = f64[7] power(b, x))"},
      {"ConvolutionOfOneColumn", R"(x = bf16[1,2,8,2] parameter(0)  w = bf16[3,4,2,8] parameter(1)
        ROOT r = bf16[4,1,2,8] convolution(x, w), window={size=3x4 stride=3x1 pad=2_2x3_3 rhs_dilate=1x2}, dim_labels=1b0f_01io->01bf)"},
      {"ConvolutionOfZeros", R"(w = s8[9,3,3,1] parameter(0)  c = s8[] constant(0)
        b = s8[1,9,2,3] broadcast(c), dimensions={}
        ROOT r = s8[1,9,1,7] convolution(b, w), window={size=3x1 pad=0_4x1_1 lhs_dilate=2x2 rhs_dilate=3x1}, dim_labels=bf01_oi01->bf01, feature_group_count=3)"},
      {"IsFinite", "x = f32[12] parameter(0)  l = f32[12] log(x)  ROOT r = pred[12] is-finite(l)"},
      // Data movement.
      {"BroadcastBias", R"(x = f32[7,19] parameter(0)  b = f32[19] parameter(1)
        c = f32[7,19] broadcast(b), dimensions={1}  ROOT r = f32[7,19] add(x, c))"},
      {"BroadcastRows", R"(x = f32[7,19] parameter(0)  b = f32[7] parameter(1)
        c = f32[7,19] broadcast(b), dimensions={0}  ROOT r = f32[7,19] multiply(x, c))"},
      {"BroadcastExpensive", R"(x = f32[40,35] parameter(0)  b = f32[35] parameter(1)  s = f32[35] exponential(b)
        c = f32[40,35] broadcast(s), dimensions={1}  ROOT r = f32[40,35] multiply(x, c))"},
      {"BroadcastOnly", "x = f32[5] parameter(0)  ROOT r = f32[3,5,2] broadcast(x), dimensions={1}"},
      {"Iota", "i = s32[4,13] iota(), iota_dimension=1  x = s32[4,13] parameter(0)  ROOT r = s32[4,13] add(i, x)"},
      {"IotaRoot", "ROOT i = f32[6,5] iota(), iota_dimension=0"},
      {"ConstantRoot", "c = f32[] constant(2.5)  ROOT b = f32[3,4] broadcast(c), dimensions={}"},
      {"SmallConstant",
       R"(c = s32[5] constant({3, 1, 4, 1, 5})  x = s32[5] parameter(0)  ROOT r = s32[5] multiply(c, x))"},
      {"ReshapeMerge", "x = f32[6,5,4] parameter(0)  n = f32[6,5,4] negate(x)  ROOT r = f32[6,20] reshape(n)"},
      {"ReshapeSplit", "x = f32[3,24] parameter(0)  y = f32[3,4,6] reshape(x)  ROOT r = f32[3,4,6] abs(y)"},
      {"ReshapeOdd", "x = f32[4,15] parameter(0)  n = f32[4,15] negate(x)  ROOT r = f32[10,6] reshape(n)"},
      {"ReshapeUnit", "x = f32[1,9,1] parameter(0)  n = f32[1,9,1] negate(x)  ROOT r = f32[9] reshape(n)"},
      {"Transpose2D", "x = f32[35,22] parameter(0)  ROOT r = f32[22,35] transpose(x), dimensions={1,0}"},
      {"TransposeInBlocks",
       "x = f32[3,37,32] parameter(0)  y = f32[3,32,37] parameter(1)  "
       "t = f32[3,32,37] transpose(x), dimensions={0,2,1}  ROOT r = f32[3,32,37] subtract(t, y)"},
      {"TransposeTwoInBlocks",
       "x = f32[20,48] parameter(0)  y = f32[20,48] parameter(1)  s = f32[48,20] transpose(x), dimensions={1,0}  "
       "t = f32[48,20] transpose(y), dimensions={1,0}  ROOT r = f32[48,20] multiply(s, t)"},
      {"TransposeBytesInBlocks", "x = s8[33,64] parameter(0)  ROOT r = s8[64,33] transpose(x), dimensions={1,0}"},
      {"TransposeHalvesInBlocks",
       "x = bf16[33,64] parameter(0)  e = bf16[33,64] negate(x)  ROOT r = bf16[64,33] transpose(e), dimensions={1,0}"},
      {"TransposeDoublesInBlocks", "x = f64[33,64] parameter(0)  ROOT r = f64[64,33] transpose(x), dimensions={1,0}"},
      {"Transpose4D", "x = f32[2,7,5,18] parameter(0)  ROOT r = f32[2,18,7,5] transpose(x), dimensions={0,3,1,2}"},
      {"TransposeOuter",
       "x = f32[3,5,20] parameter(0)  e = f32[3,5,20] exponential(x)  ROOT r = f32[5,3,20] transpose(e), "
       "dimensions={1,0,2}"},
      {"BitcastLayout", "x = f32[4,6]{0,1} parameter(0)  ROOT r = f32[6,4]{1,0} bitcast(x)"},
      {"BitcastReshape", "x = f32[4,6]{1,0} parameter(0)  n = f32[4,6]{1,0} negate(x)  ROOT r = f32[24]{0} bitcast(n)"},
      {"Slice", "x = f32[9,20] parameter(0)  ROOT r = f32[3,15] slice(x), slice={[2:8:2],[5:20]}"},
      {"SliceStencil",
       R"(x = f32[50] parameter(0)  a = f32[48] slice(x), slice={[0:48]}  b = f32[48] slice(x), slice={[1:49]}
        c = f32[48] slice(x), slice={[2:50]}  d = f32[48] add(a, b)  ROOT r = f32[48] add(d, c))"},
      {"Reverse", "x = f32[4,21] parameter(0)  ROOT r = f32[4,21] reverse(x), dimensions={0,1}"},
      {"Pad", "x = f32[5,6] parameter(0)  z = f32[] constant(-1)  ROOT r = f32[9,10] pad(x, z), padding=1_3x2_2"},
      {"PadNegative",
       "x = f32[9,12] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[6,13] pad(x, z), padding=-2_-1x3_-2"},
      {"PadInterior",
       "x = f32[5,4] parameter(0)  z = f32[] constant(0)  ROOT r = f32[15,8] pad(x, z), padding=1_1_2x0_1_1"},
      {"Concatenate", R"(x = f32[3,7] parameter(0)  y = f32[3,2] parameter(1)  z = f32[3,11] parameter(2)
        n = f32[3,2] negate(y)  ROOT r = f32[3,20] concatenate(x, n, z), dimensions={1})"},
      {"StencilOfLinesThatNoFourDivide", R"(x = f32[21,40] parameter(0)
        a = f32[19,38] slice(x), slice={[0:19], [1:39]}  b = f32[19,38] slice(x), slice={[2:21], [1:39]}
        c = f32[19,38] slice(x), slice={[1:20], [0:38]}  d = f32[19,38] slice(x), slice={[1:20], [2:40]}
        m = f32[19,38] slice(x), slice={[1:20], [1:39]}  e = f32[19,38] add(a, b)  f = f32[19,38] add(c, d)
        g = f32[19,38] multiply(e, m)  ROOT r = f32[19,38] subtract(g, f))"},
      {"StencilOfARolledArray", R"(a = f32[24,80] parameter(0)  last = f32[1,80] slice(a), slice={[23:24], [0:80]}
        most = f32[23,80] slice(a), slice={[0:23], [0:80]}  r = f32[24,80] concatenate(last, most), dimensions={0}
        b = f32[24,1] slice(r), slice={[0:24], [79:80]}  c = f32[24,79] slice(r), slice={[0:24], [0:79]}
        left = f32[24,80] concatenate(b, c), dimensions={1}
        d = f32[24,79] slice(r), slice={[0:24], [1:80]}  e = f32[24,1] slice(r), slice={[0:24], [0:1]}
        right = f32[24,80] concatenate(d, e), dimensions={1}  s = f32[24,80] add(left, right)  ROOT z = f32[24,80] multiply(s, r))"},
      {"ConcatenateOuter", R"(x = f32[3,7] parameter(0)  y = f32[2,7] parameter(1)
        ROOT r = f32[5,7] concatenate(x, y), dimensions={0})"},
      {"DynamicSlice", R"(x = f32[10,9] parameter(0)  i = s32[] parameter(1)  j = s32[] parameter(2)
        ROOT r = f32[4,5] dynamic-slice(x, i, j), dynamic_slice_sizes={4,5})"},
      {"DynamicUpdateSlice", R"(x = f32[10,9] parameter(0)  u = f32[3,9] parameter(1)  i = s32[] parameter(2)
        z = s32[] constant(0)  ROOT r = f32[10,9] dynamic-update-slice(x, u, i, z))"},
      {"GatherRows", R"(t = f32[12,18] parameter(0)  i = s32[5,1] parameter(1)
        ROOT r = f32[5,18] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,18})"},
      {"GatherElements", R"(t = f32[8,9] parameter(0)  i = s32[7,2] parameter(1)
        ROOT r = f32[7] gather(t, i), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1})"},
      {"GatherWindows", R"(t = f32[9,8] parameter(0)  i = s32[4,2] parameter(1)
        ROOT r = f32[3,4,2] gather(t, i), offset_dims={0,2}, collapsed_slice_dims={}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={3,2})"},
      {"GatherBatched", R"(t = f32[3,9] parameter(0)  i = s32[3,4,1] parameter(1)
        ROOT r = f32[3,4] gather(t, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=2, slice_sizes={1,1}, operand_batching_dims={0}, start_indices_batching_dims={0})"},
      {"WindowsByPosition", R"(x = f32[2,50] parameter(0)  w = f32[7] parameter(1)
        i = s32[44] iota(), iota_dimension=0  j = s32[7] iota(), iota_dimension=0
        ib = s32[44,7] broadcast(i), dimensions={0}  jb = s32[44,7] broadcast(j), dimensions={1}  p = s32[44,7] add(ib, jb)
        g = f32[2,44,7] gather(x, p), offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=2, slice_sizes={2,1}
        ROOT r = f32[2,44] dot(g, w), lhs_contracting_dims={2}, rhs_contracting_dims={0})"},
      {"FramesBeyondBothEnds", R"(x = f32[40] parameter(0)
        i = s32[9,8] iota(), iota_dimension=0  j = s32[9,8] iota(), iota_dimension=1
        five = s32[] constant(5)  f = s32[9,8] broadcast(five), dimensions={}  h = s32[9,8] multiply(i, f)
        s = s32[9,8] subtract(h, f)  p = s32[9,8] add(s, j)
        ROOT r = f32[9,8] gather(x, p), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1})"},
      {"RowsRepeatedThenClipped", R"(x = f32[6,20] parameter(0)  i = s32[16] iota(), iota_dimension=0
        three = s32[] constant(3)  t = s32[16] broadcast(three), dimensions={}  d = s32[16] divide(i, t)
        four = s32[] constant(4)  f = s32[16] broadcast(four), dimensions={}  p = s32[16] minimum(d, f)
        ROOT r = f32[16,20] gather(x, p), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,20})"},
      {"RowsInTurnsBackwards", R"(x = f32[6,20] parameter(0)  i = s32[16] iota(), iota_dimension=0
        four = s32[] constant(4)  f = s32[16] broadcast(four), dimensions={}  m = s32[16] remainder(i, f)  p = s32[16] subtract(f, m)
        ROOT r = f32[16,20] gather(x, p), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,20})"},
      {"PositionsThatWrap", R"(x = f32[60] parameter(0)  i = s8[100] iota(), iota_dimension=0
        three = s8[] constant(3)  t = s8[100] broadcast(three), dimensions={}  p = s8[100] multiply(i, t)
        ROOT r = f32[100] gather(x, p), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1})"},
      {"UnsignedPositionsBelowZero", R"(x = f32[30] parameter(0)  i = u32[30] iota(), iota_dimension=0
        three = u32[] constant(3)  t = u32[30] broadcast(three), dimensions={}  p = u32[30] subtract(i, t)
        ROOT r = f32[30] gather(x, p), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1})"},
      {"LargestUnsignedPosition", R"(x = f32[30] parameter(0)  o = u64[] constant(1)  b = u64[4] broadcast(o), dimensions={}
        t = u64[] constant(3)  c = u64[4] broadcast(t), dimensions={}  p = u64[4] subtract(b, c)
        ROOT r = f32[4] gather(x, p), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1})"},
      {"PooledAfterSampling", R"(x = f32[12,12,20] parameter(0)  y = s32[3,6,4] parameter(1)  w = f32[3,6,4] parameter(2)
        a = s32[3,6,4,1] reshape(y)  n = s32[3,6,4] negate(y)  b = s32[3,6,4,1] reshape(n)  i = s32[3,6,4,2] concatenate(a, b), dimensions={3}
        g = f32[3,6,4,20] gather(x, i), offset_dims={3}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=3, slice_sizes={1,1,20}
        e = f32[3,6,4] exponential(w)  v = f32[3,6,4,20] broadcast(e), dimensions={0,1,2}  m = f32[3,6,4,20] multiply(g, v)  z = f32[] constant(-inf)
        ROOT r = f32[3,3,2,20] reduce-window(m, z), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=max)"},
      {"Map",
       "x = f32[4,9] parameter(0)  y = f32[4,9] parameter(1)  ROOT r = f32[4,9] map(x, y), dimensions={0,1}, "
       "to_apply=square_plus"},
      // Reductions.
      {"SumRows",
       "x = f32[9,70] parameter(0)  z = f32[] constant(0)  ROOT r = f32[9] reduce(x, z), dimensions={1}, to_apply=add"},
      {"SumRowsEven",
       "x = f32[9,256] parameter(0)  z = f32[] constant(0)  ROOT r = f32[9] reduce(x, z), dimensions={1}, "
       "to_apply=add"},
      {"SumRowsInit",
       "x = f32[9,50] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[9] reduce(x, z), dimensions={1}, "
       "to_apply=add"},
      {"SumColumns",
       "x = f32[33,75] parameter(0)  z = f32[] constant(0)  ROOT r = f32[75] reduce(x, z), dimensions={0}, "
       "to_apply=add"},
      {"SumMiddle",
       "x = f32[4,9,37] parameter(0)  z = f32[] constant(0)  ROOT r = f32[4,37] reduce(x, z), dimensions={1}, "
       "to_apply=add"},
      {"SumOuterAndInner",
       "x = f32[4,9,37] parameter(0)  z = f32[] constant(0)  ROOT r = f32[9] reduce(x, z), dimensions={0,2}, "
       "to_apply=add"},
      {"SumAll",
       "x = f32[7,45] parameter(0)  z = f32[] constant(0)  ROOT r = f32[] reduce(x, z), dimensions={0,1}, "
       "to_apply=add"},
      {"ShortSum",
       "x = f32[5,70,3] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[5,70] reduce(x, z), dimensions={2}, "
       "to_apply=add"},
      {"ShortSumWide",
       "x = f32[90,7] parameter(0)  z = f32[] constant(0)  ROOT r = f32[90] reduce(x, z), dimensions={1}, "
       "to_apply=add"},
      {"ShortMaximumOfSix",
       "x = f32[5,50,6] parameter(0)  z = f32[] constant(-inf)  ROOT r = f32[5,50] reduce(x, z), dimensions={2}, "
       "to_apply=max"},
      {"ShortSumOfRows", R"(x = f32[70,3,4] parameter(0)  w = f32[3,4] parameter(1)  z = f32[] constant(0)
        b = f32[70,3,4] broadcast(w), dimensions={1,2}  m = f32[70,3,4] multiply(x, b)
        ROOT r = f32[70] reduce(m, z), dimensions={1,2}, to_apply=add)"},
      {"ShortSumOfThirteen",
       "x = f32[90,13] parameter(0)  z = f32[] constant(0)  ROOT r = f32[90] reduce(x, z), dimensions={1}, "
       "to_apply=add"},
      {"ShortSumOfManyRows", R"(x = f32[70,12] parameter(0)  y = f32[70,12] parameter(1)  v = f32[70,12] parameter(2)
        a = f32[70,12] multiply(x, y)  b = f32[70,12] add(a, v)  z = f32[] constant(0)
        ROOT r = f32[70] reduce(b, z), dimensions={1}, to_apply=add)"},
      {"ShortSumOfPartOfRows",
       "x = f32[90,9] parameter(0)  s = f32[90,6] slice(x), slice={[0:90], [1:7]}  z = f32[] constant(0)  "
       "ROOT r = f32[90] reduce(s, z), dimensions={1}, to_apply=add"},
      {"ScanBackwards", R"(x = f32[32,512,16] parameter(0)  z = f32[] constant(1)  ROOT r = f32[32,512,16]
        reduce-window(x, z), window={size=1x512x1 pad=0_0x0_511x0_0}, to_apply=mul)"},
      {"SumOfGroups", R"(x = f32[3,5,16,2] parameter(0)  z = f32[] constant(0)  q = f32[3,5,16,2] multiply(x, x)
        s = f32[3,16] reduce(q, z), dimensions={1,3}, to_apply=add  y = f32[3,16] parameter(1)
        ROOT r = f32[3,16] add(s, y))"},
      {"SumOfCoordinates",
       "x = f32[21,37,2] parameter(0)  z = f32[] constant(0)  ROOT r = f32[37,2] reduce(x, z), dimensions={0}, "
       "to_apply=add"},
      {"DistancesToFewPoints", R"(x = f32[5,40,3] parameter(0)  c = f32[4,3] parameter(1)  z = f32[] constant(0)
          b = f32[5,40,4,3] broadcast(x), dimensions={0,1,3}  d = f32[5,40,4,3] broadcast(c), dimensions={2,3}
          s = f32[5,40,4,3] subtract(b, d)  q = f32[5,40,4,3] multiply(s, s)
          ROOT r = f32[5,40,4] reduce(q, z), dimensions={3}, to_apply=add)"},
      {"RootsOfDistances", R"(x = f32[5,40,3] parameter(0)  c = f32[4,3] parameter(1)  z = f32[] constant(0)
          b = f32[5,40,4,3] broadcast(x), dimensions={0,1,3}  d = f32[5,40,4,3] broadcast(c), dimensions={2,3}
          s = f32[5,40,4,3] subtract(b, d)  q = f32[5,40,4,3] multiply(s, s)
          t = f32[5,40,4] reduce(q, z), dimensions={3}, to_apply=add  ROOT r = f32[5,40,4] sqrt(t))"},
      {"SumOfPixels",
       "x = f32[2,20,20,3] parameter(0)  z = f32[] constant(0)  ROOT r = f32[2] reduce(x, z), dimensions={1,2,3}, "
       "to_apply=add"},
      {"SumOverPoints",
       "x = f32[5,35,3] parameter(0)  z = f32[] constant(0)  ROOT r = f32[5,3] reduce(x, z), dimensions={1}, "
       "to_apply=add"},
      {"SumOfPairs", R"(x = f32[6,40] parameter(0)  y = f32[6,40] parameter(1)  z = f32[] constant(0)
        a = f32[6,40,40] broadcast(x), dimensions={0,1}  b = f32[6,40,40] broadcast(x), dimensions={0,2}
        d = f32[6,40,40] subtract(a, b)  e = f32[6,40,40] exponential(d)  m = f32[6,40,40] multiply(d, e)
        s = f32[6,40] reduce(m, z), dimensions={2}, to_apply=add  ROOT r = f32[6,40] subtract(s, y))"},
      {"ShortSumOfTwoAxes",
       "x = f32[40,2,2] parameter(0)  z = f32[] constant(0)  ROOT r = f32[40] reduce(x, z), dimensions={1,2}, "
       "to_apply=add"},
      {"ShortSumOfDistances", R"(p = f32[37,3] parameter(0)
        a = f32[37,37,3] broadcast(p), dimensions={0,2}  b = f32[37,37,3] broadcast(p), dimensions={1,2}
        d = f32[37,37,3] subtract(a, b)  s = f32[37,37,3] multiply(d, d)  z = f32[] constant(0)
        ROOT r = f32[37,37] reduce(s, z), dimensions={2}, to_apply=add)"},
      {"PairsOfRows", R"(x = f32[37,20] parameter(0)  y = f32[50,20] parameter(1)
        a = f32[37,50,20] broadcast(x), dimensions={0,2}  b = f32[37,50,20] broadcast(y), dimensions={1,2}
        d = f32[37,50,20] subtract(a, b)  s = f32[37,50,20] multiply(d, d)  z = f32[] constant(0)
        t = f32[37,50] reduce(s, z), dimensions={2}, to_apply=add  ROOT r = f32[37,50] sqrt(t))"},
      {"PairsWithinAnArray", R"(x = f32[3,40,12] parameter(0)  w = f32[12] parameter(1)
        a = f32[3,40,40,12] broadcast(x), dimensions={0,1,3}  b = f32[3,40,40,12] broadcast(x), dimensions={0,2,3}
        c = f32[3,40,40,12] broadcast(w), dimensions={3}  d = f32[3,40,40,12] subtract(a, b)
        e = f32[3,40,40,12] abs(d)  f = f32[3,40,40,12] multiply(e, c)  z = f32[] constant(-inf)
        ROOT r = f32[3,40,40] reduce(f, z), dimensions={3}, to_apply=max)"},
      {"NearestOfPairs", R"(x = f32[37,20] parameter(0)  y = f32[50,20] parameter(1)
        a = f32[37,50,20] broadcast(x), dimensions={0,2}  b = f32[37,50,20] broadcast(y), dimensions={1,2}
        d = f32[37,50,20] subtract(a, b)  s = f32[37,50,20] multiply(d, d)  z = f32[] constant(0)
        t = f32[37,50] reduce(s, z), dimensions={2}, to_apply=add  i = f32[] constant(inf)
        ROOT r = f32[37] reduce(t, i), dimensions={1}, to_apply=min)"},
      {"PairsOfScaledColumns", R"(x = f32[30,18] parameter(0)  y = f32[30,33] parameter(1)
        e = f32[30,33] exponential(y)  a = f32[30,18,33] broadcast(x), dimensions={0,1}
        b = f32[30,18,33] broadcast(e), dimensions={0,2}  m = f32[30,18,33] minimum(a, b)  z = f32[] constant(0)
        t = f32[18,33] reduce(m, z), dimensions={0}, to_apply=add  n = f32[18,33] negate(t)
        ROOT r = (f32[18,33], f32[18,33]) tuple(t, n))"},
      {"ShortSumWithinRows", R"(x = f32[6,50,3] parameter(0)  z = f32[] constant(0)
        n = f32[6,50] reduce(x, z), dimensions={2}, to_apply=add  e = f32[6,50] exponential(n)
        t = f32[6] reduce(e, z), dimensions={1}, to_apply=add  b = f32[6,50] broadcast(t), dimensions={0}
        ROOT r = f32[6,50] divide(e, b))"},
      {"ShortSumBesideItsReader", R"(x = f32[70,2] parameter(0)  s = f32[70,2] multiply(x, x)  z = f32[] constant(0)
        t = f32[70] reduce(s, z), dimensions={1}, to_apply=add  ROOT r = f32[70] sqrt(t))"},
      {"ShortSumOfEachRow", R"(x = f32[300,3] parameter(0)  s = f32[300,3] multiply(x, x)  z = f32[] constant(0)
        t = f32[300] reduce(s, z), dimensions={1}, to_apply=add  n = f32[300] sqrt(t)
        b = f32[300,3] broadcast(n), dimensions={0}  ROOT r = f32[300,3] divide(x, b))"},
      {"ShortSumOfOverlaps", R"(x = f32[2,5,64] parameter(0)  z = f32[] constant(0)  a = f32[2,5,4,16] reshape(x)
        b = f32[2,4,5,16] transpose(a), dimensions={0,2,1,3}  c = f32[2,4,10,16] pad(b, z), padding=0_0x0_0x0_5x0_0
        d = f32[2,640] reshape(c)  e = f32[2,576] slice(d), slice={[0:2], [0:576]}  f = f32[2,4,144] reshape(e)
        ROOT r = f32[2,144] reduce(f, z), dimensions={1}, to_apply=add)"},
      {"SlicesOfOneElement", R"(x = f32[75,3,3] parameter(0)  a = f32[75,1,1] slice(x), slice={[0:75], [0:1], [1:2]}
        b = f32[75,1,1] slice(x), slice={[0:75], [2:3], [0:1]}  ROOT r = f32[75,1,1] multiply(a, b))"},
      {"ShortRowsScaled", R"(x = f32[75,3] parameter(0)  s = f32[75] parameter(1)  e = f32[75] exponential(s)
        b = f32[75,3] broadcast(e), dimensions={0}  ROOT r = f32[75,3] multiply(x, b))"},
      {"ShortRowsScaledAndShifted", R"(x = f32[3,80,4] parameter(0)  s = f32[3,80] parameter(1)  o = f32[4] parameter(2)
        b = f32[3,80,4] broadcast(s), dimensions={0,1}  y = f32[3,80,4] multiply(x, b)
        c = f32[3,80,4] broadcast(o), dimensions={2}  ROOT r = f32[3,80,4] add(y, c))"},
      {"ShortSoftmax", R"(x = f32[90,5] parameter(0)  i = f32[] constant(-inf)  z = f32[] constant(0)
        m = f32[90] reduce(x, i), dimensions={1}, to_apply=max  mb = f32[90,5] broadcast(m), dimensions={0}
        d = f32[90,5] subtract(x, mb)  e = f32[90,5] exponential(d)
        s = f32[90] reduce(e, z), dimensions={1}, to_apply=add  sb = f32[90,5] broadcast(s), dimensions={0}
        ROOT r = f32[90,5] divide(e, sb))"},
      {"ShortArgmax", R"(x = f32[40,3] parameter(0)  i = s32[40,3] iota(), iota_dimension=1  z = f32[] constant(-inf)
        o = s32[] constant(0)  ROOT t = (f32[40], s32[40]) reduce(x, i, z, o), dimensions={1}, to_apply=argmax)"},
      {"SumNothing",
       "x = f32[7] parameter(0)  z = f32[] parameter(1)  ROOT r = f32[7] reduce(x, z), dimensions={}, to_apply=add"},
      {"MeanOfSquares", R"(x = f32[6,100] parameter(0)  s = f32[6,100] multiply(x, x)  z = f32[] constant(0)
        t = f32[6] reduce(s, z), dimensions={1}, to_apply=add  n = f32[] constant(0.01)  b = f32[6] broadcast(n), dimensions={}
        ROOT r = f32[6] multiply(t, b))"},
      {"MaxRows",
       "x = f32[5,33] parameter(0)  z = f32[] constant(-inf)  ROOT r = f32[5] reduce(x, z), dimensions={1}, "
       "to_apply=max"},
      {"ProductAndMin", R"(x = f32[6,8] parameter(0)  o = f32[] constant(1)  i = f32[] constant(inf)
        p = f32[6] reduce(x, o), dimensions={1}, to_apply=mul  m = f32[6] reduce(x, i), dimensions={1}, to_apply=min
        ROOT r = f32[6] add(p, m))"},
      {"SumBFloat16",
       "x = bf16[6,130] parameter(0)  z = bf16[] constant(0)  ROOT r = bf16[6] reduce(x, z), dimensions={1}, "
       "to_apply=add_bf16"},
      {"MaxBFloat16",
       "x = bf16[6,30] parameter(0)  z = bf16[] constant(-inf)  ROOT r = bf16[6] reduce(x, z), dimensions={1}, "
       "to_apply=max_bf16"},
      {"SumDoubles",
       "x = f64[6,30] parameter(0)  z = f64[] constant(0)  ROOT r = f64[6] reduce(x, z), dimensions={1}, "
       "to_apply=add_f64"},
      {"SumIntegers",
       "x = s32[6,90] parameter(0)  z = s32[] constant(0)  ROOT r = s32[6] reduce(x, z), dimensions={1}, "
       "to_apply=add_s32"},
      {"MinU8Columns",
       "x = u8[9,130] parameter(0)  z = u8[] constant(255)  ROOT r = u8[130] reduce(x, z), dimensions={0}, "
       "to_apply=min_u8"},
      {"AnyOf",
       "x = pred[6,90] parameter(0)  z = pred[] constant(false)  ROOT r = pred[6] reduce(x, z), dimensions={1}, "
       "to_apply=or"},
      {"AllOfColumns",
       "x = pred[3,90] parameter(0)  z = pred[] constant(true)  ROOT r = pred[90] reduce(x, z), dimensions={0}, "
       "to_apply=and"},
      {"CombinerCalls",
       "x = f32[5,40] parameter(0)  z = f32[] constant(0)  ROOT r = f32[5] reduce(x, z), dimensions={1}, "
       "to_apply=call_add"},
      {"StrangeCombiner",
       "x = f32[5,40] parameter(0)  z = f32[] constant(0)  ROOT r = f32[5] reduce(x, z), dimensions={1}, "
       "to_apply=larger_magnitude"},
      {"ArgMaxRows", R"(x = f32[5,40] parameter(0)  i = s32[5,40] iota(), iota_dimension=1  z = f32[] constant(-inf)
        o = s32[] constant(0)  t = (f32[5], s32[5]) reduce(x, i, z, o), dimensions={1}, to_apply=argmax
        ROOT r = s32[5] get-tuple-element(t), index=1)"},
      {"ArgMaxColumns",
       R"(x = f32[11,40] parameter(0)  i = s32[11,40] iota(), iota_dimension=0  z = f32[] constant(-inf)
        o = s32[] constant(0)  ROOT t = (f32[40], s32[40]) reduce(x, i, z, o), dimensions={0}, to_apply=argmax)"},
      {"MaxPool", R"(x = f32[2,9,9,5] parameter(0)  z = f32[] constant(-inf)
        ROOT r = f32[2,5,5,5] reduce-window(x, z), window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0}, to_apply=max)"},
      {"AveragePool", R"(x = f32[1,8,8,24] parameter(0)  z = f32[] constant(0)
        s = f32[1,4,4,24] reduce-window(x, z), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=add
        q = f32[] constant(0.25)  b = f32[1,4,4,24] broadcast(q), dimensions={}  ROOT r = f32[1,4,4,24] multiply(s, b))"},
      {"WindowDilated", R"(x = f32[20] parameter(0)  z = f32[] constant(0)
        ROOT r = f32[19] reduce-window(x, z), window={size=3 pad=1_2 rhs_dilate=2}, to_apply=add)"},
      {"WindowBaseDilated", R"(x = f32[6] parameter(0)  z = f32[] constant(0)
        ROOT r = f32[10] reduce-window(x, z), window={size=2 lhs_dilate=2}, to_apply=add)"},
      // Padding is skipped; a start value that is no identity counts once.
      {"WindowPaddedStart", R"(x = f32[2,7] parameter(0)  z = f32[] constant(3)
        ROOT r = f32[2,9] reduce-window(x, z), window={size=1x3 pad=0_0x2_2}, to_apply=add)"},
      {"WindowPaddedPair", R"(x = f32[2,7] parameter(0)  i = s32[2,7] iota(), iota_dimension=1  z = f32[] constant(-1)
        o = s32[] constant(5)  t = (f32[2,5], s32[2,5]) reduce-window(x, i, z, o), window={size=1x3 stride=1x2 pad=0_0x2_2}, to_apply=argmax
        v = f32[2,5] get-tuple-element(t), index=0  w = s32[2,5] get-tuple-element(t), index=1  c = f32[2,5] convert(w)
        ROOT r = f32[2,5] subtract(v, c))"},
      {"CumulativeSumShort", R"(x = f32[3,20] parameter(0)  z = f32[] constant(0)
        ROOT r = f32[3,20] reduce-window(x, z), window={size=1x20 pad=0_0x19_0}, to_apply=add)"},
      {"CumulativeSumMiddle", R"(x = f32[2,70,18] parameter(0)  z = f32[] constant(2.5)
        ROOT r = f32[2,70,18] reduce-window(x, z), window={size=1x70x1 pad=0_0x0_69x0_0}, to_apply=add)"},
      {"CumulativeMaxOfThreeLevels", R"(x = f32[600] parameter(0)  z = f32[] constant(-inf)
        ROOT r = f32[600] reduce-window(x, z), window={size=600 pad=599_0}, to_apply=max)"},
      {"CumulativeSumLong", R"(x = f32[300,2] parameter(0)  z = f32[] constant(0)
        ROOT r = f32[300,2] reduce-window(x, z), window={size=300x1 pad=299_0x0_0}, to_apply=add)"},
      {"CumulativeMaxReversed", R"(x = f32[2,133] parameter(0)  z = f32[] constant(-inf)
        ROOT r = f32[2,133] reduce-window(x, z), window={size=1x133 pad=0_0x0_132}, to_apply=max)"},
      {"CumulativeLogSumExp", R"(x = f32[3,80] parameter(0)  z = f32[] constant(-inf)
        ROOT r = f32[3,80] reduce-window(x, z), window={size=1x80 pad=0_0x79_0}, to_apply=log_add_exp)"},
      {"CumulativeLogSumExpOfThreeLevels", R"(x = f32[300,3] parameter(0)  z = f32[] constant(0.5)
        ROOT r = f32[300,3] reduce-window(x, z), window={size=300x1 pad=0_299x0_0}, to_apply=log_add_exp)"},
      {"CumulativeInOrderAlone", R"(x = f32[2,70] parameter(0)  z = f32[] constant(0)
        ROOT r = f32[2,70] reduce-window(x, z), window={size=1x70 pad=0_0x69_0}, to_apply=halved_sum)"},
      // Several stages.
      {"Softmax", R"(x = f32[6,50] parameter(0)  i = f32[] constant(-inf)  z = f32[] constant(0)
        m = f32[6] reduce(x, i), dimensions={1}, to_apply=max  mb = f32[6,50] broadcast(m), dimensions={0}
        d = f32[6,50] subtract(x, mb)  e = f32[6,50] exponential(d)
        s = f32[6] reduce(e, z), dimensions={1}, to_apply=add  sb = f32[6,50] broadcast(s), dimensions={0}
        ROOT r = f32[6,50] divide(e, sb))"},
      {"SoftmaxHeads", R"(x = f32[2,3,5,33] parameter(0)  i = f32[] constant(-inf)  z = f32[] constant(0)
        m = f32[2,3,5] reduce(x, i), dimensions={3}, to_apply=max  mb = f32[2,3,5,33] broadcast(m), dimensions={0,1,2}
        d = f32[2,3,5,33] subtract(x, mb)  e = f32[2,3,5,33] exponential(d)
        s = f32[2,3,5] reduce(e, z), dimensions={3}, to_apply=add  sb = f32[2,3,5,33] broadcast(s), dimensions={0,1,2}
        ROOT r = f32[2,3,5,33] divide(e, sb))"},
      {"LogSumExp", R"(x = f32[6,50] parameter(0)  i = f32[] constant(-inf)  z = f32[] constant(0)
        m = f32[6] reduce(x, i), dimensions={1}, to_apply=max  mb = f32[6,50] broadcast(m), dimensions={0}
        d = f32[6,50] subtract(x, mb)  e = f32[6,50] exponential(d)
        s = f32[6] reduce(e, z), dimensions={1}, to_apply=add  l = f32[6] log(s)  ROOT r = f32[6] add(l, m))"},
      {"LayerNorm", R"(x = f32[5,64] parameter(0)  g = f32[64] parameter(1)  h = f32[64] parameter(2)
        z = f32[] constant(0)  n = f32[] constant(0.015625)  eps = f32[] constant(0.001)
        s = f32[5] reduce(x, z), dimensions={1}, to_apply=add  nb = f32[5] broadcast(n), dimensions={}
        mean = f32[5] multiply(s, nb)  mb = f32[5,64] broadcast(mean), dimensions={0}  d = f32[5,64] subtract(x, mb)
        q = f32[5,64] multiply(d, d)  t = f32[5] reduce(q, z), dimensions={1}, to_apply=add
        v = f32[5] multiply(t, nb)  eb = f32[5] broadcast(eps), dimensions={}  ve = f32[5] add(v, eb)
        rs = f32[5] rsqrt(ve)  rb = f32[5,64] broadcast(rs), dimensions={0}  y = f32[5,64] multiply(d, rb)
        gb = f32[5,64] broadcast(g), dimensions={1}  hb = f32[5,64] broadcast(h), dimensions={1}
        u = f32[5,64] multiply(y, gb)  ROOT r = f32[5,64] add(u, hb))"},
      {"BatchNormTraining", R"(x = f32[4,5,5,20] parameter(0)  z = f32[] constant(0)  n = f32[] constant(0.01)
        s = f32[20] reduce(x, z), dimensions={0,1,2}, to_apply=add  nb = f32[20] broadcast(n), dimensions={}
        mean = f32[20] multiply(s, nb)  mb = f32[4,5,5,20] broadcast(mean), dimensions={3}
        d = f32[4,5,5,20] subtract(x, mb)  q = f32[4,5,5,20] multiply(d, d)
        t = f32[20] reduce(q, z), dimensions={0,1,2}, to_apply=add  v = f32[20] multiply(t, nb)
        rs = f32[20] rsqrt(v)  rb = f32[4,5,5,20] broadcast(rs), dimensions={3}
        ROOT r = f32[4,5,5,20] multiply(d, rb))"},
      {"SumAllEpilogue", R"(x = f32[7,45] parameter(0)  z = f32[] constant(0)
        s = f32[] reduce(x, z), dimensions={0,1}, to_apply=add  ROOT r = f32[] sqrt(s))"},
      {"NormalizeByTotal", R"(x = f32[7,45] parameter(0)  z = f32[] constant(0)  a = f32[7,45] abs(x)
        s = f32[] reduce(a, z), dimensions={0,1}, to_apply=add  b = f32[7,45] broadcast(s), dimensions={}
        ROOT r = f32[7,45] divide(x, b))"},
      {"DotSoftmax",
       R"(a = f32[9,20] parameter(0)  b = f32[20,33] parameter(1)  i = f32[] constant(-inf)  z = f32[] constant(0)
        x = f32[9,33] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        m = f32[9] reduce(x, i), dimensions={1}, to_apply=max  mb = f32[9,33] broadcast(m), dimensions={0}
        d = f32[9,33] subtract(x, mb)  e = f32[9,33] exponential(d)
        s = f32[9] reduce(e, z), dimensions={1}, to_apply=add  sb = f32[9,33] broadcast(s), dimensions={0}
        ROOT r = f32[9,33] divide(e, sb))"},
      {"ScaledDot",
       R"(a = f8e4m3fn[9,64] parameter(0)  b = f8e4m3fn[64,18] parameter(1)  s = f8e8m0fnu[9,2] parameter(2)
        t = f8e8m0fnu[2,18] parameter(3)
        ROOT r = f32[9,18] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
      {"WindowSumFromOne", R"(x = f32[9,21] parameter(0)  z = f32[] constant(1)
        ROOT r = f32[5,23] reduce-window(x, z), window={size=3x2 stride=2x1 pad=1_1x1_2}, to_apply=add)"},
      {"WindowSumWithHoles", R"(x = f32[21] parameter(0)  z = f32[] constant(0.5)
        ROOT r = f32[41] reduce-window(x, z), window={size=3 pad=1_1 lhs_dilate=2}, to_apply=add)"},
      {"WindowLargestMagnitudeFromHalf", R"(x = f32[21] parameter(0)  z = f32[] constant(-0.5)
        ROOT r = f32[23] reduce-window(x, z), window={size=3 pad=2_2}, to_apply=square_plus)"},
      {"UpdateAtUnsignedOfNegative", R"(x = f32[9,3] parameter(0)  u = f32[1,3] parameter(1)  i = s8[] parameter(2)
        m = s8[] constant(-100)  n = s8[] minimum(i, m)  p = u64[] convert(n)  z = u64[] constant(0)
        ROOT r = f32[9,3] dynamic-update-slice(x, u, p, z))"},
      {"UnsignedStarts", R"(x = f32[9,7] parameter(0)  i = u64[5] parameter(1)  n = u64[5] not(i)
        ROOT r = f32[5,7] gather(x, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,7})"},
      {"DotDot", R"(a = f32[9,20] parameter(0)  b = f32[20,33] parameter(1)  c = f32[33,18] parameter(2)
        x = f32[9,33] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        ROOT y = f32[9,18] dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
      {"DotSumRows", R"(a = f32[9,20] parameter(0)  b = f32[20,33] parameter(1)  z = f32[] constant(0)
        x = f32[9,33] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        ROOT s = f32[9] reduce(x, z), dimensions={1}, to_apply=add)"},
      // Several outputs.
      {"TwoOutputs", R"(x = f32[5,30] parameter(0)  e = f32[5,30] exponential(x)  n = f32[5,30] negate(e)
        ROOT t = (f32[5,30], f32[5,30]) tuple(e, n))"},
      {"OutputsOfDifferentShape", R"(x = f32[5,30] parameter(0)  z = f32[] constant(0)  e = f32[5,30] exponential(x)
        s = f32[5] reduce(e, z), dimensions={1}, to_apply=add  ROOT t = (f32[5,30], f32[5]) tuple(e, s))"},
      {"OutputIsParameter", R"(x = f32[5,30] parameter(0)  n = f32[5,30] negate(x)
        ROOT t = (f32[5,30], f32[5,30], f32[5,30]) tuple(x, n, n))"},
      {"SiblingReductions", R"(x = f32[40,35] parameter(0)  z = f32[] constant(0)  q = f32[40,35] multiply(x, x)
        s = f32[35] reduce(x, z), dimensions={0}, to_apply=add  t = f32[35] reduce(q, z), dimensions={0}, to_apply=add
        ROOT r = (f32[35], f32[35]) tuple(s, t))"},
      {"ConvolutionAndStatistics",
       R"(x = f32[1,8,8,6] parameter(0)  w = f32[3,3,6,18] parameter(1)  z = f32[] constant(0)
        c = f32[1,8,8,18] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
        s = f32[18] reduce(c, z), dimensions={0,1,2}, to_apply=add
        ROOT r = (f32[1,8,8,18], f32[18]) tuple(c, s))"},
      // Complex numbers.
      {"ComplexArithmetic", R"(x = c64[5,33] parameter(0)  y = c64[5,33] parameter(1)  m = c64[5,33] multiply(x, y)
        a = c64[5,33] add(m, x)  s = c64[5,33] subtract(a, y)  ROOT r = c64[5,33] negate(s))"},
      {"ComplexTransposed", R"(x = c64[6,20,33] parameter(0)  y = c64[6,33,20] transpose(x), dimensions={0,2,1}
        a = f32[6,33,20] abs(y)  s = f32[6,33,20] sqrt(a)  c = c64[6,33,20] complex(s, a)
        d = c64[6,33,20] multiply(y, c)  ROOT r = c64[6,20,33] transpose(d), dimensions={0,2,1})"},
      {"ComplexConjugateProduct", R"(x = c64[8,51] parameter(0)  re = f32[8,51] real(x)  im = f32[8,51] imag(x)
        n = f32[8,51] negate(im)  c = c64[8,51] complex(re, n)  ROOT r = c64[8,51] multiply(x, c))"},
      {"ComplexOfF64", R"(x = c128[7,9] parameter(0)  k = c128[] constant((0.5, -2))
        b = c128[7,9] broadcast(k), dimensions={}  m = c128[7,9] multiply(x, b)  q = c128[7,9] divide(m, b)
        ROOT r = c128[7,9] add(q, x))"},
      {"ComplexMagnitude", R"(x = c64[4,40] parameter(0)  y = f32[4,40] parameter(1)  m = f32[4,40] abs(x)
        ROOT r = f32[4,40] multiply(m, y))"},
      {"ComplexQuotient",
       R"(x = c64[37] parameter(0)  k = c64[] constant((0, 3))  b = c64[37] broadcast(k), dimensions={}
        q = c64[37] divide(x, b)  i = f32[37] imag(q)  ROOT t = (c64[37], f32[37]) tuple(q, i))"},
      {"ComplexQuotientOfTwo", R"(x = c64[37] parameter(0)  y = c64[37] parameter(1)  q = c64[37] divide(x, y)
        a = f32[37] abs(x)  b = c64[37] convert(a)  u = c64[37] divide(x, b)  ROOT r = c64[37] add(q, u))"},
      {"ComplexExponential",
       R"(x = f32[5,30] parameter(0)  z = f32[] constant(0)  k = f32[5,30] broadcast(z), dimensions={}
        c = c64[5,30] complex(k, x)  e = c64[5,30] exponential(c)  y = c64[5,30] complex(x, x)  f = c64[5,30] exponential(y)
        ROOT r = c64[5,30] multiply(e, f))"},
      {"ComplexMovement", R"(x = c64[4,6,10] parameter(0)  p = c64[] constant((1, 2))
        s = c64[4,6,5] slice(x), slice={[0:4], [0:6], [5:10]}  u = c64[4,6,5] slice(x), slice={[0:4], [0:6], [0:5]}
        c = c64[4,6,10] concatenate(s, u), dimensions={2}  t = c64[6,4,10] transpose(c), dimensions={1,0,2}
        v = c64[6,4,10] reverse(t), dimensions={0,2}  e = c64[6,40] reshape(v)
        ROOT r = c64[7,42] pad(e, p), padding=1_0x0_2)"},
      {"ComplexAtPositions", R"(x = c64[6,10] parameter(0)  i = s32[] parameter(1)  j = s32[3,1] parameter(2)
        d = c64[2,10] dynamic-slice(x, i, i), dynamic_slice_sizes={2,10}
        g = c64[3,10] gather(x, j), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,10}
        ROOT t = (c64[2,10], c64[3,10]) tuple(d, g))"},
      {"ComplexOrder", R"(x = c64[30] parameter(0)  y = c64[30] parameter(1)  a = pred[30] compare(x, y), direction=LT
        b = pred[30] compare(x, y), direction=LE  c = pred[30] compare(x, y), direction=GT  d = pred[30] compare(x, y), direction=GE
        m = c64[30] maximum(x, y)  n = c64[30] minimum(x, y)  s = c64[30] subtract(m, n)
        ROOT t = (pred[30], pred[30], pred[30], pred[30], c64[30]) tuple(a, b, c, d, s))"},
      {"ComplexChoice", R"(x = c64[30] parameter(0)  y = c64[30] parameter(1)  z = c64[] constant((0, 0))
        b = c64[30] broadcast(z), dimensions={}  e = pred[30] compare(x, y), direction=NE  f = pred[30] compare(x, b), direction=EQ
        p = pred[30] and(e, f)  ROOT r = c64[30] select(p, b, y))"},
      {"ComplexConversions",
       R"(x = f32[6,7] parameter(0)  y = s32[6,7] parameter(1)  a = c64[6,7] convert(x)  b = c128[6,7] convert(y)
        c = c128[6,7] convert(a)  d = c128[6,7] multiply(b, c)  e = c64[6,7] convert(d)  ROOT r = c64[6,7] add(e, a))"},
      {"ComplexRowsAndRealSums", R"(x = c64[12,40] parameter(0)  k = c64[12] parameter(1)  z = f32[] constant(0)
        b = c64[12,40] broadcast(k), dimensions={0}  m = c64[12,40] multiply(x, b)  a = f32[12,40] abs(m)
        s = f32[12] reduce(a, z), dimensions={1}, to_apply=add  ROOT t = (c64[12,40], f32[12]) tuple(m, s))"},
      {"ComplexConstantsAndIota", R"(k = c64[4] constant({(1, 2), (3, -4), (0, 1), (-1, 0)})
        b = c64[9,4] broadcast(k), dimensions={1}  i = f32[9,4] iota(), iota_dimension=0  c = c64[9,4] complex(i, i)
        ROOT r = c64[9,4] multiply(b, c))"},
      {"ComplexInfinities",
       R"(s = s32[256] iota(), iota_dimension=0  four = s32[] constant(4)  b = s32[256] broadcast(four), dimensions={}
        t = f32[4] constant({inf, 0, -1.5, nan})
        i0 = s32[256] remainder(s, b)  d1 = s32[256] divide(s, b)  i1 = s32[256] remainder(d1, b)  d2 = s32[256] divide(d1, b)
        i2 = s32[256] remainder(d2, b)  i3 = s32[256] divide(d2, b)
        g0 = f32[256] gather(t, i0), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
        g1 = f32[256] gather(t, i1), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
        g2 = f32[256] gather(t, i2), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
        g3 = f32[256] gather(t, i3), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
        p = c64[256] complex(g0, g1)  q = c64[256] complex(g2, g3)  r = c64[256] divide(p, q)  a = f32[256] abs(p)
        ROOT u = (c64[256], f32[256]) tuple(r, a))"},
      // Subnormal numbers are zero, also where a comparison reads their bits.
      {"SubnormalBitsAsPredicates",
       R"(x = s64[64] parameter(0)  y = s32[64] parameter(1)  b = f64[64] bitcast-convert(x)  c = f32[64] bitcast-convert(y)
        p = pred[64] convert(b)  q = pred[64] convert(c)  ROOT t = (pred[64], pred[64]) tuple(p, q))"},
      {"SubnormalBitsAsExtremes",
       R"(x = s64[64] parameter(0)  y = s32[64] parameter(1)  b = f64[64] bitcast-convert(x)  c = f32[64] bitcast-convert(y)
        m = f64[64] negate(b)  p = f64[64] maximum(b, m)  k = f32[64] abs(c)  q = f32[64] minimum(c, k)
        l = f32[] constant(-2)  h = f32[] constant(2)  a = f32[64] clamp(l, c, h)
        ROOT t = (f64[64], f32[64], f32[64]) tuple(p, q, a))"},
      {"ComplexLayout",
       R"(x = c64[6,10]{0,1} parameter(0)  b = c64[10,6]{1,0} bitcast(x)  ROOT r = c64[10,6] add(b, b))"},
  };
}

}  // namespace

const std::vector<Snippet>& Snippets() {
  static const std::vector<Snippet>* const snippets = [] {
    auto* all = new std::vector<Snippet>(OtherSnippets());
    for (const std::vector<Snippet>& more : {ProductSnippets(), ConvolutionSnippets()}) {
      all->insert(all->end(), more.begin(), more.end());
    }
    return all;
  }();
  return *snippets;
}

std::unique_ptr<hlo::Module> ParseSnippet(const Snippet& snippet) {
  // One instruction a line, wherever the snippet breaks its lines.
  const std::string text =
      absl::StrCat("HloModule ", snippet.name, "\n", kReducers, "\nENTRY entry {\n", snippet.entry, "\n}\n");
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(text);
  Check(module.ok(), module.status().ToString());
  return std::move(*module);
}

}  // namespace smelt::kernels
