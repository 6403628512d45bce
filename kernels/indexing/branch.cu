// Loads the factor of an element inside a divergent branch, or chooses its address first and then loads it.
//   x           T [rows, columns], row-major; read once
//   by_row      T [rows]; by_column: T [columns]; read from the caches after the first time
//   y           T [rows, columns]; must not overlap the others; written once
//   T           float, __half, __nv_bfloat16
//   needs       elements + a block's threads below 2^31
//   BLOCK       threads of a block
//   launch      grid ceil(elements / BLOCK), block BLOCK; no shared memory
//   moves       D in, D out
//   Origin: a remark of OneFlow's article on 100 days; written here.
#include "factors.cuh"

// Each side of the branch loads, so a divergent warp issues two loads for one factor per lane.
struct Inside {
  template <typename T>
  static __device__ __forceinline__ float factor(bool above, const T* of_row, const T* of_column) {
    float factor;
    if (above)
      factor = to_float(*of_row);
    else
      factor = to_float(*of_column);
    return factor;
  }
};

// The same, but the compiler cannot merge the two loads, as it does for Inside: an empty asm statement on each side needs the
// loaded value, and cannot be moved out of its side.
struct Kept {
  template <typename T>
  static __device__ __forceinline__ float factor(bool above, const T* of_row, const T* of_column) {
    float factor;
    if (above) {
      factor = to_float(*of_row);
      asm volatile("" : "+f"(factor));
    } else {
      factor = to_float(*of_column);
      asm volatile("" : "+f"(factor));
    }
    return factor;
  }
};

struct Outside {
  template <typename T>
  static __device__ __forceinline__ float factor(bool above, const T* of_row, const T* of_column) {
    return to_float(*(above ? of_row : of_column));
  }
};

template <typename Way, typename T>
__device__ __forceinline__ void scale_each(const T* x, const T* by_row, const T* by_column, T* y, int elements,
                                           int columns) {
  const int i = static_cast<int>(blockIdx.x) * BLOCK + static_cast<int>(threadIdx.x);  // ranges [0, elements)
  if (i >= elements) return;
  const int row = i / columns;           // ranges [0, rows)
  const int column = i - row * columns;  // ranges [0, columns)
  const float value = to_float(x[i]);
  y[i] = from_float<T>(value * Way::factor(value > 0.0f, by_row + row, by_column + column));
}

extern "C" __global__ void indexing_branch_inside_f32(const float* x, const float* by_row, const float* by_column,
                                                      float* y, int elements, int columns) {
  scale_each<Inside>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_branch_inside_f16(const __half* x, const __half* by_row, const __half* by_column,
                                                      __half* y, int elements, int columns) {
  scale_each<Inside>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_branch_inside_bf16(const __nv_bfloat16* x, const __nv_bfloat16* by_row,
                                                       const __nv_bfloat16* by_column, __nv_bfloat16* y, int elements,
                                                       int columns) {
  scale_each<Inside>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_branch_kept_f32(const float* x, const float* by_row, const float* by_column,
                                                     float* y, int elements, int columns) {
  scale_each<Kept>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_branch_kept_f16(const __half* x, const __half* by_row, const __half* by_column,
                                                     __half* y, int elements, int columns) {
  scale_each<Kept>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_branch_kept_bf16(const __nv_bfloat16* x, const __nv_bfloat16* by_row,
                                                      const __nv_bfloat16* by_column, __nv_bfloat16* y, int elements,
                                                      int columns) {
  scale_each<Kept>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_branch_outside_f32(const float* x, const float* by_row, const float* by_column,
                                                       float* y, int elements, int columns) {
  scale_each<Outside>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_branch_outside_f16(const __half* x, const __half* by_row, const __half* by_column,
                                                       __half* y, int elements, int columns) {
  scale_each<Outside>(x, by_row, by_column, y, elements, columns);
}

extern "C" __global__ void indexing_branch_outside_bf16(const __nv_bfloat16* x, const __nv_bfloat16* by_row,
                                                        const __nv_bfloat16* by_column, __nv_bfloat16* y, int elements,
                                                        int columns) {
  scale_each<Outside>(x, by_row, by_column, y, elements, columns);
}
