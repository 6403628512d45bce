// The algebra of softmax and log-softmax along any axis. Pairs of a maximum and a sum are joined until they cover a row; the
// norm of the row follows from its pair, and each result from an element and the norm.
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

// The factor that takes a sum relative to the maximum `from` to one relative to `max`. For all parts of a row together; their
// sums have no excess.
struct RowWeight {
  static __device__ __forceinline__ float of(float from, float max) { return expf(from - max); }
};

// The same where further parts follow: the factor is 0, not NaN, where all parts so far are -inf.
struct PartWeight {
  static __device__ __forceinline__ float of(float from, float max) { return expf(from - base_of(max)); }
};

// The same by the hardware's exp2, for sums with the excess of Exponentials<T>. It is 0 where `from` is -inf: an empty part has
// the sum 0, which must not become NaN beside parts with small maxima.
template <typename T>
struct HardwareWeight {
  static __device__ __forceinline__ float of(float from, float max) {
    const float base = base_of(max);
    if constexpr (sizeof(T) == 4) {
      return hardware_exp(from - base);
    } else {
      // Not fused with the products in the offsets, so that the factor is exactly 1 between equal maxima.
      float exponent = __fsub_rn(Exponentials<T>(base).offset, Exponentials<T>(from).offset);
      if (std::is_same_v<T, __nv_bfloat16>) exponent = fminf(exponent, from - base);  // their factors may differ
      return hardware_exp2(exponent);
    }
  }
};

// Joins pairs into one: those of one thread, or of Width neighbouring lanes, each of which gets the result.
//   each   each(use) calls use(pair) for every pair of this thread, in the same order at each call
//   lanes  mask of the lanes that call this: whole groups of Width
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

// Joins the pairs of an array by the lanes of a warp. All lanes must call it, and each gets the result.
template <typename Weight = RowWeight>
__device__ __forceinline__ MaxSum warp_all_join(const MaxSum* parts, int count) {
  const int lane = threadIdx.x % WARP_SIZE;  // ranges [0, 32)
  return join<Weight, WARP_SIZE>([&](auto use) {
    for (int i = lane; i < count; i += WARP_SIZE) use(parts[i]);
  });
}

// Joins get(first), get(first + stride), .. below `count` by one thread, which loads Chunk pairs at once.
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

// 1 / sum, for a sum that is normal and far from the ends of float's range, so that no branch of a division is needed. For
// float32 the error is below an ulp; for the half types rounding hides the hardware's error.
template <typename T>
__device__ __forceinline__ float reciprocal_of(float sum) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(sum));
  if constexpr (sizeof(T) == 4) result = fmaf(result, fmaf(-sum, result, 1.0f), result);
  return result;
}

// The values of a row that a result needs besides its element: the maximum, and a term, 1 / sum or log(sum).
struct Norm {
  float max, term;
};

// `kept` is the value that a thread holds for an element until the row is summed; `result` follows from it.
struct Softmax {
  static constexpr bool KEEPS_EXPONENTIALS = true;
  template <typename T>
  static __device__ __forceinline__ float kept(float, float, float exponential) {
    return exponential;
  }
  template <typename T>  // the sum has the excess of the exponentials
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
  // Exponents of bfloat16 values may leave float's range, so the value itself is kept.
  template <typename T>
  static constexpr bool KEEPS_VALUES = std::is_same_v<T, __nv_bfloat16>;
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

// The result of an element for which no more than its value was kept.
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
