// Mean and variance of rows of packs, and the results that follow from them.
//   gamma, beta   T [columns], beginning anywhere
// The variance comes from deviations of held elements from a mean, of a warp's or the row's; a difference of squares would
// cancel. A row with an infinity or a NaN gives NaN throughout.
#pragma once
#include "common/reduce.cuh"
#include "softmax_family/row_packs.cuh"

// The mean of some elements of a row, and the sum of their squared deviations from it.
struct __align__(8) Moments {
  float mean, squares;
};

// What the results of a row need besides its elements.
struct RowNorm {
  float mean, scale;

  // Half types save an instruction: rounding mean * scale costs as much as rounding the mean did, which their own hides.
  template <typename T>
  __device__ __forceinline__ float normal(float value) const {
    return sizeof(T) == 4 ? (value - mean) * scale : fmaf(value, scale, -mean * scale);
  }
};

template <typename T>
struct Weights {
  const T* __restrict__ gamma;
  const T* __restrict__ beta;
  float eps;

  __device__ __forceinline__ bool aligned() const { return shift_of(gamma) == 0 && shift_of(beta) == 0; }
  __device__ __forceinline__ bool in_packs(int columns) const { return columns >= PER_PACK<T> && aligned(); }
};

// sum / count, rounded as a division would be but for rare ties; no branch. The count is from 1 to 2^30.
__device__ __forceinline__ float divided(float sum, float count) {
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(count));
  const float quotient = sum * reciprocal;
  return fmaf(fmaf(-quotient, count, sum), reciprocal, quotient);
}

// The hardware's root is off by 2^-22, which rounding to a half type hides; a step of Newton's method mends it for float32.
template <typename T>
__device__ __forceinline__ RowNorm norm_of(float mean, float squares, float columns, float eps) {
  const float value = divided(squares, columns) + eps;
  float scale;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(scale) : "f"(value));
  if constexpr (sizeof(T) == 4) scale = fmaf(0.5f * scale, fmaf(-value * scale, scale, 1.0f), scale);
  return {mean, scale};
}

// ---- Parts of a row, each of a warp or of a chunk ----

// Elements of a row that warp `part` of Parts holds, whose lanes have every (32 * Parts)-th pack of Size elements; the first
// pack begins `shift` elements before the row.
template <int Parts, int Size>
__device__ __forceinline__ int elements_of(int part, int columns, int shift) {
  constexpr unsigned Own = WARP_SIZE * Size, Round = Parts * Own;
  const unsigned span = columns + shift, rounds = span / Round;
  const int rest = static_cast<int>(span - rounds * Round) - part * static_cast<int>(Own);
  return static_cast<int>(rounds * Own) + min(max(rest, 0), static_cast<int>(Own)) - (part == 0 ? shift : 0);
}

// The moments of a warp's elements, `elements` of them: each(use) calls use(value) for every element of this lane, in the
// same order at each call.
template <typename Each>
__device__ __forceinline__ Moments warp_moments(int elements, Each each) {
  float sum = 0.0f, squares = 0.0f;
  each([&](float value) { sum += value; });
  const float mean = divided(warp_all_reduce<SumOp>(sum), static_cast<float>(max(elements, 1)));
  each([&](float value) { squares = fmaf(value - mean, value - mean, squares); });
  return {mean, warp_all_reduce<SumOp>(squares)};
}

// Joins the moments of `count` parts by groups of Width lanes; part i has elements_of(i) elements. All lanes of a warp must call
// it, and each gets the result.
template <int Width = WARP_SIZE, typename ElementsOf>
__device__ __forceinline__ Moments warp_all_join(const Moments* parts, int count, float columns, ElementsOf elements_of) {
  const int first = threadIdx.x % Width;
  float sum = 0.0f, squares = 0.0f;
  for (int i = first; i < count; i += Width) sum = fmaf(static_cast<float>(elements_of(i)), parts[i].mean, sum);
  const float mean = divided(warp_all_reduce<SumOp, Width>(sum), columns);
  for (int i = first; i < count; i += Width) {
    const float distance = parts[i].mean - mean;
    squares += fmaf(static_cast<float>(elements_of(i)) * distance, distance, parts[i].squares);
  }
  return {mean, warp_all_reduce<SumOp, Width>(squares)};
}

// The fewest lanes, a power of two up to a warp, of which each has a part.
template <int Parts>
constexpr int LANES_FOR = Parts <= 1 ? 1 : Parts > WARP_SIZE / 2 ? WARP_SIZE : 2 * LANES_FOR<(Parts + 1) / 2>;
template <>
constexpr int LANES_FOR<1> = 1;

// ---- Packs ----

// The pack, of which the compiler has nothing unpacked that it could keep; see stay_packed. Of bfloat16 ptxas would still keep
// the floats, in 168 registers for 9 masked packs instead of 95, but not if what it does not know is added: blockIdx.z, which
// is 0 in every launch.
template <typename T>
__device__ __forceinline__ const uint4& again(uint4& pack) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    const unsigned zero = blockIdx.z;
    pack.x += zero, pack.y += zero, pack.z += zero, pack.w += zero;
  } else if constexpr (sizeof(T) == 2) {
    stay_packed(pack);
  }
  return pack;
}

// Calls use(value) for all elements of a pack.
template <typename T, typename Use>
__device__ __forceinline__ void each_of_pack(const uint4& pack, Use use) {
#pragma unroll
  for (int i = 0; i < PER_PACK<T>; ++i) use(element_of<T>(pack, i));
}

// Calls use(value) for the elements of a pack that lie in the row; unless Masked, all or none do.
template <bool Masked, typename T, typename Use>
__device__ __forceinline__ void each_in_row(const uint4& pack, int column, int columns, Use use) {
  constexpr int N = PER_PACK<T>;
  if (Masked ? column >= 0 && column + N <= columns : column < columns) {
    each_of_pack<T>(pack, use);
  } else if (Masked && column < columns) {
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (column + i >= 0 && column + i < columns) use(element_of<T>(pack, i));
  }
}

// The 16 bytes that begin `elements` elements beyond the first of two neighbouring packs.
template <typename T>
__device__ __forceinline__ uint4 between(const uint4& first, const uint4& second, int elements) {
  unsigned words[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
  const int bytes = elements * static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < 6; ++i) words[i] = (bytes & 8) != 0 ? words[i + 2] : words[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) words[i] = (bytes & 4) != 0 ? words[i + 1] : words[i];
  if constexpr (sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = __funnelshift_r(words[i], words[i + 1], (bytes & 2) * 8);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// The word that begins with the even `column` of gamma or beta, whose last may be half a word. It is loaded anew at each use:
// kept for a thread's next row, all would need registers at once. All lanes read the same: one access of the L1 cache.
template <int Columns, typename T>
__device__ __forceinline__ unsigned word_at(const T* weights, int column) {
  const auto from = __cvta_generic_to_global(weights + column);
  unsigned word;
  if (sizeof(T) == 4 || column + 1 < Columns) {
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(from));
  } else {
    unsigned short last;
    asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(last) : "l"(from));
    word = last;
  }
  return word;
}

// The last elements of gamma or beta, fewer than a pack, which begin at `place`; the others of the pack are 0.
template <typename T>
__device__ __forceinline__ uint4 last_weights(const T* place, int count) {
  constexpr int PerWord = sizeof(unsigned) / sizeof(T);
  const unsigned* from = reinterpret_cast<const unsigned*>(place);
  unsigned words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if ((i + 1) * PerWord <= count) words[i] = __ldg(from + i);
    else words[i] = i * PerWord < count ? __ldg(reinterpret_cast<const unsigned short*>(from + i)) : 0u;
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// A pack of gamma and one of beta that begin at any column from 1 - PER_PACK on lie in two packs each, parts[..][0] and [1]. A
// part that is not needed is replaced by one that exists; that of the last elements is loaded by shift_weights, with a branch.
template <typename T>
__device__ __forceinline__ int first_part(int column) {
  return static_cast<int>(static_cast<unsigned>(column + PER_PACK<T>) / PER_PACK<T>) - 1;
}

template <typename T>
__device__ __forceinline__ void load_weight_parts(uint4 (&parts)[2][2], const Weights<T>& weights, int column, int columns) {
  const T* from[2] = {weights.gamma, weights.beta};
  const int first = first_part<T>(column), whole = static_cast<unsigned>(columns) / PER_PACK<T>;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint4* packs = reinterpret_cast<const uint4*>(from[i]);
    parts[i][0] = __ldg(packs + min(max(first, 0), whole - 1));
    parts[i][1] = __ldg(packs + min(first + 1, whole - 1));
  }
}

template <typename T>
__device__ __forceinline__ void shift_weights(uint4 (&found)[2], uint4 (&parts)[2][2], const Weights<T>& weights, int column,
                                              int columns) {
  constexpr int N = PER_PACK<T>;
  const T* from[2] = {weights.gamma, weights.beta};
  const int first = first_part<T>(column), shift = static_cast<unsigned>(column + N) % N;
  const int whole = static_cast<unsigned>(columns) / N, rest = static_cast<unsigned>(columns) % N;
  if (rest != 0 && (first == whole || first + 1 == whole)) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint4 last = last_weights<T>(from[i] + whole * N, rest);
      if (first == whole) parts[i][0] = last;
      else parts[i][1] = last;
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) found[i] = between<T>(parts[i][0], parts[i][1], shift);
}

// A pack of gamma and one of beta. Unless Masked it lies within them, at a multiple of 16 bytes; else it begins at any column
// from 1 - PER_PACK on, and its elements outside [0, columns) may be anything.
template <bool Masked, typename T>
__device__ __forceinline__ void load_weights(uint4 (&found)[2], const Weights<T>& weights, int column, int columns) {
  constexpr int N = PER_PACK<T>;
  const T* from[2] = {weights.gamma, weights.beta};
  if constexpr (!Masked) {
#pragma unroll
    for (int i = 0; i < 2; ++i) found[i] = __ldg(reinterpret_cast<const uint4*>(from[i] + column));
  } else if (weights.in_packs(columns)) {
    uint4 parts[2][2];
    load_weight_parts(parts, weights, column, columns);
    shift_weights(found, parts, weights, column, columns);
  } else {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float values[N];
#pragma unroll
      for (int k = 0; k < N; ++k)
        values[k] = column + k >= 0 && column + k < columns ? to_float(__ldg(from[i] + column + k)) : 0.0f;
      found[i] = pack_of<T>(values);
    }
  }
}

// Loads gamma and beta for the packs of a thread, which are Step elements apart and whole, before any of x. The compiler would
// delay ordinary loads until the sums are known; then they wait behind the loads of other warps. For a pack beyond the row it
// loads those of the row's last pack.
template <int Packs, int Step, typename T>
__device__ __forceinline__ void load_weights_first(uint4 (&found)[Packs][2], const Weights<T>& weights, int column,
                                                   int columns) {
  const T* from[2] = {weights.gamma, weights.beta};
#pragma unroll
  for (int k = 0; k < Packs; ++k)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const T* place = from[i] + min(column + k * Step, columns - PER_PACK<T>);
      uint4& pack = found[k][i];
      asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(pack.x), "=r"(pack.y), "=r"(pack.z), "=r"(pack.w)
                   : "l"(__cvta_generic_to_global(place))
                   : "memory");
    }
  __syncwarp();  // the compiler moves no load across it
}

// The results of a pack, from those of gamma and beta that go with it.
template <typename T>
__device__ __forceinline__ void normalised(const uint4& pack, RowNorm norm, const uint4& gamma, const uint4& beta,
                                           float* results) {
#pragma unroll
  for (int i = 0; i < PER_PACK<T>; ++i)
    results[i] = fmaf(norm.normal<T>(element_of<T>(pack, i)), element_of<T>(gamma, i), element_of<T>(beta, i));
}

template <bool Masked, typename T>
__device__ __forceinline__ void results_of(const uint4& pack, int column, int columns, RowNorm norm,
                                           const Weights<T>& weights, float* results) {
  uint4 gamma_beta[2];
  load_weights<Masked>(gamma_beta, weights, column, columns);
  normalised<T>(pack, norm, gamma_beta[0], gamma_beta[1], results);
}
