// What threads know of the columns of a tile, joined: maxima, and sums of powers relative to them. By lanes of a warp where
// these share columns, then by shared memory.
//   SEGMENT  packs side by side where lanes that many apart have the same columns: 1, 2, 4 .. 16; else 0
//   GROUP    threads of a slab that is a part of a warp: a power of two; 1 where none shares a column; 0 where it is more
//   FOLD     columns of an array whose rows are less than a pack, which holds several: 2 or 4; else 0
//   CLUSTER  blocks that share a column by their cluster
//   TICKETS, GANG  see softmax_family/tickets.cuh
//   WAYS     lanes of a warp that join a column's rows: a power of two to 32; slabs of a block are multiples of it
#pragma once
#include "softmax_family/axis_tiles.cuh"
#include "softmax_family/cluster_exchange.cuh"
#include "softmax_family/exponentials.cuh"

constexpr int CHUNK = 4;  // pairs of a column that are under way at once, when they are joined

// What a sum of powers relative to `from` is worth relative to `base`; what both have in excess, too. 0 where `from` is -inf:
// the sum of a part without an element is 0 as well, and must not become NaN beside parts whose maxima are small.
template <typename T>
__device__ __forceinline__ float weight_of(float from, float base) {
  if constexpr (sizeof(T) == 4) {
    return hardware_exp(from - base);
  } else {
    // Not fused with the products in them: what is relative to the same maximum is worth 1 exactly.
    float exponent = __fsub_rn(Powers<true, T>(base).offset, Powers<true, T>(from).offset);
    if (cuda::std::is_same_v<T, __nv_bfloat16>) exponent = fminf(exponent, from - base);  // their factors may differ
    return hardware_power_of_two(exponent);
  }
}

// Pairs of a maximum and the sum of powers relative to it, joined.
template <typename T, int Count>
__device__ __forceinline__ float2 join_pairs(const float2 (&pairs)[Count]) {
  float max = pairs[0].x, sum = 0.0f;
#pragma unroll
  for (int i = 1; i < Count; ++i) max = fmaxf(max, pairs[i].x);
  const float base = base_of(max);
#pragma unroll
  for (int i = 0; i < Count; ++i) sum += pairs[i].y * weight_of<T>(pairs[i].x, base);
  return {max, sum};
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

template <typename T>
__device__ __forceinline__ unsigned larger_pack(unsigned a, unsigned b) {
  return larger_word<T>(a, b);
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
__device__ __forceinline__ void fold_sums(float (&sums)[IN_PACK<T>]) {
#pragma unroll
  for (int period = IN_PACK<T> / 2; FOLD > 0 && period >= FOLD; period /= 2)
#pragma unroll
    for (int i = 0; i < period; ++i) sums[i] = sums[i + period] = sums[i] + sums[i + period];
}

// By lanes SEGMENT apart. Packs of several rows are folded before: then fewer of their words are exchanged.
template <typename T, typename P>
__device__ __forceinline__ P max_of_lanes(P most) {
  if constexpr (SEGMENT > 0 || FOLD > 0) {
    most = folded_max<T>(most);
    constexpr int Bytes = FOLD > 0 ? FOLD * static_cast<int>(sizeof(T)) : 16;
#pragma unroll
    for (int offset = SEGMENT; SEGMENT > 0 && offset < SHARING; offset *= 2)
      most = larger_pack<T>(most, from_lane<Bytes>(most, offset));
  }
  return most;
}

template <typename T>
__device__ __forceinline__ void add_lanes(float (&sums)[IN_PACK<T>]) {
  constexpr int Columns = FOLD > 0 ? FOLD : IN_PACK<T>;
  fold_sums<T>(sums);
#pragma unroll
  for (int offset = SEGMENT; SEGMENT > 0 && offset < SHARING; offset *= 2)
#pragma unroll
    for (int i = 0; i < Columns; ++i) sums[i] += __shfl_xor_sync(ALL_LANES, sums[i], offset);
#pragma unroll
  for (int i = Columns; i < IN_PACK<T>; ++i) sums[i] = sums[i % Columns];
}

// ---- The threads of a slab, through shared memory ----

// By labels, which are blockDim.x * IN_PACK. Rows: one for each warp where lanes were joined, else one for each thread row.
template <typename T>
struct Sheets {
  Pack* most;     // [rows, packs side by side]
  float* sums;    // [rows, labels], relative to those maxima
  float2* parts;  // [CLUSTER, width], or as tickets need it
  float* max;     // [width], of columns
  float* end;     // [width]
  Mailbox* box;
  int rows, labels;

  // Maximum and sum of a row's label.
  __device__ __forceinline__ float2 pair(int row, int label) const {
    return {to_float(reinterpret_cast<const T*>(most)[row * labels + label]), sums[row * labels + label]};
  }
};

__device__ __forceinline__ Mailbox* own_mailbox() {
  extern __shared__ uint4 shared_packs[];
  return reinterpret_cast<Mailbox*>(shared_packs);
}

template <typename T>
__device__ __forceinline__ Sheets<T> sheets_of(int width) {
  extern __shared__ uint4 shared_packs[];
  Sheets<T> sheets;
  const int segment = wide(), padded = (width + 3) / 4 * 4;
  sheets.rows = SEGMENT > 0 ? segment * high() / WARP_SIZE : high();
  sheets.labels = segment * IN_PACK<T>;
  const auto whole = [](int words) { return PACK_WORDS == 1 ? (words + 3) / 4 * 4 : words; };  // what follows is aligned
  const int pairs = TICKETS || GANG ? max(segment * high(), padded) : CLUSTER > 1 ? CLUSTER * padded : 0;
  const int slots = whole(SLOTS * segment * high() * PACK_WORDS) / 4, maxima = whole(sheets.rows * segment * PACK_WORDS) / 4;
  const int sums = whole(sheets.rows * sheets.labels), floats = sums + 2 * padded + 2 * pairs;
  uint4* own = shared_packs + 1 + slots + threadIdx.z * (maxima + (floats + 3) / 4);
  sheets.most = reinterpret_cast<Pack*>(own);
  sheets.sums = reinterpret_cast<float*>(own + maxima);
  sheets.max = sheets.sums + sums;
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

// Work on each column of the tile, by `Ways` lanes of a warp: work(column, way, mask of those lanes).
template <int Ways = WAYS, typename Work>
__device__ __forceinline__ void for_columns(int width, Work work) {
  const int thread = threadIdx.y * wide() + threadIdx.x, groups = wide() * high() / Ways;
  const int lane = (threadIdx.z * wide() * high() + thread) % WARP_SIZE;
  const unsigned lanes = (Ways == WARP_SIZE ? ALL_LANES : (1u << Ways % WARP_SIZE) - 1) << lane / Ways * Ways;
  if (thread >= groups * Ways) return;
  for (int column = thread / Ways; column < width; column += groups) work(column, thread % Ways, lanes);
}

// Pairs get(0) .. get(count - 1) of a column, joined by its lanes; every one of them gets the result.
template <typename T, int Ways = WAYS, typename Get>
__device__ __forceinline__ float2 join_ways(Get get, int count, int way, unsigned lanes) {
  float2 joined = {MaxOp::identity(), 0.0f};
#pragma unroll 1
  for (int first = way; first < count; first += CHUNK * Ways) {
    float2 pairs[CHUNK + 1];
    pairs[CHUNK] = joined;
#pragma unroll
    for (int i = 0; i < CHUNK; ++i)
      pairs[i] = first + i * Ways < count ? get(first + i * Ways) : make_float2(MaxOp::identity(), 0.0f);
    joined = join_pairs<T>(pairs);
  }
  if constexpr (Ways > 1) {
    float max = joined.x;
#pragma unroll
    for (int offset = 1; offset < Ways; offset *= 2) max = fmaxf(max, __shfl_xor_sync(lanes, max, offset));
    joined = {max, joined.y * weight_of<T>(joined.x, base_of(max))};
#pragma unroll
    for (int offset = 1; offset < Ways; offset *= 2) joined.y += __shfl_xor_sync(lanes, joined.y, offset);
  }
  return joined;
}

// Writes what a thread's lanes know of their columns: maxima as soon as they are known, they are in nobody's way then.
template <typename T>
__device__ __forceinline__ void put_maxima(const Pack& most, const Sheets<T>& sheets) {
  bool writes;
  const int row = sheet_row(writes);
  if (writes) sheets.most[row * wide() + threadIdx.x] = most;
}

template <typename T>
__device__ __forceinline__ void put_sums(const float (&sums)[IN_PACK<T>], const Sheets<T>& sheets) {
  constexpr int V = IN_PACK<T>;
  bool writes;
  const int row = sheet_row(writes);
  float* place = sheets.sums + row * sheets.labels + threadIdx.x * V;
  if (writes) {
    if constexpr (V < 4) {
#pragma unroll
      for (int i = 0; i < V; ++i) place[i] = sums[i];
    } else {
#pragma unroll
      for (int i = 0; i < V; i += 4)
        *reinterpret_cast<float4*>(place + i) = make_float4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]);
    }
  }
  __syncthreads();  // all rows are written
}

// (maximum, sum) of a column of the tile, in this block, by its lanes. `phase`: of the tile's first element in its pack.
template <int Form, typename T>
__device__ __forceinline__ float2 pair_of(int column, int way, unsigned lanes, int phase, const Sheets<T>& sheets,
                                          const AxisView& view) {
  constexpr int V = IN_PACK<T>;
  if constexpr (Form == WHOLE) {
    return join_ways<T>([&](int row) { return sheets.pair(row, column); }, sheets.rows, way, lanes);
  } else if constexpr (Form == RAGGED) {
    const int label = (column + phase) % view.width;
    const int copies = __ffs(sheets.labels / view.width) - 1;  // a power of two: of packs that hold whole rows
    const auto pair = [&](int i) { return sheets.pair(i >> copies, label + (i & ((1 << copies) - 1)) * view.width); };
    return join_ways<T>(pair, sheets.rows << copies, way, lanes);
  } else {
    const int rest = static_cast<int>(view.inner % V);  // rows of a class begin alike
    const auto pair = [&](int row) { return sheets.pair(row, column + (phase + row % V * rest) % V); };
    return join_ways<T>(pair, sheets.rows, way, lanes);
  }
}
