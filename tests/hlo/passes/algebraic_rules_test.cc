// Every line of the rule table: where it applies, what it leaves, and that results stay the same.
#include <set>

#include "hlo/passes/algebra/algebraic_simplifier.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

constexpr std::string_view kAdd = "add_f { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }\n";
constexpr std::string_view kMax =
    "max_f { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] maximum(p, q) }\n";

struct Case {
  std::string_view rule;
  std::string_view body;      // of the entry
  std::string_view expected;  // opcodes that remain
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.rule << ": " << c.body; }

// clang-format off
constexpr Case kCases[] = {
    {"add-constant-right", "x = f32[4] parameter(0) c = f32[4] constant({1, 2, 3, 4}) ROOT r = f32[4] add(c, x)", "add"},
    {"add-zero", "x = f32[4] parameter(0) c = f32[] constant(-0.0) b = f32[4] broadcast(c), dimensions={} ROOT r = f32[4] add(x, b)", ""},
    {"add-zero", "x = s32[4] parameter(0) c = s32[] constant(0) b = s32[4] broadcast(c), dimensions={} ROOT r = s32[4] add(x, b)", ""},
    {"add-zero", "x = f32[4] parameter(0) a = f32[4] abs(x) c = f32[] constant(0) b = f32[4] broadcast(c), dimensions={} ROOT r = f32[4] add(a, b)", "abs"},
    {"add-negated", "x = f32[4] parameter(0) y = f32[4] parameter(1) n = f32[4] negate(y) ROOT r = f32[4] add(x, n)", "subtract"},
    {"add-negated", "x = f32[4] parameter(0) y = f32[4] parameter(1) n = f32[4] negate(y) ROOT r = f32[4] add(n, x)", "subtract"},
    {"add-constants", "x = s32[] parameter(0) c = s32[] constant(3) a = s32[] add(x, c) d = s32[] constant(4) ROOT r = s32[] add(a, d)", "add"},
    {"add-constants", "x = u8[] parameter(0) c = u8[] constant(200) a = u8[] add(x, c) d = u8[] constant(100) ROOT r = u8[] add(a, d)", "add"},
    {"subtract-zero", "x = f32[4] parameter(0) c = f32[] constant(0) b = f32[4] broadcast(c), dimensions={} ROOT r = f32[4] subtract(x, b)", ""},
    {"subtract-self", "x = s32[4] parameter(0) ROOT r = s32[4] subtract(x, x)", "broadcast"},
    {"subtract-negated", "x = f32[4] parameter(0) y = f32[4] parameter(1) n = f32[4] negate(y) ROOT r = f32[4] subtract(x, n)", "add"},
    {"subtract-constant", "x = s32[] parameter(0) c = s32[] constant(7) ROOT r = s32[] subtract(x, c)", "add"},
    {"multiply-constant-right", "x = f32[] parameter(0) c = f32[] constant(3) ROOT r = f32[] multiply(c, x)", "multiply"},
    {"multiply-one", "x = f32[4] parameter(0) c = f32[] constant(1) b = f32[4] broadcast(c), dimensions={} ROOT r = f32[4] multiply(x, b)", ""},
    {"multiply-one", "x = c64[] parameter(0) c = c64[] constant((1, 0)) ROOT r = c64[] multiply(x, c)", ""},
    {"dot-zeros", "x = s32[4,5] parameter(0) c = s32[] constant(0) b = s32[3,4] broadcast(c), dimensions={} ROOT r = s32[3,5] dot(b, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "broadcast"},
    {"convolution-zeros", "x = s32[1,5,2] parameter(0) c = s32[] constant(0) b = s32[3,2,4] broadcast(c), dimensions={} ROOT r = s32[1,3,4] convolution(x, b), window={size=3}, dim_labels=b0f_0io->b0f", "broadcast"},
    {"multiply-zero", "x = s32[4] parameter(0) c = s32[] constant(0) b = s32[4] broadcast(c), dimensions={} ROOT r = s32[4] multiply(x, b)", "broadcast"},
    {"multiply-minus-one", "x = f32[] parameter(0) c = f32[] constant(-1) ROOT r = f32[] multiply(x, c)", "negate"},
    {"multiply-constants", "x = s32[] parameter(0) c = s32[] constant(3) a = s32[] multiply(x, c) d = s32[] constant(4) ROOT r = s32[] multiply(a, d)", "multiply"},
    {"multiply-signs", "x = f32[4] parameter(0) y = f32[4] parameter(1) n = f32[4] negate(x) m = f32[4] negate(y) ROOT r = f32[4] multiply(n, m)", "multiply"},
    {"multiply-abs", "x = f32[4] parameter(0) a = f32[4] abs(x) ROOT r = f32[4] multiply(a, a)", "multiply"},
    {"divide-one", "x = f32[] parameter(0) c = f32[] constant(1) ROOT r = f32[] divide(x, c)", ""},
    {"divide-minus-one", "x = f32[] parameter(0) c = f32[] constant(-1) ROOT r = f32[] divide(x, c)", "negate"},
    {"divide-signs", "x = f32[4] parameter(0) y = f32[4] parameter(1) n = f32[4] negate(x) m = f32[4] negate(y) ROOT r = f32[4] divide(n, m)", "divide"},
    {"divide-power-of-two", "x = f32[4] parameter(0) c = f32[] constant(8) b = f32[4] broadcast(c), dimensions={} ROOT r = f32[4] divide(x, b)", "broadcast multiply"},
    {"divide-power-of-two", "x = bf16[] parameter(0) c = bf16[] constant(0.25) ROOT r = bf16[] divide(x, c)", "multiply"},
    {"divide-unsigned", "x = u32[] parameter(0) c = u32[] constant(4) ROOT r = u32[] divide(x, c)", "shift-right-logical"},
    {"remainder-unsigned", "x = u32[] parameter(0) c = u32[] constant(4) ROOT r = u32[] remainder(x, c)", "and"},
    {"power-constant", "x = f32[] parameter(0) c = f32[] constant(0) ROOT r = f32[] power(x, c)", ""},
    {"power-constant", "x = f32[] parameter(0) c = f32[] constant(1) ROOT r = f32[] power(x, c)", ""},
    {"power-constant", "x = f32[] parameter(0) c = f32[] constant(2) ROOT r = f32[] power(x, c)", "multiply"},
    {"power-constant", "x = f32[] parameter(0) c = f32[] constant(3) ROOT r = f32[] power(x, c)", "multiply multiply"},
    {"power-constant", "x = f32[] parameter(0) c = f32[] constant(-1) ROOT r = f32[] power(x, c)", "divide"},
    {"negate-twice", "x = f32[4] parameter(0) n = f32[4] negate(x) ROOT r = f32[4] negate(n)", ""},
    {"abs-non-negative", "x = f32[4] parameter(0) s = f32[4] multiply(x, x) ROOT r = f32[4] abs(s)", "multiply"},
    {"abs-non-negative", "x = f32[4] parameter(0) s = f32[4] abs(x) ROOT r = f32[4] abs(s)", "abs"},
    {"abs-negated", "x = f32[4] parameter(0) n = f32[4] negate(x) ROOT r = f32[4] abs(n)", "abs"},
    {"maximum-constant-right", "x = f32[] parameter(0) c = f32[] constant(0) ROOT r = f32[] maximum(c, x)", "maximum"},
    {"maximum-self", "x = f32[4] parameter(0) ROOT r = f32[4] maximum(x, x)", ""},
    {"maximum-lowest", "x = f32[] parameter(0) c = f32[] constant(-inf) ROOT r = f32[] maximum(x, c)", ""},
    {"maximum-lowest", "x = s8[] parameter(0) c = s8[] constant(-128) ROOT r = s8[] maximum(x, c)", ""},
    {"maximum-range", "x = s32[5] iota(), iota_dimension=0 c = s32[] constant(0) b = s32[5] broadcast(c), dimensions={} ROOT r = s32[5] maximum(x, b)", "iota"},
    {"minimum-constant-right", "x = f32[] parameter(0) c = f32[] constant(0) ROOT r = f32[] minimum(c, x)", "minimum"},
    {"minimum-self", "x = f32[4] parameter(0) ROOT r = f32[4] minimum(x, x)", ""},
    {"minimum-highest", "x = u16[] parameter(0) c = u16[] constant(65535) ROOT r = u16[] minimum(x, c)", ""},
    {"minimum-range", "x = s32[5] iota(), iota_dimension=0 c = s32[] constant(9) b = s32[5] broadcast(c), dimensions={} ROOT r = s32[5] minimum(x, b)", "iota"},
    {"scalar-operands", "x = f32[] parameter(0) b = f32[4,2] broadcast(x), dimensions={} ROOT r = f32[4,2] exponential(b)", "exponential broadcast"},
    {"scalar-operands", "p = pred[] parameter(0) x = f32[] parameter(1) y = f32[] parameter(2) b = f32[4] broadcast(x), dimensions={} c = f32[4] broadcast(y), dimensions={} ROOT r = f32[4] select(p, b, c)", "select broadcast"},
    {"and-constant-right", "x = pred[] parameter(0) c = pred[] constant(true) ROOT r = pred[] and(c, x)", "and"},
    {"and-self", "x = s32[4] parameter(0) ROOT r = s32[4] and(x, x)", ""},
    {"and-constant", "x = pred[] parameter(0) c = pred[] constant(true) ROOT r = pred[] and(x, c)", ""},
    {"and-constant", "x = s32[] parameter(0) c = s32[] constant(0) ROOT r = s32[] and(x, c)", ""},
    {"or-constant-right", "x = pred[] parameter(0) c = pred[] constant(false) ROOT r = pred[] or(c, x)", "or"},
    {"or-self", "x = s32[4] parameter(0) ROOT r = s32[4] or(x, x)", ""},
    {"or-constant", "x = u8[] parameter(0) c = u8[] constant(255) ROOT r = u8[] or(x, c)", ""},
    {"or-constant", "x = pred[] parameter(0) c = pred[] constant(false) ROOT r = pred[] or(x, c)", ""},
    {"xor-constant-right", "x = pred[] parameter(0) c = pred[] constant(false) ROOT r = pred[] xor(c, x)", "xor"},
    {"xor-constant", "x = s32[] parameter(0) c = s32[] constant(-1) ROOT r = s32[] xor(x, c)", "not"},
    {"xor-constant", "x = s32[] parameter(0) c = s32[] constant(0) ROOT r = s32[] xor(x, c)", ""},
    {"xor-self", "x = s32[4] parameter(0) ROOT r = s32[4] xor(x, x)", "broadcast"},
    {"shift-left-zero", "x = u32[] parameter(0) c = u32[] constant(0) ROOT r = u32[] shift-left(x, c)", ""},
    {"shift-right-zero", "x = u32[] parameter(0) c = u32[] constant(0) ROOT r = u32[] shift-right-logical(x, c)", ""},
    {"shift-right-arithmetic-zero", "x = s32[] parameter(0) c = s32[] constant(0) ROOT r = s32[] shift-right-arithmetic(x, c)", ""},
    {"not-not", "x = s32[4] parameter(0) n = s32[4] not(x) ROOT r = s32[4] not(n)", ""},
    {"not-compare", "x = s32[4] parameter(0) y = s32[4] parameter(1) c = pred[4] compare(x, y), direction=LT ROOT r = pred[4] not(c)", "compare"},
    {"not-compare", "x = f32[4] parameter(0) y = f32[4] parameter(1) c = pred[4] compare(x, y), direction=EQ ROOT r = pred[4] not(c)", "compare"},
    {"compare-constant-right", "x = f32[] parameter(0) c = f32[] constant(0) ROOT r = pred[] compare(c, x), direction=LT", "compare"},
    {"compare-self", "x = s32[4] parameter(0) ROOT r = pred[4] compare(x, x), direction=GE", "broadcast"},
    {"compare-predicate", "x = pred[] parameter(0) c = pred[] constant(false) ROOT r = pred[] compare(x, c), direction=NE", ""},
    {"compare-predicate", "x = pred[] parameter(0) c = pred[] constant(false) ROOT r = pred[] compare(x, c), direction=EQ", "not"},
    {"compare-converted-predicate", "x = pred[] parameter(0) v = s32[] convert(x) c = s32[] constant(0) ROOT r = pred[] compare(v, c), direction=NE", ""},
    {"compare-range", "x = s32[5] iota(), iota_dimension=0 c = s32[] constant(0) b = s32[5] broadcast(c), dimensions={} ROOT r = pred[5] compare(x, b), direction=LT", "broadcast"},
    {"compare-range", "p = pred[5] parameter(0) x = s32[5] convert(p) c = s32[] constant(2) b = s32[5] broadcast(c), dimensions={} ROOT r = pred[5] compare(x, b), direction=NE", "broadcast"},
    {"select-constant", "p = pred[] constant(false) x = f32[4] parameter(0) y = f32[4] parameter(1) ROOT r = f32[4] select(p, x, y)", ""},
    {"select-same", "p = pred[4] parameter(0) x = f32[4] parameter(1) ROOT r = f32[4] select(p, x, x)", ""},
    {"select-not", "p = pred[4] parameter(0) x = f32[4] parameter(1) y = f32[4] parameter(2) n = pred[4] not(p) ROOT r = f32[4] select(n, x, y)", "select"},
    {"select-predicates", "p = pred[] parameter(0) t = pred[] constant(true) f = pred[] constant(false) ROOT r = pred[] select(p, t, f)", ""},
    {"select-predicates", "p = pred[] parameter(0) t = pred[] constant(true) f = pred[] constant(false) ROOT r = pred[] select(p, f, t)", "not"},
    {"select-predicates", "p = pred[] parameter(0) q = pred[] parameter(1) f = pred[] constant(false) ROOT r = pred[] select(p, q, f)", "and"},
    {"select-predicates", "p = pred[] parameter(0) q = pred[] parameter(1) t = pred[] constant(true) ROOT r = pred[] select(p, t, q)", "or"},
    {"select-nested", "p = pred[4] parameter(0) x = f32[4] parameter(1) y = f32[4] parameter(2) z = f32[4] parameter(3) s = f32[4] select(p, x, y) ROOT r = f32[4] select(p, s, z)", "select"},
    {"select-nested", "p = pred[4] parameter(0) x = f32[4] parameter(1) y = f32[4] parameter(2) z = f32[4] parameter(3) s = f32[4] select(p, x, y) ROOT r = f32[4] select(p, z, s)", "select"},
    {"clamp-range", "l = s32[] constant(0) h = s32[] constant(9) x = s32[5] iota(), iota_dimension=0 ROOT r = s32[5] clamp(l, x, h)", "iota"},
    {"convert-same", "x = f32[4] parameter(0) ROOT r = f32[4] convert(x)", ""},
    {"convert-convert", "x = f32[4] parameter(0) d = f64[4] convert(x) ROOT r = f32[4] convert(d)", ""},
    {"convert-convert", "x = s8[4] parameter(0) d = f32[4] convert(x) ROOT r = s32[4] convert(d)", "convert"},
    {"convert-convert", "x = pred[4] parameter(0) d = s32[4] convert(x) ROOT r = f32[4] convert(d)", "convert"},
    {"convert-iota", "x = s32[4] iota(), iota_dimension=0 ROOT r = f32[4] convert(x)", "iota"},
    {"bitcast-convert-same", "x = f32[4] parameter(0) ROOT r = f32[4] bitcast-convert(x)", ""},
    {"bitcast-convert-twice", "x = f32[4] parameter(0) u = u32[4] bitcast-convert(x) ROOT r = s32[4] bitcast-convert(u)", "bitcast-convert"},
    {"bitcast-convert-twice", "x = f32[4] parameter(0) u = u32[4] bitcast-convert(x) ROOT r = f32[4] bitcast-convert(u)", ""},
    {"real-complex", "x = f32[4] parameter(0) y = f32[4] parameter(1) c = c64[4] complex(x, y) ROOT r = f32[4] real(c)", ""},
    {"real-real", "x = f32[4] parameter(0) ROOT r = f32[4] real(x)", ""},
    {"imag-complex", "x = f32[4] parameter(0) y = f32[4] parameter(1) c = c64[4] complex(x, y) ROOT r = f32[4] imag(c)", ""},
    {"complex-parts", "x = c64[4] parameter(0) a = f32[4] real(x) b = f32[4] imag(x) ROOT r = c64[4] complex(a, b)", ""},
    {"reduce-precision-same", "x = f32[4] parameter(0) ROOT r = f32[4] reduce-precision(x), exponent_bits=8, mantissa_bits=23", ""},
    {"constant-uniform", "ROOT c = f32[2,2] constant({{7, 7}, {7, 7}})", "broadcast"},
    {"reshape-same", "x = f32[4] parameter(0) ROOT r = f32[4] reshape(x)", ""},
    {"reshape-reshape", "x = f32[4,6] parameter(0) a = f32[24] reshape(x) ROOT r = f32[8,3] reshape(a)", "reshape"},
    {"reshape-constant", "c = f32[4] constant({1, 2, 3, 4}) ROOT r = f32[2,2] reshape(c)", ""},
    {"reshape-broadcast", "x = f32[6] parameter(0) b = f32[4,6] broadcast(x), dimensions={1} ROOT r = f32[2,2,3,2] reshape(b)", "reshape broadcast"},
    {"reshape-broadcast", "x = f32[] parameter(0) b = f32[4,6] broadcast(x), dimensions={} ROOT r = f32[24] reshape(b)", "broadcast"},
    {"reshape-iota", "x = s32[3,4] iota(), iota_dimension=1 ROOT r = s32[3,1,4] reshape(x)", "iota"},
    {"iota-one", "ROOT x = s32[3,1] iota(), iota_dimension=1", "broadcast"},
    {"broadcast-same", "x = f32[4,3] parameter(0) ROOT r = f32[4,3] broadcast(x), dimensions={0,1}", ""},
    {"broadcast-broadcast", "x = f32[3] parameter(0) b = f32[2,3] broadcast(x), dimensions={1} ROOT r = f32[2,5,3] broadcast(b), dimensions={0,2}", "broadcast"},
    {"broadcast-reshapes", "x = f32[3,4] parameter(0) ROOT r = f32[3,1,4] broadcast(x), dimensions={0,2}", "reshape"},
    {"broadcast-ones", "x = f32[1,3] parameter(0) ROOT r = f32[1,5,3] broadcast(x), dimensions={0,2}", "reshape broadcast"},
    {"transpose-same", "x = f32[3,4] parameter(0) ROOT r = f32[3,4] transpose(x), dimensions={0,1}", ""},
    {"transpose-transpose", "x = f32[2,3,4] parameter(0) a = f32[3,2,4] transpose(x), dimensions={1,0,2} ROOT r = f32[4,3,2] transpose(a), dimensions={2,0,1}", "transpose"},
    {"transpose-reshapes", "x = f32[3,1,4] parameter(0) ROOT r = f32[1,3,4] transpose(x), dimensions={1,0,2}", "reshape"},
    {"transpose-iota", "x = s32[3,4] iota(), iota_dimension=1 ROOT r = s32[4,3] transpose(x), dimensions={1,0}", "iota"},
    {"transpose-broadcast", "x = f32[3] parameter(0) b = f32[3,4] broadcast(x), dimensions={0} ROOT r = f32[4,3] transpose(b), dimensions={1,0}", "broadcast"},
    {"transpose-broadcast", "x = f32[3,2] parameter(0) b = f32[3,4,2] broadcast(x), dimensions={0,2} ROOT r = f32[2,4,3] transpose(b), dimensions={2,1,0}", "transpose broadcast"},
    {"transpose-dot", "x = f32[3,4] parameter(0) y = f32[4,5] parameter(1) d = f32[3,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} ROOT r = f32[5,3] transpose(d), dimensions={1,0}", "dot"},
    {"set-dimension-size-all", "x = f32[4] parameter(0) n = s32[] constant(4) ROOT r = f32[4] set-dimension-size(x, n), dimensions={0}", ""},
    {"transpose-dot", "x = f32[2,3,4] parameter(0) y = f32[2,4,5] parameter(1) d = f32[2,3,5] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} ROOT r = f32[2,5,3] transpose(d), dimensions={0,2,1}", "dot"},
    {"slice-everything", "x = f32[4] parameter(0) ROOT r = f32[4] slice(x), slice={[0:4]}", ""},
    {"slice-slice", "x = f32[20] parameter(0) a = f32[6] slice(x), slice={[2:20:3]} ROOT r = f32[2] slice(a), slice={[1:5:2]}", "slice"},
    {"slice-broadcast", "x = f32[6] parameter(0) b = f32[4,6] broadcast(x), dimensions={1} ROOT r = f32[2,6] slice(b), slice={[1:3], [0:6]}", "broadcast"},
    {"slice-broadcast", "x = f32[6] parameter(0) b = f32[4,6] broadcast(x), dimensions={1} ROOT r = f32[2,3] slice(b), slice={[1:3], [0:6:2]}", "slice broadcast"},
    {"slice-concatenate", "x = f32[4] parameter(0) y = f32[4] parameter(1) c = f32[8] concatenate(x, y), dimensions={0} ROOT r = f32[2] slice(c), slice={[4:8:3]}", "slice"},
    {"slice-concatenate", "x = f32[4] parameter(0) y = f32[4] parameter(1) c = f32[8] concatenate(x, y), dimensions={0} ROOT r = f32[4] slice(c), slice={[0:4]}", ""},
    {"slice-pad", "x = f32[4] parameter(0) z = f32[] constant(0) p = f32[8] pad(x, z), padding=1_3 ROOT r = f32[3] slice(p), slice={[2:5]}", "slice"},
    {"slice-pad", "x = f32[4] parameter(0) z = f32[] constant(0) p = f32[8] pad(x, z), padding=1_3 ROOT r = f32[2] slice(p), slice={[6:8]}", "broadcast"},
    {"slice-iota", "x = s32[8] iota(), iota_dimension=0 ROOT r = s32[3] slice(x), slice={[0:3]}", "iota"},
    {"dynamic-slice-everything", "x = f32[4] parameter(0) i = s32[] parameter(1) ROOT r = f32[4] dynamic-slice(x, i), dynamic_slice_sizes={4}", ""},
    {"dynamic-slice-constants", "x = f32[8,3] parameter(0) i = s32[] constant(7) z = s32[] constant(-4) ROOT r = f32[2,2] dynamic-slice(x, i, z), dynamic_slice_sizes={2,2}", "slice"},
    {"dynamic-slice-broadcast", "x = f32[] parameter(0) b = f32[8] broadcast(x), dimensions={} i = s32[] parameter(1) ROOT r = f32[2] dynamic-slice(b, i), dynamic_slice_sizes={2}", "broadcast"},
    {"dynamic-slice-whole-dimension", "x = f32[8,3] parameter(0) i = s32[] parameter(1) j = s32[] parameter(2) k = s32[] negate(j) ROOT r = f32[2,3] dynamic-slice(x, i, k), dynamic_slice_sizes={2,3}", "dynamic-slice"},
    {"dynamic-update-everything", "x = f32[4] parameter(0) u = f32[4] parameter(1) i = s32[] parameter(2) ROOT r = f32[4] dynamic-update-slice(x, u, i)", ""},
    {"dynamic-update-whole-dimension", "x = f32[4,3] parameter(0) u = f32[1,3] parameter(1) i = s32[] parameter(2) j = s32[] negate(i) ROOT r = f32[4,3] dynamic-update-slice(x, u, i, j)", "dynamic-update-slice"},
    {"pad-nothing", "x = f32[4] parameter(0) z = f32[] constant(0) ROOT r = f32[4] pad(x, z), padding=0_0", ""},
    {"pad-crops", "x = f32[8] parameter(0) z = f32[] constant(0) ROOT r = f32[5] pad(x, z), padding=-2_-1", "slice"},
    {"pad-crops", "x = f32[8] parameter(0) z = f32[] constant(3) ROOT r = f32[9] pad(x, z), padding=-2_3", "pad slice"},
    {"pad-crops", "x = f32[4] parameter(0) z = f32[] constant(3) ROOT r = f32[5] pad(x, z), padding=-1_-1_1", "pad slice"},
    {"pad-same-value", "z = f32[] constant(2) b = f32[4] broadcast(z), dimensions={} ROOT r = f32[9] pad(b, z), padding=2_3", "broadcast"},
    {"pad-pad", "x = f32[4] parameter(0) z = f32[] constant(2) a = f32[7] pad(x, z), padding=1_2 ROOT r = f32[12] pad(a, z), padding=3_2", "pad"},
    {"concatenate-one", "x = f32[4] parameter(0) ROOT r = f32[4] concatenate(x), dimensions={0}", ""},
    {"concatenate-empty", "x = f32[4] parameter(0) e = f32[0] parameter(1) ROOT r = f32[4] concatenate(e, x), dimensions={0}", ""},
    {"concatenate-concatenate", "x = f32[4] parameter(0) y = f32[3] parameter(1) a = f32[7] concatenate(x, y), dimensions={0} ROOT r = f32[10] concatenate(y, a), dimensions={0}", "concatenate"},
    {"concatenate-slices", "x = f32[8] parameter(0) a = f32[3] slice(x), slice={[1:4]} b = f32[4] slice(x), slice={[4:8]} ROOT r = f32[7] concatenate(a, b), dimensions={0}", "slice"},
    {"concatenate-slices", "x = f32[8] parameter(0) y = f32[2] parameter(1) a = f32[3] slice(x), slice={[1:4]} b = f32[4] slice(x), slice={[4:8]} ROOT r = f32[9] concatenate(y, a, b), dimensions={0}", "slice concatenate"},
    {"concatenate-scalar", "x = f32[] parameter(0) a = f32[3] broadcast(x), dimensions={} b = f32[4] broadcast(x), dimensions={} ROOT r = f32[7] concatenate(a, b), dimensions={0}", "broadcast"},
    {"gather-transpose", "x = f32[5,6,3] parameter(0) i = s32[4,2] parameter(1) t = f32[3,5,6] transpose(x), dimensions={2,0,1} ROOT r = f32[3,4] gather(t, i), offset_dims={0}, collapsed_slice_dims={1,2}, start_index_map={2,1}, index_vector_dim=1, slice_sizes={3,1,1}", "gather"},
    {"gather-transpose", "x = f32[2,5,6,3] parameter(0) i = s32[4,2,1] parameter(1) t = f32[6,5,2,3] transpose(x), dimensions={2,1,0,3} ROOT r = f32[4,2,5,3] gather(t, i), offset_dims={2,3}, collapsed_slice_dims={0}, start_index_map={0}, operand_batching_dims={2}, start_indices_batching_dims={1}, index_vector_dim=2, slice_sizes={1,5,1,3}", "gather"},
    {"reverse-ones", "x = f32[1,4] parameter(0) ROOT r = f32[1,4] reverse(x), dimensions={0,1}", "reverse"},
    {"reverse-ones", "x = f32[1,4] parameter(0) ROOT r = f32[1,4] reverse(x), dimensions={0}", ""},
    {"reverse-reverse", "x = f32[3,4] parameter(0) a = f32[3,4] reverse(x), dimensions={0,1} ROOT r = f32[3,4] reverse(a), dimensions={1}", "reverse"},
    {"reverse-broadcast", "x = f32[4] parameter(0) b = f32[3,4] broadcast(x), dimensions={1} ROOT r = f32[3,4] reverse(b), dimensions={0}", "broadcast"},
    {"reduce-ones", "x = f32[4,1] parameter(0) z = f32[] constant(0) ROOT r = f32[4] reduce(x, z), dimensions={1}, to_apply=add_f", "reshape"},
    {"reduce-ones", "x = f32[4,1,3] parameter(0) z = f32[] constant(-inf) ROOT r = f32[4] reduce(x, z), dimensions={1,2}, to_apply=max_f", "reshape reduce"},
    {"reduce-reshape", "x = f32[4,6] parameter(0) a = f32[4,2,3] reshape(x) z = f32[] constant(0) ROOT r = f32[4] reduce(a, z), dimensions={1,2}, to_apply=add_f", "reduce"},
    {"reduce-reshape", "x = f32[4,6] parameter(0) a = f32[2,2,6] reshape(x) z = f32[] constant(0) ROOT r = f32[2,2] reduce(a, z), dimensions={2}, to_apply=add_f", "reduce reshape"},
    {"reduce-transpose", "x = f32[4,6] parameter(0) a = f32[6,4] transpose(x), dimensions={1,0} z = f32[] constant(0) ROOT r = f32[6] reduce(a, z), dimensions={1}, to_apply=add_f", "reduce"},
    {"reduce-transpose", "x = f32[2,3,4] parameter(0) a = f32[4,3,2] transpose(x), dimensions={2,1,0} z = f32[] constant(0) ROOT r = f32[4,2] reduce(a, z), dimensions={1}, to_apply=add_f", "reduce transpose"},
    {"reduce-reduce", "x = f32[2,3,4] parameter(0) z = f32[] constant(0) a = f32[2,4] reduce(x, z), dimensions={1}, to_apply=add_f ROOT r = f32[2] reduce(a, z), dimensions={1}, to_apply=add_f", "reduce"},
    {"reduce-broadcast", "x = f32[3] parameter(0) b = f32[3,4] broadcast(x), dimensions={0} z = f32[] constant(-inf) ROOT r = f32[3] reduce(b, z), dimensions={1}, to_apply=max_f", ""},
    {"reduce-broadcast", "x = f32[3] parameter(0) b = f32[3,4] broadcast(x), dimensions={0} z = f32[] constant(0) ROOT r = f32[3] reduce(b, z), dimensions={1}, to_apply=add_f", "broadcast multiply"},
    {"reduce-window-one", "x = f32[4] parameter(0) z = f32[] constant(0) ROOT r = f32[4] reduce-window(x, z), window={size=1}, to_apply=add_f", ""},
    {"reduce-window-pad", "x = f32[4] parameter(0) z = f32[] constant(0) p = f32[7] pad(x, z), padding=1_2 ROOT r = f32[3] reduce-window(p, z), window={size=3 stride=2}, to_apply=add_f", "reduce-window"},
};
// clang-format on

class AlgebraicRule : public testing::TestWithParam<Case> {};

TEST_P(AlgebraicRule, LeavesFewerInstructionsAndTheSameValues) {
  const Case& c = GetParam();
  const std::string text = StrCat("HloModule m\n", kAdd, kMax, "ENTRY e { ", c.body, " }");
  const std::unique_ptr<Module> alone = Apply(text, [&](Module& module) { return ApplyAlgebraicRule(module, c.rule); });
  EXPECT_EQ(OpcodesOf(*alone), c.expected) << ToText(*alone);
  const std::unique_ptr<Module> before = Parse(text);
  const std::unique_ptr<Module> after = before->Clone();
  ASSERT_TRUE(SimplifyAlgebra(*after).ok());
  ASSERT_TRUE(VerifyModule(*after).ok()) << VerifyModule(*after);
  ExpectSameResults(*before, *after);
}

INSTANTIATE_TEST_SUITE_P(Table, AlgebraicRule, testing::ValuesIn(kCases));

TEST(AlgebraicRules, EveryRuleHasACase) {
  std::set<std::string_view> covered;
  for (const Case& c : kCases) covered.insert(c.rule);
  for (const std::string& rule : AlgebraicRuleNames()) EXPECT_TRUE(covered.contains(rule)) << rule;
}

TEST(AlgebraicRules, UnknownRuleIsAnError) {
  const std::unique_ptr<Module> module = Parse("ENTRY e { ROOT x = f32[] parameter(0) }");
  EXPECT_EQ(ApplyAlgebraicRule(*module, "no-such-rule").status().code(), absl::StatusCode::kInvalidArgument);
}

// What must stay: each line would be wrong for NaN, infinities, the sign of zero, rounding or a clamped index.
constexpr std::string_view kKept[] = {
    "x = f32[4] parameter(0) z = f32[] constant(0) b = f32[4] broadcast(z), dimensions={} ROOT r = f32[4] add(x, b)",
    "x = f32[4] parameter(0) z = f32[] constant(0) b = f32[4] broadcast(z), dimensions={} ROOT r = f32[4] multiply(x, "
    "b)",
    "x = f32[4] parameter(0) ROOT r = f32[4] subtract(x, x)",
    "x = f32[4] parameter(0) ROOT r = f32[4] divide(x, x)",
    "x = f32[] parameter(0) c = f32[] constant(3) ROOT r = f32[] divide(x, c)",
    "x = f32[] parameter(0) c = f32[] constant(1.7e38) ROOT r = f32[] divide(x, c)",
    "x = f32[4] parameter(0) y = f32[4] parameter(1) c = pred[4] compare(x, y), direction=LT ROOT r = pred[4] not(c)",
    "x = f32[4] parameter(0) ROOT r = pred[4] compare(x, x), direction=EQ",
    "x = f32[4] parameter(0) h = bf16[4] convert(x) ROOT r = f32[4] convert(h)",
    "x = s2[4] parameter(0) h = bf16[4] convert(x) ROOT r = u8[4] convert(h)",
    "x = s16[4] parameter(0) h = f32[4] convert(x) ROOT r = s8[4] convert(h)",
    "x = pred[4] parameter(0) h = f32[4] convert(x) ROOT r = s1[4] convert(h)",
    "x = s32[] parameter(0) c = s32[] constant(4) ROOT r = s32[] divide(x, c)",
    "x = s32[4] parameter(0) z = s32[] constant(0) b = s32[4] broadcast(z), dimensions={} ROOT r = pred[4] compare(x, "
    "b), "
    "direction=LT",
    "x = f32[4] parameter(0) y = f32[4] parameter(1) c = f32[8] concatenate(x, y), dimensions={0} ROOT r = f32[2] "
    "slice(c), slice={[3:5]}",
    // Rows of a transposed table would be read across its lines; a slice's dimensions would change places.
    "x = f32[3,9] parameter(0) i = s32[4,1] parameter(1) t = f32[9,3] transpose(x), dimensions={1,0} ROOT r = f32[4,3] "
    "gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
    "slice_sizes={1,3}",
    "x = f32[2,5,3] parameter(0) i = s32[4,1] parameter(1) t = f32[3,5,2] transpose(x), dimensions={2,1,0} ROOT r = "
    "f32[4,3,2] gather(t, i), offset_dims={1,2}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, "
    "slice_sizes={3,1,2}",
    "x = f32[4,1] parameter(0) z = f32[] constant(1) ROOT r = f32[4] reduce(x, z), dimensions={1}, to_apply=add_f",
    "x = f32[4,6] parameter(0) a = f32[8,3] reshape(x) z = f32[] constant(0) ROOT r = f32[8] reduce(a, z), "
    "dimensions={1}, to_apply=add_f",
    "x = f32[4] parameter(0) z = f32[] constant(1) p = f32[7] pad(x, z), padding=1_2 o = f32[] constant(0) ROOT r = "
    "f32[3] reduce-window(p, o), window={size=3 stride=2}, to_apply=add_f",
    "x = f32[3,4] parameter(0) y = f32[4,5] parameter(1) d = f32[3,5] dot(x, y), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}, operand_precision={highest,default} ROOT r = f32[5,3] transpose(d), dimensions={1,0}",
};

class KeptByAlgebra : public testing::TestWithParam<std::string_view> {};

TEST_P(KeptByAlgebra, StaysAsItIs) {
  Apply(StrCat("HloModule m\n", kAdd, kMax, "ENTRY e { ", GetParam(), " }"), SimplifyAlgebra, /*expect_change=*/false);
}

INSTANTIATE_TEST_SUITE_P(Table, KeptByAlgebra, testing::ValuesIn(kKept));

TEST(AlgebraicSimplifier, LeavesDynamicShapesAlone) {
  const std::unique_ptr<Module> module =
      Parse("ENTRY e { x = f32[2,<=4] parameter(0) n = f32[2,<=4] negate(x) ROOT r = f32[2,<=4] negate(n) }");
  const absl::StatusOr<bool> changed = SimplifyAlgebra(*module);
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(*changed);
}

TEST(AlgebraicSimplifier, LongChainsTakeLinearTimeAndNoStack) {
  std::string text = "ENTRY e { v0 = f32[6] parameter(0)\n";
  constexpr int kLength = 50000;
  for (int i = 1; i <= kLength; ++i) {
    text += StrCat("v", i, i % 2 == 1 ? " = f32[2,3] reshape(v" : " = f32[6] reshape(v", i - 1, ")\n");
  }
  text += StrCat("ROOT r = f32[6] negate(v", kLength, ") }");
  const std::unique_ptr<Module> module = Parse(text);
  ASSERT_TRUE(SimplifyAlgebra(*module).ok());
  EXPECT_EQ(OpcodesOf(*module), "negate");
}

}  // namespace
}  // namespace smelt::hlo
