/* HLO modules, fusion, and predictions of kernels' run time, for any language that can call C.
 *
 *   char* error = NULL;
 *   SmeltModule* module = smelt_module_read(text, strlen(text), SMELT_TEXT, "model.hlo", &error);
 *   SmeltModule* fused = smelt_module_fuse(module, "priority", "cpu:threads=1", &error);
 *   SmeltPredictor* predictor = smelt_predictor_open("models/cpu.smeltmodel", "cpu:threads=1", &error);
 *   char* json = smelt_predict(predictor, fused, &error);
 *
 * A function that fails returns NULL and, where `error` is not NULL, sets it to a message. Texts that are returned,
 * messages too, belong to the caller: smelt_free. Modules are never changed; every function may be called from any
 * thread.
 */
#ifndef SMELT_CAPI_SMELT_H_
#define SMELT_CAPI_SMELT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SmeltModule SmeltModule;
typedef struct SmeltPredictor SmeltPredictor;

enum SmeltForm {
  SMELT_TEXT = 0,  /* HLO text */
  SMELT_PROTO = 1, /* HloModuleProto, HloProto or HloSnapshot, binary */
};

void smelt_free(void* text);

/* Reads and verifies. `name` begins the error's message. */
SmeltModule* smelt_module_read(const char* bytes, size_t size, int form, const char* name, char** error);
void smelt_module_delete(SmeltModule* module);

/* HLO text, ended by NUL. */
char* smelt_module_text(const SmeltModule* module);
/* A binary HloModuleProto of *size bytes. */
char* smelt_module_proto(const SmeltModule* module, size_t* size, char** error);

/* JSON: name, fingerprint, instructions, computations, opcodes (name to count), flops, bytes, and kernels: a list of
 * {name, hash, count, runs, instructions, flops, bytes}. A kernel stands `count` times in the text; the program's flops
 * and bytes have it `runs` times (see smelt_predict). */
char* smelt_module_inspect(const SmeltModule* module, char** error);

/* `fusion`: none, tvm, xla-cpu, priority, random[:SEED], or the path of a *.fusion.json file. `passes`: whether the
 * module is simplified before, as `smelt tune` does; without, it is taken as it is. `target`: cpu:threads=N. */
SmeltModule* smelt_module_fuse(const SmeltModule* module, const char* fusion, const char* target, int passes,
                               char** error);

/* `model`: a file of `smelt train`, or "analytical"; NULL: $SMELT_MODEL, else the one that `smelt calibrate` adapted to
 * this machine, else the nearest of those beside the library, else the analytical one. */
SmeltPredictor* smelt_predictor_open(const char* model, const char* target, char** error);
void smelt_predictor_delete(SmeltPredictor* predictor);
/* What it is and what it was trained on, in words. */
char* smelt_predictor_describe(const SmeltPredictor* predictor);

/* JSON: {seconds, kernels: [{name, hash, count, runs, seconds}]}: a kernel stands `count` times in the text, and the
 * total has it `runs` times, as often as the program runs it: ten times in a loop whose end depends on data. The
 * module's fusions are taken as they are. */
char* smelt_predict(SmeltPredictor* predictor, const SmeltModule* module, char** error);

/* JSON: [{name, hash, tiles: [{tile, score}]}], best first, at most `top` of each kernel; `kernel`: only the one of
 * this name, NULL for all. At most `limit` tiles are looked at. Scores compare within one kernel; lower is better. */
char* smelt_rank(SmeltPredictor* predictor, const SmeltModule* module, const char* kernel, int64_t top, int64_t limit,
                 char** error);

#ifdef __cplusplus
}
#endif

#endif /* SMELT_CAPI_SMELT_H_ */
