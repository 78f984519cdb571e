// The work of the load unit: inputs and weights from DRAM into their memories.
`include "instruction.vh"

module vdla_load #(
    parameter INP_LANES = 2,
    parameter INP_LANE_BITS = 64,
    parameter WGT_LANES = 32,
    parameter WGT_LANE_BITS = 64,
    parameter INP_DEPTH = 2048,
    parameter WGT_DEPTH = 128,
    parameter MEMORY_BYTES = 8,
    parameter BURST_BYTES = 256,
    parameter MEMORY_COUNT = $clog2(MEMORY_BYTES + 1),
    parameter INP_ADDRESS = $clog2(INP_DEPTH),
    parameter WGT_ADDRESS = $clog2(WGT_DEPTH)
) (
    input clk,
    input reset,
    input begin_work,
    input working,
    input [127:0] instruction,
    input [41:0] dram_bytes,
    output finished,
    output trap,
    output [3:0] trap_code,

    output read_valid,
    input read_ready,
    output [41:0] read_address,
    output [15:0] read_bytes,
    input data_valid,
    output data_ready,
    input [8*MEMORY_BYTES-1:0] data,
    input [MEMORY_COUNT-1:0] data_bytes,

    output [INP_LANES-1:0] inp_write,
    output [INP_ADDRESS-1:0] inp_address,
    output [INP_LANES*INP_LANE_BITS-1:0] inp_data,
    output [WGT_LANES-1:0] wgt_write,
    output [WGT_ADDRESS-1:0] wgt_address,
    output [WGT_LANES*WGT_LANE_BITS-1:0] wgt_data
);
  localparam INP_LOG2 = $clog2(INP_LANES * INP_LANE_BITS / 8);
  localparam WGT_LOG2 = $clog2(WGT_LANES * WGT_LANE_BITS / 8);

  wire is_wgt = instruction[`MEMORY] == `WGT;
  wire [3:0] element_log2 = is_wgt ? WGT_LOG2[3:0] : INP_LOG2[3:0];
  wire [14:0] inp_depth = INP_DEPTH[14:0], wgt_depth = WGT_DEPTH[14:0];
  wire write, padding, trap_dram, trap_sram;
  wire [13:0] element;
  wire [7:0] beat;
  wire [8*MEMORY_BYTES-1:0] beat_data;
  vdla_dma_read #(.MEMORY_BYTES(MEMORY_BYTES), .BURST_BYTES(BURST_BYTES)) dma (
      .clk(clk), .reset(reset), .begin_work(begin_work), .working(working), .instruction(instruction), .element_log2(element_log2),
      .depth(is_wgt ? wgt_depth : inp_depth), .dram_bytes(dram_bytes), .read_valid(read_valid), .read_ready(read_ready),
      .read_address(read_address), .read_bytes(read_bytes), .data_valid(data_valid), .data_ready(data_ready), .data(data),
      .data_bytes(data_bytes), .write(write), .write_padding(padding), .write_element(element), .write_beat(beat),
      .write_data(beat_data), .finished(finished), .trap_dram(trap_dram), .trap_sram(trap_sram));
  assign trap = trap_dram || trap_sram;
  assign trap_code = trap_dram ? `TRAP_DRAM : is_wgt ? `TRAP_WGT : `TRAP_INP;

  assign inp_address = element[INP_ADDRESS-1:0];
  assign wgt_address = element[WGT_ADDRESS-1:0];
  wire [7:0] pad = instruction[`PAD_VALUE];
  genvar lane;
  generate
    for (lane = 0; lane < INP_LANES; lane = lane + 1) begin : inp
      localparam [7:0] BEAT = lane;
      assign inp_write[lane] = write && !is_wgt && (padding || beat == BEAT);
      assign inp_data[lane*INP_LANE_BITS+:INP_LANE_BITS] = padding ? {INP_LANE_BITS / 8{pad}} : beat_data[INP_LANE_BITS-1:0];
    end
    for (lane = 0; lane < WGT_LANES; lane = lane + 1) begin : wgt
      localparam [7:0] BEAT = lane;
      assign wgt_write[lane] = write && is_wgt && (padding || beat == BEAT);
      assign wgt_data[lane*WGT_LANE_BITS+:WGT_LANE_BITS] = padding ? {WGT_LANE_BITS / 8{pad}} : beat_data[WGT_LANE_BITS-1:0];
    end
  endgenerate
endmodule
