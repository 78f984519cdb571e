/* The driver of VDLA for any language that can call C (C99): devices, memory, programs made by calls or by a compiler.
 *
 *   VdlaDevice device;
 *   VdlaStream stream;
 *   VdlaBuffer buffer;
 *   if (vdla_device_open("functional:machine=pynq", &device) != VDLA_OK) puts(vdla_error());
 *   vdla_stream_create(device, &stream);
 *   vdla_buffer_allocate(device, 4096, 0, &buffer);
 *   VdlaTransfer rows = {VDLA_INP, 0, 0, 1, 16, 16, 0, 0, 0, 0, 0, 0};
 *   vdla_load(stream, buffer, &rows);
 *   if (vdla_synchronize(stream, 1.0, NULL) != VDLA_OK) puts(vdla_stream_error(stream));
 *   vdla_device_close(device);
 *
 * Every function returns VDLA_OK or a code, and never ends the process or waits without a limit; the text of a failure
 * says what was wrong, at which instruction, and what to do. Handles are numbers that are never used again: a handle
 * that was freed, is of another kind or was never given is VDLA_HANDLE. Results through pointers are written on VDLA_OK
 * alone. `NULL` where a pointer is needed is VDLA_INVALID.
 *
 * Threads: any function from any thread. Streams are independent of each other; a thread that waits in
 * vdla_synchronize has its stream to itself, and others that use that stream wait for it. Streams of one device run in
 * turn.
 *
 * Ports, which vdla_device_open opens by name, are described in ports/open_port.h: functional, cycle, xrt, faulty.
 * docs/vdla.md describes instructions and units.
 */
#ifndef SMELT_VDLA_DRIVER_VDLA_H_
#define SMELT_VDLA_DRIVER_VDLA_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t VdlaDevice;
typedef uint64_t VdlaStream;
typedef uint64_t VdlaBuffer;
typedef uint64_t VdlaKernel;
typedef uint64_t VdlaProgram;

typedef enum VdlaCode {
  VDLA_OK = 0,
  VDLA_INVALID = 1,   /* an argument that makes no sense, or an instruction that is not legal */
  VDLA_HANDLE = 2,    /* no such handle: freed, of another kind, never given */
  VDLA_NOT_FOUND = 3, /* no such port, machine, file, segment, library or card */
  VDLA_MEMORY = 4,    /* no room, on the device or in this process */
  VDLA_MACHINE = 5,   /* the device is another machine than the program or the port's name says */
  VDLA_PROGRAM = 6,   /* the program trapped, waits for tokens for ever, left tokens behind or has a race */
  VDLA_TIMEOUT = 7,   /* the time was over */
  VDLA_TRANSFER = 8,  /* a copy failed */
  VDLA_LOST = 9,      /* the device is gone or does not answer; only opening it again can help */
  VDLA_INTERNAL = 10, /* a bug of the driver's */
} VdlaCode;

/* "VDLA_TIMEOUT". */
const char* vdla_code_name(VdlaCode code);
/* The text of the last failure in this thread, of any function; empty before the first. Valid until the next call. */
const char* vdla_error(void);
/* The text of the stream's last failure, in any thread. Valid until this thread's next call of this function. */
const char* vdla_stream_error(VdlaStream stream);

/* --- Devices ----------------------------------------------------------------------------------------------------- */

typedef struct VdlaGeometry {
  uint32_t batch, block_in, block_out; /* rows of an input, its lanes, lanes of an accumulator */
  uint32_t inp_elements, wgt_elements, acc_elements, uop_elements; /* of the memories on the chip */
  uint32_t inp_bytes, wgt_bytes, acc_bytes, acc8_bytes, uop_bytes; /* of an element in DRAM */
  uint64_t dram_bytes;
  double clock_hz;
} VdlaGeometry;

/* By a port's name and options: "cycle", "functional:machine=big", "xrt:xclbin=vdla.xclbin,device=0". */
VdlaCode vdla_device_open(const char* port, VdlaDevice* device);
/* Frees all that was made on it too: streams, buffers, kernels, programs. */
VdlaCode vdla_device_close(VdlaDevice device);
VdlaCode vdla_device_geometry(VdlaDevice device, VdlaGeometry* geometry);

/* --- Memory ------------------------------------------------------------------------------------------------------ */

/* `alignment`: a power of two up to 2^30, or 0. Every element of a buffer has a number, whatever the alignment. What is
 * in it is not known. */
VdlaCode vdla_buffer_allocate(VdlaDevice device, uint64_t bytes, uint64_t alignment, VdlaBuffer* buffer);
/* What queued work uses goes back when that work is done. */
VdlaCode vdla_buffer_free(VdlaBuffer buffer);
VdlaCode vdla_buffer_size(VdlaBuffer buffer, uint64_t* bytes);
/* Copies are done when they return, between runs: neither side's caches need care. Queued work has not run. */
VdlaCode vdla_copy_to_device(VdlaBuffer buffer, uint64_t offset, const void* bytes, uint64_t size);
VdlaCode vdla_copy_from_device(VdlaBuffer buffer, uint64_t offset, void* bytes, uint64_t size);

/* --- Programs made by calls -------------------------------------------------------------------------------------- */

typedef enum VdlaMemoryKind { VDLA_UOP = 0, VDLA_WGT = 1, VDLA_INP = 2, VDLA_ACC = 3, VDLA_ACC8 = 4 } VdlaMemoryKind;
typedef enum VdlaUnit { VDLA_UNIT_LOAD = 0, VDLA_UNIT_COMPUTE = 1, VDLA_UNIT_STORE = 2 } VdlaUnit;
typedef enum VdlaGemmMode { VDLA_ACCUMULATE = 0, VDLA_RESET = 1, VDLA_OVERWRITE = 2 } VdlaGemmMode;
typedef enum VdlaAluOp {
  VDLA_MIN = 0,
  VDLA_MAX = 1,
  VDLA_ADD = 2,
  VDLA_SUB = 3,
  VDLA_MUL = 4,
  VDLA_SHR = 5,
  VDLA_RSHR = 6,
  VDLA_SHL = 7,
  VDLA_CLIP = 8,
  VDLA_MULSHIFT = 9,
  VDLA_MOV = 10
} VdlaAluOp;
/* Tokens that an instruction waits for before it works and gives afterwards; bits of one word. `PREV` and `NEXT` are
 * the units before and after its own in load, compute, store. */
typedef enum VdlaTokens {
  VDLA_NO_TOKENS = 0,
  VDLA_POP_PREV = 1,
  VDLA_POP_NEXT = 2,
  VDLA_PUSH_PREV = 4,
  VDLA_PUSH_NEXT = 8
} VdlaTokens;

/* Indices into the accumulators (dst), the inputs of a GEMM or the accumulators of an ALU (src), the weights. */
typedef struct VdlaMicroOp {
  uint32_t dst, src, wgt;
} VdlaMicroOp;
/* Copies the micro-ops into the device's memory. Streams load them onto the chip when an instruction uses them and they
 * are not there; what was loaded first makes room. */
VdlaCode vdla_kernel_record(VdlaDevice device, const VdlaMicroOp* micro_ops, uint64_t count, VdlaKernel* kernel);
VdlaCode vdla_kernel_free(VdlaKernel kernel);

VdlaCode vdla_stream_create(VdlaDevice device, VdlaStream* stream);
VdlaCode vdla_stream_destroy(VdlaStream stream);
/* Instructions recorded since the last submission: the number that the next one has in messages. */
VdlaCode vdla_stream_recorded(VdlaStream stream, uint64_t* instructions);
/* Kernels of micro-ops that others have displaced from the chip in the stream's programs. */
VdlaCode vdla_stream_evictions(VdlaStream stream, uint64_t* evictions);

/* A rectangle of elements, in DRAM with a stride and on the chip without gaps. A load may surround it with padding,
 * which has pad_value (int8) in every lane. */
typedef struct VdlaTransfer {
  uint32_t memory;                /* VdlaMemoryKind */
  uint32_t sram_base;             /* elements */
  uint64_t offset;                /* bytes in the buffer; a multiple of the element's */
  uint32_t rows, columns, stride; /* elements; the stride is from row start to row start */
  uint32_t rows_before, rows_after, columns_before, columns_after;
  int32_t pad_value;
  uint32_t tokens; /* VdlaTokens, or-ed */
} VdlaTransfer;
VdlaCode vdla_load(VdlaStream stream, VdlaBuffer buffer, const VdlaTransfer* transfer);
VdlaCode vdla_store(VdlaStream stream, VdlaBuffer buffer, const VdlaTransfer* transfer);

/* for o < iter_out, for i < iter_in, for each micro-op: its indices, plus o times ..._out, plus i times ..._in. */
typedef struct VdlaLoops {
  uint32_t iter_out, iter_in;
  uint32_t dst_out, dst_in, src_out, src_in, wgt_out, wgt_in;
} VdlaLoops;
/* `loops` NULL: the micro-ops once. */
VdlaCode vdla_gemm(VdlaStream stream, VdlaKernel kernel, uint32_t mode, const VdlaLoops* loops, uint32_t tokens);
VdlaCode vdla_alu(VdlaStream stream, VdlaKernel kernel, uint32_t op, const VdlaLoops* loops, uint32_t tokens);
/* The second operand is the same for all: an int16, its sign extended. */
VdlaCode vdla_alu_immediate(VdlaStream stream, VdlaKernel kernel, uint32_t op, int32_t immediate,
                            const VdlaLoops* loops, uint32_t tokens);

/* What unit `from` has been told until now comes before what `to` is told after the matching pop. The token is carried
 * by the unit's last instruction, or by its next one for a pop, or by one that does nothing where there is none. */
VdlaCode vdla_push_token(VdlaStream stream, uint32_t from, uint32_t to);
VdlaCode vdla_pop_token(VdlaStream stream, uint32_t from, uint32_t to);
/* All that was recorded ends before anything begins that is recorded later. */
VdlaCode vdla_barrier(VdlaStream stream);

/* --- Programs of a compiler -------------------------------------------------------------------------------------- */

/* A program file, or one as text (`.vdla`). It may be submitted any number of times. */
VdlaCode vdla_program_load_file(VdlaDevice device, const char* path, VdlaProgram* program);
VdlaCode vdla_program_load(VdlaDevice device, const void* bytes, uint64_t size, VdlaProgram* program);
VdlaCode vdla_program_free(VdlaProgram program);
/* The segment as a buffer, which the caller frees; it lives on when the program is freed. */
VdlaCode vdla_program_segment(VdlaProgram program, const char* name, VdlaBuffer* buffer);

/* --- Running ----------------------------------------------------------------------------------------------------- */

/* Cycles of one unit by what it did; they sum to the cycles of the run where the port knows them. */
typedef struct VdlaUnitCycles {
  uint64_t busy, token, dma, port, queue;
} VdlaUnitCycles;
/* Of all that one vdla_synchronize ran. */
typedef struct VdlaStatistics {
  uint64_t submissions, instructions;
  uint64_t multiplications; /* of GEMMs, resets aside */
  double host_seconds;
  uint32_t timed; /* 1: the machine counts cycles; the rest is 0 where it does not */
  uint64_t cycles;
  double device_seconds;
  double utilization;      /* of the multipliers, 0 to 1 */
  VdlaUnitCycles units[3]; /* by VdlaUnit */
} VdlaStatistics;

/* Ends what was recorded, by a FINISH that waits for all units, and queues it. On failure it is dropped. */
VdlaCode vdla_submit(VdlaStream stream);
/* Queues the program behind what was recorded, which is submitted first. */
VdlaCode vdla_submit_program(VdlaStream stream, VdlaProgram program);
/* Submits what was recorded, runs what is queued in order, and waits for it at most that many seconds, for other
 * streams' turns too. The queue is empty afterwards: what had not run when something failed is dropped. `statistics`
 * may be NULL. */
VdlaCode vdla_synchronize(VdlaStream stream, double seconds, VdlaStatistics* statistics);
/* Drops what was recorded and queued. */
VdlaCode vdla_stream_clear(VdlaStream stream);

#ifdef __cplusplus
}
#endif

#endif /* SMELT_VDLA_DRIVER_VDLA_H_ */
