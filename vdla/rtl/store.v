// The store unit: accumulators to DRAM, as they are or saturated to int8, one beat a cycle.
//
// An instruction ends when the memory has acknowledged all that it wrote, so that whoever pops its token reads what was stored.
`include "instruction.vh"

module vdla_store #(
    parameter MEMORY_BYTES = 8,
    parameter LANES = 16,  // of an accumulator
    parameter ACC_DEPTH = 2048,
    parameter MEMORY_COUNT = $clog2(MEMORY_BYTES + 1),
    parameter ACC_ADDRESS = $clog2(ACC_DEPTH)
) (
    input clk,
    input reset,
    input begin_work,
    input working,
    input [127:0] instruction,
    input [41:0] dram_bytes,

    output acc_read,
    output [ACC_ADDRESS-1:0] acc_address,
    input [32*LANES-1:0] acc,

    output write_valid,
    input write_ready,
    output [41:0] write_address,
    output [8*MEMORY_BYTES-1:0] write_data,
    output [MEMORY_COUNT-1:0] write_bytes,
    input write_done,  // one beat is in memory

    output finished,
    output trap_dram,
    output trap_sram
);
  localparam MEMORY_LOG2 = $clog2(MEMORY_BYTES);
  localparam ACC8_LOG2 = $clog2(LANES);
  localparam ACC_LOG2 = ACC8_LOG2 + 2;
  localparam WIDEST = 4 * LANES > MEMORY_BYTES ? 32 * LANES : 8 * MEMORY_BYTES;

  wire narrow = instruction[`MEMORY] == `ACC8;
  wire [3:0] element_log2 = narrow ? ACC8_LOG2[3:0] : ACC_LOG2[3:0];
  wire is_small = element_log2 < MEMORY_LOG2[3:0];
  wire [7:0] beats = is_small ? 8'd1 : 8'd1 << (element_log2 - MEMORY_LOG2[3:0]);

  wire row_valid, row_outside, row_next;
  wire [41:0] row_address;
  wire [20:0] row_bytes;
  wire [13:0] row_checked;
  vdla_row_walker walker (
      .clk(clk), .reset(reset), .begin_work(begin_work), .dram_base(instruction[`DRAM_BASE]), .rows(instruction[`Y_SIZE]),
      .row_elements(instruction[`X_SIZE]), .stride(instruction[`X_STRIDE]), .element_log2(element_log2), .dram_bytes(dram_bytes),
      .valid(row_valid), .address(row_address), .bytes(row_bytes), .next(row_next), .checked(row_checked), .outside(row_outside));
  wire unused = |row_bytes | (|row_checked);

  reg [14:0] element;       // the next one to read
  reg [12:0] to_read;       // elements of the row that were not read yet
  reg holding;              // `acc` has an element that is not all written
  reg [7:0] beat;
  reg [41:0] address;
  reg [31:0] in_flight;     // beats that the memory has not acknowledged
  reg started;

  wire row_idle = to_read == 0 && !holding;
  wire [15:0] row_end = {1'b0, element} + {3'b0, instruction[`X_SIZE]};
  wire [15:0] depth = ACC_DEPTH[15:0];
  wire sram_fits = row_end <= depth;
  assign trap_sram = working && started && row_idle && (row_valid || row_outside) && !sram_fits;
  assign trap_dram = working && started && row_idle && row_outside && sram_fits;
  assign row_next = working && started && row_idle && sram_fits;
  wire begin_row = row_next && row_valid;

  wire wrote = write_valid && write_ready;
  wire element_done = wrote && beat == beats - 8'd1;
  assign acc_read = to_read != 0 && (!holding || element_done);
  assign acc_address = element[ACC_ADDRESS-1:0];
  assign finished = working && started && row_idle && !row_valid && !row_outside && in_flight == 0;

  wire [8*LANES-1:0] saturated;
  genvar lane;
  generate
    for (lane = 0; lane < LANES; lane = lane + 1) begin : lanes
      wire [31:0] value = acc[32*lane+:32];
      wire fits = value[31:7] == 25'b0 || value[31:7] == 25'h1ffffff;
      assign saturated[8*lane+:8] = fits ? value[7:0] : value[31] ? 8'h80 : 8'h7f;
    end
  endgenerate
  wire [WIDEST-1:0] wide = narrow ? {{WIDEST - 8 * LANES{1'b0}}, saturated} : {{WIDEST - 32 * LANES{1'b0}}, acc};
  wire [WIDEST-1:0] shifted = wide >> {beat, {MEMORY_LOG2 + 3{1'b0}}};
  wire [MEMORY_COUNT-1:0] small_bytes = 1'b1 << element_log2;
  wire [MEMORY_COUNT-1:0] whole_beat = MEMORY_BYTES[MEMORY_COUNT-1:0];

  assign write_valid = holding;
  assign write_address = address;
  assign write_data = shifted[8*MEMORY_BYTES-1:0];
  assign write_bytes = is_small ? small_bytes : whole_beat;

  always @(posedge clk) begin
    if (reset || begin_work) begin
      element <= {1'b0, instruction[`SRAM_BASE]};
      to_read <= 0;
      holding <= 1'b0;
      beat <= 0;
      address <= 0;
      in_flight <= 0;
      started <= !reset;
    end else begin
      if (begin_row) begin
        to_read <= instruction[`X_SIZE];
        address <= row_address;
      end
      if (acc_read) begin
        to_read <= to_read - 1'b1;
        element <= element + 1'b1;
        holding <= 1'b1;
      end else if (element_done) begin
        holding <= 1'b0;
      end
      if (wrote) begin
        address <= address + {{42 - MEMORY_COUNT{1'b0}}, write_bytes};
        beat <= element_done ? 8'd0 : beat + 1'b1;
      end
      in_flight <= in_flight + {31'b0, wrote} - {31'b0, write_done};
    end
  end
endmodule
