// Layer norm of rows that are held between load and store, by the techniques of the softmax family, whose headers have shapes
// and launches: lanes of a warp (warp_rows.cuh), warps and clusters (held_rows.cuh), whole rows per thread (staged_rows.cuh),
// elements of rows by lanes (staged_lanes.cuh), two launches (split_rows.cuh).
#pragma once
#include "layer_norm/moments.cuh"
#include "softmax_family/held_rows.cuh"
#include "softmax_family/split_rows.cuh"
#include "softmax_family/staged_lanes.cuh"
#include "softmax_family/staged_rows.cuh"
#include "softmax_family/warp_rows.cuh"

// One warp per row, element by element, read three times: for arrays that are not aligned as the launch assumes.
template <typename T>
__device__ __noinline__ void layer_norm_by_elements(const T* x, Weights<T> weights, T* y, long long rows, int columns) {
  const int lane = threadIdx.x % WARP_SIZE, warps = blockDim.x / WARP_SIZE;
  for (long long row = static_cast<long long>(blockIdx.x) * warps + threadIdx.x / WARP_SIZE; row < rows;
       row += static_cast<long long>(gridDim.x) * warps) {
    const T* x_row = x + row * columns;
    const Moments all = warp_moments(columns, [&](auto use) {
      for (int column = lane; column < columns; column += WARP_SIZE) use(to_float(x_row[column]));
    });
    const RowNorm norm = norm_of<T>(all.mean, all.squares, columns, weights.eps);
    for (int column = lane; column < columns; column += WARP_SIZE) {
      const float normal = (to_float(x_row[column]) - norm.mean) * norm.scale;
      y[row * columns + column] =
          from_float<T>(fmaf(normal, to_float(weights.gamma[column]), to_float(weights.beta[column])));
    }
  }
}

// Whether arrays begin as the launch assumes. The compiler then drops the other ways of load_weights.
template <bool Masked, typename T>
__device__ __forceinline__ bool in_packs(const T* x, const T* y, const Weights<T>& weights, int columns) {
  return Masked ? weights.in_packs(columns) : shift_of(x) == 0 && shift_of(y) == 0 && weights.aligned();
}

// Loads the packs of a thread, which are Step elements apart and whole. It loads the row's last pack in place of one beyond the
// row: with a branch ptxas delays the last packs until the first are there.
template <int Hint, int Step, int Packs, typename T>
__device__ __forceinline__ void load_whole(uint4 (&held)[Packs], const T* x_row, int column, int columns) {
#pragma unroll
  for (int k = 0; k < Packs; ++k) held[k] = load_once<Hint>(x_row + min(column + k * Step, columns - PER_PACK<T>));
}

// Loads the packs of a lane, and the last row in place of one beyond it.
template <int Lanes, int Packs, int Rows, int Block, int Hint, typename T>
__device__ __forceinline__ void load_whole(LaneRows<Lanes, Packs, Rows, Block, Hint, false, T>& own, const T* x, long long rows,
                                           int columns) {
  constexpr int N = PER_PACK<T>, Groups = Block / Lanes;
  const int column = static_cast<int>(threadIdx.x) % Lanes * N;
  own.first_row = static_cast<long long>(blockIdx.x) * (Groups * Rows) + threadIdx.x / Lanes;
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const long long start = min(own.first_row + r * Groups, rows - 1) * columns;
    own.column[r] = column;
    own.offset[r] = start + column;
    load_whole<Hint, Lanes * N>(own.held[r], x + start, column, columns);
  }
}

// Loads the packs of one thread of a block or cluster that holds a row.
template <int Warps, int Blocks, int Packs, int Hint, typename T>
__device__ __forceinline__ void load_whole(HeldRow<Warps, Blocks, Packs, 0, Hint, false, T>& row, const T* x, int columns,
                                           int thread) {
  row.own = thread, row.columns = columns, row.shift = 0;
  const T* x_row = x + static_cast<long long>(blockIdx.x) / Blocks * columns;
  load_whole<Hint, WARP_SIZE * Warps * Blocks * PER_PACK<T>>(row.held, x_row, row.column_of(0), columns);
}

template <int Lanes, int Packs, int Rows, int Block, int Hint, bool Masked, typename T>
__device__ __forceinline__ void layer_norm_by_lanes(const T* __restrict__ x, const Weights<T>& weights, T* __restrict__ y,
                                                    long long rows, int columns) {
  constexpr int N = PER_PACK<T>, Step = Lanes * N, Sums = 4;  // Sums: independent, so that additions overlap
  if (!in_packs<Masked>(x, y, weights, columns)) return layer_norm_by_elements(x, weights, y, rows, columns);

  // load
  uint4 kept[Packs][2];  // gamma and beta, unless Masked
  if constexpr (!Masked)
    load_weights_first<Packs, Step>(kept, weights, static_cast<int>(threadIdx.x) % Lanes * N, columns);
  LaneRows<Lanes, Packs, Rows, Block, Hint, Masked, T> own;
  if constexpr (Masked) own.load(x, rows, columns);
  else load_whole(own, x, rows, columns);

  // reduce; each step for all rows, so that their latencies overlap
  const auto in_row = [&](int r, int k, int i) {  // asked only where the row may begin or end
    const int at = own.column[r] + k * Step;
    if (!Masked) return k < Packs - 1 || at < columns;
    return (k > 0 || at + i >= 0) && (k < Packs - 2 || at + i < columns);
  };
  float mean[Rows], squares[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    float sums[Sums] = {};
#pragma unroll
    for (int k = 0; k < Packs; ++k)
#pragma unroll
      for (int i = 0; i < N; ++i)
        if (in_row(r, k, i)) sums[i % Sums] += element_of<T>(own.held[r][k], i);
    mean[r] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) mean[r] = divided(warp_all_reduce<SumOp, Lanes>(mean[r]), columns);
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    float sums[Sums] = {};
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      const uint4& pack = again<T>(own.held[r][k]);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float deviation = element_of<T>(pack, i) - mean[r];
        if (in_row(r, k, i)) sums[i % Sums] = fmaf(deviation, deviation, sums[i % Sums]);
      }
    }
    squares[r] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  RowNorm norms[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
    norms[r] = norm_of<T>(mean[r], warp_all_reduce<SumOp, Lanes>(squares[r]), columns, weights.eps);

  // compute and store
  const auto result = [&](int r, int k, float* results) {
    const int at = own.column[r] + k * Step;
    if constexpr (Masked) results_of<true>(again<T>(own.held[r][k]), at, columns, norms[r], weights, results);
    else if (k < Packs - 1 || at < columns)
      normalised<T>(again<T>(own.held[r][k]), norms[r], again<T>(kept[k][0]), again<T>(kept[k][1]), results);
  };
  own.store(y, rows, columns, shift_of(x) == shift_of(y), result);
}

// WeightsFirst: a thread keeps gamma and beta in registers, loaded before x. They take registers from other blocks.
template <int Warps, int Blocks, int Packs, int SharedPacks, int Hint, bool Masked, bool WeightsFirst, typename T>
__device__ __forceinline__ void layer_norm_held(const T* __restrict__ x, const Weights<T>& weights, T* __restrict__ y,
                                                long long rows, int columns) {
  static_assert(!WeightsFirst || (!Masked && SharedPacks == 0), "only for whole packs in registers");
  constexpr int Parts = Warps * Blocks, N = PER_PACK<T>;
  if (!in_packs<Masked>(x, y, weights, columns)) return layer_norm_by_elements(x, weights, y, rows, columns);

  __shared__ Mailbox box;
  int rank = 0;
  if constexpr (Blocks > 1) {
    rank = cluster_rank();
    open_mailbox(&box);  // waited for by exchange_parts
  }

  // load
  uint4 kept[Packs][2];  // gamma and beta, if WeightsFirst
  HeldRow<Warps, Blocks, Packs, SharedPacks, Hint, Masked, T> row;
  const int thread = rank * Warps * WARP_SIZE + static_cast<int>(threadIdx.x);
  if constexpr (WeightsFirst) load_weights_first<Packs, Parts * WARP_SIZE * N>(kept, weights, thread * N, columns);
  if constexpr (!Masked && SharedPacks == 0) load_whole(row, x, columns, thread);
  else row.load(x, rows, columns, rank);

  // reduce: each warp has deviations from its own mean, so that one exchange suffices
  const int shift = row.shift;
  const auto elements_of_part = [=](int part) { return elements_of<Parts, N>(part, columns, shift); };
  const auto each = [&](auto use) {
#pragma unroll
    for (int k = 0; k < Packs; ++k) each_in_row<Masked, T>(again<T>(row.held[k]), row.column_of(k), columns, use);
    if constexpr (SharedPacks > 0) await_copies();
#pragma unroll 1  // one pack at a time: unrolled, all packs would need registers at once
    for (int k = 0; k < SharedPacks; ++k)
      each_in_row<Masked, T>(*row.shared_place(k), row.column_of(Packs + k), columns, use);
  };
  const int part = rank * Warps + static_cast<int>(threadIdx.x) / WARP_SIZE;
  const Moments own = warp_moments(elements_of_part(part), each);
  const Moments* parts = exchange_parts<Warps, Blocks>(own, rank, &box);
  const Moments all = warp_all_join<LANES_FOR<Parts>>(parts, Parts, columns, elements_of_part);

  // compute and store
  const RowNorm norm = norm_of<T>(all.mean, all.squares, columns, weights.eps);
  const auto registered = [&](int k, int column, float* results) {
    const uint4& pack = again<T>(row.held[k]);
    if constexpr (WeightsFirst) normalised<T>(pack, norm, again<T>(kept[k][0]), again<T>(kept[k][1]), results);
    else results_of<Masked>(pack, column, columns, norm, weights, results);
  };
  const auto shared = [&](const uint4& pack, int column, float* results) {
    results_of<Masked>(pack, column, columns, norm, weights, results);
  };
  row.store(x, y, registered, shared);
}

// Replaces the elements of Group rows by their results.
template <int Columns, int Group, typename T>
__device__ __forceinline__ void layer_norm_in_words(unsigned* words, const Weights<T>& weights) {
  constexpr int Sums = Columns < 8 ? 1 : 4;  // independent, so that additions overlap
  const auto joined = [](const float* sums) {
    return Sums == 1 ? sums[0] : (sums[0] + sums[1 % Sums]) + (sums[2 % Sums] + sums[3 % Sums]);
  };
  constexpr int Words = (Columns * Group * static_cast<int>(sizeof(T)) + 3) / 4;
  const auto unpack_again = [&] {  // kept as floats between the loops below, halves would take twice the registers
#pragma unroll
    for (int i = 0; i < Words; ++i)
      if constexpr (sizeof(T) == 2) asm volatile("" : "+r"(words[i]));
  };
  float lower = 0.0f;  // the result that waits for its neighbour in the upper half of its word
#pragma unroll
  for (int row = 0; row < Group; ++row) {
    const int first = row * Columns;
    float sums[Sums] = {}, squares[Sums] = {};
#pragma unroll
    for (int column = 0; column < Columns; ++column) sums[column % Sums] += element_at<T>(words, first + column);
    const float mean = divided(joined(sums), Columns);
    unpack_again();
#pragma unroll
    for (int column = 0; column < Columns; ++column) {
      const float deviation = element_at<T>(words, first + column) - mean;
      squares[column % Sums] = fmaf(deviation, deviation, squares[column % Sums]);
    }
    const RowNorm norm = norm_of<T>(mean, joined(squares), Columns, weights.eps);
    unpack_again();
    constexpr int PerWord = sizeof(unsigned) / sizeof(T);
    unsigned gamma = 0, beta = 0;
#pragma unroll
    for (int column = 0; column < Columns; ++column) {
      const int at = first + column;
      if (column % PerWord == 0) gamma = word_at<Columns>(weights.gamma, column), beta = word_at<Columns>(weights.beta, column);
      const float normal = norm.normal<T>(element_at<T>(words, at));
      const float result = fmaf(normal, element_at<T>(&gamma, column % PerWord), element_at<T>(&beta, column % PerWord));
      if constexpr (sizeof(T) == 4) words[at] = __float_as_uint(result);
      else if (at % 2 == 0) lower = result;
      else words[at / 2] = word_of<T>(lower, result);
    }
  }
}

template <int Columns, int Group, int Block, int Hint, typename T>
__device__ __forceinline__ void layer_norm_staged(const T* __restrict__ x, const Weights<T>& weights, T* __restrict__ y,
                                                  long long rows) {
  if (!weights.aligned()) return layer_norm_by_elements(x, weights, y, rows, Columns);
  staged_words<Columns, Group, Block, Hint>(
      x, y, rows, [&](unsigned* words) { layer_norm_in_words<Columns, Group>(words, weights); });
}

// Lanes of a warp take Group rows one after another from shared memory, each lane every Lanes-th element, so that its gamma and
// beta are loaded once, and no element is masked but the last of some lanes.
template <int Lanes, int Elements, int Group, int Block, int Hint, typename T>
__device__ __forceinline__ void layer_norm_staged_lanes(const T* __restrict__ x, const Weights<T>& weights,
                                                        T* __restrict__ y, long long rows, int columns) {
  static_assert(Elements >= 4, "a lane has four sums");
  constexpr int Sums = 4, Last = Elements - 1, Least = Lanes * Last;
  const int own = threadIdx.x % Lanes, group = threadIdx.x % WARP_SIZE / Lanes;
  const bool has_last = own + Least < columns;
  float gamma[Elements], beta[Elements];
#pragma unroll
  for (int k = 0; k < Elements; ++k) {
    const int column = k < Last || has_last ? own + k * Lanes : own;
    gamma[k] = to_float(__ldg(weights.gamma + column)), beta[k] = to_float(__ldg(weights.beta + column));
  }
  staged_span<WARP_SIZE / Lanes * Group, Least, Least + Lanes, Block, Hint>(x, y, rows, columns, [&](uint4* tile, int shift) {
    T* place = reinterpret_cast<T*>(tile) + shift + group * Group * columns + own;
#pragma unroll 1
    for (int done = 0; done < Group; ++done, place += columns) {
      float values[Elements], sums[Sums] = {}, squares[Sums] = {};
#pragma unroll
      for (int k = 0; k < Elements; ++k) {
        values[k] = k < Last || has_last ? to_float(place[k * Lanes]) : 0.0f;
        sums[k % Sums] += values[k];
      }
      const float sum = warp_all_reduce<SumOp, Lanes>((sums[0] + sums[1]) + (sums[2] + sums[3]));
      const float mean = divided(sum, columns);
#pragma unroll
      for (int k = 0; k < Elements; ++k) {
        values[k] -= mean;
        if (k < Last || has_last) squares[k % Sums] = fmaf(values[k], values[k], squares[k % Sums]);
      }
      const float all = warp_all_reduce<SumOp, Lanes>((squares[0] + squares[1]) + (squares[2] + squares[3]));
      const RowNorm norm = norm_of<T>(mean, all, columns, weights.eps);
#pragma unroll
      for (int k = 0; k < Elements; ++k)
        if (k < Last || has_last) place[k * Lanes] = from_float<T>(fmaf(values[k] * norm.scale, gamma[k], beta[k]));
    }
    __syncwarp();  // every row is done
  });
}

template <int Block, int Packs, typename T>
__device__ __forceinline__ void layer_norm_split_parts(const T* __restrict__ x, Moments* __restrict__ parts, long long rows,
                                                       int columns, int chunk) {
  constexpr int Warps = Block / WARP_SIZE, N = PER_PACK<T>;
  const auto part_of = [](const uint4 (&held)[Packs], int elements, int shift) {
    const int warp = threadIdx.x / WARP_SIZE;
    return warp_moments(elements_of<Warps, N>(warp, elements, shift), [&](auto use) {
#pragma unroll
      for (int k = 0; k < Packs; ++k)
        each_in_row<true, T>(held[k], (k * Block + static_cast<int>(threadIdx.x)) * N - shift, elements, use);
    });
  };
  const auto join = [](const Moments* warps, int elements, int shift) {
    const auto elements_of_warp = [=](int warp) { return elements_of<Warps, N>(warp, elements, shift); };
    return warp_all_join<LANES_FOR<Warps>>(warps, Warps, elements, elements_of_warp);
  };
  write_parts<Block, Packs>(x, parts, rows, columns, chunk, part_of, join);
}

template <int Block, int Packs, int Hint, typename T>
__device__ __forceinline__ void layer_norm_split_finish(const T* __restrict__ x, const Weights<T>& weights,
                                                        T* __restrict__ y, const Moments* __restrict__ parts, long long rows,
                                                        int columns, int chunk) {
  const auto norm_of_row = [&](const Moments* own) {
    const Moments all = warp_all_join(own, gridDim.x, columns, [=](int i) { return min(chunk, columns - i * chunk); });
    return norm_of<T>(all.mean, all.squares, columns, weights.eps);
  };
  const auto results = [&](const uint4& pack, long long column, RowNorm norm, float* values) {
    results_of<true>(pack, static_cast<int>(column), columns, norm, weights, values);
  };
  finish_rows<Block, Packs, Hint>(x, y, parts, rows, columns, chunk, norm_of_row, results);
}
