// Two dot products of K int8 values with the same input, three cycles: inp . wgt_low and inp . wgt_high.
//
// Two products of 8 bits come from one multiplier: (high * 2^16 + low) * x = (high * x) * 2^16 + low * x, and low * x fits 16 bits with its
// sign, so that the upper half is high * x, less one where the lower half is negative. A DSP slice of the 7 series multiplies 25 by 18 bits, and
// these are 25 by 8.
module vdla_dot_pair #(
    parameter K = 16,
    parameter SUM = 16 + $clog2(K)
) (
    input clk,
    input [8*K-1:0] inp,
    input [8*K-1:0] wgt_low,
    input [8*K-1:0] wgt_high,
    output reg [SUM-1:0] sum_low,
    output reg [SUM-1:0] sum_high
);
  localparam GROUPS = K / 4;  // K is a multiple of four, eight or more

  wire [18*K-1:0] low, high;  // with two copies of the sign
  wire [SUM*GROUPS-1:0] group_low, group_high;
  genvar k, g;
  generate
    for (k = 0; k < K; k = k + 1) begin : products
      wire signed [24:0] pair = {wgt_high[8*k+7], wgt_high[8*k+:8], 16'b0} + {{17{wgt_low[8*k+7]}}, wgt_low[8*k+:8]};
      wire signed [7:0] x = inp[8*k+:8];
      reg signed [32:0] product;
      always @(posedge clk) product <= pair * x;
      wire unused = product[32];
      wire [15:0] upper = product[31:16] + {15'b0, product[15]};
      assign low[18*k+:18] = {{2{product[15]}}, product[15:0]};
      assign high[18*k+:18] = {{2{upper[15]}}, upper};
    end
    for (g = 0; g < GROUPS; g = g + 1) begin : groups
      reg [17:0] total_low, total_high;
      always @(posedge clk) begin
        total_low <= low[72*g+:18] + low[72*g+18+:18] + low[72*g+36+:18] + low[72*g+54+:18];
        total_high <= high[72*g+:18] + high[72*g+18+:18] + high[72*g+36+:18] + high[72*g+54+:18];
      end
      assign group_low[SUM*g+:SUM] = {{SUM - 18{total_low[17]}}, total_low};
      assign group_high[SUM*g+:SUM] = {{SUM - 18{total_high[17]}}, total_high};
    end
  endgenerate

  reg [SUM-1:0] all_low, all_high;
  integer n;
  always @* begin
    all_low = 0;
    all_high = 0;
    for (n = 0; n < GROUPS; n = n + 1) begin
      all_low = all_low + group_low[SUM*n+:SUM];
      all_high = all_high + group_high[SUM*n+:SUM];
    end
  end
  always @(posedge clk) begin
    sum_low <= all_low;
    sum_high <= all_high;
  end
endmodule
