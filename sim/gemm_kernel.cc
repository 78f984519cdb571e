#include "sim/gemm_kernel.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace smelt::sim {
namespace {

void PlainStep(int32_t* acc, const int16_t* inp, const int16_t* wgt, const GemmBlock& block) {
  const int64_t paired = PairedLanes(block.block_in);
  for (int64_t b = 0; b < block.batch; ++b) {
    for (int64_t n = 0; n < block.block_out; ++n) {
      uint32_t sum = static_cast<uint32_t>(acc[b * block.block_out + n]);  // modulo 2^32
      for (int64_t k = 0; k < paired; ++k)
        sum += static_cast<uint32_t>(inp[b * paired + k] * wgt[PairedWeight(n, k, block.block_out)]);
      acc[b * block.block_out + n] = static_cast<int32_t>(sum);
    }
  }
}

void PlainGemm(int32_t* acc, const int16_t* inp, const int16_t* wgt, absl::Span<const GemmStep> steps,
               const GemmBlock& block) {
  for (const GemmStep& step : steps) PlainStep(acc + step.acc, inp + step.inp, wgt + step.wgt, block);
}

#if defined(__x86_64__)
inline int32_t PairAt(const int16_t* lanes) {
  int32_t pair;
  std::memcpy(&pair, lanes, sizeof(pair));
  return pair;
}

__attribute__((target("avx2"), always_inline)) inline void Avx2Step(int32_t* acc, const int16_t* inp,
                                                                    const int16_t* wgt, const GemmBlock& block) {
  const int64_t paired = PairedLanes(block.block_in);
  for (int64_t b = 0; b < block.batch; ++b) {
    for (int64_t n = 0; n < block.block_out; n += 8) {
      auto* const out = reinterpret_cast<__m256i*>(acc + b * block.block_out + n);
      __m256i sum = _mm256_loadu_si256(out), other = _mm256_setzero_si256();
      int64_t k = 0;
      for (; k + 2 < paired; k += 4) {
        const auto* first = reinterpret_cast<const __m256i*>(wgt + k * block.block_out + n * 2);
        const auto* second = reinterpret_cast<const __m256i*>(wgt + (k + 2) * block.block_out + n * 2);
        sum = _mm256_add_epi32(
            sum, _mm256_madd_epi16(_mm256_set1_epi32(PairAt(inp + b * paired + k)), _mm256_loadu_si256(first)));
        other = _mm256_add_epi32(
            other, _mm256_madd_epi16(_mm256_set1_epi32(PairAt(inp + b * paired + k + 2)), _mm256_loadu_si256(second)));
      }
      if (k < paired) {
        const auto* last = reinterpret_cast<const __m256i*>(wgt + k * block.block_out + n * 2);
        sum = _mm256_add_epi32(
            sum, _mm256_madd_epi16(_mm256_set1_epi32(PairAt(inp + b * paired + k)), _mm256_loadu_si256(last)));
      }
      _mm256_storeu_si256(out, _mm256_add_epi32(sum, other));
    }
  }
}

// The blocks of the machines that are built in as constants, so that the loops unroll.
__attribute__((target("avx2"))) void Avx2Gemm(int32_t* acc, const int16_t* inp, const int16_t* wgt,
                                              absl::Span<const GemmStep> steps, const GemmBlock& block) {
  if (block.batch == 1 && block.block_in == 16 && block.block_out == 16) {
    for (const GemmStep& step : steps) Avx2Step(acc + step.acc, inp + step.inp, wgt + step.wgt, {1, 16, 16});
  } else if (block.batch == 1 && block.block_in == 32 && block.block_out == 32) {
    for (const GemmStep& step : steps) Avx2Step(acc + step.acc, inp + step.inp, wgt + step.wgt, {1, 32, 32});
  } else {
    for (const GemmStep& step : steps) Avx2Step(acc + step.acc, inp + step.inp, wgt + step.wgt, block);
  }
}

__attribute__((target("avx512bw"), always_inline)) inline void Avx512Step(int32_t* acc, const int16_t* inp,
                                                                          const int16_t* wgt, const GemmBlock& block) {
  const int64_t paired = PairedLanes(block.block_in);
  for (int64_t b = 0; b < block.batch; ++b) {
    for (int64_t n = 0; n < block.block_out; n += 16) {
      int32_t* const out = acc + b * block.block_out + n;
      __m512i sum = _mm512_loadu_si512(out), other = _mm512_setzero_si512();
      int64_t k = 0;
      for (; k + 2 < paired; k += 4) {
        const __m512i first = _mm512_loadu_si512(wgt + k * block.block_out + n * 2);
        const __m512i second = _mm512_loadu_si512(wgt + (k + 2) * block.block_out + n * 2);
        sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_set1_epi32(PairAt(inp + b * paired + k)), first));
        other = _mm512_add_epi32(other, _mm512_madd_epi16(_mm512_set1_epi32(PairAt(inp + b * paired + k + 2)), second));
      }
      if (k < paired) {
        const __m512i last = _mm512_loadu_si512(wgt + k * block.block_out + n * 2);
        sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_set1_epi32(PairAt(inp + b * paired + k)), last));
      }
      _mm512_storeu_si512(out, _mm512_add_epi32(sum, other));
    }
  }
}

// The blocks of the machines that are built in as constants, so that the loops unroll.
__attribute__((target("avx512bw"))) void Avx512Gemm(int32_t* acc, const int16_t* inp, const int16_t* wgt,
                                                    absl::Span<const GemmStep> steps, const GemmBlock& block) {
  if (block.batch == 1 && block.block_in == 16 && block.block_out == 16) {
    for (const GemmStep& step : steps) Avx512Step(acc + step.acc, inp + step.inp, wgt + step.wgt, {1, 16, 16});
  } else if (block.batch == 1 && block.block_in == 32 && block.block_out == 32) {
    for (const GemmStep& step : steps) Avx512Step(acc + step.acc, inp + step.inp, wgt + step.wgt, {1, 32, 32});
  } else {
    for (const GemmStep& step : steps) Avx512Step(acc + step.acc, inp + step.inp, wgt + step.wgt, block);
  }
}
#endif

}  // namespace

std::vector<GemmKernel> GemmKernels(int64_t block_out) {
  std::vector<GemmKernel> kernels = {PlainGemm};
#if defined(__x86_64__)
  if (block_out % 8 == 0 && __builtin_cpu_supports("avx2")) kernels.push_back(Avx2Gemm);
  if (block_out % 16 == 0 && __builtin_cpu_supports("avx512bw")) kernels.push_back(Avx512Gemm);
#endif
  return kernels;
}

GemmKernel BestGemmKernel(int64_t block_out) { return GemmKernels(block_out).back(); }

}  // namespace smelt::sim
