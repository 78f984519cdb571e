// One memory read port for three units: fetch before compute before load, of those whose requests the memory takes now. Requests carry the unit's number, and
// answers bring it back.
module vdla_read_port (
    input [2:0] unit_valid,  // fetch, compute, load
    output [2:0] unit_ready,
    input [3*42-1:0] unit_address,
    input [3*16-1:0] unit_bytes,
    output [2:0] unit_data_valid,
    input [2:0] unit_data_ready,

    output read_valid,
    input [2:0] read_ready,
    output [1:0] read_unit,
    output [41:0] read_address,
    output [15:0] read_bytes,
    input data_valid,
    output data_ready,
    input [1:0] data_unit
);
  wire [2:0] able = unit_valid & read_ready;
  wire [1:0] chosen = able[0] ? 2'd0 : able[1] ? 2'd1 : 2'd2;
  assign read_valid = |able;
  assign read_unit = chosen;
  assign read_address = unit_address[chosen*42+:42];
  assign read_bytes = unit_bytes[chosen*16+:16];
  genvar unit;
  generate
    for (unit = 0; unit < 3; unit = unit + 1) begin : units
      localparam [1:0] NUMBER = unit;
      assign unit_ready[unit] = able[unit] && chosen == NUMBER;
      assign unit_data_valid[unit] = data_valid && data_unit == NUMBER;
    end
  endgenerate
  assign data_ready = unit_data_ready[data_unit];
endmodule
