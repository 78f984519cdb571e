/* Runs a deployable module on inputs from files: run_module FOLDER [INPUT...] > OUTPUTS
 *
 * Each input is a file of exactly its array's bytes; the outputs follow each other on standard output. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/deploy/smelt_run.h"

static int Fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

int main(int argc, char** argv) {
  char* error = NULL;
  if (argc < 2) return Fail("usage: run_module FOLDER [INPUT...] > OUTPUTS");
  SmeltRun* module = smelt_run_load(argv[1], 0, &error);
  if (module == NULL) return Fail(error);

  for (int64_t i = 0; i < smelt_run_input_count(module); ++i) {
    const SmeltRunArray* array = smelt_run_input(module, i);
    fprintf(stderr, "input %ld: %s, %s, %ld bytes\n", (long)i, array->name, array->type, (long)array->bytes);
    if (i + 2 >= argc) return Fail("a file is missing for this input");
    FILE* file = fopen(argv[i + 2], "rb");
    if (file == NULL) return Fail("its file cannot be read");
    const size_t bytes = fread(smelt_run_input_data(module, i), 1, (size_t)array->bytes, file);
    fclose(file);
    if (bytes != (size_t)array->bytes) return Fail("its file is too short");
  }
  if (!smelt_run_execute(module, &error)) return Fail(error);
  for (int64_t i = 0; i < smelt_run_output_count(module); ++i)
    fwrite(smelt_run_output_data(module, i), 1, (size_t)smelt_run_output(module, i)->bytes, stdout);

  smelt_run_delete(module);
  return fflush(stdout) == 0 ? 0 : 1;
}
