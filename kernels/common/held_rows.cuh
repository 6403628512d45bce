// Softmax or log-softmax of rows that their threads hold between load and store: each element read once, written once.
//   x, y       T [rows, columns], row-major; must not overlap
//   Lanes      neighbouring lanes of a row, a power of two to 32; 32 where a row has more than one warp
//   Warps      warps of a row in a block, Blocks: blocks of a row, which are a cluster (sm_90) where there are several
//   Packs      packs of 16 bytes of a row in a thread's registers, SharedPacks: further ones in its slots of shared memory
//   Rows       rows that a thread works on at once; 1 where a row has more than one warp
//   Masked     rows begin anywhere; else at multiples of 16 bytes
//   needs      Lanes * Warps * Blocks * (Packs + SharedPacks) packs hold a row
//   launch     Warps 1: block any number of whole warps, grid ceil(rows / (rows of a block)); else block 32 * Warps,
//              grid rows * Blocks. SharedPacks * 16 bytes a thread of dynamic shared memory
// Warps of a row exchange maximum and sum at once, behind one barrier: each takes powers relative to its own maximum, and
// corrects them by one factor when the row's is known.
#pragma once
#include "common/cluster_exchange.cuh"
#include "common/row_packs.cuh"
#include "common/row_softmax.cuh"

// Joins the parts of a row's warps, of all its blocks; every thread gets the result. Called once by a block.
template <int Warps, int Blocks>
__device__ __forceinline__ Part row_all_join(Part own, int rank, Mailbox* box) {
  __shared__ float2 parts[Warps * Blocks];
  const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
  float2* place = parts + rank * Warps + warp;
  if constexpr (Blocks == 1) {
    if (lane == 0) *place = make_float2(own.max, own.sum);
    __syncthreads();  // every warp's part is there
  } else {
    cluster_wait();  // every block runs, so that its shared memory may be written
    if (lane < Blocks) send(place, lane, make_float2(own.max, own.sum), box);
    await(box, 0);  // every part is here; a block that others still send to waits for them, too
  }
  return warp_all_join(parts, Warps * Blocks);
}

// Rows element by element, a warp each, read twice: for arrays that do not begin where the launch supposes.
template <typename Form, bool Fast, typename T>
__device__ __noinline__ void rows_by_elements(const T* x, T* y, long long rows, int columns) {
  const int lane = threadIdx.x % WARP_SIZE;
  const int warps = blockDim.x / WARP_SIZE;
  for (long long row = static_cast<long long>(blockIdx.x) * warps + threadIdx.x / WARP_SIZE; row < rows;
       row += static_cast<long long>(gridDim.x) * warps) {
    const T* x_row = x + row * columns;
    float own_max = MaxOp::identity();
    for (int column = lane; column < columns; column += WARP_SIZE) own_max = MaxOp::apply(own_max, to_float(x_row[column]));
    const float max = warp_all_reduce<MaxOp>(own_max);
    float own_sum = 0.0f;
    for (int column = lane; column < columns; column += WARP_SIZE)
      own_sum += power_of<Fast, T>(to_float(x_row[column]) - max);
    const float scale = Form::scale_of(warp_all_reduce<SumOp>(own_sum));
    for (int column = lane; column < columns; column += WARP_SIZE) {
      const float value = to_float(x_row[column]);
      const float kept = Form::KEEPS_POWERS ? power_of<Fast, T>(value - max) : value;
      y[row * columns + column] = from_float<T>(Form::finish(kept, max, scale));
    }
  }
}

template <typename Form, int Lanes, int Warps, int Blocks, int Packs, int SharedPacks, int Rows, int Hint, bool Fast,
          bool Recompute, bool Masked, typename T>
__device__ __forceinline__ void held_rows(const T* __restrict__ x, T* __restrict__ y, long long rows, int columns) {
  static_assert(Lanes >= 1 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0, "LANES must be a power of two to 32");
  static_assert(Warps >= 1 && Warps <= 32 && Blocks >= 1 && Blocks <= 16, "a block has 32 warps, a cluster 16 blocks");
  static_assert(Warps == 1 || (Lanes == 32 && Rows == 1), "a row of several warps has all their lanes, and is the only one");
  static_assert(Warps > 1 || (Blocks == 1 && SharedPacks == 0), "clusters and shared memory: rows of several warps");
  constexpr int N = PER_PACK<T>;
  constexpr int Step = Lanes * Warps * Blocks;  // packs between two of a thread
  constexpr bool Many = Warps > 1;
  constexpr bool Powers = Form::KEEPS_POWERS && !Recompute;  // kept in place of the elements
  const auto begin = reinterpret_cast<unsigned long long>(x), target = reinterpret_cast<unsigned long long>(y);
  if (!Masked && (begin | target) % sizeof(uint4) != 0) return rows_by_elements<Form, Fast>(x, y, rows, columns);
  const bool packed = (begin ^ target) % sizeof(uint4) == 0;  // packs of x and y lie alike

  extern __shared__ uint4 slots[];  // [SharedPacks][threads]: a thread reads back only what it has written itself
  __shared__ Mailbox box;
  int rank = 0;
  if constexpr (Blocks > 1) {
    rank = cluster_rank();
    open_mailbox(&box, Warps * Blocks * sizeof(float2));  // waited for by row_all_join
  }
  const int groups = Many ? 1 : blockDim.x / Lanes;  // rows of a block at a time
  const int group = Many ? 0 : threadIdx.x / Lanes;
  const int own = Many ? rank * Warps * WARP_SIZE + threadIdx.x : threadIdx.x % Lanes;  // [0, Step)
  const long long first_row = static_cast<long long>(blockIdx.x) / Blocks * groups * Rows + group;
  const Matrix<T> matrix{x, x + rows * columns};

  // load: all packs are under way before the first is used
  uint4 held[Rows][Packs];
  int shift[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const long long row = first_row + static_cast<long long>(r) * groups;
    const int own_columns = row < rows ? columns : -N;  // every pack of a row that does not exist is beyond it
    const T* x_row = x + row * columns;
    shift[r] = Masked ? shift_of(x_row) : 0;
    const bool inside = !Masked || (row > 0 && row < rows - 1);  // of the matrix, with all packs that it reaches into
#pragma unroll
    for (int k = 0; k < SharedPacks; ++k) {
      const int column = ((Packs + k) * Step + own) * N - shift[r];
      uint4* slot = slots + k * blockDim.x + threadIdx.x;
      if (column >= own_columns) *slot = nothing<T>();
      else if (inside || matrix.holds(x_row + column)) copy_ahead(slot, x_row + column);
      else *slot = load_part(x_row, column, own_columns);
    }
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      const int column = (k * Step + own) * N - shift[r];
      if (column >= own_columns) held[r][k] = nothing<T>();
      else if (inside || matrix.holds(x_row + column)) held[r][k] = load_once<Hint>(x_row + column);
      else held[r][k] = load_part(x_row, column, own_columns);
    }
  }

  // reduce: the maximum of a group or warp, then powers relative to it
  float max[Rows], sum[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    Peak<T> peak = least<T>();
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      const int column = (k * Step + own) * N - shift[r];
      if (Masked && (column < 0 || column + N > columns)) held[r][k] = masked<T>(held[r][k], column, columns);
      peak = larger<T>(peak, peak_of<T>(held[r][k]));
    }
    max[r] = largest_of<T>(peak);
  }
  if constexpr (SharedPacks > 0) await_copies();
#pragma unroll 1  // a pack at a time, here and below: unrolled, they would all come to registers that there are not
  for (int k = 0; k < SharedPacks; ++k) {
    uint4* slot = slots + k * blockDim.x + threadIdx.x;
    const int column = ((Packs + k) * Step + own) * N - shift[0];
    if (Masked && (column < 0 || column + N > columns)) *slot = masked<T>(*slot, column, columns);
    const uint4 pack = *slot;
    max[0] = MaxOp::apply(max[0], largest_of<T>(peak_of<T>(pack)));
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) max[r] = warp_all_reduce<MaxOp, Lanes>(max[r]);

  float kept[Rows][Packs][Powers ? N : 1];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const float base = Many ? base_of(max[r]) : max[r];
    sum[r] = 0.0f;
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      float pack_sum = 0.0f;  // first by packs: they do not wait for one another
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float power = power_of<Fast, T>(element_of<T>(held[r][k], i) - base);
        if constexpr (Powers) kept[r][k][i] = power;
        pack_sum += power;
      }
      if constexpr (!Powers && sizeof(T) < 4) stay_packed(held[r][k]);
      sum[r] += pack_sum;
    }
#pragma unroll 1
    for (int k = 0; k < SharedPacks; ++k) {
      const uint4 pack = slots[k * blockDim.x + threadIdx.x];
#pragma unroll
      for (int i = 0; i < N; ++i) sum[r] += power_of<Fast, T>(element_of<T>(pack, i) - base);
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) sum[r] = warp_all_reduce<SumOp, Lanes>(sum[r]);

  // compute and store
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const long long row = first_row + static_cast<long long>(r) * groups;
    float factor = 1.0f;  // of powers that are relative to the warp's maximum
    if constexpr (Many) {
      const Part all = row_all_join<Warps, Blocks>({max[r], sum[r]}, rank, &box);
      if constexpr (Powers) factor = expf(max[r] - all.max);
      max[r] = all.max;
      sum[r] = all.sum;
    }
    const int own_columns = row < rows ? columns : -N;
    const float scale = Form::scale_of(sum[r]);
    T* y_row = y + row * columns;
    const auto finish = [&](float value) {  // of an element that is still as it was read
      const float own_value = Form::KEEPS_POWERS ? power_of<Fast, T>(value - max[r]) : value;
      return Form::finish(own_value, max[r], scale);
    };
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      const int column = (k * Step + own) * N - shift[r];
      if (column >= own_columns) continue;
      float results[N];
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if constexpr (Powers) results[i] = Form::finish(kept[r][k][i], max[r], Many ? factor * scale : scale);
        else results[i] = finish(element_of<T>(held[r][k], i));
      }
      store_pack<Hint, Masked>(y_row, column, columns, packed, results);
    }
#pragma unroll 1
    for (int k = 0; k < SharedPacks; ++k) {
      const int column = ((Packs + k) * Step + own) * N - shift[r];
      if (column >= own_columns) continue;
      const uint4 pack = slots[k * blockDim.x + threadIdx.x];
      float results[N];
#pragma unroll
      for (int i = 0; i < N; ++i) results[i] = finish(element_of<T>(pack, i));
      store_pack<Hint, Masked>(y_row, column, columns, packed, results);
    }
  }
}
