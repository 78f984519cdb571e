// A bounded queue of tokens between two units. Tokens are all alike, so that it is a counter.
module vdla_token_queue #(
    parameter DEPTH = 64
) (
    input clk,
    input reset,
    input push,
    input pop,
    output room,
    output available
);
  localparam COUNT = $clog2(DEPTH + 1);
  localparam [COUNT-1:0] FULL = DEPTH[COUNT-1:0];

  reg [COUNT-1:0] tokens;
  assign room = tokens < FULL;
  assign available = tokens != 0;
  always @(posedge clk) begin
    if (reset) tokens <= 0;
    else tokens <= tokens + {{COUNT - 1{1'b0}}, push} - {{COUNT - 1{1'b0}}, pop};
  end
endmodule
