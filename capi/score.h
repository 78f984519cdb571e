/* Scores of tiles and seconds of kernels for compiler passes, under a trained model or the analytical one.
 *
 *   char* error = NULL;
 *   SmeltScorer* scorer = smelt_scorer_open("models/cpu.smeltmodel", NULL, &error);
 *   SmeltKernel* kernel = smelt_kernel_read(scorer, text, size, SMELT_KERNEL_TEXT, &error);
 *   int64_t tiles[] = {1, 8, 32, 1, 16, 32};
 *   float scores[2];
 *   int64_t misfits = smelt_score_tiles(kernel, tiles, 2, scores);
 *   double seconds = smelt_kernel_seconds(kernel, NULL);
 *
 * A kernel is looked at once; a tile then costs a small head of the network, and no memory. The library,
 * libsmelt_score, has neither LLVM nor a database in it. It never exits, aborts or writes anything. docs/passes.md
 * walks through it.
 *
 * A function that fails returns NULL and, where `error` is not NULL, sets it to a message that belongs to the caller:
 * smelt_score_free. A scorer and a kernel never change and may be used from any threads; a builder belongs to one. A
 * scorer must outlive its kernels.
 */
#ifndef SMELT_CAPI_SCORE_H_
#define SMELT_CAPI_SCORE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SmeltScorer SmeltScorer;
typedef struct SmeltKernel SmeltKernel;
typedef struct SmeltKernelBuilder SmeltKernelBuilder;

enum SmeltKernelForm {
  SMELT_KERNEL_TEXT = 0,  /* HLO text */
  SMELT_KERNEL_PROTO = 1, /* HloModuleProto, HloProto or HloSnapshot, binary */
};

void smelt_score_free(char* text);

/* `model`: a file of `smelt train` or `smelt calibrate`, or "analytical". `machine`: what runs the kernels, as JSON
 * (machine/descriptor.h); NULL: the machine that the model was trained for, where it tells, or an ordinary one. A model
 * of any target is taken: that the scores are asked for kernels of the same compiler is the caller's business. */
SmeltScorer* smelt_scorer_open(const char* model, const char* machine, char** error);
void smelt_scorer_delete(SmeltScorer* scorer);
/* What it is and what it was trained on, in words; NULL where there is no memory for them. */
char* smelt_scorer_describe(const SmeltScorer* scorer);

/* One fused computation: a module with one fusion, or whose entry is a fusion's body. */
SmeltKernel* smelt_kernel_read(const SmeltScorer* scorer, const char* bytes, size_t size, int form, char** error);

/* The same node by node. Nodes are numbered from 0 in the order in which they are added, operands come before their
 * users, and the last one is the result unless smelt_kernel_result says another.
 *
 *   SmeltKernelBuilder* b = smelt_kernel_begin("softmax");
 *   int x = smelt_kernel_parameter(b, "f32[64,128]");
 *   int e = smelt_kernel_add(b, "exponential", "f32[64,128]", &x, 1, NULL);
 *   SmeltKernel* kernel = smelt_kernel_finish(b, scorer, &error);
 *
 * `opcode`, `shape` and `attributes` are HLO's words ("reduce", "f32[64]{0}", "dimensions={1}, to_apply=add"); to_apply
 * may name add, multiply, minimum, maximum, and, or. A constant is written as its attributes: opcode "constant" with
 * attributes "0.5" and no operands. What is wrong is told by smelt_kernel_finish; until then such calls return -1. */
SmeltKernelBuilder* smelt_kernel_begin(const char* name);
int smelt_kernel_parameter(SmeltKernelBuilder* builder, const char* shape);
int smelt_kernel_add(SmeltKernelBuilder* builder, const char* opcode, const char* shape, const int* operands, int count,
                     const char* attributes);
int smelt_kernel_result(SmeltKernelBuilder* builder, const int* nodes, int count);
/* Ends the builder, whatever comes of it. */
SmeltKernel* smelt_kernel_finish(SmeltKernelBuilder* builder, const SmeltScorer* scorer, char** error);
/* Ends a builder without a kernel. */
void smelt_kernel_cancel(SmeltKernelBuilder* builder);

void smelt_kernel_delete(SmeltKernel* kernel);

/* How many extents a tile has: the dimensions that it divides, outer first, in dimensions[0 .. rank - 1], of which at
 * most `capacity` are written. -1: the kernel has no tiles. */
int smelt_kernel_dimensions(const SmeltKernel* kernel, int64_t* dimensions, int capacity);

/* The scores of `count` tiles, each of as many extents as there are dimensions, one behind the other; lower is better,
 * and scores compare within one kernel only. A tile with an extent below 1 or above its dimension scores infinity.
 * Returns how many such there are; -1 where the kernel has no tiles or the model was not trained for them, and then no
 * score is written. Allocates nothing but in a thread's first call. */
int64_t smelt_score_tiles(const SmeltKernel* kernel, const int64_t* tiles, int64_t count, float* scores);

/* Seconds of one execution; -1 where the model was not trained for times. The first call of a kernel takes about a
 * millisecond, in which the loops that the kernel becomes are looked at. `log_deviation`, where not NULL, receives the
 * standard deviation of the logarithm of the time, or 0 where the model does not tell. */
double smelt_kernel_seconds(const SmeltKernel* kernel, double* log_deviation);

#ifdef __cplusplus
}
#endif

#endif /* SMELT_CAPI_SCORE_H_ */
