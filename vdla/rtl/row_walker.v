// The rows of a LOAD or a STORE in DRAM: an address and a number of bytes for each, checked against the end of DRAM.
//
// A row that does not fit stops the walk: `checked` counts the rows that fit, `outside` says that row number `checked` does not.
module vdla_row_walker (
    input clk,
    input reset,
    input begin_work,
    input [31:0] dram_base,  // elements
    input [12:0] rows,
    input [12:0] row_elements,
    input [19:0] stride,     // elements
    input [3:0] element_log2,  // bytes of an element in DRAM
    input [41:0] dram_bytes,

    output valid,            // a row that fits stands at the outputs
    output [41:0] address,
    output [20:0] bytes,
    input next,              // takes it
    output reg [13:0] checked,
    output outside
);
  reg [33:0] element;
  reg [13:0] left;
  assign address = {8'b0, element} << element_log2;
  assign bytes = {8'b0, row_elements} << element_log2;
  wire [42:0] past = {1'b0, address} + {22'b0, bytes};
  wire fits = past <= {1'b0, dram_bytes};
  assign valid = left != 0 && fits;
  assign outside = left != 0 && !fits;

  always @(posedge clk) begin
    if (reset) begin
      element <= 0;
      left <= 0;
      checked <= 0;
    end else if (begin_work) begin
      element <= {2'b0, dram_base};
      left <= row_elements == 0 ? 14'd0 : {1'b0, rows};
      checked <= 0;
    end else if (valid && next) begin
      element <= element + {14'b0, stride};
      left <= left - 1'b1;
      checked <= checked + 1'b1;
    end
  end
endmodule
