// Layer norm of long rows through a pipeline. Each multiprocessor has one block. The blocks of a group have the same columns of
// every row that the group takes. While they store the results of one row, they sum up a later one, and load still later ones.
//   x, y     T [rows, columns], row-major, beginning at the same element of a pack; must not overlap
//   Warps    of a block that hold elements. Two more exchange moments between blocks, through global memory
//   Blocks   per row: a group, which must be resident as a whole
//   Packs    packs of 16 bytes per thread and row;  Slots: rows in shared memory
//   Ahead    turns between a row's sums and its results, which hide the exchange
//   Masked   rows begin anywhere; else at multiples of 16 bytes
//   Kept     a thread keeps gamma and beta in registers; if Masked, the rows of a group must begin at the same element of a pack
//   needs    a row reaches into at most 32 * Warps * Blocks * Packs packs, and into more than with one pack less per thread
//   launch   block 32 * (Warps + 2), grid groups * Blocks, at most MOST_BLOCKS; one launch at a time.
//            32 * Warps * Packs * Slots * 16 bytes of dynamic shared memory
//   moves    each element is read once and written once, gamma and beta once per group, or, unless Kept, once per row
#pragma once
#include "layer_norm/rows_in_turn.cuh"

// ---- Messages: the moments that a block sends to its group ----

constexpr int MESSAGES = 8;  // turns
// {mean, tag} and {squares, tag}; memory has each of these two whole, or not yet. No other turn, of any launch, has that tag.
__device__ ulonglong2 messages[MESSAGES][MOST_BLOCKS];
__device__ unsigned tags_used, blocks_ended;

__device__ __forceinline__ void send_message(ulonglong2* place, const Moments& own, unsigned tag) {
  const unsigned long long upper = static_cast<unsigned long long>(tag) << 32;
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(place)),
               "l"(upper | __float_as_uint(own.mean)), "l"(upper | __float_as_uint(own.squares))
               : "memory");
}

// Waits for the messages of all blocks of a group, and puts what they say into shared memory; by all lanes of a warp.
template <int Blocks>
__device__ __forceinline__ void await_messages(Moments* found, const ulonglong2* places, unsigned tag) {
  constexpr int Each = (Blocks + WARP_SIZE - 1) / WARP_SIZE;
  const int lane = threadIdx.x % WARP_SIZE;
  ulonglong2 message[Each];
  bool there[Each] = {}, all;
  do {
    all = true;
#pragma unroll
    for (int i = 0; i < Each; ++i)
      if (!there[i])
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(message[i].x), "=l"(message[i].y)
                     : "l"(__cvta_generic_to_global(places + min(lane + i * WARP_SIZE, Blocks - 1)))
                     : "memory");
#pragma unroll
    for (int i = 0; i < Each; ++i) {
      there[i] = static_cast<unsigned>(message[i].x >> 32) == tag && static_cast<unsigned>(message[i].y >> 32) == tag;
      all &= there[i];
    }
  } while (!all);
#pragma unroll
  for (int i = 0; i < Each; ++i)
    if (lane + i * WARP_SIZE < Blocks)
      found[lane + i * WARP_SIZE] = {__uint_as_float(static_cast<unsigned>(message[i].x)),
                                     __uint_as_float(static_cast<unsigned>(message[i].y))};
  __syncwarp();  // the moments of all blocks are there
}

// ---- Copies into shared memory, row by row ----

__device__ __forceinline__ void end_of_row_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for all rows but the last `Rows` that were begun.
template <int Rows>
__device__ __forceinline__ void await_rows_but() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Rows) : "memory");
#endif
}

// ---- The pipeline ----

template <int Warps, int Blocks, int Packs, int Slots, int Ahead, int Hint, bool Masked, bool Kept, typename T>
__device__ __forceinline__ void layer_norm_long_rows(const T* __restrict__ x, const Weights<T>& weights, T* __restrict__ y,
                                                     long long rows, int columns) {
  static_assert(Slots > Ahead + 1, "a row is under way");
  // A block sends a message when all others have sent that of Ahead turns before, and have read all those of 2 * Ahead before.
  static_assert(MESSAGES >= 2 * Ahead, "a message is read before its place is used again");
  constexpr int N = PER_PACK<T>, Threads = Warps * WARP_SIZE, Parts = Warps * Blocks;
  if (!in_packs<Masked>(x, y, weights, columns) || shift_of(x) != shift_of(y))
    return layer_norm_by_elements(x, weights, y, rows, columns);

  __shared__ Moments warp_parts[2][Warps], block_parts[Blocks];
  __shared__ RowNorm norms[2];
  const int thread = threadIdx.x, warp = thread / WARP_SIZE, lane = thread % WARP_SIZE;
  const bool holds = warp < Warps, sends = warp == Warps, receives = warp == Warps + 1;
  const int rank = blockIdx.x % Blocks, group = blockIdx.x / Blocks, groups = gridDim.x / Blocks;
  const int turns = static_cast<int>((rows - group + groups - 1) / groups);
  const auto row_of = [=](int turn) { return static_cast<long long>(turn) * groups + group; };
  const auto shift_in = [=](int turn) { return Masked ? shift_of(x + row_of(turn) * columns) : 0; };
  using Own = PacksInTurn<Threads, Packs, Parts * WARP_SIZE, Masked, T>;
  const auto own_in = [=](int turn) { return Own{rank * Threads + thread, columns, shift_in(turn)}; };

  unsigned tags = 0;
  uint4 kept[Packs][2];  // gamma and beta
  if (holds) {
#pragma unroll 1
    for (int turn = 0; turn < Slots - Ahead; ++turn) {
      if (turn < turns) own_in(turn).start_loads(x, row_of(turn), rows, turn);
      end_of_row_copies();
    }
    const Own own = own_in(0);
#pragma unroll
    for (int k = 0; k < Packs; ++k)
      if (Kept && own.exists(k)) load_weights<Masked>(kept[k], weights, own.column(k), columns);
  } else {
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(tags) : "l"(&tags_used) : "memory");
  }

#pragma unroll 1
  for (int turn = -Ahead; turn < turns; ++turn) {
    // reduce: each warp has deviations from its own mean
    const int summed = turn + Ahead, slot = (turn + Slots) % Slots, shift = shift_in(summed);
    const auto elements_of_warp = [=](int i) { return elements_of<Parts, N>(rank * Warps + i, columns, shift); };
    if (holds) await_rows_but<Slots - Ahead - 1>();
    if (holds && summed < turns) {
      const Own own = own_in(summed);
      uint4 held[Packs];
#pragma unroll
      for (int k = 0; k < Packs; ++k) held[k] = own.exists(k) ? *own.place(summed % Slots, k) : uint4{};
      const Moments of_warp = own.moments(held, elements_of_warp(warp));
      if (lane == 0) warp_parts[summed % 2][warp] = of_warp;
    }
    __syncthreads();  // of row `summed` all parts are there, and of row `turn` the norm

    if (sends && summed < turns) {
      const int elements = max(elements_of<Blocks, N * Warps>(rank, columns, shift), 1);
      const Moments all = warp_all_join<LANES_FOR<Warps>>(warp_parts[summed % 2], Warps, elements, elements_of_warp);
      if (lane == 0) send_message(messages[summed % MESSAGES] + group * Blocks + rank, all, tags + summed + 1);
    }
    if (receives && turn >= -1 && turn + 1 < turns) {
      const int next = turn + 1, next_shift = shift_in(next);
      const auto elements_of_block = [=](int i) { return elements_of<Blocks, N * Warps>(i, columns, next_shift); };
      await_messages<Blocks>(block_parts, messages[next % MESSAGES] + group * Blocks, tags + next + 1);
      const Moments all = warp_all_join<LANES_FOR<Blocks>>(block_parts, Blocks, columns, elements_of_block);
      if (lane == 0) norms[next % 2] = norm_of<T>(all.mean, all.squares, columns, weights.eps);
      __syncwarp();  // the messages are read
    }
    // compute and store, then load another row into the slot
    if (holds && turn >= 0) {
      const Own own = own_in(turn);
      const RowNorm norm = norms[turn % 2];
      T* y_row = y + row_of(turn) * columns;
#pragma unroll
      for (int k = 0; k < Packs; ++k) {
        if (!own.exists(k)) continue;
        if (!Kept) load_weights<Masked>(kept[k], weights, own.column(k), columns);
        float results[N];
        normalised<T>(*own.place(slot, k), norm, again<T>(kept[k][0]), again<T>(kept[k][1]), results);
        own.template store<Hint>(y_row, k, results);
      }
    }
    if (holds && turn + Slots < turns) own_in(turn + Slots).start_loads(x, row_of(turn + Slots), rows, slot);
    if (holds) end_of_row_copies();
  }
  // The last block of the launch says which tags are used.
  if (receives && lane == 0 && atomicInc(&blocks_ended, gridDim.x - 1) == gridDim.x - 1)
    tags_used = tags + static_cast<unsigned>((rows + groups - 1) / groups);
}
