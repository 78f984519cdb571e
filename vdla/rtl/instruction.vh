// Fields and values of the instruction set, version 1, as docs/vdla.md has them; tests/vdla/rtl holds them against vdla/isa.
`ifndef VDLA_INSTRUCTION_VH
`define VDLA_INSTRUCTION_VH

`define OPCODE 2:0
`define LOAD 3'd0
`define STORE 3'd1
`define GEMM 3'd2
`define FINISH 3'd3
`define ALU 3'd4
`define POP_PREV 3
`define POP_NEXT 4
`define PUSH_PREV 5
`define PUSH_NEXT 6

// LOAD, STORE
`define MEMORY 9:7
`define UOP 3'd0
`define WGT 3'd1
`define INP 3'd2
`define ACC 3'd3
`define ACC8 3'd4
`define SRAM_BASE 23:10
`define DRAM_BASE 55:24
`define Y_SIZE 68:56
`define X_SIZE 81:69
`define X_STRIDE 101:82
`define Y_PAD_BEFORE 105:102
`define Y_PAD_AFTER 109:106
`define X_PAD_BEFORE 113:110
`define X_PAD_AFTER 117:114
`define PAD_VALUE 125:118

// GEMM
`define GEMM_MODE 8:7
`define ACCUMULATE 2'd0
`define RESET 2'd1
`define OVERWRITE 2'd2
`define GEMM_UOP_BEGIN 22:9
`define GEMM_UOP_COUNT 35:23
`define GEMM_ITER_OUT 47:36
`define GEMM_ITER_IN 59:48
`define GEMM_DST_OUT 71:60
`define GEMM_DST_IN 83:72
`define GEMM_SRC_OUT 95:84
`define GEMM_SRC_IN 107:96
`define GEMM_WGT_OUT 115:108
`define GEMM_WGT_IN 123:116

// ALU
`define ALU_USE_IMM 7
`define ALU_OP 11:8
`define MIN 4'd0
`define MAX 4'd1
`define ADD 4'd2
`define SUB 4'd3
`define MUL 4'd4
`define SHR 4'd5
`define RSHR 4'd6
`define SHL 4'd7
`define CLIP 4'd8
`define MULSHIFT 4'd9
`define MOV 4'd10
`define ALU_UOP_BEGIN 25:12
`define ALU_UOP_COUNT 38:26
`define ALU_ITER_OUT 50:39
`define ALU_ITER_IN 62:51
`define ALU_DST_OUT 74:63
`define ALU_DST_IN 86:75
`define ALU_SRC_OUT 98:87
`define ALU_SRC_IN 110:99
`define ALU_IMM 126:111

// Micro-ops
`define UOP_DST 11:0
`define UOP_SRC 23:12
`define UOP_WGT 31:24

// Why the core stopped
`define TRAP_DECODE 4'd1
`define TRAP_UOP 4'd2
`define TRAP_INP 4'd3
`define TRAP_WGT 4'd4
`define TRAP_ACC 4'd5
`define TRAP_DRAM 4'd6
`define TRAP_FINISH 4'd7
`define TRAP_DEADLOCK 4'd8
`define TRAP_TOKENS 4'd9

`endif
