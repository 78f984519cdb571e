// VDLA: fetch, load, compute and store, four memories on the chip, three command queues, four token queues.
//
// A run begins with one cycle of `start`, with the program's place in memory, and ends with `done`, or with `trap`, the code of instruction.vh and the number of
// the instruction. Parameters have the values of vdla/configs/pynq.json.
//
// Memory. A read request names an address, a number of bytes and a unit; answers come in order of requests, in beats of MEMORY_BYTES of which data_bytes, from the
// lowest, count: all but in a request's last beat. The first byte of an answer is the byte at the address. A write is one beat with an address of its own, and
// write_done tells that one of them is in memory. read_ready has a bit for fetch (unit 0), compute and load: whose request would be taken now, so that one unit's many
// requests hold up no other's. Valid waits for it; ready does not wait for valid.
`include "instruction.vh"

module vdla #(
    parameter BATCH = 1,
    parameter BLOCK_IN = 16,
    parameter BLOCK_OUT = 16,
    parameter UOP_DEPTH = 8192,
    parameter INP_DEPTH = 2048,
    parameter WGT_DEPTH = 128,
    parameter ACC_DEPTH = 2048,
    parameter COMMAND_DEPTH = 512,
    parameter TOKEN_DEPTH = 64,
    parameter GEMM_RAW_DISTANCE = 2,
    parameter FETCH_INSTRUCTIONS = 16,
    parameter BURST_BYTES = 256,
    parameter MEMORY_BYTES = 8,
    parameter MEMORY_COUNT = $clog2(MEMORY_BYTES + 1),
    parameter NUMBER = 24
) (
    input clk,
    input reset,
    input start,
    input [41:0] program_address,
    input [NUMBER-1:0] program_count,
    input [41:0] dram_bytes,  // that data may lie in
    output done,
    output trap,
    output [3:0] trap_code,
    output [NUMBER-1:0] trap_number,

    output read_valid,
    input [2:0] read_ready,
    output [1:0] read_unit,
    output [41:0] read_address,
    output [15:0] read_bytes,
    input data_valid,
    output data_ready,
    input [1:0] data_unit,
    input [8*MEMORY_BYTES-1:0] data,
    input [MEMORY_COUNT-1:0] data_bytes,
    output write_valid,
    input write_ready,
    output [41:0] write_address,
    output [8*MEMORY_BYTES-1:0] write_data,
    output [MEMORY_COUNT-1:0] write_bytes,
    input write_done,

    // What happens, for a trace: load, compute, store.
    output [2:0] begin_work,  // work begins in the next cycle
    output [2:0] end_work,    // its last cycle
    output [2:0] retire,      // all tokens are pushed
    output [3*NUMBER-1:0] unit_number
);
  localparam LANES = BATCH * BLOCK_OUT;
  localparam INP_BYTES = BATCH * BLOCK_IN;
  localparam WGT_BYTES = BLOCK_IN * BLOCK_OUT;
  localparam INP_LANE_BYTES = INP_BYTES < MEMORY_BYTES ? INP_BYTES : MEMORY_BYTES;
  localparam WGT_LANE_BYTES = WGT_BYTES < MEMORY_BYTES ? WGT_BYTES : MEMORY_BYTES;
  localparam INP_LANES = INP_BYTES / INP_LANE_BYTES;
  localparam WGT_LANES = WGT_BYTES / WGT_LANE_BYTES;
  localparam UOP_ADDRESS = $clog2(UOP_DEPTH);
  localparam INP_ADDRESS = $clog2(INP_DEPTH);
  localparam WGT_ADDRESS = $clog2(WGT_DEPTH);
  localparam ACC_ADDRESS = $clog2(ACC_DEPTH);
  localparam COMMAND = 128 + NUMBER;

  wire halt;
  wire [2:0] head_valid, room, working, finished, stuck;
  wire [3:0] unit_trap;
  wire [15:0] unit_trap_code;

  // Fetch.
  wire [2:0] asks, answered, answers_taken, ask_ready;
  wire [41:0] fetch_address, load_read_address, compute_read_address;
  wire [15:0] fetch_bytes, load_read_bytes, compute_read_bytes;
  wire [2:0] push;
  wire [127:0] fetched;
  wire [NUMBER-1:0] fetched_number;
  wire fetched_all, fetch_stuck;
  vdla_fetch #(.MEMORY_BYTES(MEMORY_BYTES), .INSTRUCTIONS(FETCH_INSTRUCTIONS), .NUMBER(NUMBER)) fetch (
      .clk(clk), .reset(reset), .start(start), .program_address(program_address), .program_count(program_count), .halt(halt),
      .read_valid(asks[0]), .read_ready(ask_ready[0]), .read_address(fetch_address), .read_bytes(fetch_bytes),
      .data_valid(answered[0]), .data_ready(answers_taken[0]), .data(data), .data_bytes(data_bytes), .room(room), .push(push),
      .word(fetched), .number(fetched_number), .trap(unit_trap[3]), .trap_code(unit_trap_code[15:12]), .done(fetched_all),
      .stuck(fetch_stuck));

  vdla_read_port port (
      .unit_valid(asks), .unit_ready(ask_ready), .unit_address({load_read_address, compute_read_address, fetch_address}),
      .unit_bytes({load_read_bytes, compute_read_bytes, fetch_bytes}), .unit_data_valid(answered), .unit_data_ready(answers_taken),
      .read_valid(read_valid), .read_ready(read_ready), .read_unit(read_unit), .read_address(read_address), .read_bytes(read_bytes),
      .data_valid(data_valid), .data_ready(data_ready), .data_unit(data_unit));

  // Tokens. Queue 0 leads from load to compute, 1 from compute to load, 2 from compute to store, 3 from store to compute.
  wire [3:0] token_push, token_pop, token_room, token_available;
  genvar q;
  generate
    for (q = 0; q < 4; q = q + 1) begin : tokens
      vdla_token_queue #(.DEPTH(TOKEN_DEPTH)) token_queue (
          .clk(clk), .reset(reset || start), .push(token_push[q]), .pop(token_pop[q]), .room(token_room[q]), .available(token_available[q]));
    end
  endgenerate

  // Commands and their order: load, compute, store. A unit has no token of a neighbour that it does not have.
  wire [127:0] instructions[0:2];
  wire [2:0] pop_prev, pop_next, push_prev, push_next;
  wire [2:0] prev_available = {token_available[2], token_available[0], 1'b0};
  wire [2:0] next_available = {1'b0, token_available[3], token_available[1]};
  wire [2:0] prev_room = {token_room[3], token_room[1], 1'b0};
  wire [2:0] next_room = {1'b0, token_room[2], token_room[0]};
  assign token_push = {push_prev[2], push_next[1], push_prev[1], push_next[0]};
  assign token_pop = {pop_next[1], pop_prev[2], pop_next[0], pop_prev[1]};
  genvar unit;
  generate
    for (unit = 0; unit < 3; unit = unit + 1) begin : units
      wire [COMMAND-1:0] head;
      vdla_command_queue #(.WIDTH(COMMAND), .DEPTH(COMMAND_DEPTH)) command_queue (
          .clk(clk), .reset(reset || start), .push(push[unit]), .push_data({fetched_number, fetched}), .room(room[unit]),
          .head_valid(head_valid[unit]), .head(head), .take(retire[unit]));
      assign instructions[unit] = head[127:0];
      assign unit_number[unit*NUMBER+:NUMBER] = head[COMMAND-1:128];
      vdla_sequencer sequencer (
          .clk(clk), .reset(reset || start), .halt(halt), .head_valid(head_valid[unit]), .wants_prev(head[`POP_PREV]),
          .wants_next(head[`POP_NEXT]), .gives_prev(head[`PUSH_PREV]), .gives_next(head[`PUSH_NEXT]),
          .prev_available(prev_available[unit]), .next_available(next_available[unit]), .prev_room(prev_room[unit]),
          .next_room(next_room[unit]), .pop_prev(pop_prev[unit]), .pop_next(pop_next[unit]), .push_prev(push_prev[unit]),
          .push_next(push_next[unit]), .begin_work(begin_work[unit]), .working(working[unit]), .finished(finished[unit]),
          .retire(retire[unit]), .stuck(stuck[unit]));
      assign end_work[unit] = working[unit] && finished[unit];
    end
  endgenerate

  // Memories on the chip.
  wire [INP_LANES-1:0] inp_write;
  wire [INP_ADDRESS-1:0] inp_write_address, inp_address;
  wire [8*INP_BYTES-1:0] inp_write_data, inp_word;
  wire inp_read;
  vdla_sram #(.LANES(INP_LANES), .LANE_BITS(8 * INP_LANE_BYTES), .DEPTH(INP_DEPTH)) inp (
      .clk(clk), .write_enable(inp_write), .write_address(inp_write_address), .write_data(inp_write_data), .read_enable(inp_read),
      .read_address(inp_address), .q(inp_word));
  wire [WGT_LANES-1:0] wgt_write;
  wire [WGT_ADDRESS-1:0] wgt_write_address, wgt_address;
  wire [8*WGT_BYTES-1:0] wgt_write_data, wgt_word;
  wire wgt_read;
  vdla_sram #(.LANES(WGT_LANES), .LANE_BITS(8 * WGT_LANE_BYTES), .DEPTH(WGT_DEPTH)) wgt (
      .clk(clk), .write_enable(wgt_write), .write_address(wgt_write_address), .write_data(wgt_write_data), .read_enable(wgt_read),
      .read_address(wgt_address), .q(wgt_word));
  wire uop_read, uop_write;
  wire [UOP_ADDRESS-1:0] uop_address, uop_write_address;
  wire [31:0] uop_word, uop_write_data;
  vdla_sram #(.LANES(1), .LANE_BITS(32), .DEPTH(UOP_DEPTH)) uop (
      .clk(clk), .write_enable(uop_write), .write_address(uop_write_address), .write_data(uop_write_data), .read_enable(uop_read),
      .read_address(uop_address), .q(uop_word));
  wire acc_read, store_read;
  wire [LANES-1:0] acc_write;
  wire [ACC_ADDRESS-1:0] acc_address, acc_write_address, store_address;
  wire [32*LANES-1:0] acc_word, store_word, acc_write_data;
  vdla_sram #(.LANES(LANES), .LANE_BITS(32), .DEPTH(ACC_DEPTH), .READS(2)) acc (
      .clk(clk), .write_enable(acc_write), .write_address(acc_write_address), .write_data(acc_write_data),
      .read_enable({store_read, acc_read}), .read_address({store_address, acc_address}), .q({store_word, acc_word}));

  vdla_load #(.INP_LANES(INP_LANES), .INP_LANE_BITS(8 * INP_LANE_BYTES), .WGT_LANES(WGT_LANES), .WGT_LANE_BITS(8 * WGT_LANE_BYTES),
              .INP_DEPTH(INP_DEPTH), .WGT_DEPTH(WGT_DEPTH), .MEMORY_BYTES(MEMORY_BYTES), .BURST_BYTES(BURST_BYTES)) load (
      .clk(clk), .reset(reset || start), .begin_work(begin_work[0]), .working(working[0]), .instruction(instructions[0]),
      .dram_bytes(dram_bytes), .finished(finished[0]), .trap(unit_trap[0]), .trap_code(unit_trap_code[3:0]), .read_valid(asks[2]),
      .read_ready(ask_ready[2]), .read_address(load_read_address), .read_bytes(load_read_bytes), .data_valid(answered[2]),
      .data_ready(answers_taken[2]), .data(data), .data_bytes(data_bytes), .inp_write(inp_write), .inp_address(inp_write_address),
      .inp_data(inp_write_data), .wgt_write(wgt_write), .wgt_address(wgt_write_address), .wgt_data(wgt_write_data));

  vdla_compute #(.BATCH(BATCH), .BLOCK_IN(BLOCK_IN), .BLOCK_OUT(BLOCK_OUT), .UOP_DEPTH(UOP_DEPTH), .INP_DEPTH(INP_DEPTH),
                 .WGT_DEPTH(WGT_DEPTH), .ACC_DEPTH(ACC_DEPTH), .RAW_DISTANCE(GEMM_RAW_DISTANCE), .MEMORY_BYTES(MEMORY_BYTES),
                 .BURST_BYTES(BURST_BYTES)) compute (
      .clk(clk), .reset(reset || start), .begin_work(begin_work[1]), .working(working[1]), .instruction(instructions[1]),
      .dram_bytes(dram_bytes), .finished(finished[1]), .trap(unit_trap[1]), .trap_code(unit_trap_code[7:4]), .read_valid(asks[1]),
      .read_ready(ask_ready[1]), .read_address(compute_read_address), .read_bytes(compute_read_bytes), .data_valid(answered[1]),
      .data_ready(answers_taken[1]), .data(data), .data_bytes(data_bytes), .uop_read(uop_read), .uop_address(uop_address),
      .uop_word(uop_word), .uop_write(uop_write), .uop_write_address(uop_write_address), .uop_write_data(uop_write_data),
      .inp_read(inp_read), .inp_address(inp_address), .inp(inp_word), .wgt_read(wgt_read), .wgt_address(wgt_address), .wgt(wgt_word),
      .acc_read(acc_read), .acc_address(acc_address), .acc(acc_word), .acc_write(acc_write), .acc_write_address(acc_write_address),
      .acc_write_data(acc_write_data));

  wire store_trap_dram, store_trap_sram;
  assign unit_trap[2] = store_trap_dram || store_trap_sram;
  assign unit_trap_code[11:8] = store_trap_dram ? `TRAP_DRAM : `TRAP_ACC;
  vdla_store #(.MEMORY_BYTES(MEMORY_BYTES), .LANES(LANES), .ACC_DEPTH(ACC_DEPTH)) store (
      .clk(clk), .reset(reset || start), .begin_work(begin_work[2]), .working(working[2]), .instruction(instructions[2]),
      .dram_bytes(dram_bytes), .acc_read(store_read), .acc_address(store_address), .acc(store_word), .write_valid(write_valid),
      .write_ready(write_ready), .write_address(write_address), .write_data(write_data), .write_bytes(write_bytes),
      .write_done(write_done), .finished(finished[2]), .trap_dram(store_trap_dram), .trap_sram(store_trap_sram));

  vdla_supervisor #(.NUMBER(NUMBER)) supervisor (
      .clk(clk), .reset(reset), .start(start), .unit_trap(unit_trap), .unit_trap_code(unit_trap_code),
      .unit_number({fetched_number, unit_number}), .unit_stuck({fetch_stuck, stuck}), .unit_waits(stuck & head_valid),
      .all_fetched(fetched_all), .tokens_left(|token_available), .halt(halt), .done(done), .trap(trap), .trap_code(trap_code),
      .trap_number(trap_number));
endmodule
