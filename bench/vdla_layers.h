// Convolutions as programs of VDLA, written by hand: what the simulator is timed and checked with. A tile of the output
// stays in the accumulators while chunks of the inputs and weights go by; with two threads each has half of the
// memories, and one loads while the other computes (the TVM paper, Section 4.4).
//
//   vdla::isa::Program program = LayerProgram(kResNet18Layers[0], /*threads=*/2, config, /*seed=*/1).value();
//   std::string expected = LayerResult(kResNet18Layers[0], program, config);
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/str_cat.h"
#include "vdla/isa/alu.h"
#include "vdla/isa/encoding.h"
#include "vdla/isa/program.h"

namespace smelt::bench {

// A square picture, same padding; channels are whole blocks.
struct Layer {
  const char* name;
  int64_t size, in, out, kernel, stride, count;  // count: of this shape in ResNet-18

  int64_t out_size() const { return (size + 2 * pad() - kernel) / stride + 1; }
  int64_t pad() const { return kernel / 2; }
};
// The table of the TVM paper, without the first layer, which has three channels.
inline constexpr Layer kResNet18Layers[] = {
    {"C2", 56, 64, 64, 3, 1, 4},   {"C3", 56, 64, 128, 3, 2, 1},  {"C4", 56, 64, 128, 1, 2, 1},
    {"C5", 28, 128, 128, 3, 1, 3}, {"C6", 28, 128, 256, 3, 2, 1}, {"C7", 28, 128, 256, 1, 2, 1},
    {"C8", 14, 256, 256, 3, 1, 3}, {"C9", 14, 256, 512, 3, 2, 1}, {"C10", 14, 256, 512, 1, 2, 1},
    {"C11", 7, 512, 512, 3, 1, 3},
};
inline constexpr int kLayerShift = 8;  // the requantisation: rounded, shifted, clipped to int8

// Rows of the output, blocks of output channels, blocks of input channels that are in the memories at once.
struct LayerTile {
  int64_t rows = 0, out = 0, in = 0;
};

// Writes instructions with the tokens that its buffers need: each product gives the load unit a token, and a load takes
// as many as it needs to know that its buffer is free; likewise stores and accumulators.
class LayerWriter {
 public:
  LayerWriter(const Layer& layer, const LayerTile& tile, int64_t threads, const vdla::isa::Config& config)
      : layer_(layer),
        tile_(tile),
        threads_(threads),
        in_blocks_(layer.in / config.block_in),
        out_blocks_(layer.out / config.block_out) {
    using vdla::isa::Memory;
    program_.name = StrCat(layer.name, "-", threads, threads == 1 ? "-thread" : "-threads");
    program_.config = config;
    const int64_t align = 4096;
    int64_t address = 0;
    const auto place = [&](std::string name, vdla::isa::Role role, int64_t bytes) {
      program_.segments.push_back(
          {std::move(name), role, static_cast<uint64_t>(address), static_cast<uint64_t>(bytes), ""});
      address = (address + bytes + align - 1) / align * align;
    };
    const int64_t kk = layer.kernel * layer.kernel, outs = layer.out_size();
    place("uops", vdla::isa::Role::kConstant, (threads * (tile.out * tile.in * kk + 1)) * vdla::isa::kMicroOpBytes);
    place("x", vdla::isa::Role::kInput, in_blocks_ * layer.size * layer.size * config.DramElementBytes(Memory::kInp));
    place("w", vdla::isa::Role::kConstant, out_blocks_ * in_blocks_ * kk * config.DramElementBytes(Memory::kWgt));
    place("y", vdla::isa::Role::kOutput, out_blocks_ * outs * outs * config.DramElementBytes(Memory::kAcc8));
  }

  vdla::isa::Program Write() {
    using namespace vdla::isa;  // NOLINT: enumerators and instructions
    WriteMicroOps();
    program_.instructions.push_back({.opcode = Opcode::kLoad,
                                     .memory = Memory::kUop,
                                     .dram_base = Base("uops", Memory::kUop),
                                     .y_size = 1,
                                     .x_size = static_cast<uint32_t>(threads_ * (UopsOfThread())),
                                     .x_stride = static_cast<uint32_t>(threads_ * UopsOfThread())});
    struct Tile {
      int64_t out, row, number;
    };
    std::vector<Tile> tiles;
    for (int64_t out = 0; out < out_blocks_; out += tile_.out) {
      for (int64_t row = 0; row < layer_.out_size(); row += tile_.rows)
        tiles.push_back({out, row, static_cast<int64_t>(tiles.size())});
    }
    const auto total = static_cast<int64_t>(tiles.size());
    std::vector<int64_t> product_of_thread(static_cast<size_t>(threads_), -1), store_of_thread = product_of_thread;
    for (int64_t first = 0; first < total; first += threads_) {
      const int64_t threads = std::min(threads_, total - first);
      for (int64_t t = 0; t < threads; ++t) {
        TakeStores(store_of_thread[static_cast<size_t>(t)] + 1);
        Reset(t, Rows(tiles[static_cast<size_t>(first + t)].row));
      }
      for (int64_t in = 0; in < in_blocks_; in += tile_.in) {
        for (int64_t t = 0; t < threads; ++t) {
          const Tile& tile = tiles[static_cast<size_t>(first + t)];
          LoadChunk(t, tile.out, tile.row, in, product_of_thread[static_cast<size_t>(t)] + 1);
        }
        for (int64_t t = 0; t < threads; ++t) {
          Multiply(t, Rows(tiles[static_cast<size_t>(first + t)].row));
          product_of_thread[static_cast<size_t>(t)] = products_++;
        }
      }
      for (int64_t t = 0; t < threads; ++t) {
        const Tile& tile = tiles[static_cast<size_t>(first + t)];
        Requantise(t, Rows(tile.row));
        Store(t, tile.out, tile.row);
        store_of_thread[static_cast<size_t>(t)] = stores_++;
      }
    }
    while (taken_products_ < products_)
      Emit({.opcode = Opcode::kLoad, .pop_next = true, .memory = Memory::kInp}), ++taken_products_;
    while (taken_stores_ < stores_)
      Emit({.opcode = Opcode::kLoad, .pop_next = true, .memory = Memory::kUop}), ++taken_stores_;
    Emit({.opcode = Opcode::kFinish});
    return std::move(program_);
  }

 private:
  using Instruction = vdla::isa::Instruction;
  void Emit(const Instruction& instruction) { program_.instructions.push_back(instruction); }
  static uint32_t U(int64_t value) { return static_cast<uint32_t>(value); }
  int64_t Rows(int64_t row) const { return std::min(tile_.rows, layer_.out_size() - row); }
  int64_t InRows() const { return (tile_.rows - 1) * layer_.stride + layer_.kernel; }
  int64_t InWidth() const { return layer_.size + 2 * layer_.pad(); }
  int64_t Pixels() const { return tile_.rows * layer_.out_size(); }
  int64_t UopsOfThread() const { return tile_.out * tile_.in * layer_.kernel * layer_.kernel + 1; }
  // Where a thread's part of a memory begins.
  uint32_t Part(vdla::isa::Memory memory, int64_t thread) const {
    return U(program_.config.DepthOf(memory) / threads_ * thread);
  }
  uint32_t Base(std::string_view name, vdla::isa::Memory memory) const {
    return U(static_cast<int64_t>(program_.Find(name)->address) / program_.config.DramElementBytes(memory));
  }

  // Each thread has one micro-op that stands for its accumulators, then those of the products. Neighbours write
  // different accumulators, so that none waits for the one before.
  void WriteMicroOps() {
    using vdla::isa::Memory;
    std::string& bytes = program_.segments[0].bytes;
    const auto put = [&](const vdla::isa::MicroOp& op) {
      const uint32_t word = vdla::isa::EncodeMicroOp(op);
      for (int b = 0; b < 4; ++b) bytes.push_back(static_cast<char>(word >> (8 * b)));
    };
    const int64_t kernel = layer_.kernel;
    for (int64_t t = 0; t < threads_; ++t) {
      const uint32_t acc = Part(Memory::kAcc, t), inp = Part(Memory::kInp, t), wgt = Part(Memory::kWgt, t);
      put({acc, acc, 0});
      for (int64_t in = 0; in < tile_.in; ++in) {
        for (int64_t y = 0; y < kernel; ++y) {
          for (int64_t x = 0; x < kernel; ++x) {
            for (int64_t out = 0; out < tile_.out; ++out) {
              put({acc + U(out * Pixels()), inp + U((in * InRows() + y) * InWidth() + x),
                   wgt + U(((out * tile_.in + in) * kernel + y) * kernel + x)});
            }
          }
        }
      }
    }
  }

  void Reset(int64_t t, int64_t rows) {
    Emit({.opcode = vdla::isa::Opcode::kGemm,
          .mode = vdla::isa::GemmMode::kReset,
          .uop_begin = U(t * UopsOfThread()),
          .uop_count = 1,
          .iter_out = U(tile_.out),
          .iter_in = U(rows * layer_.out_size()),
          .dst_out = U(Pixels()),
          .dst_in = 1});
  }

  // Waits until so many products, or stores, are done.
  bool NeedsProduct(int64_t done) { return done > taken_products_; }
  void TakeStores(int64_t done) {
    for (; taken_stores_ < done; ++taken_stores_)
      Emit({.opcode = vdla::isa::Opcode::kLoad, .pop_next = true, .memory = vdla::isa::Memory::kUop});
  }

  void LoadChunk(int64_t t, int64_t out, int64_t row, int64_t in, int64_t done) {
    using namespace vdla::isa;  // NOLINT
    for (; taken_products_ + 1 < done; ++taken_products_)
      Emit({.opcode = Opcode::kLoad, .pop_next = true, .memory = Memory::kInp});
    const bool pop = taken_products_ < done;
    if (pop) ++taken_products_;
    const int64_t kk = layer_.kernel * layer_.kernel;
    Emit({.opcode = Opcode::kLoad,
          .pop_next = pop,
          .memory = Memory::kWgt,
          .sram_base = Part(Memory::kWgt, t),
          .dram_base = Base("w", Memory::kWgt) + U((out * in_blocks_ + in) * kk),
          .y_size = U(tile_.out),
          .x_size = U(tile_.in * kk),
          .x_stride = U(in_blocks_ * kk)});
    const int64_t first = row * layer_.stride - layer_.pad(),
                  last = first + (Rows(row) - 1) * layer_.stride + layer_.kernel;
    const int64_t begin = std::max<int64_t>(0, first), end = std::min(layer_.size, last);
    for (int64_t c = 0; c < tile_.in; ++c) {
      Emit({.opcode = Opcode::kLoad,
            .push_next = c + 1 == tile_.in,
            .memory = Memory::kInp,
            .sram_base = Part(Memory::kInp, t) + U(c * InRows() * InWidth()),
            .dram_base = Base("x", Memory::kInp) + U(((in + c) * layer_.size + begin) * layer_.size),
            .y_size = U(end - begin),
            .x_size = U(layer_.size),
            .x_stride = U(layer_.size),
            .y_pad_before = U(begin - first),
            .y_pad_after = U(last - end),
            .x_pad_before = U(layer_.pad()),
            .x_pad_after = U(layer_.pad())});
    }
  }

  void Multiply(int64_t t, int64_t rows) {
    Emit({.opcode = vdla::isa::Opcode::kGemm,
          .pop_prev = true,
          .push_prev = true,
          .uop_begin = U(t * UopsOfThread() + 1),
          .uop_count = U(UopsOfThread() - 1),
          .iter_out = U(rows),
          .iter_in = U(layer_.out_size()),
          .dst_out = U(layer_.out_size()),
          .dst_in = 1,
          .src_out = U(layer_.stride * InWidth()),
          .src_in = U(layer_.stride)});
  }

  void Requantise(int64_t t, int64_t rows) {
    using vdla::isa::AluOp;
    for (const auto& [op, imm] : {std::pair(AluOp::kRshr, kLayerShift), std::pair(AluOp::kClip, 127)}) {
      Emit({.opcode = vdla::isa::Opcode::kAlu,
            .push_next = op == AluOp::kClip,
            .use_imm = true,
            .op = op,
            .uop_begin = U(t * UopsOfThread()),
            .uop_count = 1,
            .iter_out = U(tile_.out),
            .iter_in = U(rows * layer_.out_size()),
            .dst_out = U(Pixels()),
            .dst_in = 1,
            .imm = imm});
    }
  }

  void Store(int64_t t, int64_t out, int64_t row) {
    using namespace vdla::isa;  // NOLINT
    const int64_t outs = layer_.out_size(), rows = Rows(row);
    for (int64_t o = 0; o < tile_.out; ++o) {
      Emit({.opcode = Opcode::kStore,
            .pop_prev = o == 0,
            .push_prev = o + 1 == tile_.out,
            .memory = Memory::kAcc8,
            .sram_base = Part(Memory::kAcc, t) + U(o * Pixels()),
            .dram_base = Base("y", Memory::kAcc8) + U(((out + o) * outs + row) * outs),
            .y_size = 1,
            .x_size = U(rows * outs),
            .x_stride = U(rows * outs)});
    }
  }

  const Layer layer_;
  const LayerTile tile_;
  const int64_t threads_, in_blocks_, out_blocks_;
  vdla::isa::Program program_;
  int64_t products_ = 0, stores_ = 0, taken_products_ = 0, taken_stores_ = 0;
};

// The tile with the least traffic of those that fit; nothing where none does.
inline std::optional<LayerTile> BestTile(const Layer& layer, int64_t threads, const vdla::isa::Config& config) {
  using vdla::isa::Memory;
  const int64_t in_blocks = layer.in / config.block_in, out_blocks = layer.out / config.block_out,
                outs = layer.out_size(), kk = layer.kernel * layer.kernel;
  const int64_t width = layer.size + 2 * layer.pad();
  std::optional<LayerTile> best;
  int64_t least = 0;
  for (int64_t rows = 1; rows <= outs; ++rows) {
    for (int64_t out = 1; out <= out_blocks; ++out) {
      for (int64_t in = 1; in <= in_blocks; ++in) {
        const int64_t height = (rows - 1) * layer.stride + layer.kernel;
        if (out_blocks % out != 0 || in_blocks % in != 0 ||
            in * height * width > config.DepthOf(Memory::kInp) / threads ||
            out * in * kk > config.DepthOf(Memory::kWgt) / threads ||
            out * rows * outs > config.DepthOf(Memory::kAcc) / threads ||
            threads * (out * in * kk + 1) > config.DepthOf(Memory::kUop) || (out == 1 && out_blocks > 1)) {
          continue;
        }
        const int64_t tiles = (out_blocks / out) * ((outs + rows - 1) / rows);
        const int64_t bytes = tiles * (in_blocks * height * width * config.DramElementBytes(Memory::kInp) +
                                       out * in_blocks * kk * config.DramElementBytes(Memory::kWgt));
        const int64_t cost = bytes + tiles * (in_blocks / in) * 1024;  // a chunk costs latencies too
        if (best.has_value() && cost >= least) continue;
        best = LayerTile{rows, out, in};
        least = cost;
      }
    }
  }
  return best;
}

// The inputs and weights are random. NotFound: no tile fits the machine.
inline absl::StatusOr<vdla::isa::Program> LayerProgram(const Layer& layer, int64_t threads,
                                                       const vdla::isa::Config& config, uint64_t seed) {
  const std::optional<LayerTile> tile = BestTile(layer, threads, config);
  if (!tile.has_value())
    return absl::NotFoundError(StrCat("no tile of ", layer.name, " fits ", config.name, " with ", threads, " threads"));
  vdla::isa::Program program = LayerWriter(layer, *tile, threads, config).Write();
  std::mt19937_64 random(seed);
  for (vdla::isa::Segment& segment : program.segments) {
    if (segment.name != "x" && segment.name != "w") continue;
    segment.bytes.resize(segment.size);
    for (char& byte : segment.bytes) byte = static_cast<char>(static_cast<int64_t>(random() % 64) - 32);
  }
  return program;
}

// What must be in `y` after a run, computed directly; one batch row.
inline std::string LayerResult(const Layer& layer, const vdla::isa::Program& program, const vdla::isa::Config& config) {
  const std::string &x = program.Find("x")->bytes, &w = program.Find("w")->bytes;
  const int64_t bi = config.block_in, bo = config.block_out, outs = layer.out_size(), in_blocks = layer.in / bi,
                kernel = layer.kernel;
  std::string y(program.Find("y")->size, '\0');
  for (int64_t ob = 0; ob < layer.out / bo; ++ob) {
    for (int64_t pixel = 0; pixel < outs * outs; ++pixel) {
      for (int64_t n = 0; n < bo; ++n) {
        int32_t sum = 0;
        for (int64_t ib = 0; ib < in_blocks; ++ib) {
          for (int64_t tap = 0; tap < kernel * kernel; ++tap) {
            const int64_t row = pixel / outs * layer.stride + tap / kernel - layer.pad(),
                          column = pixel % outs * layer.stride + tap % kernel - layer.pad();
            if (row < 0 || column < 0 || row >= layer.size || column >= layer.size) continue;
            const char* inputs = x.data() + ((ib * layer.size + row) * layer.size + column) * bi;
            const char* weights = w.data() + (((ob * in_blocks + ib) * kernel * kernel + tap) * bo + n) * bi;
            for (int64_t k = 0; k < bi; ++k) sum += static_cast<int8_t>(inputs[k]) * static_cast<int8_t>(weights[k]);
          }
        }
        const int32_t scaled = vdla::isa::AluClip(vdla::isa::AluRshr(sum, kLayerShift), 127);
        y[static_cast<size_t>((ob * outs * outs + pixel) * bo + n)] = static_cast<char>(scaled);
      }
    }
  }
  return y;
}

}  // namespace smelt::bench
