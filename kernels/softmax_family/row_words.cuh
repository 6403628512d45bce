// Rows that are words of 8, 4 or 2 bytes, but not packs of 16, as threads hold them: no word lies in two rows.
//   Bytes      of a word: one element or several
//   Threads    per row
//   Words      per thread and row, in registers
//   needs      columns are whole words; Threads * Words words hold a row, and Threads * (Words - 1) do not
#pragma once
#include "softmax_family/row_packs.cuh"

template <int Bytes>
using Word = std::conditional_t<Bytes == 8, uint2, std::conditional_t<Bytes == 4, unsigned, unsigned short>>;

__device__ __forceinline__ void unpack(unsigned* held, uint2 word) { held[0] = word.x, held[1] = word.y; }
__device__ __forceinline__ void unpack(unsigned* held, unsigned word) { held[0] = word; }
__device__ __forceinline__ void pack(uint2& word, const unsigned* held) { word = make_uint2(held[0], held[1]); }
__device__ __forceinline__ void pack(unsigned& word, const unsigned* held) { word = held[0]; }
__device__ __forceinline__ void pack(unsigned short& word, const unsigned* held) { word = held[0]; }

// Four independent sums, so that additions overlap.
struct Sums {
  float parts[4] = {};
  __device__ __forceinline__ float all() const { return (parts[0] + parts[1]) + (parts[2] + parts[3]); }
};

// The words of one row that a thread holds. They are Step elements apart, and all but the last lie in the row.
template <int Bytes, int Threads, int Words, typename T>
struct RowWords {
  static_assert(Bytes == 8 || Bytes == 4 || (Bytes == 2 && sizeof(T) == 2), "words of 8 or 4 bytes, of half types 2 as well");
  static constexpr int N = Bytes / sizeof(T), Step = Threads * N, Elements = Words * N;
  static constexpr int Registers = Bytes == 8 ? 2 : 1;  // of a word; one of 2 bytes is the lower half of its register
  unsigned held[Words * Registers];

  __device__ __forceinline__ float element(int i) const {
    return Bytes == 2 ? element_at<T>(held + i, 0) : element_at<T>(held, i);
  }

  // Calls use(registers, column) for each word to be loaded: the row's last in place of one beyond it, because with a branch
  // the compiler would delay the loads that follow.
  template <typename Use>
  __device__ __forceinline__ void each_word(int column, int columns, Use use) {
#pragma unroll
    for (int k = 0; k < Words; ++k)
      use(held + k * Registers, k < Words - 1 ? column + k * Step : min(column + k * Step, columns - N));
  }

  // Stores result(i) in place of each element i. `row`: the place of the thread's first; all: its last word lies in the row.
  template <int Hint, typename Result>
  __device__ __forceinline__ void store(T* row, bool all, Result result) const {
#pragma unroll
    for (int k = 0; k < Words; ++k) {
      float results[N + 1] = {};  // a word of 2 bytes has one element, and word_of takes two
#pragma unroll
      for (int i = k * N; i < (k + 1) * N; ++i) results[i % N] = result(i);
      unsigned registers[Registers];
#pragma unroll
      for (int i = 0; i < Registers; ++i) {
        if constexpr (sizeof(T) == 4) registers[i] = __float_as_uint(results[i]);
        else registers[i] = word_of<T>(results[2 * i], results[2 * i + 1]);
      }
      if (k == Words - 1 && !all) continue;
      Word<Bytes> word, *place = reinterpret_cast<Word<Bytes>*>(row + k * Step);
      pack(word, registers);
      if constexpr (Hint == 1) __stcs(place, word);
      else *place = word;
    }
  }
};
