// Applies a function to one element of each input, over whole arrays: element by element, or in packs with a tail.
//   Function   `function(a, b, ..)` gives one element of the result; where Function::PAIRS is true,
//              `function.pair(result, a, b, ..)` gives two neighbours from pointers to two of each input
//   inputs, result   any number of inputs; none may overlap the result; each element read once and written once
//   launch     a grid-stride loop: any grid and block of one dimension
// Indices are 64-bit: arrays may have more than 2^31 elements.
#pragma once
#include "common/convert.cuh"

// Neighbours that one access of sizeof(T) * Size bytes moves, at most 16.
template <typename T, int Size>
struct alignas(sizeof(T) * Size) Pack {
  static_assert(sizeof(T) * Size <= 16, "an access has at most 16 bytes");
  T elements[Size];
};

__device__ __forceinline__ long long global_thread() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ long long global_threads() { return static_cast<long long>(gridDim.x) * blockDim.x; }

// Whether all arrays begin at a multiple of `Bytes`, as accesses of so many bytes need.
template <int Bytes, typename... Elements>
__device__ __forceinline__ bool are_aligned(const Elements*... arrays) {
  return (reinterpret_cast<unsigned long long>(arrays) | ...) % Bytes == 0;
}

// result[i] = function(inputs[i]..) for i of [first, elements).
template <typename Function, typename Result, typename... Inputs>
__device__ __forceinline__ void map_singly(Function function, long long first, long long elements, Result* result,
                                           const Inputs*... inputs) {
  for (long long i = first + global_thread(); i < elements; i += global_threads()) result[i] = function(inputs[i]...);
}

// One pack of results from one pack of each input, two elements at a time where the function can.
template <int Size, typename Result, typename Function, typename... Inputs>
__device__ __forceinline__ Pack<Result, Size> apply_pack(Function function, const Pack<Inputs, Size>... inputs) {
  Pack<Result, Size> result;
  if constexpr (Function::PAIRS && Size % 2 == 0) {
#pragma unroll
    for (int j = 0; j < Size; j += 2) function.pair(result.elements + j, (inputs.elements + j)...);
  } else {
#pragma unroll
    for (int j = 0; j < Size; ++j) result.elements[j] = function(inputs.elements[j]...);
  }
  return result;
}

// All of [0, elements): whole packs, then the tail, whose elements the first threads take one each.
//   packs   elements / Size, counted by the host once and not by every thread
// If any array does not begin at a multiple of a pack, all elements are processed one by one.
template <int Size, typename Function, typename Result, typename... Inputs>
__device__ __forceinline__ void map_packed(Function function, long long packs, long long elements, Result* result,
                                           const Inputs*... inputs) {
  if (!are_aligned<Size * sizeof(Result)>(result) || !(are_aligned<Size * sizeof(Inputs)>(inputs) && ...)) {
    map_singly(function, 0, elements, result, inputs...);
    return;
  }
  Pack<Result, Size>* result_packs = reinterpret_cast<Pack<Result, Size>*>(result);
  for (long long i = global_thread(); i < packs; i += global_threads())
    result_packs[i] = apply_pack<Size, Result>(function, reinterpret_cast<const Pack<Inputs, Size>*>(inputs)[i]...);
  map_singly(function, packs * Size, elements, result, inputs...);
}
