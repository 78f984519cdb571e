/* A compiler pass in C: it builds a kernel node by node, and chooses among tile sizes of its own.
 *
 *   choose_tile_c MODEL        MODEL: a model file, or "analytical"
 */
#include <stdio.h>
#include <string.h>

#include "capi/score.h"

enum { kRows = 512, kColumns = 1024, kMost = 256 };

/* softmax(x . w) without its division: a product, a maximum by rows, an exponential. */
static SmeltKernel* build(const SmeltScorer* scorer, char** error) {
  SmeltKernelBuilder* b = smelt_kernel_begin("scores");
  const int x = smelt_kernel_parameter(b, "f32[512,256]{1,0}");
  const int w = smelt_kernel_parameter(b, "f32[256,1024]{1,0}");
  const int operands[] = {x, w};
  const int product = smelt_kernel_add(b, "dot", "f32[512,1024]{1,0}", operands, 2,
                                       "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  smelt_kernel_add(b, "tanh", "f32[512,1024]{1,0}", &product, 1, NULL);
  return smelt_kernel_finish(b, scorer, error);
}

int main(int argc, char** argv) {
  char* error = NULL;
  SmeltScorer* scorer = smelt_scorer_open(argc > 1 ? argv[1] : "analytical", NULL, &error);
  SmeltKernel* kernel = scorer == NULL ? NULL : build(scorer, &error);
  if (kernel == NULL) {
    fprintf(stderr, "%s\n", error == NULL ? "no memory" : error);
    smelt_score_free(error);
    smelt_scorer_delete(scorer);
    return 1;
  }
  int64_t dimensions[2] = {0, 0};
  if (smelt_kernel_dimensions(kernel, dimensions, 2) != 2 || dimensions[0] != kRows || dimensions[1] != kColumns) {
    fprintf(stderr, "expected tiles of %d x %d\n", kRows, kColumns);
    return 1;
  }
  /* The pass's own space: powers of two. */
  int64_t tiles[kMost][2];
  int64_t count = 0;
  for (int64_t m = 1; m <= kRows; m *= 2) {
    for (int64_t n = 8; n <= kColumns; n *= 2, ++count) {
      tiles[count][0] = m;
      tiles[count][1] = n;
    }
  }
  float scores[kMost];
  const int64_t misfits = smelt_score_tiles(kernel, &tiles[0][0], count, scores);
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (scores[i] < scores[best]) best = i;
  }
  double deviation = 0;
  const double seconds = smelt_kernel_seconds(kernel, &deviation);
  printf("best of %lld tiles: %lld x %lld; %lld do not fit; the kernel takes about %.1f us\n", (long long)count,
         (long long)tiles[best][0], (long long)tiles[best][1], (long long)misfits, 1e6 * seconds);
  smelt_kernel_delete(kernel);
  smelt_scorer_delete(scorer);
  return misfits == 0 && seconds > 0 ? 0 : 1;
}
