// The algebra of softmax and log-softmax, along rows and along other axes: pairs of a maximum and a sum are joined until they
// cover a row, its norm follows from the pair, and each result follows from an element and the norm.
//   Form    Softmax: exp(x - max) / sum;  LogSoftmax: x - max - log(sum)
// A row of -inf, or with +inf or NaN, gives NaN throughout. A sum is at least 0.99 where it is not NaN, and finite.
#pragma once
#include "common/reduce.cuh"
#include "softmax_family/exponentials.cuh"

// ---- Maximum and sum ----

// State of a row or of a part of it; the exponentials that are summed are relative to the maximum.
struct __align__(8) MaxSum {
  float max;
  float sum;
};

__device__ __forceinline__ MaxSum no_element() { return {MaxOp::identity(), 0.0f}; }

// What a sum relative to the maximum `from` is worth relative to `max`. Of the parts of a whole row, whose sums have no excess.
struct RowWeight {
  static __device__ __forceinline__ float of(float from, float max) { return expf(from - max); }
};

// The same where more parts are to come: 0, not NaN, where all of these are -inf.
struct PartWeight {
  static __device__ __forceinline__ float of(float from, float max) { return expf(from - base_of(max)); }
};

// By the hardware's exp2, of sums that have the excess of Exponentials<T>. 0 where `from` is -inf: the sum of a part without
// an element is 0 as well, and must not become NaN beside parts whose maxima are small.
template <typename T>
struct HardwareWeight {
  static __device__ __forceinline__ float of(float from, float max) {
    const float base = base_of(max);
    if constexpr (sizeof(T) == 4) {
      return hardware_exp(from - base);
    } else {
      // Not fused with the products in them: what is relative to the same maximum is worth 1 exactly.
      float exponent = __fsub_rn(Exponentials<T>(base).offset, Exponentials<T>(from).offset);
      if (cuda::std::is_same_v<T, __nv_bfloat16>) exponent = fminf(exponent, from - base);  // their factors may differ
      return hardware_exp2(exponent);
    }
  }
};

// Pairs joined into one: by one thread, or by Width neighbouring lanes, each of which gets the result.
//   each   each(use) calls use(pair) for every pair of this thread, in the same order at each call
//   lanes  the mask of those that call this: whole groups of Width
template <typename Weight, int Width = 1, typename Each>
__device__ __forceinline__ MaxSum join(Each each, unsigned lanes = ALL_LANES) {
  MaxSum joined = no_element();
  each([&](MaxSum pair) { joined.max = MaxOp::apply(joined.max, pair.max); });
#pragma unroll
  for (int offset = Width / 2; offset > 0; offset /= 2)
    joined.max = MaxOp::apply(joined.max, __shfl_xor_sync(lanes, joined.max, offset, Width));
  each([&](MaxSum pair) { joined.sum += pair.sum * Weight::of(pair.max, joined.max); });
#pragma unroll
  for (int offset = Width / 2; offset > 0; offset /= 2) joined.sum += __shfl_xor_sync(lanes, joined.sum, offset, Width);
  return joined;
}

// The pairs of an array, joined by the lanes of a warp. All of them must call it; each gets the result.
template <typename Weight = RowWeight>
__device__ __forceinline__ MaxSum warp_all_join(const MaxSum* parts, int count) {
  const int lane = threadIdx.x % WARP_SIZE;  // ranges [0, 32)
  return join<Weight, WARP_SIZE>([&](auto use) {
    for (int i = lane; i < count; i += WARP_SIZE) use(parts[i]);
  });
}

// get(first), get(first + stride), .. below `count`, joined by one thread, of which Chunk are under way at once.
template <typename Weight, int Chunk, typename Get>
__device__ __forceinline__ MaxSum join_strided(Get get, int first, int count, int stride) {
  MaxSum joined = no_element();
#pragma unroll 1
  for (int i = first; i < count; i += Chunk * stride) {
    MaxSum pairs[Chunk + 1];
    pairs[Chunk] = joined;
#pragma unroll
    for (int k = 0; k < Chunk; ++k) pairs[k] = i + k * stride < count ? get(i + k * stride) : no_element();
    joined = join<Weight>([&](auto use) {
#pragma unroll
      for (int k = 0; k <= Chunk; ++k) use(pairs[k]);
    });
  }
  return joined;
}

// ---- Results ----

// 1 / sum, of a finite normal one that is not near the ends of float's range, where a division's branches are not needed.
// float32 is within an ulp; the half types' rounding hides the hardware's error.
template <typename T>
__device__ __forceinline__ float reciprocal_of(float sum) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(sum));
  if constexpr (sizeof(T) == 4) result = fmaf(result, fmaf(-sum, result, 1.0f), result);
  return result;
}

// What results are made of besides an element: the maximum, and a term that is 1 / sum or log(sum).
struct Norm {
  float max, term;
};

// `kept` is what is held of an element until its row is summed; `result` is made of it.
struct Softmax {
  static constexpr bool KEEPS_EXPONENTIALS = true;
  template <typename T>
  static __device__ __forceinline__ float kept(float, float, float exponential) {
    return exponential;
  }
  template <typename T>  // of a sum with the excess that the exponentials have
  static __device__ __forceinline__ Norm norm(MaxSum row, const Exponentials<T>&) {
    return {row.max, reciprocal_of<T>(row.sum)};
  }
  template <typename T>
  static __device__ __forceinline__ float result(float kept, Norm norm) {
    return kept * norm.term;
  }
};

struct LogSoftmax {
  static constexpr bool KEEPS_EXPONENTIALS = false;
  // A bfloat16 has values whose exponents are beyond float's range: the value itself is kept.
  template <typename T>
  static constexpr bool KEEPS_VALUES = cuda::std::is_same_v<T, __nv_bfloat16>;
  static constexpr float Log2 = 0.6931471805599453f;  // the natural logarithm of 2
  template <typename T>
  static __device__ __forceinline__ float kept(float value, float exponent, float) {
    return KEEPS_VALUES<T> ? value : exponent;
  }
  template <typename T>
  static __device__ __forceinline__ Norm norm(MaxSum row, const Exponentials<T>& exponentials) {
    if constexpr (sizeof(T) == 4) return {row.max, logf(row.sum)};
    const bool one = exponentials.is_one(row.sum, row.max);  // its logarithm is exact: the maximum's result must be 0
    if constexpr (KEEPS_VALUES<T>) return {row.max, one ? 0.0f : __logf(row.sum * exponentials.correction(row.max))};
    return {row.max, one ? exponentials.exponent(row.max) * Log2 : __logf(row.sum)};  // both have the exponents' excess
  }
  template <typename T>
  static __device__ __forceinline__ float result(float kept, Norm norm) {
    if constexpr (sizeof(T) == 4) return kept - norm.term;
    return KEEPS_VALUES<T> ? kept - norm.max - norm.term : fmaf(kept, Log2, -norm.term);
  }
};

// The result of an element, of which nothing but itself was kept.
template <typename Form, typename T>
__device__ __forceinline__ float result_of(float value, const Exponentials<T>& exponentials, Norm norm) {
  const float exponent = exponentials.exponent(value);
  return Form::template result<T>(Form::template kept<T>(value, exponent, exponentials.of_exponent(exponent)), norm);
}

// The norm of a row whose sum has no excess.
template <typename Form, typename T>
__device__ __forceinline__ Norm norm_of(MaxSum row, const Exponentials<T>& exponentials) {
  return Form::norm({row.max, exponentials.with_excess(row.sum, row.max)}, exponentials);
}
