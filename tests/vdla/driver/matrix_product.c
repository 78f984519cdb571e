#include "tests/vdla/driver/matrix_product.h"

#include <stdlib.h>

#define RETURN_IF_FAILED(call)                        \
  do {                                                \
    const VdlaCode code_of_call = (call);             \
    if (code_of_call != VDLA_OK) return code_of_call; \
  } while (0)

/* Numerical Recipes' generator: the operands are the same everywhere. */
static uint32_t Next(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

typedef struct Operands {
  int8_t *a, *w;         /* [row block][reduction block][batch][block_in], [column block][reduction block][out][in] */
  int32_t *bias, *scale; /* [column block][batch][block_out]: each row of a batch has the same */
  uint64_t a_size, w_size, vector_size, c_size; /* elements */
} Operands;

static void FreeOperands(Operands* o) {
  free(o->a);
  free(o->w);
  free(o->bias);
  free(o->scale);
}

static int MakeOperands(const MatrixProduct* p, Operands* o) {
  const uint64_t rows = (uint64_t)p->tiles * p->rows_of_tile;
  const VdlaGeometry* m = &p->machine;
  uint32_t state = p->seed;
  uint64_t i;
  uint32_t n, b, lane;
  o->a_size = rows * p->reduction * m->batch * m->block_in;
  o->w_size = (uint64_t)p->columns * p->reduction * m->block_out * m->block_in;
  o->vector_size = (uint64_t)p->columns * m->batch * m->block_out;
  o->c_size = rows * o->vector_size;
  o->a = malloc(o->a_size);
  o->w = malloc(o->w_size);
  o->bias = malloc(o->vector_size * sizeof(int32_t));
  o->scale = malloc(o->vector_size * sizeof(int32_t));
  if (o->a == NULL || o->w == NULL || o->bias == NULL || o->scale == NULL) {
    FreeOperands(o);
    return 0;
  }
  for (i = 0; i < o->a_size; ++i) o->a[i] = (int8_t)(Next(&state) & 0xff);
  for (i = 0; i < o->w_size; ++i) o->w[i] = (int8_t)(Next(&state) & 0xff);
  for (n = 0; n < p->columns; ++n) {
    for (lane = 0; lane < m->block_out; ++lane) {
      const int32_t bias = (int32_t)(Next(&state) % 20001) - 10000;
      /* A 15-bit multiplier over 2^26: sums of some ten thousands become int8, and a few are clipped. */
      const int32_t scale = (int32_t)(((Next(&state) % 0x7000 + 0x1000) << 8) | 22u);
      for (b = 0; b < m->batch; ++b) {
        o->bias[(n * m->batch + b) * m->block_out + lane] = bias;
        o->scale[(n * m->batch + b) * m->block_out + lane] = scale;
      }
    }
  }
  return 1;
}

static VdlaCode WriteBuffer(VdlaDevice device, const void* bytes, uint64_t size, VdlaBuffer* buffer) {
  RETURN_IF_FAILED(vdla_buffer_allocate(device, size, 0, buffer));
  return vdla_copy_to_device(*buffer, 0, bytes, size);
}

/* Accumulators of two tiles, then the biases, then the multipliers. */
static uint32_t FirstBias(const MatrixProduct* p) { return 2 * p->rows_of_tile * p->columns; }

static VdlaCode RecordKernels(VdlaDevice device, MatrixProduct* p) {
  const uint32_t reduction = p->reduction, columns = p->columns;
  VdlaMicroOp* ops = malloc(sizeof(VdlaMicroOp) * reduction * columns);
  uint32_t half, n, k;
  VdlaCode code = VDLA_OK;
  if (ops == NULL) return VDLA_MEMORY;
  for (half = 0; half < 2 && code == VDLA_OK; ++half) {
    const uint32_t acc = half * p->rows_of_tile * columns, inp = half * p->rows_of_tile * reduction;
    for (n = 0; n < columns; ++n) {
      for (k = 0; k < reduction; ++k) {
        const VdlaMicroOp op = {acc + n, inp + k, n * reduction + k};
        ops[k * columns + n] = op; /* neighbours write different accumulators */
      }
    }
    code = vdla_kernel_record(device, ops, (uint64_t)reduction * columns, &p->multiply[half]);
    for (n = 0; n < columns; ++n) {
      const VdlaMicroOp op = {acc + n, FirstBias(p) + n, 0};
      ops[n] = op;
    }
    if (code == VDLA_OK) code = vdla_kernel_record(device, ops, columns, &p->reset[half]);
    if (code == VDLA_OK) code = vdla_kernel_record(device, ops, columns, &p->add[half]);
    for (n = 0; n < columns; ++n) ops[n].src += columns;
    if (code == VDLA_OK) code = vdla_kernel_record(device, ops, columns, &p->requantise[half]);
  }
  free(ops);
  return code;
}

VdlaCode MatrixProductPrepare(VdlaDevice device, MatrixProduct* p) {
  Operands o;
  VdlaCode code;
  RETURN_IF_FAILED(vdla_device_geometry(device, &p->machine));
  if (!MakeOperands(p, &o)) return VDLA_MEMORY;
  code = WriteBuffer(device, o.a, o.a_size, &p->a);
  if (code == VDLA_OK) code = WriteBuffer(device, o.w, o.w_size, &p->w);
  if (code == VDLA_OK) code = WriteBuffer(device, o.bias, o.vector_size * sizeof(int32_t), &p->bias);
  if (code == VDLA_OK) code = WriteBuffer(device, o.scale, o.vector_size * sizeof(int32_t), &p->scale);
  if (code == VDLA_OK) code = vdla_buffer_allocate(device, o.c_size, 0, &p->c);
  FreeOperands(&o);
  if (code != VDLA_OK) return code;
  return RecordKernels(device, p);
}

VdlaCode MatrixProductRecord(VdlaStream stream, const MatrixProduct* p) {
  const uint32_t inputs = p->rows_of_tile * p->reduction, outputs = p->rows_of_tile * p->columns;
  const uint32_t weights = p->columns * p->reduction;
  const VdlaTransfer load_w = {VDLA_WGT, 0, 0, 1, weights, weights, 0, 0, 0, 0, 0, 0};
  const VdlaTransfer load_bias = {VDLA_ACC, FirstBias(p), 0, 1, p->columns, p->columns, 0, 0, 0, 0, 0, 0};
  VdlaTransfer load_scale = load_bias;
  uint32_t tile;
  load_scale.sram_base += p->columns;
  RETURN_IF_FAILED(vdla_load(stream, p->w, &load_w));
  RETURN_IF_FAILED(vdla_load(stream, p->bias, &load_bias));
  RETURN_IF_FAILED(vdla_load(stream, p->scale, &load_scale));
  for (tile = 0; tile < p->tiles; ++tile) {
    const uint32_t half = tile % 2;
    /* Who used this half two tiles ago must be done with it, and tells whoever uses it two tiles later. */
    const int reused = tile >= 2, reused_later = tile + 2 < p->tiles;
    const VdlaTransfer load_a = {
        VDLA_INP, half * inputs, (uint64_t)tile * inputs * p->machine.inp_bytes, 1, inputs, inputs, 0, 0, 0, 0, 0, 0};
    const VdlaTransfer store_c = {
        VDLA_ACC8, half * outputs, (uint64_t)tile * outputs * p->machine.acc8_bytes, 1, outputs, outputs, 0, 0, 0, 0,
        0,         VDLA_POP_PREV};
    const VdlaLoops multiply = {p->rows_of_tile, 1, p->columns, 0, p->reduction, 0, 0, 0};
    const VdlaLoops elementwise = {p->rows_of_tile, 1, p->columns, 0, 0, 0, 0, 0};

    if (reused) RETURN_IF_FAILED(vdla_pop_token(stream, VDLA_UNIT_COMPUTE, VDLA_UNIT_LOAD));
    RETURN_IF_FAILED(vdla_load(stream, p->a, &load_a));
    RETURN_IF_FAILED(vdla_push_token(stream, VDLA_UNIT_LOAD, VDLA_UNIT_COMPUTE));

    RETURN_IF_FAILED(vdla_gemm(stream, p->reset[half], VDLA_RESET, &elementwise, reused ? VDLA_POP_NEXT : 0u));
    RETURN_IF_FAILED(vdla_gemm(stream, p->multiply[half], VDLA_ACCUMULATE, &multiply,
                               VDLA_POP_PREV | (reused_later ? VDLA_PUSH_PREV : 0u)));
    RETURN_IF_FAILED(vdla_alu(stream, p->add[half], VDLA_ADD, &elementwise, VDLA_NO_TOKENS));
    RETURN_IF_FAILED(vdla_alu(stream, p->requantise[half], VDLA_MULSHIFT, &elementwise, VDLA_NO_TOKENS));
    RETURN_IF_FAILED(vdla_alu_immediate(stream, p->reset[half], VDLA_CLIP, 127, &elementwise, VDLA_PUSH_NEXT));

    RETURN_IF_FAILED(vdla_store(stream, p->c, &store_c));
    if (reused_later) RETURN_IF_FAILED(vdla_push_token(stream, VDLA_UNIT_STORE, VDLA_UNIT_COMPUTE));
  }
  return VDLA_OK;
}

int64_t MatrixProductDifferences(const MatrixProduct* p) {
  const VdlaGeometry* m = &p->machine;
  const uint32_t rows = p->tiles * p->rows_of_tile;
  Operands o;
  int64_t differences = 0;
  int8_t* c;
  uint32_t row, b, n, lane, k, i;
  if (!MakeOperands(p, &o)) return -1;
  c = malloc(o.c_size);
  if (c == NULL || vdla_copy_from_device(p->c, 0, c, o.c_size) != VDLA_OK) {
    free(c);
    FreeOperands(&o);
    return -1;
  }
  for (row = 0; row < rows; ++row) {
    for (b = 0; b < m->batch; ++b) {
      for (n = 0; n < p->columns; ++n) {
        for (lane = 0; lane < m->block_out; ++lane) {
          const uint32_t channel = (n * m->batch + b) * m->block_out + lane;
          const int64_t multiplier = o.scale[channel] >> 8, half = (int64_t)1 << ((o.scale[channel] & 255) - 1);
          int64_t sum = o.bias[channel], scaled;
          for (k = 0; k < p->reduction; ++k) {
            const int8_t* a = o.a + (((uint64_t)row * p->reduction + k) * m->batch + b) * m->block_in;
            const int8_t* w = o.w + (((uint64_t)n * p->reduction + k) * m->block_out + lane) * m->block_in;
            for (i = 0; i < m->block_in; ++i) sum += a[i] * w[i];
          }
          scaled = (sum * multiplier + half) >> (o.scale[channel] & 255);
          scaled = scaled < -128 ? -128 : scaled > 127 ? 127 : scaled;
          differences += c[((uint64_t)(row * p->columns + n) * m->batch + b) * m->block_out + lane] != scaled;
        }
      }
    }
  }
  free(c);
  FreeOperands(&o);
  return differences;
}

VdlaCode MatrixProductFree(const MatrixProduct* p) {
  int half;
  RETURN_IF_FAILED(vdla_buffer_free(p->a));
  RETURN_IF_FAILED(vdla_buffer_free(p->w));
  RETURN_IF_FAILED(vdla_buffer_free(p->bias));
  RETURN_IF_FAILED(vdla_buffer_free(p->scale));
  RETURN_IF_FAILED(vdla_buffer_free(p->c));
  for (half = 0; half < 2; ++half) {
    RETURN_IF_FAILED(vdla_kernel_free(p->reset[half]));
    RETURN_IF_FAILED(vdla_kernel_free(p->multiply[half]));
    RETURN_IF_FAILED(vdla_kernel_free(p->add[half]));
    RETURN_IF_FAILED(vdla_kernel_free(p->requantise[half]));
  }
  return VDLA_OK;
}
