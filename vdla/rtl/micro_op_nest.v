// The two loops around the micro-ops of a GEMM or an ALU: which micro-op comes next, and what is added to its three indices.
//
//   for o < iter_out, for i < iter_in, for u < uop_count: micro-op uop_begin + u, offsets o * out + i * in
//
// The first one stands at the outputs in the cycle of begin_work already, the next ones after each `next`. Offsets grow by additions alone.
module vdla_micro_op_nest (
    input clk,
    input reset,
    input begin_work,
    input [13:0] uop_begin,
    input [12:0] uop_count,
    input [11:0] iter_out,
    input [11:0] iter_in,
    input [11:0] dst_out,
    input [11:0] dst_in,
    input [11:0] src_out,
    input [11:0] src_in,
    input [7:0] wgt_out,
    input [7:0] wgt_in,

    input next,
    output valid,
    output [14:0] uop,
    output [24:0] dst_offset,
    output [24:0] src_offset,
    output [20:0] wgt_offset
);
  reg active;
  reg [12:0] u;
  reg [11:0] i, o;
  reg [24:0] dst_row, src_row, dst_now, src_now;  // at the outer iteration's start, and now
  reg [20:0] wgt_row, wgt_now;

  wire any = uop_count != 0 && iter_out != 0 && iter_in != 0;
  assign valid = begin_work ? any : active;
  wire [12:0] at_u = begin_work ? 13'd0 : u;
  wire [11:0] at_i = begin_work ? 12'd0 : i;
  wire [11:0] at_o = begin_work ? 12'd0 : o;
  wire [24:0] at_dst_row = begin_work ? 25'd0 : dst_row;
  wire [24:0] at_src_row = begin_work ? 25'd0 : src_row;
  wire [20:0] at_wgt_row = begin_work ? 21'd0 : wgt_row;
  assign dst_offset = begin_work ? 25'd0 : dst_now;
  assign src_offset = begin_work ? 25'd0 : src_now;
  assign wgt_offset = begin_work ? 21'd0 : wgt_now;
  assign uop = {1'b0, uop_begin} + {2'b0, at_u};

  wire last_u = at_u == uop_count - 1'b1;
  wire last_i = at_i == iter_in - 1'b1;
  wire last_o = at_o == iter_out - 1'b1;
  wire [24:0] next_dst_row = at_dst_row + {13'b0, dst_out};
  wire [24:0] next_src_row = at_src_row + {13'b0, src_out};
  wire [20:0] next_wgt_row = at_wgt_row + {13'b0, wgt_out};

  always @(posedge clk) begin
    if (reset) begin
      active <= 1'b0;
    end else if (valid && (next || begin_work)) begin
      active <= !(last_u && last_i && last_o);
      u <= last_u ? 13'd0 : at_u + 1'b1;
      i <= !last_u ? at_i : last_i ? 12'd0 : at_i + 1'b1;
      o <= last_u && last_i ? at_o + 1'b1 : at_o;
      if (last_u && last_i) begin
        dst_row <= next_dst_row;
        src_row <= next_src_row;
        wgt_row <= next_wgt_row;
        dst_now <= next_dst_row;
        src_now <= next_src_row;
        wgt_now <= next_wgt_row;
      end else begin
        dst_row <= at_dst_row;
        src_row <= at_src_row;
        wgt_row <= at_wgt_row;
        dst_now <= last_u ? dst_offset + {13'b0, dst_in} : dst_offset;
        src_now <= last_u ? src_offset + {13'b0, src_in} : src_offset;
        wgt_now <= last_u ? wgt_offset + {13'b0, wgt_in} : wgt_offset;
      end
    end else if (begin_work) begin
      active <= 1'b0;
    end
  end
endmodule
