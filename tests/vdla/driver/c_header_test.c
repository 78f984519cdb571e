/* vdla.h from C99 alone: the matrix product on each port that is named, and a failure with its text. Prints what is
 * wrong; exit status 0 where nothing is. */
#include <stdio.h>
#include <string.h>

#include "tests/vdla/driver/matrix_product.h"
#include "vdla/driver/vdla.h"

static int Fail(const char* what) {
  printf("%s: %s\n", what, vdla_error());
  return 1;
}

static int RunOn(const char* port) {
  VdlaDevice device;
  VdlaStream stream;
  VdlaStatistics statistics;
  MatrixProduct product;
  memset(&product, 0, sizeof(product));
  product.tiles = 5;
  product.rows_of_tile = 4;
  product.reduction = 3;
  product.columns = 2;
  product.seed = 7;
  if (vdla_device_open(port, &device) != VDLA_OK) return Fail("opening");
  if (vdla_stream_create(device, &stream) != VDLA_OK) return Fail("creating a stream");
  if (MatrixProductPrepare(device, &product) != VDLA_OK) return Fail("preparing");
  if (MatrixProductRecord(stream, &product) != VDLA_OK) return Fail("recording");
  if (vdla_synchronize(stream, 60.0, &statistics) != VDLA_OK) return Fail("running");
  if (MatrixProductDifferences(&product) != 0) {
    printf("%s: the product is wrong\n", port);
    return 1;
  }
  if (vdla_stream_destroy(stream) != VDLA_OK || MatrixProductFree(&product) != VDLA_OK) return Fail("freeing");
  if (vdla_device_close(device) != VDLA_OK) return Fail("closing");
  printf("%s: %lu instructions, %lu cycles, utilization %.2f\n", port, (unsigned long)statistics.instructions,
         (unsigned long)statistics.cycles, statistics.utilization);
  return 0;
}

int main(void) {
  VdlaDevice device = 0;
  if (vdla_device_open("abacus", &device) != VDLA_NOT_FOUND || strstr(vdla_error(), "functional") == NULL) {
    printf("a port that does not exist: %s\n", vdla_error());
    return 1;
  }
  return RunOn("functional") || RunOn("cycle") || RunOn("faulty:over=cycle,fault=partial");
}
