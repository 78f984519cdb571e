// Whether an instruction is legal, and which unit it is for.
`include "instruction.vh"

module vdla_decode (
    input [127:0] word,
    output reg [2:0] unit,  // load, compute, store: one bit each
    output reg legal
);
  wire [2:0] opcode = word[`OPCODE];
  wire [2:0] memory = word[`MEMORY];
  wire padded = |word[`Y_PAD_BEFORE] || |word[`Y_PAD_AFTER] || |word[`X_PAD_BEFORE] || |word[`X_PAD_AFTER] ||
      |word[`PAD_VALUE];

  always @* begin
    unit = 3'b010;
    legal = 1'b0;
    case (opcode)
      `LOAD: begin
        if (memory == `INP || memory == `WGT) unit = 3'b001;
        legal = memory <= `ACC8 && word[127:126] == 0 && !(memory == `UOP && padded);
      end
      `STORE: begin
        unit = 3'b100;
        legal = (memory == `ACC || memory == `ACC8) && word[127:126] == 0 && !padded;
      end
      `GEMM: legal = word[`GEMM_MODE] <= `OVERWRITE && word[127:124] == 0;
      `ALU: legal = word[`ALU_OP] <= `MOV && !word[127];
      `FINISH: legal = word[127:5] == 0;
      default: legal = 1'b0;
    endcase
    if (unit[0] && (word[`POP_PREV] || word[`PUSH_PREV])) legal = 1'b0;
    if (unit[2] && (word[`POP_NEXT] || word[`PUSH_NEXT])) legal = 1'b0;
  end
endmodule
