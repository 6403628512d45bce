// A random mask of one byte per element, by Philox4x32-10, with stores of STORE bytes.
//   mask       int8 [elements]: 1 where the element's word is at least threshold, else 0; written once
//   seed       key of the generator; element i takes word i % 4 of counter i / 4
//   threshold  the share to be dropped, times 2^32
//   needs      elements >= 1
//   STORE      bytes of a store: 1, 4 or 16. A thread makes 4 elements at a time, or 16 where STORE is 16
//   launch     grid at most 32 waves of resident blocks, block of one dimension; no shared memory
//   moves      nothing in, one byte per element out
//   A mask that does not begin at a multiple of STORE bytes is written byte by byte.
//   Origin: OneFlow's RandomMaskGenerator; written here.
#include "common/elementwise.cuh"
#include "philox.cuh"

static_assert(STORE == 1 || STORE == 4 || STORE == 16, "a store has 1, 4 or 16 bytes");

extern "C" __global__ void random_mask_philox_i8(signed char* mask, long long elements, long long seed,
                                                 long long threshold) {
  constexpr int Size = STORE == 16 ? 16 : 4;  // elements of a thread and step
  using Packed = Pack<signed char, Size>;
  const unsigned least = static_cast<unsigned>(threshold);  // below 2^32
  const bool aligned = STORE > 1 && are_aligned<STORE>(mask);
  const long long step = global_threads() * Size;

  for (long long first = global_thread() * Size; first < elements; first += step) {
    Packed kept;
#pragma unroll
    for (int quad = 0; quad < Size / 4; ++quad) {
      const PhiloxWords random = philox(first / 4 + quad, seed);
#pragma unroll
      for (int word = 0; word < 4; ++word) kept.elements[4 * quad + word] = random.words[word] >= least;
    }
    if (aligned && first + Size <= elements) {
      *reinterpret_cast<Packed*>(mask + first) = kept;
    } else {
#pragma unroll
      for (int j = 0; j < Size; ++j)
        if (first + j < elements) mask[first + j] = kept.elements[j];
    }
  }
}
