// Softmax or log-softmax of long rows, one after another: while a row is worked on, the packs of the next ones are on their way
// into shared memory, so that loads do not rest while maximum and sum are exchanged. Each element is read once, written once.
//   x, y         T [rows, columns], row-major; must not overlap
//   Warps        warps of a row in a block, Blocks: blocks of a row, which are a cluster (sm_90) where there are several
//   Packs        packs of a thread that move on to registers: their slots are filled again at once
//   SharedPacks  further ones, which stay in their slots until the result is stored
//   Stages       rows in shared memory, [Stages][Packs + SharedPacks][threads] slots of 16 bytes; a thread has its own
//   Masked       rows begin anywhere; else at multiples of 16 bytes
//   needs        Warps * 32 * Blocks * (Packs + SharedPacks) packs hold a row
//   launch       block 32 * Warps, grid any number of clusters, each of which takes every such-th row
#pragma once
#include "common/held_rows.cuh"

// Joins the parts of a row's warps, of all its blocks; every thread gets the result. Places of `parts` [Warps * Blocks] may be
// written again two calls later: whoever has passed the barrier of the call between knows that all have read them.
template <int Warps, int Blocks>
__device__ __forceinline__ Part stream_all_join(float2* parts, Part own, int rank, Mailbox* box, int turn) {
  const int lane = threadIdx.x % WARP_SIZE;
  float2* place = parts + rank * Warps + threadIdx.x / WARP_SIZE;
  if constexpr (Blocks == 1) {
    if (lane == 0) *place = make_float2(own.max, own.sum);
    __syncthreads();
  } else {
    if (lane < Blocks) send(place, lane, make_float2(own.max, own.sum), box);
    await(box, turn % 2);
    if (threadIdx.x == 0) expect(box, Warps * Blocks * sizeof(float2));
  }
  return warp_all_join(parts, Warps * Blocks);
}

template <typename Form, int Warps, int Blocks, int Packs, int SharedPacks, int Stages, int Hint, bool Fast, bool Masked,
          typename T>
__device__ __forceinline__ void streamed_rows(const T* __restrict__ x, T* __restrict__ y, long long rows, int columns) {
  static_assert(Warps >= 1 && Warps <= 32 && Blocks >= 1 && Blocks <= 8, "a block has 32 warps, a cluster 8 blocks");
  static_assert(Stages >= 1 && Packs + SharedPacks >= 1, "a row has slots");
  constexpr int N = PER_PACK<T>;
  constexpr int Threads = Warps * WARP_SIZE;
  constexpr int Step = Threads * Blocks;  // packs between two of a thread
  constexpr int Own = Packs + SharedPacks;
  constexpr bool Powers = Form::KEEPS_POWERS && sizeof(T) == 4;  // take the elements' place; halves would lose bits there
  const auto begin = reinterpret_cast<unsigned long long>(x), target = reinterpret_cast<unsigned long long>(y);
  if (!Masked && (begin | target) % sizeof(uint4) != 0) return rows_by_elements<Form, Fast>(x, y, rows, columns);
  const bool packed = (begin ^ target) % sizeof(uint4) == 0;  // packs of x and y lie alike

  extern __shared__ uint4 slots[];
  __shared__ float2 parts[2][Warps * Blocks];
  __shared__ Mailbox box;
  int rank = 0;
  if constexpr (Blocks > 1) {
    rank = cluster_rank();
    open_mailbox(&box, Warps * Blocks * sizeof(float2));
  }
  const int own = rank * Threads + threadIdx.x;  // [0, Step)
  const long long clusters = gridDim.x / Blocks;
  const Matrix<T> matrix{x, x + rows * columns};

  const auto bring = [&](uint4* slot, long long row, int k) {
    if (row >= rows) return;
    const T* x_row = x + row * columns;
    const int column = (k * Step + own) * N - (Masked ? shift_of(x_row) : 0);
    if (column >= columns) *slot = nothing<T>();
    else if (!Masked || matrix.holds(x_row + column)) copy_ahead(slot, x_row + column);
    else *slot = load_part(x_row, column, columns);
  };
  const long long first_row = static_cast<long long>(blockIdx.x) / Blocks;
#pragma unroll
  for (int s = 0; s < Stages; ++s) {
#pragma unroll
    for (int k = 0; k < Own; ++k) bring(slots + (s * Own + k) * Threads + threadIdx.x, first_row + s * clusters, k);
    close_copies();
  }
  if constexpr (Blocks > 1) cluster_wait();  // every block runs, so that its shared memory may be written

  int turn = 0;
  for (long long row = first_row; row < rows; row += clusters, ++turn) {
    uint4* stage = slots + turn % Stages * Own * Threads + threadIdx.x;
    const long long next = row + Stages * clusters;  // the row that this one's slots are for
    const int shift = Masked ? shift_of(x + row * columns) : 0;
    const auto column_of = [&](int k) { return (k * Step + own) * N - shift; };
    const auto cut = [&](const uint4& pack, int k) {
      const int column = column_of(k);
      return Masked && (column < 0 || column + N > columns) ? masked<T>(pack, column, columns) : pack;
    };
    await_copies_but<Stages - 1>();

    uint4 held[Packs + 1];  // one more, for there may be none
    Peak<T> peak = least<T>();
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      held[k] = cut(stage[k * Threads], k);
      peak = larger<T>(peak, peak_of<T>(held[k]));
    }
#pragma unroll
    for (int k = 0; k < Packs; ++k) bring(stage + k * Threads, next, k);
#pragma unroll 4
    for (int k = Packs; k < Own; ++k) {
      const uint4 pack = cut(stage[k * Threads], k);
      if constexpr (Masked) stage[k * Threads] = pack;
      peak = larger<T>(peak, peak_of<T>(pack));
    }
    const float max = warp_all_reduce<MaxOp>(largest_of<T>(peak));
    const float base = base_of(max);

    const auto to_powers = [&](uint4& pack) {  // and their sum
      float powers[N], sum = 0.0f;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        powers[i] = power_of<Fast, T>(element_of<T>(pack, i) - base);
        sum += powers[i];
      }
      if constexpr (Powers) pack = pack_of<T>(powers);
      else stay_packed(pack);
      return sum;
    };
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < Packs; ++k) sum += to_powers(held[k]);
#pragma unroll 4
    for (int k = Packs; k < Own; ++k) {
      uint4 pack = stage[k * Threads];
      sum += to_powers(pack);
      if constexpr (Powers) stage[k * Threads] = pack;
    }
    const Part all = stream_all_join<Warps, Blocks>(parts[turn % 2], {max, warp_all_reduce<SumOp>(sum)}, rank, &box, turn);

    const float scale = (Powers ? expf(max - all.max) : 1.0f) * Form::scale_of(all.sum);
    T* y_row = y + row * columns;
    const auto store = [&](const uint4& pack, int k) {
      const int column = column_of(k);
      if (column >= columns) return;
      float results[N];
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float value = element_of<T>(pack, i);
        const float kept = Form::KEEPS_POWERS && !Powers ? power_of<Fast, T>(value - all.max) : value;
        results[i] = Form::finish(kept, all.max, scale);
      }
      store_pack<Hint, Masked>(y_row, column, columns, packed, results);
    };
#pragma unroll
    for (int k = 0; k < Packs; ++k) store(held[k], k);
#pragma unroll 4
    for (int k = Packs; k < Own; ++k) {
      const uint4 pack = stage[k * Threads];
      bring(stage + k * Threads, next, k);
      store(pack, k);
    }
    close_copies();
  }
}
