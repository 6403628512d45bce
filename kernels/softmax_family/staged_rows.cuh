// Softmax or log-softmax of short rows, each by one thread. A warp copies a span of rows to shared memory in packs of 16 bytes,
// each thread works on its own rows there, and the warp stores the span in packs. No element is masked, because the compiler
// knows where each row begins in the words of its thread.
//   x, y       T [rows, Columns], row-major; must not overlap. Moved in packs where they begin at multiples of 16 bytes, else
//              by elements
//   Inner      1: softmax along the row. Else a row is a slab [Columns / Inner, Inner], and softmax goes along its first axis
//   Group      rows per thread: together an odd number of packs, or of 8 or 4 bytes, so that 32 threads use 32 banks
//   launch     block Block, any number of whole warps; grid ceil(rows / (Block * Group)); static shared memory
//   moves      each element is read once and written once
#pragma once
#include "softmax_family/algebra.cuh"
#include "softmax_family/row_packs.cuh"

// The widest access that divides so many bytes.
template <int Bytes>
using Unit = std::conditional_t<Bytes % 16 == 0, uint4, std::conditional_t<Bytes % 8 == 0, uint2, unsigned>>;

template <int Bytes>
__device__ __forceinline__ void copy_units(void* to, const void* from) {
#pragma unroll
  for (int i = 0; i < Bytes / static_cast<int>(sizeof(Unit<Bytes>)); ++i)
    static_cast<Unit<Bytes>*>(to)[i] = static_cast<const Unit<Bytes>*>(from)[i];
}

// Replaces the elements of Group rows by their results.
template <typename Form, int Columns, int Group, typename T>
__device__ __forceinline__ void rows_in_words(unsigned* words) {
  float lower = 0.0f;  // the result that waits for its neighbour in the upper half of its word
#pragma unroll
  for (int row = 0; row < Group; ++row) {
    const int first = row * Columns;
    float max = element_at<T>(words, first);
    if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (int column = 1; column < Columns; ++column) max = fmaxf(max, element_at<T>(words, first + column));
    } else {
      const int begin = (first + 1) / 2, end = (first + Columns) / 2;  // words that are the row's alone
      if (end > begin) {
        Peak<T> peak = words[begin];
#pragma unroll
        for (int word = begin + 1; word < end; ++word) peak = larger<T>(peak, words[word]);
        max = first % 2 != 0 ? fmaxf(max, largest_of<T>(peak)) : largest_of<T>(peak);
      }
      if ((first + Columns) % 2 != 0) max = fmaxf(max, element_at<T>(words, first + Columns - 1));
    }
    const Exponentials<T> exponentials(max);
    constexpr int Sums = Columns < 8 ? 1 : 4;  // independent, so that additions overlap
    float kept[Columns], sums[Sums];
#pragma unroll
    for (int column = 0; column < Columns; ++column) {
      const float value = element_at<T>(words, first + column), exponent = exponentials.exponent(value);
      const float exponential = exponentials.of_exponent(exponent);
      kept[column] = Form::template kept<T>(value, exponent, exponential);
      sums[column % Sums] = column < Sums ? exponential : sums[column % Sums] + exponential;
    }
    const float sum = Sums == 1 ? sums[0] : (sums[0] + sums[1 % Sums]) + (sums[2 % Sums] + sums[3 % Sums]);
    const Norm norm = Form::norm({max, sum}, exponentials);
#pragma unroll
    for (int column = 0; column < Columns; ++column) {
      const int at = first + column;
      const float result = Form::template result<T>(kept[column], norm);
      if constexpr (sizeof(T) == 4) words[at] = __float_as_uint(result);
      else if (at % 2 == 0) lower = result;
      else words[at / 2] = word_of<T>(lower, result);
    }
  }
}

// The same for Group slabs, where the elements of a column lie Inner elements apart.
template <typename Form, int Size, int Inner, int Group, typename T>
__device__ __forceinline__ void slabs_in_words(unsigned* words) {
  float lower = 0.0f;  // as above
#pragma unroll
  for (int slab = 0; slab < Group; ++slab) {
    const int first = slab * Size;
    float kept[Size];
    Norm norms[Inner];
#pragma unroll
    for (int column = 0; column < Inner; ++column) {
      float max = element_at<T>(words, first + column), sum = 0.0f;
#pragma unroll
      for (int i = column + Inner; i < Size; i += Inner) max = fmaxf(max, element_at<T>(words, first + i));
      const Exponentials<T> exponentials(max);
#pragma unroll
      for (int i = column; i < Size; i += Inner) {
        const float value = element_at<T>(words, first + i), exponent = exponentials.exponent(value);
        const float exponential = exponentials.of_exponent(exponent);
        kept[i] = Form::template kept<T>(value, exponent, exponential);
        sum = i == column ? exponential : sum + exponential;
      }
      norms[column] = Form::norm({max, sum}, exponentials);
    }
#pragma unroll
    for (int i = 0; i < Size; ++i) {
      const int at = first + i;
      const float result = Form::template result<T>(kept[i], norms[i % Inner]);
      if constexpr (sizeof(T) == 4) words[at] = __float_as_uint(result);
      else if (at % 2 == 0) lower = result;
      else words[at / 2] = word_of<T>(lower, result);
    }
  }
}

template <typename Form, int Columns, int Group, int Inner, typename T>
__device__ __forceinline__ void work_in_words(unsigned* words) {
  if constexpr (Inner == 1) rows_in_words<Form, Columns, Group, T>(words);
  else slabs_in_words<Form, Columns, Inner, Group, T>(words);
}

// work(words) replaces the elements of a thread's rows by their results.
template <int Columns, int Group, int Block, int Hint, typename T, typename Work>
__device__ __forceinline__ void staged_words(const T* __restrict__ x, T* __restrict__ y, long long rows, Work work) {
  constexpr int Bytes = Columns * Group * static_cast<int>(sizeof(T));  // per thread
  constexpr int WarpRows = WARP_SIZE * Group, Elements = WarpRows * Columns;
  constexpr int Packs = Bytes * WARP_SIZE / static_cast<int>(sizeof(uint4));  // per warp
  static_assert(Bytes % sizeof(unsigned) == 0, "GROUP rows of COLUMNS must be whole words");
  __shared__ uint4 tiles[Block / WARP_SIZE * Packs];
  const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
  const long long first_row = (static_cast<long long>(blockIdx.x) * (Block / WARP_SIZE) + warp) * WarpRows;
  if (first_row >= rows) return;  // whole warps leave, and none waits for them
  const T* x_rows = x + first_row * Columns;
  T* y_rows = y + first_row * Columns;
  const bool full = rows - first_row >= WarpRows;
  const bool x_packed = shift_of(x_rows) == 0, y_packed = shift_of(y_rows) == 0;
  unsigned words[Bytes / sizeof(unsigned)];

  if (Packs == WARP_SIZE && full && x_packed && y_packed) {  // one pack per thread: no exchange is needed
    const uint4 pack = load_once<Hint>(x_rows + lane * PER_PACK<T>);
    words[0] = pack.x, words[1] = pack.y, words[2] = pack.z, words[3] = pack.w;
    work(words);
    store_once<Hint>(y_rows + lane * PER_PACK<T>, make_uint4(words[0], words[1], words[2], words[3]));
    return;
  }

  const int elements = full ? Elements : static_cast<int>(rows - first_row) * Columns;
  const int packs = elements / PER_PACK<T>, part = packs * PER_PACK<T> + lane;  // part: the lane's element beyond whole packs
  uint4* tile = tiles + warp * Packs;
  T* staged = reinterpret_cast<T*>(tile);
  if (x_packed && full) {
#pragma unroll
    for (int k = lane; k < Packs; k += WARP_SIZE) copy_ahead(tile + k, x_rows + k * PER_PACK<T>);
    await_copies();
  } else if (x_packed) {  // in packs too: by elements, the last warp would take much longer than the others
    for (int k = lane; k < packs; k += WARP_SIZE) copy_ahead(tile + k, x_rows + k * PER_PACK<T>);
    for (int k = packs + 1 + lane; k < Packs; k += WARP_SIZE) tile[k] = uint4{};
    if (lane < PER_PACK<T>) staged[part] = part < elements ? x_rows[part] : from_float<T>(0.0f);
    await_copies();
  } else {
    for (int i = lane; i < Elements; i += WARP_SIZE) staged[i] = i < elements ? x_rows[i] : from_float<T>(0.0f);
  }
  __syncwarp();  // every lane's packs are there
  char* own = reinterpret_cast<char*>(tile) + lane * Bytes;
  copy_units<Bytes>(words, own);
  work(words);
  copy_units<Bytes>(own, words);
  __syncwarp();  // every row is done
  if (y_packed && full) {
#pragma unroll
    for (int k = lane; k < Packs; k += WARP_SIZE) store_once<Hint>(y_rows + k * PER_PACK<T>, tile[k]);
  } else if (y_packed) {
    for (int k = lane; k < packs; k += WARP_SIZE) store_once<Hint>(y_rows + k * PER_PACK<T>, tile[k]);
    if (part < elements) y_rows[part] = staged[part];
  } else {
    for (int i = lane; i < elements; i += WARP_SIZE) y_rows[i] = staged[i];
  }
}

template <typename Form, int Columns, int Group, int Block, int Hint, int Inner = 1, typename T>
__device__ __forceinline__ void staged_rows(const T* __restrict__ x, T* __restrict__ y, long long rows) {
  staged_words<Columns, Group, Block, Hint>(
      x, y, rows, [](unsigned* words) { work_in_words<Form, Columns, Group, Inner, T>(words); });
}
