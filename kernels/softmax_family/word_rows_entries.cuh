// The entries of _words.cu of softmax and log-softmax, for each data type. Only this file reads the defines of a launch plan;
// they become template arguments.
//   FORM       Softmax or LogSoftmax; ENTRY(name) names an entry
//   WORD       bytes of a word; THREADS: lanes per row; WORDS, ROWS, BLOCK, HINT: see word_rows.cuh
//   RESIDENT   blocks per multiprocessor for which registers must suffice;  ITEM_BYTES: of an element, 2 or 4
#pragma once
#include "softmax_family/word_rows.cuh"

#define DEFINE(dtype, T)                                                                                                 \
  extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) ENTRY(dtype)(const T* x, T* y, long long rows, int columns) { \
    word_rows<FORM, WORD, THREADS, WORDS, ROWS, BLOCK, HINT>(x, y, rows, columns);                                       \
  }

#if ITEM_BYTES == 4
DEFINE(f32, float)
#else
DEFINE(f16, __half)
DEFINE(bf16, __nv_bfloat16)
#endif
