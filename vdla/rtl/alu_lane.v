// One lane of the ALU: op(x, y) on 32 bits, four cycles, a new pair each cycle.
//
//   cycle 0: y becomes a multiplier and an amount of shift   cycle 1: x times the multiplier, and what needs no multiplier
//   cycle 2: the shift right                                 cycle 3: rounding, saturation
//
// x comes a cycle after y. Every shift goes the same way: left is a multiplication by a power of two modulo 2^32, right a multiplication by one and the shift that
// MULSHIFT has. With one bit kept below the binary point, floor((p + 2^(s-1)) / 2^s) is the shifted value plus that bit.
`include "instruction.vh"

module vdla_alu_lane (
    input clk,
    input [3:0] op,         // of the whole instruction
    input [31:0] y,
    input [31:0] x,
    output reg [31:0] result
);
  // Cycle 0.
  wire [31:0] magnitude = y[31] ? -y : y;  // unsigned: 2^31 is its own
  wire shifts = op == `SHR || op == `RSHR || op == `SHL;
  wire left = op == `SHL ? !y[31] : y[31];
  wire [5:0] amount = magnitude[31:6] != 0 ? 6'd63 : magnitude[5:0];
  wire [5:0] scale_amount = y[7:6] != 0 ? 6'd63 : y[5:0];
  wire [31:0] power = magnitude[31:5] != 0 ? 32'b0 : 32'b1 << magnitude[4:0];

  reg [31:0] y1;
  reg signed [31:0] multiplier1;
  reg [5:0] amount1;
  reg rounds1;
  always @(posedge clk) begin
    y1 <= y;
    multiplier1 <= op == `MULSHIFT ? {{8{y[31]}}, y[31:8]} : !shifts ? y : left ? power : 32'b1;
    amount1 <= op == `MULSHIFT ? scale_amount : shifts && !left ? amount : 6'd0;
    rounds1 <= op == `MULSHIFT || (op == `RSHR && !left);
  end

  // Cycle 1. The product of MULSHIFT has 56 bits; of the others the lower 32 count.
  wire signed [31:0] x1 = x;
  wire less = $signed(x) < $signed(y1);
  wire [31:0] at_least = $signed(x) < $signed(~y1) ? ~y1 : x;  // CLIP: -y-1 is the complement of y
  wire [31:0] clipped = $signed(at_least) > $signed(y1) ? y1 : at_least;
  reg signed [55:0] product2;
  reg [31:0] simple2;
  reg [5:0] amount2;
  reg rounds2;
  always @(posedge clk) begin
    product2 <= x1 * multiplier1;
    amount2 <= amount1;
    rounds2 <= rounds1;
    case (op)
      `MIN: simple2 <= less ? x : y1;
      `MAX: simple2 <= less ? y1 : x;
      `ADD: simple2 <= x + y1;
      `SUB: simple2 <= x - y1;
      `CLIP: simple2 <= clipped;
      default: simple2 <= y1;
    endcase
  end

  // Cycle 2.
  wire signed [56:0] with_half = {product2, 1'b0};
  reg [56:0] shifted3;
  reg [31:0] simple3;
  reg rounds3;
  always @(posedge clk) begin
    shifted3 <= with_half >>> amount2;
    simple3 <= simple2;
    rounds3 <= rounds2;
  end

  // Cycle 3.
  wire [55:0] rounded = shifted3[56:1] + {55'b0, shifted3[0] && rounds3};
  wire fits = rounded[55:31] == 25'b0 || rounded[55:31] == 25'h1ffffff;
  wire [31:0] saturated = fits ? rounded[31:0] : rounded[55] ? 32'h80000000 : 32'h7fffffff;
  wire multiplies = op == `MUL || op == `MULSHIFT || op == `SHR || op == `RSHR || op == `SHL;
  always @(posedge clk) result <= !multiplies ? simple3 : op == `MULSHIFT ? saturated : rounded[31:0];
endmodule
