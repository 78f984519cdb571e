/* What the driver and libvdla_xrt.so, which alone knows XRT, say to each other: a table of C functions, so that neither
 * exceptions nor libraries of C++ cross between them, and a test can stand in for a card.
 *
 *   const VdlaXrtPlugin* plugin = vdla_xrt_plugin();
 *   VdlaXrtCard* card = NULL;
 *   char text[VDLA_XRT_TEXT];
 *   if (plugin->open("vdla.xclbin", "0", "vdla", 1 << 28, &card, text) == VDLA_XRT_OK) plugin->close(card);
 *
 * A function that fails returns a code and writes one sentence into `text`, which has room for VDLA_XRT_TEXT bytes with
 * the NUL. A card is used by one thread at a time. Addresses count from the beginning of the memory that open took.
 *
 * The kernel in the xclbin is called as
 *   vdla(void* dram, uint64_t instructions, uint64_t count, uint32_t* status)
 * with the memory that open took, the address of the first instruction in it, how many there are, and a block of 16
 * little-endian words that the kernel fills:
 *   0      VDLA_XRT_MAGIC, last of all
 *   1      version of the instruction set
 *   2..4   batch, block_in, block_out of the core
 *   5      1: FINISH has run; 2: stopped
 *   6, 7   where it stopped: why (the codes below), at which instruction
 *   8, 9   cycles, the low word first; 0 where the core does not count
 *   10..15 zero
 */
#ifndef SMELT_VDLA_DRIVER_PORTS_XRT_PLUGIN_H_
#define SMELT_VDLA_DRIVER_PORTS_XRT_PLUGIN_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VDLA_XRT_VERSION 1
#define VDLA_XRT_TEXT 1024
#define VDLA_XRT_STATUS_WORDS 16
#define VDLA_XRT_MAGIC 0x414c4456u /* "VDLA" */
#define VDLA_XRT_SYMBOL "vdla_xrt_plugin"

enum VdlaXrtCode {
  VDLA_XRT_OK = 0,
  VDLA_XRT_INVALID = 1,   /* an argument, or the environment, makes no sense */
  VDLA_XRT_NOT_FOUND = 2, /* no card, file, kernel or part of XRT */
  VDLA_XRT_MEMORY = 3,    /* the card has not so much */
  VDLA_XRT_TRANSFER = 4,  /* a copy failed */
  VDLA_XRT_TIMEOUT = 5,   /* the kernel still runs */
  VDLA_XRT_LOST = 6,      /* the card failed, or still runs what timed out */
};

/* Why a core stopped. */
enum VdlaXrtStop {
  VDLA_XRT_STOP_DECODE = 1,
  VDLA_XRT_STOP_UOP = 2,
  VDLA_XRT_STOP_INP = 3,
  VDLA_XRT_STOP_WGT = 4,
  VDLA_XRT_STOP_ACC = 5,
  VDLA_XRT_STOP_DRAM = 6,
  VDLA_XRT_STOP_FINISH = 7,
  VDLA_XRT_STOP_DEADLOCK = 8,
  VDLA_XRT_STOP_TOKENS = 9,
};

typedef struct VdlaXrtCard VdlaXrtCard;

typedef struct VdlaXrtPlugin {
  uint32_t version; /* VDLA_XRT_VERSION; the rest may be read where it is the same */
  int (*open)(const char* xclbin, const char* device, const char* kernel, uint64_t dram_bytes, VdlaXrtCard** card,
              char* text);
  void (*close)(VdlaXrtCard* card);
  int (*write)(VdlaXrtCard* card, uint64_t address, const void* bytes, uint64_t size, char* text);
  int (*read)(VdlaXrtCard* card, uint64_t address, void* bytes, uint64_t size, char* text);
  /* `status` is what the kernel wrote; zeros where it wrote nothing. `timeout_ms` is at least 1. */
  int (*run)(VdlaXrtCard* card, uint64_t instructions, uint64_t count, uint32_t timeout_ms, uint32_t* status,
             char* text);
} VdlaXrtPlugin;

/* The one function that the library exports. */
const VdlaXrtPlugin* vdla_xrt_plugin(void);

#ifdef __cplusplus
}
#endif

#endif /* SMELT_VDLA_DRIVER_PORTS_XRT_PLUGIN_H_ */
