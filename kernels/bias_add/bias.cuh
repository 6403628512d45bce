// A bias for each element of an array seen as [outer, dim, inner], one element per thread and step.
//   x, y    T [elements]; must not overlap; each element read once, written once
//   bias    T [dim]
//   Index   of elements: int, where a step beyond the last element stays below 2^31, else long long
//   Find    `find(i)` gives the place in bias of element i, out of divisions
#pragma once
#include "common/elementwise.cuh"

template <typename Index, typename T, typename Find>
__device__ __forceinline__ void add_bias(const T* __restrict__ x, const T* __restrict__ bias, T* __restrict__ y,
                                         long long elements, Find find) {
  const Index end = static_cast<Index>(elements);
  const Index step = static_cast<Index>(global_threads());
  for (Index i = static_cast<Index>(global_thread()); i < end; i += step)
    y[i] = from_float<T>(to_float(x[i]) + to_float(bias[find(i)]));
}
