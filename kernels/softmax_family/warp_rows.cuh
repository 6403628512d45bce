// Softmax or log-softmax of rows that lanes of a warp hold between load and store.
//   x, y       T [rows, columns], row-major; must not overlap
//   Lanes      neighbouring lanes per row, a power of two up to 32
//   Packs      packs of 16 bytes per lane and row, in registers
//   Rows       rows that a lane works on at once
//   Masked     rows begin anywhere, and are longer than a pack; else they begin at multiples of 16 bytes
//   needs      Lanes * Packs packs hold a row wherever it begins, and Lanes * (Packs - 1) do not
//   launch     block Block, any number of whole warps; grid ceil(rows / (Block / Lanes * Rows)), no shared memory
//   moves      each element is read once and written once
#pragma once
#include "softmax_family/algebra.cuh"
#include "softmax_family/row_packs.cuh"
#include "softmax_family/rows_by_elements.cuh"

// A lane's packs of its rows between load and store, whatever is computed of them.
template <int Lanes, int Packs, int Rows, int Block, int Hint, bool Masked, typename T>
struct LaneRows {
  static_assert(Lanes >= 1 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0, "LANES must be a power of two to 32");
  static constexpr int N = PER_PACK<T>, Groups = Block / Lanes;  // Groups: rows that the lanes of a block hold
  static constexpr int Step = Lanes * N;                         // elements between the packs of a lane
  uint4 held[Rows][Packs];
  int column[Rows];                 // column of the lane's first pack
  unsigned long long offset[Rows];  // place of that pack in the matrix
  long long first_row;

  // All packs are under way before the first is used.
  __device__ __forceinline__ void load(const T* x, long long rows, int columns) {
    const int own = threadIdx.x % Lanes;
    first_row = static_cast<long long>(blockIdx.x) * (Groups * Rows) + threadIdx.x / Lanes;
    const Matrix<T> matrix{x, x + rows * columns};
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const long long row = first_row + r * Groups;
      const bool exists = row < rows;
      const unsigned long long known_row = Masked && !exists ? 0 : row;  // masked loads read some row, even where none exists
      const unsigned long long start = known_row * static_cast<unsigned>(columns);
      column[r] = own * N - (Masked ? shift_of(x + start) : 0);
      offset[r] = start + column[r];
      const T* x_lane = x + offset[r];
      if (!Masked || (row > 0 && row < rows - 1)) {  // every pack that the row touches lies within the matrix
#pragma unroll
        for (int k = 0; k < Packs; ++k) {
          const bool any = (Masked || exists) && (k < Packs - 1 || column[r] + k * Step < columns);
          held[r][k] = any ? load_once<Hint>(x_lane + k * Step) : nothing<T>();
        }
      } else {
#pragma unroll
        for (int k = 0; k < Packs; ++k) {
          const bool whole = matrix.holds(x_lane + k * Step);
          const int at = column[r] + k * Step;
          held[r][k] = whole ? load_once<Hint>(x_lane + k * Step) : load_part(x + start, at, columns);
        }
      }
    }
  }

  // Stores the results of all packs: result(r, k, results) computes those of pack k of row r.
  //   packed   packs of x and y lie alike
  template <typename Result>
  __device__ __forceinline__ void store(T* y, long long rows, int columns, bool packed, Result result) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (first_row + r * Groups >= rows) continue;
#pragma unroll
      for (int k = 0; k < Packs; ++k) {
        float results[N];
        result(r, k, results);
        held[r][k] = pack_of<T>(results);
      }
      T* y_lane = y + offset[r];
      if (Masked && !packed) {
#pragma unroll
        for (int k = 0; k < Packs; ++k) store_elements(y_lane + k * Step, column[r] + k * Step, columns, held[r][k]);
        continue;
      }
#pragma unroll
      for (int k = 0; k < Packs; ++k) {
        const int at = column[r] + k * Step;
        T* place = y_lane + k * Step;
        if (k == Packs - 1 && at >= columns) continue;
        if (Masked && k == 0 && at < 0) store_last(place, held[r][k], N + at);
        else if (Masked && k >= Packs - 2 && at + N > columns) store_first(place, held[r][k], columns - at);
        else if (Masked) store_whole<Hint>(place, held[r][k]);
        else store_once<Hint>(place, held[r][k]);
      }
    }
  }
};

template <typename Form, int Lanes, int Packs, int Rows, int Block, int Hint, bool Masked, typename T>
__device__ __forceinline__ void warp_rows(const T* __restrict__ x, T* __restrict__ y, long long rows, int columns) {
  constexpr int N = PER_PACK<T>, Step = Lanes * N;
  const auto begin = reinterpret_cast<unsigned long long>(x), target = reinterpret_cast<unsigned long long>(y);
  if (!Masked && (begin | target) % sizeof(uint4) != 0) return rows_by_elements<Form>(x, y, rows, columns);

  // load
  LaneRows<Lanes, Packs, Rows, Block, Hint, Masked, T> own;
  own.load(x, rows, columns);

  // reduce
  float max[Rows], sum[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if constexpr (Masked) {
      own.held[r][0] = without_first<T>(own.held[r][0], -own.column[r]);
#pragma unroll
      for (int k = Packs > 1 ? Packs - 2 : 0; k < Packs; ++k)
        own.held[r][k] = without_last<T>(own.held[r][k], own.column[r] + k * Step + N - columns);
    }
    Peak<T> peak = peak_of<T>(own.held[r][0]);
#pragma unroll
    for (int k = 1; k < Packs; ++k) peak = larger<T>(peak, peak_of<T>(own.held[r][k]));
    max[r] = largest_of<T>(peak);
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) max[r] = warp_all_reduce<MaxOp, Lanes>(max[r]);
  float kept[Rows][Packs][N];  // in place of the elements
  Norm norms[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const Exponentials<T> exponentials(max[r]);
#pragma unroll
    for (int k = 0; k < Packs; ++k) {
      float terms[N];
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float value = element_of<T>(own.held[r][k], i), exponent = exponentials.exponent(value);
        terms[i] = exponentials.of_exponent(exponent);
        kept[r][k][i] = Form::template kept<T>(value, exponent, terms[i]);
      }
#pragma unroll
      for (int step = 1; step < N; step *= 2)  // as a tree, so that additions overlap
#pragma unroll
        for (int i = 0; i + step < N; i += 2 * step) terms[i] += terms[i + step];
      sum[r] = k == 0 ? terms[0] : sum[r] + terms[0];
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) sum[r] = warp_all_reduce<SumOp, Lanes>(sum[r]);
#pragma unroll
  for (int r = 0; r < Rows; ++r) norms[r] = Form::norm({max[r], sum[r]}, Exponentials<T>(max[r]));

  // compute and store
  const auto result = [&](int r, int k, float* results) {
#pragma unroll
    for (int i = 0; i < N; ++i) results[i] = Form::template result<T>(kept[r][k][i], norms[r]);
  };
  own.store(y, rows, columns, (begin ^ target) % sizeof(uint4) == 0, result);
}
