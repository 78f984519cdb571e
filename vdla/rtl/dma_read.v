// Moves the rows of a LOAD from DRAM to a memory on the chip, with padding on four sides.
//
// Two walks run beside each other. The first asks for rows, in requests that do not cross multiples of BURST_BYTES, as fast as the memory's port takes
// them. The second writes rows into the memory on the chip, one beat or one element of padding a cycle, and begins a row of data only when the first has
// found that it lies inside DRAM. Nothing of a row that lies outside is written: the instruction traps.
`include "instruction.vh"

module vdla_dma_read #(
    parameter MEMORY_BYTES = 8,
    parameter BURST_BYTES = 256,
    parameter MEMORY_COUNT = $clog2(MEMORY_BYTES + 1)
) (
    input clk,
    input reset,
    input begin_work,
    input working,
    input [127:0] instruction,
    input [3:0] element_log2,  // bytes of an element in DRAM
    input [14:0] depth,        // elements of the memory on the chip
    input [41:0] dram_bytes,

    output read_valid,
    input read_ready,
    output [41:0] read_address,
    output [15:0] read_bytes,
    input data_valid,
    output data_ready,
    input [8*MEMORY_BYTES-1:0] data,
    input [MEMORY_COUNT-1:0] data_bytes,

    output write,                           // into the memory on the chip
    output write_padding,                   // a whole element, every lane the pad value
    output [13:0] write_element,
    output [7:0] write_beat,                // of the element
    output [8*MEMORY_BYTES-1:0] write_data, // a beat; a smaller element in its low bits
    output finished,
    output trap_dram,
    output trap_sram
);
  localparam MEMORY_LOG2 = $clog2(MEMORY_BYTES);
  localparam BURST_LOG2 = $clog2(BURST_BYTES);

  // Requests.
  wire row_valid, row_outside;
  wire [41:0] row_address;
  wire [20:0] row_bytes;
  wire [13:0] row_checked;
  wire row_next;
  vdla_row_walker walker (
      .clk(clk), .reset(reset), .begin_work(begin_work), .dram_base(instruction[`DRAM_BASE]), .rows(instruction[`Y_SIZE]),
      .row_elements(instruction[`X_SIZE]), .stride(instruction[`X_STRIDE]), .element_log2(element_log2), .dram_bytes(dram_bytes),
      .valid(row_valid), .address(row_address), .bytes(row_bytes), .next(row_next), .checked(row_checked), .outside(row_outside));

  reg ask_valid;
  reg [41:0] ask_address;
  reg [20:0] ask_bytes;
  wire [20:0] to_border = BURST_BYTES[20:0] - {{21 - BURST_LOG2{1'b0}}, ask_address[BURST_LOG2-1:0]};
  wire [20:0] piece = ask_bytes < to_border ? ask_bytes : to_border;
  wire asked = ask_valid && read_ready;
  wire last_piece = piece == ask_bytes;
  assign row_next = working && (!ask_valid || (asked && last_piece));
  assign read_valid = ask_valid;
  assign read_address = ask_address;
  assign read_bytes = piece[15:0];
  always @(posedge clk) begin
    if (reset || begin_work) ask_valid <= 1'b0;
    else if (row_next) ask_valid <= row_valid;
    if (row_next) begin
      ask_address <= row_address;
      ask_bytes <= row_bytes;
    end else if (asked) begin
      ask_address <= ask_address + {21'b0, piece};
      ask_bytes <= ask_bytes - piece;
    end
  end

  // Writes. A row of elements is padding, data, padding; a row before or after the data is padding whole.
  wire [13:0] all_rows = {10'b0, instruction[`Y_PAD_BEFORE]} + {1'b0, instruction[`Y_SIZE]} + {10'b0, instruction[`Y_PAD_AFTER]};
  wire [13:0] all_elements = {10'b0, instruction[`X_PAD_BEFORE]} + {1'b0, instruction[`X_SIZE]} + {10'b0, instruction[`X_PAD_AFTER]};
  wire [13:0] data_begin = {10'b0, instruction[`X_PAD_BEFORE]};
  wire [13:0] data_end = data_begin + {1'b0, instruction[`X_SIZE]};

  reg [13:0] row, x;        // in SRAM
  reg [13:0] data_rows;     // begun
  reg [14:0] element;       // in SRAM
  reg in_row, row_has_data;
  reg [7:0] beat;
  reg [MEMORY_COUNT-1:0] offset;  // bytes of a beat that are written, where an element is smaller than a beat

  wire any = all_rows != 0 && all_elements != 0;
  wire more_rows = working && any && row != all_rows;
  wire next_has_data = row >= {10'b0, instruction[`Y_PAD_BEFORE]} &&
                       row < {10'b0, instruction[`Y_PAD_BEFORE]} + {1'b0, instruction[`Y_SIZE]} && instruction[`X_SIZE] != 0;
  wire [15:0] row_end = {1'b0, element} + {2'b0, all_elements};

  // A row begins in a cycle of its own.
  wire at_data = in_row && row_has_data && x >= data_begin && x < data_end;
  wire [7:0] beats = 8'd1 << (element_log2 - MEMORY_LOG2[3:0]);
  wire is_small = element_log2 < MEMORY_LOG2[3:0];
  wire [MEMORY_COUNT-1:0] small_bytes = 1'b1 << element_log2;
  wire [MEMORY_COUNT-1:0] next_offset = offset + small_bytes;
  wire beat_done = !is_small || next_offset == data_bytes;           // of the memory's port
  wire element_done = !at_data || is_small || beat == beats - 8'd1;  // with this write

  assign write = in_row && (!at_data || data_valid);
  assign write_padding = !at_data;
  assign write_element = element[13:0];
  assign write_beat = is_small ? 8'd0 : beat;
  assign write_data = is_small ? data >> {offset, 3'b0} : data;
  assign data_ready = at_data && beat_done;

  wire row_done = write && element_done && x == all_elements - 14'd1;
  wire row_is_checked = !next_has_data || row_checked > data_rows;
  wire sram_fits = row_end <= {1'b0, depth};
  wire may_begin = more_rows && !in_row;
  wire begin_row = may_begin && row_is_checked && sram_fits;
  assign trap_sram = may_begin && !sram_fits;
  assign trap_dram = may_begin && sram_fits && next_has_data && !row_is_checked && row_outside && row_checked == data_rows;
  assign finished = working && (!any || (row == all_rows && !in_row));

  always @(posedge clk) begin
    if (reset || begin_work) begin
      row <= 0;
      x <= 0;
      data_rows <= 0;
      element <= {1'b0, instruction[`SRAM_BASE]};
      in_row <= 1'b0;
      row_has_data <= 1'b0;
      beat <= 0;
      offset <= 0;
    end else begin
      if (begin_row) begin
        in_row <= 1'b1;
        row_has_data <= next_has_data;
        if (next_has_data) data_rows <= data_rows + 1'b1;
        row <= row + 1'b1;
        x <= 0;
      end else if (row_done) begin
        in_row <= 1'b0;
      end
      if (write) begin
        if (at_data) begin
          offset <= beat_done ? {MEMORY_COUNT{1'b0}} : next_offset;
          beat <= element_done ? 8'd0 : beat + 1'b1;
        end
        if (element_done) begin
          element <= element + 1'b1;
          x <= x + 1'b1;
        end
      end
    end
  end
endmodule
