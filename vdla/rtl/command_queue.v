// A queue of commands in block RAM. Its head stands at the output until it is taken; room says whether another may be pushed.
module vdla_command_queue #(
    parameter WIDTH = 152,
    parameter DEPTH = 512
) (
    input clk,
    input reset,
    input push,
    input [WIDTH-1:0] push_data,
    output room,
    output reg head_valid,
    output reg [WIDTH-1:0] head,
    input take
);
  localparam POINTER = $clog2(DEPTH);
  localparam [POINTER:0] FULL = DEPTH[POINTER:0];
  localparam END = DEPTH - 1;
  localparam [POINTER-1:0] LAST = END[POINTER-1:0];

  reg [WIDTH-1:0] words[0:DEPTH-1];
  reg [POINTER-1:0] write_pointer, read_pointer;
  reg [POINTER:0] stored;  // in `words`; the head is beside them

  wire [POINTER:0] waiting = stored + {{POINTER{1'b0}}, head_valid};
  assign room = waiting < FULL;
  wire refill = stored != 0 && (take || !head_valid);

  always @(posedge clk) begin
    if (push) words[write_pointer] <= push_data;
    if (refill) head <= words[read_pointer];
  end
  always @(posedge clk) begin
    if (reset) begin
      write_pointer <= 0;
      read_pointer <= 0;
      stored <= 0;
      head_valid <= 1'b0;
    end else begin
      if (push) write_pointer <= write_pointer == LAST ? 0 : write_pointer + 1'b1;
      if (refill) read_pointer <= read_pointer == LAST ? 0 : read_pointer + 1'b1;
      stored <= stored + {{POINTER{1'b0}}, push} - {{POINTER{1'b0}}, refill};
      head_valid <= refill || (head_valid && !take);
    end
  end
endmodule
