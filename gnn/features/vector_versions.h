// A function that is compiled for each kind of vectors, of which the loader takes the widest that the CPU has.
//
//   SMELT_VECTOR_VERSIONS void Halve(float* x) { ... }
#pragma once

// The thread sanitizer puts calls of its own into what chooses, which runs before they can be made.
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define SMELT_VECTOR_VERSIONS
#else
#define SMELT_VECTOR_VERSIONS __attribute__((target_clones("avx512f", "avx2,fma", "default")))
#endif
