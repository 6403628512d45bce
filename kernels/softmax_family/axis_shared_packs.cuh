// Packs of a tile that are held in shared memory, beyond those in registers: a thread reads back only what it has put there.
//   SLOTS  of a thread, below its PACKS in the tile
#pragma once
#include "softmax_family/axis_tiles.cuh"

struct Slots {
  Pack* first;
  int stride;  // to the next
  __device__ __forceinline__ Pack& operator[](int k) const { return first[k * stride]; }
};

__device__ __forceinline__ Slots own_slots() {
  extern __shared__ uint4 shared_packs[];
  return {reinterpret_cast<Pack*>(shared_packs + 1) + threadIdx.y * wide() + threadIdx.x, wide() * high()};
}

// A thread's packs below those in registers.
template <int Form>
__device__ __forceinline__ Share<Form> below_registers(Share<Form> share) {
  share.first += PACKS * share.stride;
  share.at += PACKS * share.step;
  return share;
}

// Under way until await_slots.
template <int Form, typename T>
__device__ __forceinline__ void load_slots(const Slots& slots, const T* __restrict__ x, const Share<Form>& share, bool even) {
  constexpr int V = IN_PACK<T>;
  if (even) {
    const T* from = x + share.first;
#pragma unroll
    for (int k = 0; k < SLOTS; ++k, from += share.stride) {
      if (has(share, k)) copy_ahead(&slots[k], from);
      else slots[k] = filled(nothing<T>().x);
    }
    return;
  }
  const bool packed = phase_of(x + share.first) == 0;  // of all packs, as their distances are whole packs
  long long first = share.first;
#pragma unroll 2
  for (int k = 0; k < SLOTS; ++k, first += share.stride) {
    const int begin = share.begin_of(k), end = share.end_of(k);
    const bool inside = Form == WHOLE || (first >= 0 && first + V <= share.size);
    if (end <= 0 || begin >= V) slots[k] = filled(nothing<T>().x);
    else if (packed && inside && (Form != WHOLE || (begin <= 0 && end >= V))) copy_ahead(&slots[k], x + first);
    else slots[k] = load_within(x + first, begin, end);
  }
}

template <int Form, typename T>
__device__ __forceinline__ void await_slots(const Slots& slots, const Share<Form>& share, bool even) {
  await_copies();
  if constexpr (Form == RAGGED) {
#pragma unroll 1
    for (int k = 0; k < SLOTS && !even; ++k) {  // of packs that were read beyond the tile
      const int begin = share.begin_of(k), end = share.end_of(k);
      if (begin > 0 || end < IN_PACK<T>) slots[k] = only<T>(slots[k], bits_of<T>(begin, end));
    }
  }
}

// Results of packs, by `result_of(element, i)`, to their places.
template <int Form, typename T, typename ResultOf>
__device__ __forceinline__ void store_slots(T* __restrict__ y, const Slots& slots, const Share<Form>& share, bool even,
                                            ResultOf result_of) {
  constexpr int V = IN_PACK<T>;
  T* to = y + share.first;
  const bool packed = phase_of(to) == 0;
#pragma unroll 2
  for (int k = 0; k < SLOTS; ++k, to += share.stride) {
    Pack pack = slots[k];
    float results[V];
#pragma unroll
    for (int i = 0; i < V; ++i) results[i] = result_of(element_of<T>(pack, i), i);
#pragma unroll
    for (int i = 0; i < PACK_WORDS; ++i) word_at(pack, i) = word_from<T>(results + i * 4 / sizeof(T));
    if (even && has(share, k)) store_whole(reinterpret_cast<Pack*>(to), pack);
    else if (!even) store_within(to, pack, share.begin_of(k), share.end_of(k), packed);
  }
}
