// Softmax and log-softmax along any axis where dim is more than a cluster holds: tiles are summed up, and read once more, from
// the L2, when their columns are known. See softmax_family/tickets.cuh.
//   tile      as one_read_axis.cuh has it; a unit is all tiles of a strip of a slab
//   partials  [units, parts + 1, width]: (maximum, sum) of a tile's columns; at last (maximum, log or reciprocal of the sum)
#pragma once
#include "softmax_family/one_read_axis.cuh"
#include "softmax_family/tickets.cuh"

#if TICKETS
template <int Form, typename T>
__device__ __forceinline__ void sum_up_tile(const T* __restrict__ x, float2* partials, const AxisView& view, unsigned tile) {
  const TilePlace place = place_of_tile(view, tile);
  Pack held[PACKS];
  load_tile<Form>(held, x, share_of<Form>(x, view, place), is_even<Form, T>(view, place, phase_of(x)));
  const Sheets<T> sheets = sheets_of<T>(view.width);
  const Pack most = max_of_packs<T>(held, own_slots());
  put_maxima(most, sheets);
  float sums[IN_PACK<T>];
  sum_packs<T>(sums, held, own_slots(), most);
  put_sums(sums, sheets);

  const unsigned unit = tile / view.parts;
  give_columns<Form>(x, partials + static_cast<long long>(unit) * (view.parts + 1) * view.width, view, place, unit, sheets);
}

template <typename Result, int Form, typename T>
__device__ __forceinline__ void join_tiles(float2* partials, const AxisView& view, unsigned unit) {
  float2* pairs = partials + static_cast<long long>(unit) * (view.parts + 1) * view.width;
  await_state(unit, view.parts);
  float2* joined = pairs + view.parts * view.width;
  join_parts<T>(pairs, view.parts, view.width, sheets_of<T>(view.width).parts, [&](int column, float2 pair) {
    __stcg(joined + column, make_float2(pair.x, end_of<Result, T>(pair)));
  });
  count_tile(unit);
}

template <typename Result, int Form, typename T>
__device__ __forceinline__ void finish_tile(const T* __restrict__ x, T* __restrict__ y, const float2* partials,
                                            const AxisView& view, unsigned tile) {
  const TilePlace place = place_of_tile(view, tile);
  const Share<Form> share = share_of<Form>(x, view, place);
  Pack held[PACKS];
  load_tile<Form>(held, x, share, is_even<Form, T>(view, place, phase_of(x)));

  const unsigned unit = tile / view.parts;
  const int thread = threadIdx.y * wide() + threadIdx.x, threads = wide() * high();
  const Sheets<T> sheets = sheets_of<T>(view.width);
  const float2* joined = partials + (static_cast<long long>(unit + 1) * (view.parts + 1) - 1) * view.width;
  if (thread < view.width) await_state(unit, view.parts + 1);  // while the tile is under way
  for (int column = thread; column < view.width; column += threads) {
    const float2 known = __ldcg(joined + column);
    sheets.max[column] = known.x, sheets.end[column] = known.y;
  }
  __syncthreads();  // the columns are known
  if (thread == 0) leave_unit(unit, 2 * view.parts);
  apply_columns<Result, Form, T>(held, share, sheets, view);
  asm volatile("" : "+r"(tile));  // what follows is found again: kept, it would take registers that packs need
  const TilePlace again = place_of_tile(view, tile);
  const Share<Form> own = share_of<Form>(x, view, again);
  store_tile<Form>(y, held, own, is_even<Form, T>(view, again, phase_of(x) | phase_of(y)));
}

// lead  tiles by which sums are ahead of results; join: by which they are ahead of the joining of a unit that begins there,
//       at least a unit's, and at most `lead`
template <typename Result, int Form, typename T>
__device__ __forceinline__ void ticketed_axis(const T* __restrict__ x, T* __restrict__ y, float2* partials, const AxisView& view,
                                              unsigned lead, unsigned join) {
  const unsigned units = static_cast<unsigned>(view.outer) * view.strips, tiles = units * view.parts;
  const unsigned ticket = take_ticket(tiles + lead);
  if (ticket < tiles) sum_up_tile<Form>(x, partials, view, ticket);
  const unsigned unit = (ticket - join) / view.parts;
  if (ticket >= join && (ticket - join) % view.parts == 0 && unit < units) join_tiles<Result, Form, T>(partials, view, unit);
  if (ticket >= lead) finish_tile<Result, Form>(x, y, partials, view, ticket - lead);
}
#endif
