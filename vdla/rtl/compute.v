// The work of the compute unit: GEMM, ALU, and LOAD of micro-ops and accumulators. One instruction at a time.
//
// Micro-ops go through the same three steps for GEMM and ALU, one a cycle, then into one of the two:
//
//   read     the micro-op's word and the loops' offsets (micro_op_nest.v)
//   add      offsets to the word's indices
//   issue    checked against the depths of the memories; held while a result that it needs is on its way to the accumulators
//
// An ALU operation on two accumulators is issued in two cycles, since the accumulators have one read port for computing: y first, then x.
// Cycles of an instruction with n micro-ops: n + stalls + 5 for GEMM (RAW_DISTANCE 2), n + stalls + 5 or 2n + stalls + 5 for the ALU.
`include "instruction.vh"

module vdla_compute #(
    parameter BATCH = 1,
    parameter BLOCK_IN = 16,
    parameter BLOCK_OUT = 16,
    parameter UOP_DEPTH = 8192,
    parameter INP_DEPTH = 2048,
    parameter WGT_DEPTH = 128,
    parameter ACC_DEPTH = 2048,
    parameter RAW_DISTANCE = 2,
    parameter MEMORY_BYTES = 8,
    parameter BURST_BYTES = 256,
    parameter MEMORY_COUNT = $clog2(MEMORY_BYTES + 1),
    parameter UOP_ADDRESS = $clog2(UOP_DEPTH),
    parameter INP_ADDRESS = $clog2(INP_DEPTH),
    parameter WGT_ADDRESS = $clog2(WGT_DEPTH),
    parameter ACC_ADDRESS = $clog2(ACC_DEPTH),
    parameter LANES = BATCH * BLOCK_OUT
) (
    input clk,
    input reset,
    input begin_work,
    input working,
    input [127:0] instruction,
    input [41:0] dram_bytes,
    output finished,
    output trap,
    output [3:0] trap_code,

    output read_valid,
    input read_ready,
    output [41:0] read_address,
    output [15:0] read_bytes,
    input data_valid,
    output data_ready,
    input [8*MEMORY_BYTES-1:0] data,
    input [MEMORY_COUNT-1:0] data_bytes,

    output uop_read,
    output [UOP_ADDRESS-1:0] uop_address,
    input [31:0] uop_word,
    output uop_write,
    output [UOP_ADDRESS-1:0] uop_write_address,
    output [31:0] uop_write_data,

    output inp_read,
    output [INP_ADDRESS-1:0] inp_address,
    input [8*BATCH*BLOCK_IN-1:0] inp,
    output wgt_read,
    output [WGT_ADDRESS-1:0] wgt_address,
    input [8*BLOCK_IN*BLOCK_OUT-1:0] wgt,

    output acc_read,
    output [ACC_ADDRESS-1:0] acc_address,
    input [32*LANES-1:0] acc,
    output [LANES-1:0] acc_write,
    output [ACC_ADDRESS-1:0] acc_write_address,
    output [32*LANES-1:0] acc_write_data
);
  localparam ACC8_LOG2 = $clog2(LANES);
  localparam ACC_LOG2 = ACC8_LOG2 + 2;

  wire [2:0] opcode = instruction[`OPCODE];
  wire [2:0] memory = instruction[`MEMORY];
  wire is_load = opcode == `LOAD;
  wire is_gemm = opcode == `GEMM;
  wire is_alu = opcode == `ALU;
  wire [1:0] mode = instruction[`GEMM_MODE];
  wire tensor = is_alu && !instruction[`ALU_USE_IMM];

  // LOAD.
  wire dma_write, dma_padding, dma_finished, dma_trap_dram, dma_trap_sram;
  wire [13:0] dma_element;
  wire [7:0] dma_beat;
  wire [8*MEMORY_BYTES-1:0] dma_data;
  wire [3:0] element_log2 = memory == `UOP ? 4'd2 : memory == `ACC8 ? ACC8_LOG2[3:0] : ACC_LOG2[3:0];
  wire [14:0] uop_depth = UOP_DEPTH[14:0], acc_depth = ACC_DEPTH[14:0];
  vdla_dma_read #(.MEMORY_BYTES(MEMORY_BYTES), .BURST_BYTES(BURST_BYTES)) dma (
      .clk(clk), .reset(reset), .begin_work(begin_work && is_load), .working(working && is_load), .instruction(instruction),
      .element_log2(element_log2), .depth(memory == `UOP ? uop_depth : acc_depth), .dram_bytes(dram_bytes), .read_valid(read_valid),
      .read_ready(read_ready), .read_address(read_address), .read_bytes(read_bytes), .data_valid(data_valid), .data_ready(data_ready),
      .data(data), .data_bytes(data_bytes), .write(dma_write), .write_padding(dma_padding), .write_element(dma_element),
      .write_beat(dma_beat), .write_data(dma_data), .finished(dma_finished), .trap_dram(dma_trap_dram), .trap_sram(dma_trap_sram));
  assign uop_write = dma_write && memory == `UOP;
  assign uop_write_address = dma_element[UOP_ADDRESS-1:0];
  assign uop_write_data = dma_data[31:0];

  wire [7:0] pad = instruction[`PAD_VALUE];
  wire [LANES-1:0] load_lanes;
  wire [32*LANES-1:0] load_data;
  genvar lane;
  generate
    for (lane = 0; lane < LANES; lane = lane + 1) begin : loads
      localparam WORD_BEAT = 4 * lane / MEMORY_BYTES;
      localparam BYTE_BEAT = lane / MEMORY_BYTES;
      wire [7:0] beat = memory == `ACC8 ? BYTE_BEAT[7:0] : WORD_BEAT[7:0];
      wire [7:0] byte_value = dma_padding ? pad : dma_data[8*(lane%MEMORY_BYTES)+:8];
      assign load_lanes[lane] = dma_write && memory != `UOP && (dma_padding || dma_beat == beat);
      assign load_data[32*lane+:32] = dma_padding || memory == `ACC8 ? {{24{byte_value[7]}}, byte_value} : dma_data[8*((4*lane)%MEMORY_BYTES)+:32];
    end
  endgenerate

  // Micro-ops: read.
  wire nest_valid, advance;
  wire [14:0] nest_uop;
  wire [24:0] nest_dst, nest_src;
  wire [20:0] nest_wgt;
  wire computes = is_gemm || is_alu;
  vdla_micro_op_nest nest (
      .clk(clk), .reset(reset), .begin_work(begin_work && computes),
      .uop_begin(is_alu ? instruction[`ALU_UOP_BEGIN] : instruction[`GEMM_UOP_BEGIN]),
      .uop_count(is_alu ? instruction[`ALU_UOP_COUNT] : instruction[`GEMM_UOP_COUNT]),
      .iter_out(is_alu ? instruction[`ALU_ITER_OUT] : instruction[`GEMM_ITER_OUT]),
      .iter_in(is_alu ? instruction[`ALU_ITER_IN] : instruction[`GEMM_ITER_IN]),
      .dst_out(is_alu ? instruction[`ALU_DST_OUT] : instruction[`GEMM_DST_OUT]),
      .dst_in(is_alu ? instruction[`ALU_DST_IN] : instruction[`GEMM_DST_IN]),
      .src_out(is_alu ? instruction[`ALU_SRC_OUT] : instruction[`GEMM_SRC_OUT]),
      .src_in(is_alu ? instruction[`ALU_SRC_IN] : instruction[`GEMM_SRC_IN]),
      .wgt_out(instruction[`GEMM_WGT_OUT]), .wgt_in(instruction[`GEMM_WGT_IN]), .next(advance), .valid(nest_valid), .uop(nest_uop),
      .dst_offset(nest_dst), .src_offset(nest_src), .wgt_offset(nest_wgt));
  assign uop_read = nest_valid && advance;
  assign uop_address = nest_uop[UOP_ADDRESS-1:0];

  // Add.
  reg add_valid, add_outside;  // the micro-op itself lies outside its memory
  reg [24:0] add_dst, add_src;
  reg [20:0] add_wgt;
  // Issue.
  reg issue_valid, issue_outside, second;
  reg [24:0] issue_dst, issue_src;
  reg [20:0] issue_wgt;
  always @(posedge clk) begin
    if (reset) begin
      add_valid <= 1'b0;
      issue_valid <= 1'b0;
      second <= 1'b0;
    end else if (advance) begin
      add_valid <= nest_valid;
      issue_valid <= add_valid;
      second <= 1'b0;
    end else begin
      second <= tensor && (second || !held);
    end
    if (advance) begin
      add_outside <= nest_uop >= uop_depth;
      add_dst <= nest_dst;
      add_src <= nest_src;
      add_wgt <= nest_wgt;
      issue_outside <= add_outside;
      issue_dst <= add_dst + {13'b0, uop_word[`UOP_DST]};
      issue_src <= add_src + {13'b0, uop_word[`UOP_SRC]};
      issue_wgt <= add_wgt + {13'b0, uop_word[`UOP_WGT]};
    end
  end

  localparam [24:0] ACC_END = ACC_DEPTH[24:0], INP_END = INP_DEPTH[24:0];
  localparam [20:0] WGT_END = WGT_DEPTH[20:0];
  wire multiplies = is_gemm && mode != `RESET;
  wire acc_outside = issue_dst >= ACC_END || (tensor && issue_src >= ACC_END);
  wire inp_outside = multiplies && issue_src >= INP_END;
  wire wgt_outside = multiplies && issue_wgt >= WGT_END;
  wire outside = issue_outside || acc_outside || inp_outside || wgt_outside;

  // Results on their way: entry s is of the micro-op that was issued s + 1 cycles ago. An ALU's is written when it reaches the last entry.
  localparam ALU_STAGES = 4;
  reg [ALU_STAGES-1:0] recent;
  reg [ALU_STAGES*ACC_ADDRESS-1:0] recent_dst;
  wire [ACC_ADDRESS-1:0] dst = issue_dst[ACC_ADDRESS-1:0];
  wire [ACC_ADDRESS-1:0] src = issue_src[ACC_ADDRESS-1:0];
  wire [ALU_STAGES-1:0] gemm_meets, alu_meets;
  genvar s;
  generate
    for (s = 0; s < ALU_STAGES; s = s + 1) begin : hazards
      wire [ACC_ADDRESS-1:0] earlier = recent_dst[s*ACC_ADDRESS+:ACC_ADDRESS];
      assign gemm_meets[s] = s < RAW_DISTANCE - 1 && recent[s] && earlier == dst;
      assign alu_meets[s] = recent[s] && ((earlier == dst && instruction[`ALU_OP] != `MOV) || (earlier == src && tensor));
    end
  endgenerate
  wire held = is_gemm ? mode != `RESET && |gemm_meets : |alu_meets && !second;
  wire issue = issue_valid && !outside && !held && (!tensor || second);
  assign advance = !issue_valid || issue;
  assign trap = (issue_valid && outside) || dma_trap_dram || dma_trap_sram;
  assign trap_code = dma_trap_dram                    ? `TRAP_DRAM :
                     dma_trap_sram && memory == `UOP  ? `TRAP_UOP :
                     dma_trap_sram                    ? `TRAP_ACC :
                     issue_outside                    ? `TRAP_UOP :
                     acc_outside                      ? `TRAP_ACC :
                     inp_outside                      ? `TRAP_INP : `TRAP_WGT;
  always @(posedge clk) begin
    if (reset) recent <= 0;
    else recent <= {recent[ALU_STAGES-2:0], issue};
    recent_dst <= {recent_dst[(ALU_STAGES-1)*ACC_ADDRESS-1:0], dst};
  end

  // GEMM.
  assign inp_read = issue && multiplies;
  assign inp_address = issue_src[INP_ADDRESS-1:0];
  assign wgt_read = issue && multiplies;
  assign wgt_address = issue_wgt[WGT_ADDRESS-1:0];
  wire gemm_acc_read, gemm_write, gemm_busy;
  wire [ACC_ADDRESS-1:0] gemm_acc_address, gemm_write_address;
  wire [32*LANES-1:0] gemm_write_data;
  vdla_gemm #(.BATCH(BATCH), .BLOCK_IN(BLOCK_IN), .BLOCK_OUT(BLOCK_OUT), .RAW_DISTANCE(RAW_DISTANCE), .ADDRESS(ACC_ADDRESS)) gemm (
      .clk(clk), .reset(reset), .issue(issue && is_gemm), .issue_acc(dst), .clears(mode != `ACCUMULATE), .zero(mode == `RESET),
      .inp(inp), .wgt(wgt), .acc_read(gemm_acc_read), .acc_read_address(gemm_acc_address), .acc(acc), .write(gemm_write),
      .write_address(gemm_write_address), .write_data(gemm_write_data), .busy(gemm_busy));

  // ALU.
  wire [32*LANES-1:0] alu_result;
  wire [31:0] imm = {{16{instruction[126]}}, instruction[`ALU_IMM]};
  generate
    for (lane = 0; lane < LANES; lane = lane + 1) begin : alu
      vdla_alu_lane alu_lane (
          .clk(clk), .op(instruction[`ALU_OP]), .y(tensor ? acc[32*lane+:32] : imm), .x(acc[32*lane+:32]), .result(alu_result[32*lane+:32]));
    end
  endgenerate
  wire alu_write = is_alu && recent[ALU_STAGES-1];

  // The accumulators' ports.
  assign acc_read = is_gemm ? gemm_acc_read : is_alu && issue_valid;
  assign acc_address = is_gemm ? gemm_acc_address : tensor && !second ? src : dst;
  assign acc_write = load_lanes | {LANES{gemm_write || alu_write}};
  assign acc_write_address = is_load ? dma_element[ACC_ADDRESS-1:0] : is_gemm ? gemm_write_address : recent_dst[(ALU_STAGES-1)*ACC_ADDRESS+:ACC_ADDRESS];
  assign acc_write_data = is_load ? load_data : is_gemm ? gemm_write_data : alu_result;

  wire drained = !nest_valid && !add_valid && !issue_valid;
  assign finished = working && (is_load ? dma_finished :
                                is_gemm ? drained && !gemm_busy :
                                is_alu ? drained && recent[ALU_STAGES-2:0] == 0 : 1'b1);
endmodule
