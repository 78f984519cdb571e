// Random bits: counter-based generators, so a result follows from the state alone.
//
// ThreeFry-2x32 (20 rounds) and Philox-4x32 (10 rounds): Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011. How counters are laid out over an array is XLA's.
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"

namespace smelt::hlo {
namespace {

struct Words2 {
  uint32_t first, second;
};

uint32_t RotateLeft(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

Words2 ThreeFry(uint64_t key, uint64_t counter) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32),
                            static_cast<uint32_t>(key) ^ static_cast<uint32_t>(key >> 32) ^ 0x1BD11BDA};
  uint32_t x = static_cast<uint32_t>(counter) + keys[0], y = static_cast<uint32_t>(counter >> 32) + keys[1];
  for (uint32_t round = 0; round < 5; ++round) {
    for (int rotation : kRotations[round % 2]) {
      x += y;
      y = RotateLeft(y, rotation) ^ x;
    }
    x += keys[(round + 1) % 3];
    y += keys[(round + 2) % 3] + round + 1;
  }
  return {x, y};
}

std::array<uint32_t, 4> Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  std::array<uint32_t, 4> state = {static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
                                   static_cast<uint32_t>(counter_high), static_cast<uint32_t>(counter_high >> 32)};
  uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{state[0]} * 0xD2511F53, product1 = uint64_t{state[2]} * 0xCD9E8D57;
    state = {static_cast<uint32_t>(product1 >> 32) ^ state[1] ^ key0, static_cast<uint32_t>(product1),
             static_cast<uint32_t>(product0 >> 32) ^ state[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return state;
}

// The low bits of a word as an element: of a float they are its representation.
void SetBits(Literal* result, int64_t i, uint64_t bits) {
  if (!IsFloat(result->shape().element_type)) {
    result->SetInteger(i, static_cast<int64_t>(bits));
    return;
  }
  const size_t bytes = BitWidth(result->shape().element_type) / 8;
  std::memcpy(static_cast<std::byte*>(result->raw()) + static_cast<size_t>(i) * bytes, &bits, bytes);
}

// 32-bit ThreeFry words: an array is split into halves along its first even dimension (or the largest); element pairs
// along it are the two words of one counter, which counts row-major over the halved array.
void ThreeFryWords(uint64_t key, uint64_t counter, const Shape& shape, Literal* result, uint64_t* next) {
  const int64_t rank = shape.rank();
  std::vector<int64_t> half = shape.dimensions;
  int64_t split = -1;
  for (int64_t d = 0; d < rank && split < 0; ++d) {
    if (half[d] % 2 == 0) split = d;
  }
  for (int64_t d = 0; split < 0 && d < rank; ++d) {
    bool largest = true;
    for (int64_t e = 0; e < rank; ++e) largest = largest && (half[e] < half[d] || (half[e] == half[d] && e >= d));
    if (largest) split = d;
  }
  int64_t inner = 1, split_size = 1;
  if (split >= 0) {
    split_size = half[split];
    half[split] = (half[split] + 1) / 2;
    for (int64_t d = split + 1; d < rank; ++d) inner *= half[d];
  }
  int64_t count = 1;
  for (int64_t d : half) count *= d;
  const int64_t half_size = split >= 0 ? half[split] : 1;
  for (int64_t i = 0; i < count; ++i) {
    const Words2 words = ThreeFry(key, counter + static_cast<uint64_t>(i));
    const int64_t outer_index = i / (half_size * inner), pair = i / inner % half_size, inner_index = i % inner;
    const int64_t base = outer_index * split_size * inner + inner_index;
    SetBits(result, base + 2 * pair * inner, words.first);
    if (2 * pair + 1 < split_size) SetBits(result, base + (2 * pair + 1) * inner, words.second);
  }
  *next = counter + static_cast<uint64_t>(count);
}

}  // namespace

absl::StatusOr<Value> EvaluateRngBitGenerator(const Call& call) {
  if (!call.shape().IsTuple() || call.shape().tuple_shapes.size() != 2)
    return absl::UnimplementedError("rng-bit-generator without the new state");
  const Shape& shape = call.shape().tuple_shapes[1];
  const Literal& state = call.operand(0).array();
  RandomAlgorithm algorithm = call.instruction.attributes<RngBitGeneratorAttributes>().algorithm;
  if (algorithm == RandomAlgorithm::kDefault) algorithm = RandomAlgorithm::kPhilox;
  const int64_t words = algorithm == RandomAlgorithm::kThreeFry ? 2 : 3;
  if (state.shape().element_type != PrimitiveType::kU64 || state.element_count() < 2 || state.element_count() > words) {
    return absl::UnimplementedError(absl::StrCat("rng-bit-generator with a state of ", state.shape().ToString()));
  }
  const uint64_t* old_state = state.data<uint64_t>().data();
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> new_state, call.evaluation.NewArray(state.shape()));
  uint64_t* next = new_state->data<uint64_t>().data();
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
  const int64_t count = shape.ElementCount();
  const int width = BitWidth(shape.element_type);
  if (!IsInteger(shape.element_type) && (!IsFloat(shape.element_type) || width < 16))
    return absl::UnimplementedError(absl::StrCat("rng-bit-generator of ", shape.ToString()));
  next[0] = old_state[0];
  if (algorithm == RandomAlgorithm::kThreeFry) {
    if (width == 64) {
      for (int64_t i = 0; i < count; ++i) {
        const Words2 pair = ThreeFry(old_state[0], old_state[1] + static_cast<uint64_t>(i));
        SetBits(result.get(), i, uint64_t{pair.first} | uint64_t{pair.second} << 32);
      }
      next[1] = old_state[1] + static_cast<uint64_t>(count);
    } else {
      ThreeFryWords(old_state[0], old_state[1], shape, result.get(), &next[1]);
    }
  } else {
    // A state of two words has no upper half of the counter: XLA takes the key for it.
    const uint64_t low = old_state[1], high = state.element_count() > 2 ? old_state[2] : old_state[0];
    const int64_t words_per_element = width == 64 ? 2 : 1;
    const int64_t blocks = (count * words_per_element + 3) / 4;
    for (int64_t block = 0; block < blocks; ++block) {
      const uint64_t counter = low + static_cast<uint64_t>(block);
      const std::array<uint32_t, 4> words4 = Philox(old_state[0], counter, high + (counter < low ? 1 : 0));
      for (int64_t w = 0; w < 4; w += words_per_element) {
        const int64_t i = (block * 4 + w) / words_per_element;
        if (i >= count) break;
        SetBits(result.get(), i,
                words_per_element == 1 ? words4[w] : uint64_t{words4[w]} | uint64_t{words4[w + 1]} << 32);
      }
    }
    next[1] = low + static_cast<uint64_t>(blocks);
    if (state.element_count() > 2) next[2] = high + (next[1] < low ? 1 : 0);
  }
  return Value(std::vector<Value>{Value(std::move(new_state)), Value(std::move(result))});
}

// Any numbers of the distribution are right; these come from a generator whose key is the instruction and how often it
// ran in this evaluation.
absl::StatusOr<Value> EvaluateRng(const Call& call) {
  const Shape& shape = call.shape();
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
  const bool normal = call.instruction.attributes<RngAttributes>().distribution == RandomDistribution::kNormal;
  const double a = call.operand(0).array().GetDouble(0), b = call.operand(1).array().GetDouble(0);
  const uint64_t key =
      0x9E3779B97F4A7C15 * static_cast<uint64_t>(call.instruction.id() + 1) + call.evaluation.NextRandomStream();
  for (int64_t i = 0; i < shape.ElementCount(); ++i) {
    const std::array<uint32_t, 4> words = Philox(key, static_cast<uint64_t>(i), 0);
    const double u = static_cast<double>((uint64_t{words[0]} << 32 | words[1]) >> 11) * 0x1p-53;
    const double v = static_cast<double>((uint64_t{words[2]} << 32 | words[3]) >> 11) * 0x1p-53;
    if (normal) {
      result->SetDouble(
          i, a + b * std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v));  // Box and Muller
    } else if (IsFloat(shape.element_type)) {
      result->SetDouble(i, a + (b - a) * static_cast<double>(static_cast<float>(u) < 1 ? u : 0));
    } else {
      result->SetDouble(i, std::floor(a + (b - a) * u));
    }
  }
  return Value(std::move(result));
}

}  // namespace smelt::hlo
