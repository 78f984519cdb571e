// Matrix products: shapes, orders of dimensions, batches, types, and what is computed before and after them.
#include "tests/kernels/agreement/snippets.h"

namespace smelt::kernels {

std::vector<Snippet> ProductSnippets() {
  return {
      {"Dot",
       "a = f32[19,23] parameter(0)  b = f32[23,37] parameter(1)  ROOT r = f32[19,37] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"DotLarge",
       "a = f32[64,96] parameter(0)  b = f32[96,160] parameter(1)  ROOT r = f32[64,160] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"DotTransposedRight",
       "a = f32[19,23] parameter(0)  b = f32[37,23] parameter(1)  ROOT r = f32[19,37] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
      {"DotTransposedLeft",
       "a = f32[23,19] parameter(0)  b = f32[23,37] parameter(1)  ROOT r = f32[19,37] dot(a, b), "
       "lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
      {"DotOfItselfTransposed",
       "a = f32[96,40] parameter(0)  ROOT r = f32[96,96] dot(a, a), lhs_contracting_dims={1}, "
       "rhs_contracting_dims={1}"},
      {"DotOfComputedRowsTransposed",
       "a = f32[2,40,24] parameter(0)  b = f32[2,40,24] exponential(a)  ROOT r = f32[2,40,40] dot(b, b), "
       "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}"},
      {"DotOfSines",
       "a = f32[4,30] parameter(0)  p = f32[4,30,96] parameter(1)  c = f32[4,30,96] cosine(p)  b = f32[4,30,96] "
       "sine(c)  ROOT r = f32[4,96] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
      {"DotOfALayerInAStack", R"(x = f32[40,24] parameter(0)  w = f32[5,24,40] parameter(1)  i = s32[] parameter(2)
        z = s32[] constant(0)  s = f32[1,24,40] dynamic-slice(w, i, z, z), dynamic_slice_sizes={1,24,40}
        m = f32[24,40] reshape(s)  ROOT r = f32[40,40] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
      {"DotOfPages", R"(q = f32[12,8] parameter(0)  k = f32[9,4,8] parameter(1)  p = s32[5,1] parameter(2)
        g = f32[5,4,8] gather(k, p), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4,8}
        m = f32[20,8] reshape(g)  ROOT r = f32[12,20] dot(q, m), lhs_contracting_dims={1}, rhs_contracting_dims={1})"},
      {"DotOfARowInAStack", R"(x = f32[24] parameter(0)  w = f32[5,24] parameter(1)  i = s32[] parameter(2)
        z = s32[] constant(0)  s = f32[1,24] dynamic-slice(w, i, z), dynamic_slice_sizes={1,24}
        v = f32[24] reshape(s)  ROOT r = f32[] dot(x, v), lhs_contracting_dims={0}, rhs_contracting_dims={0})"},
      {"DotOfStackedFeatures", R"(a = f32[90,12] parameter(0)  b = f32[90,12] parameter(1)  w = f32[24,16] parameter(2)
        x = f32[90,24] concatenate(a, b), dimensions={1}
        ROOT r = f32[90,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
      {"ResultsOfOnePass",
       R"(g = f32[6,50] parameter(0)  m = f32[6,50] parameter(1)  v = f32[6,50] parameter(2)  p = f32[6,50] parameter(3)
        c = f32[] constant(0.9)  b = f32[6,50] broadcast(c), dimensions={}  mb = f32[6,50] multiply(m, b)  m2 = f32[6,50] add(mb, g)
        vb = f32[6,50] multiply(v, b)  gg = f32[6,50] multiply(g, g)  v2 = f32[6,50] add(vb, gg)  s = f32[6,50] sqrt(v2)
        one = f32[] constant(1)  ob = f32[6,50] broadcast(one), dimensions={}  sp = f32[6,50] add(s, ob)  u = f32[6,50] divide(m2, sp)
        p2 = f32[6,50] subtract(p, u)  i = s32[6,50] convert(p2)
        ROOT r = (f32[6,50], f32[6,50], f32[6,50], s32[6,50]) tuple(m2, v2, p2, i))"},
      {"ResultsReadElsewhere",
       R"(a = f32[6,50] parameter(0)  b = f32[6,50] negate(a)  c = f32[6,50] reverse(b), dimensions={1}
        d = f32[6,50] add(c, a)  z = f32[] constant(0)  e = f32[6,50] multiply(a, a)  s = f32[6] reduce(e, z), dimensions={1}, to_apply=add
        t = f32[6,50] broadcast(s), dimensions={0}  f = f32[6,50] add(t, a)
        ROOT r = (f32[6,50], f32[6,50], f32[6,50], f32[6,50]) tuple(b, d, e, f))"},
      {"DotVector",
       "a = f32[1,70] parameter(0)  b = f32[70,300] parameter(1)  ROOT r = f32[1,300] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"DotVectorRows",
       "a = f32[1,70] parameter(0)  b = f32[45,70] parameter(1)  ROOT r = f32[1,45] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
      {"DotFewRowsOfRows",
       "a = f32[3,70] parameter(0)  b = f32[64,70] parameter(1)  ROOT r = f32[3,64] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
      {"DotMatrixVector",
       "a = f32[33,70] parameter(0)  b = f32[70] parameter(1)  ROOT r = f32[33] dot(a, b), lhs_contracting_dims={1}, "
       "rhs_contracting_dims={0}"},
      {"DotInner",
       "a = f32[70] parameter(0)  b = f32[70] parameter(1)  ROOT r = f32[] dot(a, b), lhs_contracting_dims={0}, "
       "rhs_contracting_dims={0}"},
      {"DotOuter",
       "a = f32[7] parameter(0)  b = f32[30] parameter(1)  ROOT r = f32[7,30] dot(a, b), lhs_contracting_dims={}, "
       "rhs_contracting_dims={}"},
      {"DotBatched",
       "a = f32[3,18,20] parameter(0)  b = f32[3,20,35] parameter(1)  ROOT r = f32[3,18,35] dot(a, b), "
       "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"},
      {"DotAttention",
       "q = f32[2,9,3,16] parameter(0)  k = f32[2,11,3,16] parameter(1)  ROOT r = f32[2,3,9,11] dot(q, k), "
       "lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_contracting_dims={3}"},
      {"DotTwoContracted",
       "a = f32[9,4,6] parameter(0)  b = f32[4,6,33] parameter(1)  ROOT r = f32[9,33] dot(a, b), "
       "lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}"},
      {"DotBiasRelu", R"(a = f32[10,24] parameter(0)  b = f32[24,48] parameter(1)  c = f32[48] parameter(2)
        d = f32[10,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        e = f32[10,48] broadcast(c), dimensions={1}  s = f32[10,48] add(d, e)  z = f32[] constant(0)
        y = f32[10,48] broadcast(z), dimensions={}  ROOT r = f32[10,48] maximum(s, y))"},
      {"DotVectorBias", R"(a = f32[1,40] parameter(0)  b = f32[40,256] parameter(1)  c = f32[256] parameter(2)
        d = f32[1,256] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        e = f32[1,256] reshape(c)  s = f32[1,256] add(d, e)  ROOT r = f32[1,256] tanh(s))"},
      {"DotSum",
       R"(a = f32[8,24] parameter(0)  b = f32[24,48] parameter(1)  c = f32[8,13] parameter(2)  e = f32[13,48] parameter(3)
        d = f32[8,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        f = f32[8,48] dot(c, e), lhs_contracting_dims={1}, rhs_contracting_dims={0}  ROOT r = f32[8,48] add(d, f))"},
      {"DotTransposedOut", R"(a = f32[2,3,9,8] parameter(0)  b = f32[2,3,8,16] parameter(1)
        d = f32[2,3,9,16] dot(a, b), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={2}
        t = f32[2,9,3,16] transpose(d), dimensions={0,2,1,3}  ROOT r = f32[2,9,48] reshape(t))"},
      {"DotSplitOut", R"(a = f32[9,20] parameter(0)  b = f32[20,48] parameter(1)
        d = f32[9,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        s = f32[9,3,16] reshape(d)  ROOT t = f32[3,9,16] transpose(s), dimensions={1,0,2})"},
      {"DotMergedRows", R"(a = f32[2,5,20] parameter(0)  b = f32[20,48] parameter(1)  c = f32[48] parameter(2)
        d = f32[2,5,48] dot(a, b), lhs_contracting_dims={2}, rhs_contracting_dims={0}
        e = f32[2,5,48] broadcast(c), dimensions={2}  ROOT r = f32[2,5,48] add(d, e))"},
      {"DotFusedOperands", R"(a = f32[20,24] parameter(0)  b = f32[24,48] parameter(1)  e = f32[20,24] exponential(a)
        n = f32[24,48] negate(b)  ROOT d = f32[20,48] dot(e, n), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
      {"DotBFloat16",
       "a = bf16[9,40] parameter(0)  b = bf16[40,33] parameter(1)  ROOT r = bf16[9,33] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"DotBFloat16Wide",
       "a = bf16[9,40] parameter(0)  b = bf16[40,33] parameter(1)  ROOT r = f32[9,33] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"DotInt8",
       "a = s8[9,40] parameter(0)  b = s8[40,33] parameter(1)  ROOT r = s32[9,33] dot(a, b), lhs_contracting_dims={1}, "
       "rhs_contracting_dims={0}"},
      {"DotDouble",
       "a = f64[9,40] parameter(0)  b = f64[40,33] parameter(1)  ROOT r = f64[9,33] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"DotNarrow",
       "a = f32[100,50] parameter(0)  b = f32[50,3] parameter(1)  ROOT r = f32[100,3] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"DotTransposedRightShared",
       "a = f32[32,64] parameter(0)  b = f32[96,64] parameter(1)  ROOT r = f32[32,96] dot(a, b), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
  };
}

}  // namespace smelt::kernels
