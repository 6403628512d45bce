// Log-softmax over the last axis, of rows that are words of 8, 4 or 2 bytes, but not packs of 16.
//   x        T [rows, columns], row-major; read once
//   y        T [rows, columns]; must not overlap x; written once
//   T        float, __half, __nv_bfloat16; arithmetic in float
//   WORD     bytes of a word. It, the other constants and the launch: softmax_family/word_rows_entries.cuh
//   moves    D in, D out. A row of -inf, or with +inf or NaN, gives NaN.   Origin: written here.
#define FORM LogSoftmax
#define ENTRY(name) log_softmax_one_read_words_##name
#include "softmax_family/word_rows_entries.cuh"
