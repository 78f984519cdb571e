/* Runs a program that `smelt build` made, from any language that can call C.
 *
 *   char* error = NULL;
 *   SmeltRun* module = smelt_run_load("resnet18.smeltmod", 0, &error);
 *   smelt_run_set_input(module, 0, image, sizeof(image), &error);
 *   if (!smelt_run_execute(module, &error)) puts(error);
 *   const float* scores = smelt_run_output_data(module, 0);
 *   smelt_run_delete(module);
 *
 * The library needs libc, libm, the C++ library and threads: no LLVM, no compiler. A function that fails returns NULL
 * or 0 and, where `error` is not NULL, sets it to a message, which belongs to the caller: smelt_run_free. A module is
 * used by one thread at a time; several of one folder run beside each other and share the pages of its weights. Loading
 * runs code of the folder: load what you trust.
 */
#ifndef SMELT_RUNTIME_DEPLOY_SMELT_RUN_H_
#define SMELT_RUNTIME_DEPLOY_SMELT_RUN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SmeltRun SmeltRun;

/* An input or an output. Row-major, dense, in this machine's byte order; pred has a byte an element. What this points
 * to lives as long as the module. */
typedef struct SmeltRunArray {
  const char* name; /* the parameter's, or out.0, out.1, ... */
  const char* type; /* as HLO has it: f32, s32, pred, ... */
  const int64_t* dimensions;
  int64_t rank;
  int64_t bytes;
} SmeltRunArray;

/* `threads`: of one run; 0: as many as the module was built for. */
SmeltRun* smelt_run_load(const char* folder, int threads, char** error);
void smelt_run_delete(SmeltRun* module);
void smelt_run_free(char* text);

int64_t smelt_run_input_count(const SmeltRun* module);
int64_t smelt_run_output_count(const SmeltRun* module);
/* NULL: there is no such number. */
const SmeltRunArray* smelt_run_input(const SmeltRun* module, int64_t number);
const SmeltRunArray* smelt_run_output(const SmeltRun* module, int64_t number);

/* The module's own memory for them, 64-byte aligned: write inputs into it before a run, read outputs after it. Inputs
 * stay as they are until they are written again. NULL: there is no such number. */
void* smelt_run_input_data(SmeltRun* module, int64_t number);
const void* smelt_run_output_data(const SmeltRun* module, int64_t number);

/* The same as copies of exactly the array's bytes. 1: done. */
int smelt_run_set_input(SmeltRun* module, int64_t number, const void* data, int64_t bytes, char** error);
int smelt_run_get_output(const SmeltRun* module, int64_t number, void* data, int64_t bytes, char** error);

/* Computes the outputs from the inputs. 1: done. */
int smelt_run_execute(SmeltRun* module, char** error);

#ifdef __cplusplus
}
#endif

#endif /* SMELT_RUNTIME_DEPLOY_SMELT_RUN_H_ */
