// When a run is over: done, or stopped with a code and the number of an instruction.
//
// The first trap of a unit wins. Nothing moves where every unit waits for a token, for room or for an instruction, and fetch has no more to give or no room to
// give it to. The memories' pipelines are empty then, since a unit that uses them works. What it means depends on what is left.
`include "instruction.vh"

module vdla_supervisor #(
    parameter NUMBER = 24
) (
    input clk,
    input reset,
    input start,
    input [3:0] unit_trap,             // load, compute, store, fetch
    input [4*4-1:0] unit_trap_code,
    input [4*NUMBER-1:0] unit_number,  // of the head of each unit's queue, of the next instruction
    input [3:0] unit_stuck,
    input [2:0] unit_waits,            // for a token or for room, with an instruction
    input all_fetched,
    input tokens_left,

    output halt,
    output reg done,
    output reg trap,
    output reg [3:0] trap_code,
    output reg [NUMBER-1:0] trap_number
);
  // Longer than an instruction takes from fetch to the head of a queue, or a token to its unit.
  localparam [2:0] LONG_ENOUGH = 7;
  reg running;
  reg [2:0] quiet;
  wire [1:0] first_trap = unit_trap[3] ? 2'd3 : unit_trap[0] ? 2'd0 : unit_trap[1] ? 2'd1 : 2'd2;
  wire [1:0] first_waiting = unit_waits[0] ? 2'd0 : unit_waits[1] ? 2'd1 : unit_waits[2] ? 2'd2 : 2'd3;
  wire over = running && !trap && quiet == LONG_ENOUGH;
  assign halt = !running || trap || done;

  always @(posedge clk) begin
    if (reset || start) begin
      running <= !reset;
      quiet <= 0;
      done <= 1'b0;
      trap <= 1'b0;
      trap_code <= 0;
      trap_number <= 0;
    end else if (running && !trap && !done) begin
      quiet <= &unit_stuck ? quiet + {2'b0, quiet != LONG_ENOUGH} : 3'd0;
      if (|unit_trap) begin
        trap <= 1'b1;
        trap_code <= unit_trap_code[first_trap*4+:4];
        trap_number <= unit_number[first_trap*NUMBER+:NUMBER];
      end else if (over && |unit_waits) begin
        trap <= 1'b1;
        trap_code <= `TRAP_DEADLOCK;
        trap_number <= unit_number[first_waiting*NUMBER+:NUMBER];
      end else if (over && tokens_left) begin
        trap <= 1'b1;
        trap_code <= `TRAP_TOKENS;
        trap_number <= unit_number[3*NUMBER+:NUMBER] - 1'b1;
      end else if (over && all_fetched) begin
        done <= 1'b1;
      end
    end
  end
endmodule
