// What threads know of the columns of a tile, joined: maxima, and sums of powers relative to them. By lanes of a warp where
// these share columns, then by shared memory.
//   SEGMENT  packs side by side where lanes that many apart have the same columns: 1, 2, 4 .. 16; else 0
//   GROUP    threads of a slab that is a part of a warp: a power of two; 1 where none shares a column; 0 where it is more
//   FOLD     columns of an array whose rows are less than a pack, which holds several: 2 or 4; else 0
//   CLUSTER  blocks that share a column by their cluster
//   TICKETS  of common/tickets.cuh
#pragma once
#include "common/axis_tiles.cuh"
#include "common/cluster_exchange.cuh"
#include "common/exponential.cuh"

constexpr int KEPT = 8;  // rows of a block's maxima and sums that are joined at once

// pairs [0, count), joined; a sum is relative to its own maximum. Of a pair that is (-inf, 0) the maximum itself is taken,
// not its base: the factor is 0 then, however small the others' maxima are, and not infinite.
template <typename Get>
__device__ __forceinline__ float2 join_pairs(Get get, int count) {
  float max = MaxOp::identity();
#pragma unroll 4
  for (int i = 0; i < count; ++i) max = fmaxf(max, get(i).x);
  const float base = base_of(max);
  float sum = 0.0f;
#pragma unroll 4
  for (int i = 0; i < count; ++i) {
    const float2 pair = get(i);
    sum += pair.y * hardware_exp(pair.x - base);
  }
  return {max, sum};
}

// The same of as many as the compiler knows, each read once.
template <int Count>
__device__ __forceinline__ float2 join_pairs(const float2 (&pairs)[Count]) {
  float max = pairs[0].x, sum = 0.0f;
#pragma unroll
  for (int i = 1; i < Count; ++i) max = fmaxf(max, pairs[i].x);
  const float base = base_of(max);
#pragma unroll
  for (int i = 0; i < Count; ++i) sum += pairs[i].y * hardware_exp(pairs[i].x - base);
  return {max, sum};
}

// A sum of powers, rid of their excess.
template <typename T>
__device__ __forceinline__ float2 corrected(float2 pair) {
  const float base = base_of(pair.x);
  const Powers<false, T> powers(base);
  if (sizeof(T) == 4) return pair;
  return {pair.x, pair.y == powers.of(base) ? 1.0f : pair.y * powers.correction(base)};  // 1 exactly: its logarithm is 0
}

template <typename T>
__device__ __forceinline__ unsigned larger_word(unsigned a, unsigned b) {
  if constexpr (sizeof(T) == 4) return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b)));
  else return larger<T>(a, b);
}

template <typename T>
__device__ __forceinline__ uint4 larger_pack(uint4 a, uint4 b) {
  return make_uint4(larger_word<T>(a.x, b.x), larger_word<T>(a.y, b.y), larger_word<T>(a.z, b.z), larger_word<T>(a.w, b.w));
}

// Of a pack that repeats its first `Bytes`.
template <int Bytes>
__device__ __forceinline__ uint4 from_lane(uint4 pack, int offset) {
  const unsigned x = __shfl_xor_sync(ALL_LANES, pack.x, offset);
  const unsigned y = Bytes > 4 ? __shfl_xor_sync(ALL_LANES, pack.y, offset) : x;
  const unsigned z = Bytes > 8 ? __shfl_xor_sync(ALL_LANES, pack.z, offset) : x;
  return make_uint4(x, y, z, Bytes > 8 ? __shfl_xor_sync(ALL_LANES, pack.w, offset) : y);
}

// ---- Lanes of a warp ----

constexpr int SHARING = GROUP > 0 ? GROUP : WARP_SIZE;  // lanes among which those SEGMENT apart have the same columns

// Of packs that are less than a row wide, columns of the same number: FOLD * k + i for all k.
template <typename T>
__device__ __forceinline__ uint4 folded_max(uint4 most) {
  if constexpr (FOLD > 0 && FOLD * sizeof(T) <= 8) {
    const uint4 other = make_uint4(most.z, most.w, most.x, most.y);
    most = larger_pack<T>(most, other);
  }
  if constexpr (FOLD > 0 && FOLD * sizeof(T) <= 4) {
    const uint4 other = make_uint4(most.y, most.x, most.w, most.z);
    most = larger_pack<T>(most, other);
  }
  return most;
}

template <typename T>
__device__ __forceinline__ void fold_sums(float (&sums)[PER_PACK<T>]) {
#pragma unroll
  for (int period = PER_PACK<T> / 2; FOLD > 0 && period >= FOLD; period /= 2)
#pragma unroll
    for (int i = 0; i < period; ++i) sums[i] = sums[i + period] = sums[i] + sums[i + period];
}

// By lanes SEGMENT apart. Packs of several rows are folded before: then fewer of their words are exchanged.
template <typename T>
__device__ __forceinline__ uint4 max_of_lanes(uint4 most) {
  most = folded_max<T>(most);
  constexpr int Bytes = FOLD > 0 ? FOLD * static_cast<int>(sizeof(T)) : 16;
#pragma unroll
  for (int offset = SEGMENT; SEGMENT > 0 && offset < SHARING; offset *= 2)
    most = larger_pack<T>(most, from_lane<Bytes>(most, offset));
  return most;
}

template <typename T>
__device__ __forceinline__ void add_lanes(float (&sums)[PER_PACK<T>]) {
  constexpr int Columns = FOLD > 0 ? FOLD : PER_PACK<T>;
  fold_sums<T>(sums);
#pragma unroll
  for (int offset = SEGMENT; SEGMENT > 0 && offset < SHARING; offset *= 2)
#pragma unroll
    for (int i = 0; i < Columns; ++i) sums[i] += __shfl_xor_sync(ALL_LANES, sums[i], offset);
#pragma unroll
  for (int i = Columns; i < PER_PACK<T>; ++i) sums[i] = sums[i % Columns];
}

// ---- The threads of a slab, through shared memory ----

// By labels, which are blockDim.x * PER_PACK. Rows: one for each warp where lanes were joined, else one for each thread row.
template <typename T>
struct Sheets {
  uint4* most;     // [rows, packs side by side]
  float* sums;     // [rows, labels]
  float* maxima;   // [classes, labels]; classes: of rows that begin alike
  float2* parts;   // [CLUSTER, width], or as tickets need it
  float* max;      // [width], of columns
  float* end;      // [width]
  Mailbox* box;
  int rows, labels;
};

__device__ __forceinline__ Mailbox* own_mailbox() {
  extern __shared__ uint4 shared_packs[];
  return reinterpret_cast<Mailbox*>(shared_packs);
}

template <int Form, typename T>
__device__ __forceinline__ Sheets<T> sheets_of(int width) {
  extern __shared__ uint4 shared_packs[];
  constexpr int Classes = Form == SHIFTED ? PER_PACK<T> : 1;
  Sheets<T> sheets;
  const int segment = wide(), padded = (width + 3) / 4 * 4;
  sheets.rows = SEGMENT > 0 ? segment * high() / WARP_SIZE : high();
  sheets.labels = segment * PER_PACK<T>;
  const int pairs = TICKETS ? max(segment * high(), padded) : CLUSTER > 1 ? CLUSTER * padded : 0;
  const int floats = (sheets.rows + Classes) * sheets.labels + 2 * padded + 2 * pairs;
  uint4* own = shared_packs + 1 + threadIdx.z * (sheets.rows * segment + (floats + 3) / 4);
  sheets.most = own;
  sheets.sums = reinterpret_cast<float*>(own + sheets.rows * segment);
  sheets.maxima = sheets.sums + sheets.rows * sheets.labels;
  sheets.max = sheets.maxima + Classes * sheets.labels;
  sheets.end = sheets.max + padded;
  sheets.parts = reinterpret_cast<float2*>(sheets.end + padded);
  sheets.box = own_mailbox();
  return sheets;
}

// The row that this thread's values go to; whether it is the one of its lanes that writes them.
__device__ __forceinline__ int sheet_row(bool& writes) {
  if constexpr (SEGMENT == 0) {
    writes = true;
    return threadIdx.y;
  }
  const int thread = threadIdx.y * SEGMENT + threadIdx.x;
  writes = thread % WARP_SIZE < SEGMENT;
  return thread / WARP_SIZE;
}

// Maxima of the block's columns, in every thread those of its own.
template <int Form, typename T>
__device__ __forceinline__ uint4 max_of_block(uint4 most, const Sheets<T>& sheets) {
  constexpr int V = PER_PACK<T>, Classes = Form == SHIFTED ? V : 1;
  const int segment = wide(), x = threadIdx.x, y = threadIdx.y;
  bool writes;
  const int row = sheet_row(writes);
  if (writes) sheets.most[row * segment + x] = most;
  __syncthreads();  // the maxima of all rows are written
  if (sheets.rows > KEPT) {
    if (y < KEPT) {
      for (int r = y + KEPT; r < sheets.rows; r += KEPT) most = larger_pack<T>(most, sheets.most[r * segment + x]);
      if (SEGMENT > 0) most = larger_pack<T>(most, sheets.most[y * segment + x]);
      sheets.most[y * segment + x] = most;
    }
    __syncthreads();  // they are joined to KEPT rows
  }
  const int kept = min(sheets.rows, KEPT), first = Form == SHIFTED ? y % Classes : 0;
  most = sheets.most[first * segment + x];
#pragma unroll
  for (int i = 1; i < KEPT / Classes; ++i)
    if (first + i * Classes < kept) most = larger_pack<T>(most, sheets.most[(first + i * Classes) * segment + x]);
  if (y < Classes) {
#pragma unroll
    for (int i = 0; i < V; ++i) sheets.maxima[y * sheets.labels + x * V + i] = element_of<T>(most, i);
  }
  return most;
}

// Sums of the block's columns, in `sums` and at most KEPT rows.
template <typename T>
__device__ __forceinline__ void sums_of_block(const float (&sums)[PER_PACK<T>], const Sheets<T>& sheets) {
  constexpr int V = PER_PACK<T>;
  const int x = threadIdx.x, y = threadIdx.y;
  bool writes;
  const int row = sheet_row(writes);
  if (writes) {
#pragma unroll
    for (int i = 0; i < V; i += 4)
      *reinterpret_cast<float4*>(sheets.sums + row * sheets.labels + x * V + i) = {sums[i], sums[i + 1], sums[i + 2], sums[i + 3]};
  }
  __syncthreads();  // the sums of all rows are written
  if (sheets.rows <= KEPT) return;
  const int threads = wide() * high();
  for (int at = y * wide() + x; at < KEPT * sheets.labels; at += threads) {
    float sum = sheets.sums[at];
    for (int from = at + KEPT * sheets.labels; from < sheets.rows * sheets.labels; from += KEPT * sheets.labels)
      sum += sheets.sums[from];
    sheets.sums[at] = sum;
  }
  __syncthreads();  // they are joined to KEPT rows
}

// (maximum, sum) of a column of the tile, in this block. `phase`: of the tile's first element in its pack.
template <int Form, typename T>
__device__ __forceinline__ float2 pair_of(int column, int phase, const Sheets<T>& sheets, const AxisView& view) {
  constexpr int V = PER_PACK<T>;
  const int kept = min(sheets.rows, KEPT);
  const auto sum_of = [&](int label, int first, int step) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < KEPT; ++i)  // loaded together: a loop would wait for each
      if (first + i * step < kept) sum += sheets.sums[(first + i * step) * sheets.labels + label];
    return sum;
  };
  if constexpr (Form == WHOLE) {
    return corrected<T>({sheets.maxima[column], sum_of(column, 0, 1)});
  } else if constexpr (Form == RAGGED) {
    const int label = (column + phase) % view.width;
    const auto copy = [&](int i) {
      const int own = label + i * view.width;
      return corrected<T>({sheets.maxima[own], sum_of(own, 0, 1)});
    };
    return join_pairs(copy, sheets.labels / view.width);
  } else {
    const int rest = static_cast<int>(view.inner % V);
    const auto row_class = [&](int i) {
      const int label = column + (phase + i * rest) % V;
      return corrected<T>({sheets.maxima[i * sheets.labels + label], sum_of(label, i, V)});
    };
    float2 pairs[V];
#pragma unroll
    for (int i = 0; i < V; ++i) pairs[i] = row_class(i);
    return join_pairs(pairs);
  }
}
