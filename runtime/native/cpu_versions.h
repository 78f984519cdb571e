// One version of a function for each kind of vectors, chosen when the program is loaded.
#pragma once

// The thread sanitizer puts calls of its own into what chooses, which runs before they can be made.
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define SMELT_FOR_EACH_VECTOR_WIDTH __attribute__((flatten))
#else
#define SMELT_FOR_EACH_VECTOR_WIDTH __attribute__((flatten, target_clones("avx512f", "avx2", "default")))
#endif
