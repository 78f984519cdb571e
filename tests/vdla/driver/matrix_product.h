/* An int8 matrix product with requantisation, made by calls of vdla.h, and the same in plain C: what the tests run on
 * every port. C99, so that what it needs of the header is proved to be there.
 *
 *   c[m][n] = clip(round((sum over k of a[m][k] * w[n][k] + bias[n]) * multiplier[n] / 2^shift[n]))
 */
#ifndef SMELT_TESTS_VDLA_DRIVER_MATRIX_PRODUCT_H_
#define SMELT_TESTS_VDLA_DRIVER_MATRIX_PRODUCT_H_

#include <stdint.h>

#include "vdla/driver/vdla.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In blocks of the machine: tiles * rows_of_tile * batch rows, reduction * block_in lanes, columns * block_out columns.
 */
typedef struct MatrixProduct {
  VdlaGeometry machine;
  uint32_t tiles, rows_of_tile, reduction, columns;
  uint32_t seed;

  VdlaBuffer a, w, bias, scale, c;
  VdlaKernel reset[2], multiply[2], add[2], requantise[2]; /* for tiles of even and of odd number */
} MatrixProduct;

/* Allocates and writes the operands, which the seed decides, and records the kernels. */
VdlaCode MatrixProductPrepare(VdlaDevice device, MatrixProduct* product);
/* Records the instructions: two tiles at a time on the chip, ordered by tokens. */
VdlaCode MatrixProductRecord(VdlaStream stream, const MatrixProduct* product);
/* Reads the result and compares it. Counts elements that differ, -1 where it cannot be read. */
int64_t MatrixProductDifferences(const MatrixProduct* product);
VdlaCode MatrixProductFree(const MatrixProduct* product);

#ifdef __cplusplus
}
#endif

#endif /* SMELT_TESTS_VDLA_DRIVER_MATRIX_PRODUCT_H_ */
