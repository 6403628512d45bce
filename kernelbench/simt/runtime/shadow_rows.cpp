// Accesses of a full warp to adjacent cells, or to the same cells, which are mostly alike: one decision for all.
#include <algorithm>

#include "shadow.hpp"

namespace simt {

namespace {

// Whether the bits of `mask` are the same in all values.
bool same(const u32* values, u32 count, u32 mask = ~0u) {
    u32 differ = 0;
    for (u32 k = 0; k < count; ++k) {
        differ |= values[k] ^ values[0];
    }
    return !(differ & mask);
}

u32 largest(const u32* values, u32 count) {
    u32 found = 0;
    for (u32 k = 0; k < count; ++k) {
        found = std::max(found, values[k]);
    }
    return found;
}

u32 smallest(const u32* values, u32 count) {
    u32 found = ~0u;
    for (u32 k = 0; k < count; ++k) {
        found = std::min(found, values[k]);
    }
    return found;
}

}  // namespace

bool SharedShadow::find_row(u32 lanes, const u64* offsets, u32 cells, Row& row) const {
    if (lanes != ALL) {
        return false;
    }
    const u64 step = offsets[1] - offsets[0];
    u64 bend = 0;
    for (u32 lane = 0; lane < LANES; ++lane) {
        bend |= offsets[lane] ^ (offsets[0] + lane * step);
    }
    if (bend || (step && step != u64(cells) << shift_)) {
        return false;
    }
    row = {offsets[0] >> shift_, step ? LANES * cells : cells, u32(__builtin_ctz(cells)), !step};
    return true;
}

// Records the access if all of it is ordered after those before. False leaves it to the general way.
bool SharedShadow::access_row(const Row& row, u32 warp, Purpose purpose, u32 order) {
    const u32* write = &write_[row.begin];
    const u32 epoch = now_[warp] << WARP_BITS | warp;
    u32* bits = &bits_[row.begin];
    if (clock_of(largest(write, row.count)) > safe_[warp]) {
        bool own = !row.uniform && write[0] == epoch && same(write, row.count);
        for (u32 k = 0; k < row.count && own; ++k) {
            own = write_lane(bits[k]) == row.lane(k);
        }
        if (!own) {
            return false;
        }
    }
    if (purpose != Purpose::write && clock_of(smallest(write, row.count)) <= base_) {
        return false;
    }
    if (purpose == Purpose::read) {
        return read_row(row, warp, order);
    }
    if (purpose == Purpose::update || row.uniform) {
        return false;
    }
    u32* read = &read_[row.begin];
    if (clock_of(largest(read, row.count)) > safe_[warp]) {
        return false;
    }
    if (!same(bits, row.count, SEVERAL_WARPS) || bits[0] & SEVERAL_WARPS) {
        for (u32 reader = 0; reader < warps_; ++reader) {
            if (reader != warp && largest(readers_of(reader) + row.begin, row.count) > known_by(warp)[reader]) {
                return false;
            }
        }
    }
    std::fill_n(&write_[row.begin], row.count, epoch);
    std::fill_n(read, row.count, 0);
    for (u32 k = 0; k < row.count; ++k) {
        bits[k] = row.lane(k) | order << WRITE_ORDER;
    }
    return true;
}

bool SharedShadow::read_row(const Row& row, u32 warp, u32 order) {
    u32 *read = &read_[row.begin], *bits = &bits_[row.begin];
    const u32 before = read[0], epoch = now_[warp] << WARP_BITS | warp;
    const bool all_before = clock_of(largest(read, row.count)) <= safe_[warp];
    if ((!all_before && !same(read, row.count)) || !same(bits, row.count, SEVERAL_WARPS | 0xfu << READ_ORDER)) {
        return false;
    }
    if (before == epoch && order == read_order(bits[0])) {
        for (u32 k = 0; k < row.count; ++k) {
            const u32 lane = read_lane(bits[k]) == row.lane(k) ? row.lane(k) : SEVERAL_LANES;
            bits[k] = (bits[k] & ~(0xffu << READ_LANE)) | lane << READ_LANE;
        }
        return true;
    }
    const bool was_late = late(before, warp), several = bits[0] & SEVERAL_WARPS;
    const bool joins = was_late || several;
    if (joins && (order != read_order(bits[0]) || (was_late && warp_of(before) == warp))) {
        return false;
    }
    if (joins && was_late && !several) {
        std::fill_n(readers_of(warp_of(before)) + row.begin, row.count, clock_of(before));
    }
    if (joins) {
        std::fill_n(readers_of(warp) + row.begin, row.count, now_[warp]);
    }
    const u32 added = order << READ_ORDER | (joins ? SEVERAL_WARPS : 0);
    for (u32 k = 0; k < row.count; ++k) {
        bits[k] = (bits[k] & ~OF_READ) | row.lane(k) << READ_LANE | added;
    }
    std::fill_n(read, row.count, epoch);
    return true;
}

}  // namespace simt
