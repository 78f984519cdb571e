// An on-chip memory: one write port whose lanes have an enable each, and READS read ports, all of one clock.
//
// A read takes one cycle: q has the word of the address that stood at the edge where read_enable was set, and keeps it until the next one. A word that
// is read in the cycle in which it is written comes out as it was before. Each read port is a copy of the memory, since a block RAM of the
// 7 series has two ports and one of them writes.
module vdla_sram #(
    parameter LANES = 2,
    parameter LANE_BITS = 64,
    parameter DEPTH = 2048,
    parameter READS = 1,
    parameter ADDRESS = $clog2(DEPTH)
) (
    input clk,
    input [LANES-1:0] write_enable,
    input [ADDRESS-1:0] write_address,
    input [LANES*LANE_BITS-1:0] write_data,
    input [READS-1:0] read_enable,
    input [READS*ADDRESS-1:0] read_address,
    output [READS*LANES*LANE_BITS-1:0] q
);
  genvar port, lane;
  generate
    for (port = 0; port < READS; port = port + 1) begin : ports
      for (lane = 0; lane < LANES; lane = lane + 1) begin : lanes
        reg [LANE_BITS-1:0] words[0:DEPTH-1];
        reg [LANE_BITS-1:0] word;
        always @(posedge clk) begin
          if (write_enable[lane]) words[write_address] <= write_data[lane*LANE_BITS+:LANE_BITS];
          if (read_enable[port]) word <= words[read_address[port*ADDRESS+:ADDRESS]];
        end
        assign q[(port*LANES+lane)*LANE_BITS+:LANE_BITS] = word;
      end
    end
  endgenerate
endmodule
