// What the three units have in common: an instruction's pops, its work, its pushes, in this order, one instruction at a time.
//
//   waiting:  pops each token as soon as it is there; `begin_work` stands in the cycle in which the last one is
//   working:  from the next cycle until `finished`, which the unit sets in its last cycle
//   closing:  pushes each token as soon as there is room, from the cycle of `finished` on; `retire` stands in the last cycle
//
// Two instructions of a unit are one cycle apart where neither waits.
module vdla_sequencer (
    input clk,
    input reset,
    input halt,          // after a trap nothing begins
    input head_valid,
    input wants_prev,    // the head's flags
    input wants_next,
    input gives_prev,
    input gives_next,
    input prev_available,
    input next_available,
    input prev_room,
    input next_room,
    output pop_prev,
    output pop_next,
    output push_prev,
    output push_next,
    output begin_work,
    output working,
    input finished,
    output retire,
    output stuck         // nothing to do, or a token or room that is not there
);
  localparam [1:0] WAIT = 0, WORK = 1, CLOSE = 2;
  reg [1:0] state;
  reg prev_done, next_done;  // popped, or pushed, by the head

  wire waiting = state == WAIT && head_valid && !halt;
  wire closing = state == CLOSE || (state == WORK && finished && !halt);

  assign pop_prev = waiting && wants_prev && !prev_done && prev_available;
  assign pop_next = waiting && wants_next && !next_done && next_available;
  assign push_prev = closing && gives_prev && !prev_done && prev_room;
  assign push_next = closing && gives_next && !next_done && next_room;
  assign begin_work = waiting && (!wants_prev || prev_done || prev_available) && (!wants_next || next_done || next_available);
  assign working = state == WORK;
  assign retire = closing && (!gives_prev || prev_done || prev_room) && (!gives_next || next_done || next_room);
  assign stuck = (state == WAIT && !begin_work && !pop_prev && !pop_next) || (state == CLOSE && !retire && !push_prev && !push_next);

  always @(posedge clk) begin
    if (reset) begin
      state <= WAIT;
      prev_done <= 1'b0;
      next_done <= 1'b0;
    end else if (begin_work) begin
      state <= WORK;
      prev_done <= 1'b0;
      next_done <= 1'b0;
    end else if (retire) begin
      state <= WAIT;
      prev_done <= 1'b0;
      next_done <= 1'b0;
    end else begin
      if (closing) state <= CLOSE;
      if (pop_prev || push_prev) prev_done <= 1'b1;
      if (pop_next || push_next) next_done <= 1'b1;
    end
  end
endmodule
