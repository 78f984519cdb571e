// The product of a micro-op of GEMM: input rows times weight rows, and the accumulator that it is added to.
//
//   cycle 0: inp and wgt are read (by the compute unit)      cycles 1 to 3: vdla_dot_pair
//   cycle 4: added to the accumulator and written, or later where RAW_DISTANCE is more than two
//
// The accumulator is read RAW_DISTANCE - 1 cycles before it is written, so that the next micro-op may add to the same one RAW_DISTANCE cycles
// later.
module vdla_gemm #(
    parameter BATCH = 1,
    parameter BLOCK_IN = 16,
    parameter BLOCK_OUT = 16,
    parameter RAW_DISTANCE = 2,  // 2 to 4
    parameter ADDRESS = 11
) (
    input clk,
    input reset,
    input issue,                     // a micro-op's inp and wgt stand here in the next cycle
    input [ADDRESS-1:0] issue_acc,
    input clears,                    // the accumulator does not count: modes reset and overwrite
    input zero,                      // mode reset
    input [8*BATCH*BLOCK_IN-1:0] inp,
    input [8*BLOCK_OUT*BLOCK_IN-1:0] wgt,

    output acc_read,
    output [ADDRESS-1:0] acc_read_address,
    input [32*BATCH*BLOCK_OUT-1:0] acc,
    output write,
    output [ADDRESS-1:0] write_address,
    output [32*BATCH*BLOCK_OUT-1:0] write_data,
    output busy                      // micro-ops are in it beside the one that is written
);
  localparam LANES = BATCH * BLOCK_OUT;
  localparam SUM = 16 + $clog2(BLOCK_IN);
  localparam EARLY = RAW_DISTANCE > 2 ? 1 : 0;  // the accumulator is read a cycle earlier and waits in a register
  localparam LATE = RAW_DISTANCE - 2 - EARLY;   // cycles between the addition and the write
  localparam STAGES = 4 + LATE;

  // Stage s of the line holds the micro-op s + 1 cycles after its issue.
  reg [STAGES-1:0] valid;
  reg [STAGES*ADDRESS-1:0] line;
  always @(posedge clk) begin
    if (reset) valid <= 0;
    else valid <= {valid[STAGES-2:0], issue};
    line <= {line[(STAGES-1)*ADDRESS-1:0], issue_acc};
  end
  assign acc_read = valid[2-EARLY];
  assign acc_read_address = line[(2-EARLY)*ADDRESS+:ADDRESS];
  assign write = valid[STAGES-1];
  assign write_address = line[(STAGES-1)*ADDRESS+:ADDRESS];
  assign busy = |valid[STAGES-2:0];

  wire [SUM*LANES-1:0] sums;
  genvar b, n, lane, s;
  generate
    for (b = 0; b < BATCH; b = b + 1) begin : rows
      for (n = 0; n < BLOCK_OUT; n = n + 2) begin : pairs
        vdla_dot_pair #(.K(BLOCK_IN)) dot (
            .clk(clk), .inp(inp[8*BLOCK_IN*b+:8*BLOCK_IN]), .wgt_low(wgt[8*BLOCK_IN*n+:8*BLOCK_IN]),
            .wgt_high(wgt[8*BLOCK_IN*(n+1)+:8*BLOCK_IN]), .sum_low(sums[SUM*(BLOCK_OUT*b+n)+:SUM]),
            .sum_high(sums[SUM*(BLOCK_OUT*b+n+1)+:SUM]));
      end
    end
    for (lane = 0; lane < LANES; lane = lane + 1) begin : lanes
      wire [31:0] earlier;
      if (EARLY == 1) begin : held
        reg [31:0] word;
        always @(posedge clk) word <= acc[32*lane+:32];
        assign earlier = word;
      end else begin : direct
        assign earlier = acc[32*lane+:32];
      end
      wire [SUM-1:0] sum = sums[SUM*lane+:SUM];
      wire [31:0] summed = (clears ? 32'b0 : earlier) + (zero ? 32'b0 : {{32 - SUM{sum[SUM-1]}}, sum});
      wire [32*(LATE+1)-1:0] results;
      assign results[31:0] = summed;
      for (s = 0; s < LATE; s = s + 1) begin : late
        reg [31:0] word;
        always @(posedge clk) word <= results[32*s+:32];
        assign results[32*(s+1)+:32] = word;
      end
      assign write_data[32*lane+:32] = results[32*LATE+:32];
    end
  endgenerate
endmodule
