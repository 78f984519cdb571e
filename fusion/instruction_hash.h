// Hashes of single instructions, and the stream that joins them to a kernel's canonical hash.
//
//   InstructionHasher hasher;
//   hasher.Local(*add);          // opcode, result type, attributes, called computations; no names, no operands
//
// A kernel's canonical hash is made of its values in canonical order: depth first from the outputs, operands from left
// to right, each value once, after its operands. A parameter adds its type, an instruction its local hash and the
// numbers of its operands; the numbers of the outputs end the stream. Kernels cut out of a module and kernels that
// exist only as bits of a configuration go through the same stream, so that their hashes agree.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "hlo/fingerprint.h"
#include "hlo/module.h"

namespace smelt::fusion {

// Keeps the hashes of called computations, so that a module with one `add` region hashes it once. Valid while the
// called computations stay as they are.
class InstructionHasher {
 public:
  // `layouts`: count everywhere, for code generators that follow them; else only for `bitcast`, whose meaning they are.
  explicit InstructionHasher(bool layouts = false) : layouts_(layouts) {}

  // Names and metadata never count.
  Hash128 Local(const hlo::Instruction& instruction);
  // The hash of a parameter of this type.
  Hash128 Parameter(const hlo::Shape& shape) const;

 private:
  const bool layouts_;
  hlo::Fingerprinter called_;
};

// The stream. Inline, since searches hash some kernels for every move.
class KernelHash {
 public:
  void AddParameter(const Hash128& parameter) { Mix(parameter.high, parameter.low); }
  void AddInstruction(const Hash128& local) { Mix(local.high, local.low); }
  void AddOperand(int64_t number) { Mix(0x9FB21C651E98DF25, static_cast<uint64_t>(number)); }
  void AddOutput(int64_t number) { Mix(0xD1B54A32D192ED03, static_cast<uint64_t>(number)); }
  Hash128 Finish() const {
    const uint64_t high = Fold(a_ ^ 0x452821E638D01377, b_ | 1);
    return {high, Fold(b_ ^ 0xBE5466CF34E90C6C, a_ ^ high ^ 0xC0AC29B7C97C50DD)};
  }

 private:
  static uint64_t Fold(uint64_t x, uint64_t y) {
    const unsigned __int128 product = static_cast<unsigned __int128>(x) * y;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  // Two lanes with different constants; each folds a 128-bit product, as in wyhash (Wang Yi, 2019), and adds the
  // previous state so that a zero product does not erase it.
  void Mix(uint64_t x, uint64_t y) {
    a_ = Fold(a_ ^ x ^ 0xA0761D6478BD642F, y ^ 0xE7037ED1A0B428DB) + (a_ << 1 | a_ >> 63);
    b_ = Fold(b_ ^ y ^ 0x8EBC6AF09C88C6E3, x ^ 0x589965CC75374CC3) + (b_ << 3 | b_ >> 61);
  }
  uint64_t a_ = 0x243F6A8885A308D3;
  uint64_t b_ = 0x13198A2E03707344;
};

}  // namespace smelt::fusion
