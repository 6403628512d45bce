// Softmax and log-softmax along any axis where dim is more than a cluster holds: tiles are summed up, then read again, from the
// L2, once their columns are known. See tickets.cuh.
//   tile      see one_read_axis.cuh; a unit is all tiles of one strip of one slab
//   partials  [units, parts + 1, width]: the pair of each column of each tile; last the norm of each column
#pragma once
#include "softmax_family/one_read_axis.cuh"

template <typename Tile, typename T>
__device__ __forceinline__ void sum_up_tile(const T* __restrict__ x, MaxSum* partials, const AxisView& view, unsigned tile) {
  const TilePlace place = place_of_tile(view, tile);
  Held<Tile> held;
  load_tile<Tile>(held, x, share_of<Tile>(x, view, place), is_even<Tile, T>(view, place, phase_of<Tile>(x)));
  const ColumnState<Tile, T> state = column_state<Tile, T>(view.width);
  const Pack<Tile> most = max_of_packs<Tile, T>(held, own_shared_packs<Tile>());
  put_maxima(most, state);
  float sums[IN_PACK<Tile, T>];
  sum_packs<Tile, T>(sums, held, own_shared_packs<Tile>(), most);
  put_sums(sums, state);

  const unsigned unit = tile / view.parts;
  publish_columns(x, partials + static_cast<long long>(unit) * (view.parts + 1) * view.width, view, place, unit, state);
}

template <typename Form, typename Tile, typename T>
__device__ __forceinline__ void finish_unit(MaxSum* partials, const AxisView& view, unsigned unit) {
  MaxSum* pairs = partials + static_cast<long long>(unit) * (view.parts + 1) * view.width;
  await_state<Tile>(unit, view.parts);
  MaxSum* norms = pairs + view.parts * view.width;
  join_unit<Tile, T>(pairs, view.parts, view.width, column_state<Tile, T>(view.width).parts, [&](int column, MaxSum pair) {
    const Norm norm = norm_of_column<Form, T>(pair);
    store_pair(norms + column, {norm.max, norm.term});
  });
  count_tile<Tile>(unit);
}

template <typename Form, typename Tile, typename T>
__device__ __forceinline__ void finish_tile(const T* __restrict__ x, T* __restrict__ y, const MaxSum* partials,
                                            const AxisView& view, unsigned tile) {
  const TilePlace place = place_of_tile(view, tile);
  const Share<Tile> share = share_of<Tile>(x, view, place);
  Held<Tile> held;
  load_tile<Tile>(held, x, share, is_even<Tile, T>(view, place, phase_of<Tile>(x)));

  const unsigned unit = tile / view.parts;
  constexpr int Threads = Tile::Wide * Tile::High;
  const int thread = threadIdx.y * Tile::Wide + threadIdx.x;
  const ColumnState<Tile, T> state = column_state<Tile, T>(view.width);
  const MaxSum* norms = partials + (static_cast<long long>(unit + 1) * (view.parts + 1) - 1) * view.width;
  if (thread < view.width) await_state<Tile>(unit, view.parts + 1);  // while the tile is being loaded
  for (int column = thread; column < view.width; column += Threads) {
    const MaxSum norm = load_pair(norms + column);
    state.set_norm(column, {norm.max, norm.sum});
  }
  __syncthreads();  // the columns are known
  if (thread == 0) release_unit<Tile>(unit, 2 * view.parts);
  apply_columns<Form>(held, share, state, view);
  asm volatile("" : "+r"(tile));  // computes the place anew: kept, it would take registers from packs
  const TilePlace again = place_of_tile(view, tile);
  store_tile<Tile>(y, held, share_of<Tile>(x, view, again),
                   is_even<Tile, T>(view, again, phase_of<Tile>(x) | phase_of<Tile>(y)));
}

//   lead  tiles between summing up a tile and writing its results
//   join  tiles between summing up the first tile of a unit and joining the unit: at least a unit's tiles, at most `lead`
template <typename Form, typename Tile, typename T>
__device__ __forceinline__ void ticketed_axis(const T* __restrict__ x, T* __restrict__ y, MaxSum* partials,
                                              const AxisView& view, unsigned lead, unsigned join) {
  const unsigned units = static_cast<unsigned>(view.outer) * view.strips, tiles = units * view.parts;
  const unsigned ticket = take_ticket<Tile>(tiles + lead);
  if (ticket < tiles) sum_up_tile<Tile>(x, partials, view, ticket);
  const unsigned unit = (ticket - join) / view.parts;
  if (ticket >= join && (ticket - join) % view.parts == 0 && unit < units) finish_unit<Form, Tile, T>(partials, view, unit);
  if (ticket >= lead) finish_tile<Form, Tile>(x, y, partials, view, ticket - lead);
}
