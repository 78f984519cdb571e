// Reads the program, INSTRUCTIONS to a request, and puts each instruction into its unit's queue, in order: one that finds its queue full holds all
// after it. An illegal instruction, and a FINISH that is not the last one, stop the core.
//
// It asks for no more than its buffer has room for, so that an answer never waits in the memory's port and other units get theirs.
`include "instruction.vh"

module vdla_fetch #(
    parameter MEMORY_BYTES = 8,
    parameter INSTRUCTIONS = 16,
    parameter NUMBER = 24,
    parameter MEMORY_COUNT = $clog2(MEMORY_BYTES + 1)
) (
    input clk,
    input reset,
    input start,
    input [41:0] program_address,
    input [NUMBER-1:0] program_count,
    input halt,

    output read_valid,
    input read_ready,
    output [41:0] read_address,
    output [15:0] read_bytes,
    input data_valid,
    output data_ready,
    input [8*MEMORY_BYTES-1:0] data,
    input [MEMORY_COUNT-1:0] data_bytes,

    input [2:0] room,  // of the queues of load, compute, store
    output [2:0] push,
    output [127:0] word,
    output [NUMBER-1:0] number,
    output trap,
    output [3:0] trap_code,
    output done,    // all instructions are in queues
    output stuck    // done, or the next one's queue is full
);
  localparam SLOTS = 2 * INSTRUCTIONS;
  localparam POINTER = $clog2(SLOTS);
  localparam [POINTER:0] HALF = INSTRUCTIONS[POINTER:0];

  reg [127:0] buffer[0:SLOTS-1];
  reg [POINTER-1:0] write_pointer, read_pointer;
  reg [POINTER:0] stored, reserved;  // instructions in the buffer; those and the ones that are asked for
  reg [NUMBER-1:0] to_ask, to_dispatch;
  reg [41:0] address;
  reg running;
  reg [NUMBER-1:0] next_number;

  // Requests.
  wire [NUMBER-1:0] most = INSTRUCTIONS[NUMBER-1:0];
  wire [NUMBER-1:0] asked = to_ask < most ? to_ask : most;
  assign read_valid = running && to_ask != 0 && reserved <= HALF && !halt;
  assign read_address = address;
  assign read_bytes = {asked[11:0], 4'b0};
  wire ask = read_valid && read_ready;

  // Answers: beats become instructions.
  wire whole;
  wire [127:0] arrived;
  generate
    if (MEMORY_BYTES >= 16) begin : split
      reg [7:0] part;
      wire [8*MEMORY_BYTES-1:0] shifted = data >> {part, 7'b0};
      wire last_part = {24'b0, part} + 1 == {{32 - MEMORY_COUNT{1'b0}}, data_bytes} / 16;
      assign arrived = shifted[127:0];
      assign whole = data_valid;
      assign data_ready = last_part;
      always @(posedge clk) begin
        if (reset || start) part <= 0;
        else if (data_valid) part <= last_part ? 8'd0 : part + 1'b1;
      end
    end else begin : join_beats
      localparam BEATS = 16 / MEMORY_BYTES;
      localparam END = BEATS - 1;
      localparam [4:0] LAST = END[4:0];
      reg [4:0] beat;
      reg [127-8*MEMORY_BYTES:0] earlier;
      wire unused = |data_bytes;
      assign arrived = {data, earlier};
      assign whole = data_valid && beat == LAST;
      assign data_ready = 1'b1;
      always @(posedge clk) begin
        if (reset || start) beat <= 0;
        else if (data_valid) beat <= beat == LAST ? 5'd0 : beat + 1'b1;
        if (data_valid) earlier <= arrived[127:8*MEMORY_BYTES];
      end
    end
  endgenerate

  // The next instruction.
  assign word = buffer[read_pointer];
  assign number = next_number;
  wire [2:0] unit;
  wire legal;
  vdla_decode decode (.word(word), .unit(unit), .legal(legal));
  wire present = stored != 0;
  wire finish = word[`OPCODE] == `FINISH;
  wire misplaced = finish != (to_dispatch == 1);
  assign trap = running && ((present && (!legal || misplaced)) || program_count == 0);
  assign trap_code = present && !legal ? `TRAP_DECODE : `TRAP_FINISH;
  assign push = present && !trap && !halt ? unit & room : 3'b000;
  wire pushed = |push;
  assign done = running && to_dispatch == 0;
  assign stuck = !running || done || (present && !pushed);

  wire [POINTER:0] asked_slots = ask ? asked[POINTER:0] : {POINTER + 1{1'b0}};
  always @(posedge clk) begin
    if (whole) buffer[write_pointer] <= arrived;
  end
  always @(posedge clk) begin
    if (reset) begin
      running <= 1'b0;
      stored <= 0;
      reserved <= 0;
      write_pointer <= 0;
      read_pointer <= 0;
      to_ask <= 0;
      to_dispatch <= 0;
      next_number <= 0;
      address <= 0;
    end else if (start) begin
      running <= 1'b1;
      stored <= 0;
      reserved <= 0;
      write_pointer <= 0;
      read_pointer <= 0;
      to_ask <= program_count;
      to_dispatch <= program_count;
      next_number <= 0;
      address <= program_address;
    end else begin
      if (ask) begin
        to_ask <= to_ask - asked;
        address <= address + {26'b0, read_bytes};
      end
      if (pushed) begin
        to_dispatch <= to_dispatch - 1'b1;
        next_number <= next_number + 1'b1;
        read_pointer <= read_pointer + 1'b1;
      end
      if (whole) write_pointer <= write_pointer + 1'b1;
      stored <= stored + {{POINTER{1'b0}}, whole} - {{POINTER{1'b0}}, pushed};
      reserved <= reserved + asked_slots - {{POINTER{1'b0}}, pushed};
    end
  end
endmodule
