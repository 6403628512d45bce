// The vector clocks of warps: what barriers, fences, mbarriers and strong accesses order.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "machine.hpp"
#include "shadow.hpp"

namespace simt {

namespace {

constexpr u32 RESTART = 1u << 26;  // clocks begin again above this, at the start of a block

}  // namespace

SharedShadow::SharedShadow(u32 bytes, u32 warps, u32 granule_shift)
    : warps_(warps),
      shift_(granule_shift),
      write_((bytes >> granule_shift) + 1),
      read_(write_.size()),
      bits_(write_.size()),
      readers_(static_cast<Clock*>(std::calloc(size_t(warps) * write_.size(), sizeof(Clock))), std::free),
      now_(warps),
      known_(size_t(warps) * warps),
      safe_(warps),
      published_(size_t(warps) * warps),
      told_(warps),
      learned_(size_t(warps) * warps),
      exchanges_(bytes / 4 + 1) {
    if (!readers_) {
        throw std::bad_alloc();
    }
}

void SharedShadow::start_block() {
    if (latest_ > RESTART) {
        latest_ = 0;
        std::fill(write_.begin(), write_.end(), 0);
        std::fill(read_.begin(), read_.end(), 0);
        std::fill_n(readers_.get(), size_t(warps_) * write_.size(), 0);
    }
    base_ = latest_;
    std::fill(known_.begin(), known_.end(), base_ + 1);
    std::fill(safe_.begin(), safe_.end(), base_ + 1);
    std::fill(published_.begin(), published_.end(), base_);
    std::fill(told_.begin(), told_.end(), base_);
    std::fill(learned_.begin(), learned_.end(), base_);
    if (!exchanged_.empty()) {
        std::fill(exchanges_.begin(), exchanges_.end(), 0);
        exchanged_.clear();
    }
    fenced_ = false;
    latest_ = base_ + 2;  // base_ + 1: writes of other blocks, which every warp knows
    std::fill(now_.begin(), now_.end(), latest_);
}

void SharedShadow::define(u32 begin, u32 bytes) {
    std::fill_n(write_.begin() + (begin >> shift_), bytes >> shift_, (base_ + 1) << WARP_BITS);
}

void SharedShadow::tick(u32 warp) {
    now_[warp] = std::min(now_[warp] + 1, LAST);
    latest_ = std::max(latest_, now_[warp]);
}

void SharedShadow::refresh(u32 warp) {
    const Clock* known = known_by(warp);
    safe_[warp] = *std::min_element(known, known + warps_);
}

void SharedShadow::join(Clock* into, const Clock* from) {
    for (u32 warp = 0; warp < warps_; ++warp) {
        into[warp] = std::max(into[warp], from[warp]);
    }
}

void SharedShadow::meet(u32 warp) {
    known_by(warp)[warp] = now_[warp];
    refresh(warp);
    tick(warp);
}

// Clocks of all participants go on from the same number, so that after a barrier of all warps one comparison with
// `safe_` shows that an access is ordered.
void SharedShadow::synchronise(u64 arrived, u64 waited) {
    Clock all[LANES] = {}, last = 0;
    for (u32 warp = 0; warp < warps_; ++warp) {
        if (arrived >> warp & 1) {
            join(all, known_by(warp));
            last = std::max(last, now_[warp]);
        }
    }
    for (u32 warp = 0; warp < warps_; ++warp) {
        all[warp] = arrived >> warp & 1 ? last : all[warp];
    }
    for (u32 warp = 0; warp < warps_; ++warp) {
        if (waited >> warp & 1) {
            join(known_by(warp), all);
            refresh(warp);
        }
        if ((arrived | waited) >> warp & 1) {
            now_[warp] = std::max(now_[warp], last);
            tick(warp);
        }
    }
}

void SharedShadow::fence(u32 warp) {
    join(known_by(warp), &learned_[size_t(warp) * warps_]);
    refresh(warp);
    Clock* published = &published_[size_t(warp) * warps_];
    std::copy_n(known_by(warp), warps_, published);
    published[warp] = now_[warp];
    fenced_ = true;
    tick(warp);
}

SharedShadow::Clock* SharedShadow::exchanged_at(u64 offset) {
    u32& slot = exchanges_[offset / 4];
    if (!slot) {
        exchanged_.resize(exchanged_.size() + warps_, base_);
        slot = u32(exchanged_.size() / warps_);
    }
    return &exchanged_[size_t(slot - 1) * warps_];
}

void SharedShadow::release(u32 warp, u64 offset, bool away) {
    Clock* told = away ? told_.data() : exchanged_at(offset);
    join(told, known_by(warp));
    told[warp] = std::max(told[warp], now_[warp]);
    fenced_ = true;
    tick(warp);
}

void SharedShadow::acquire(u32 warp, u64 offset) {
    join(known_by(warp), exchanged_at(offset));
    join(known_by(warp), told_.data());
    refresh(warp);
}

// A strong access to a word hands on what was published before it: a write tells, a read learns.
void SharedShadow::exchange(u32 warp, u64 offset, Purpose purpose, u32 order) {
    if (!fenced_ || offset % 4) {
        return;
    }
    Clock* word = exchanged_at(offset);
    if (purpose != Purpose::write) {
        join(order == ACQUIRE || order == ACQUIRE_RELEASE ? known_by(warp) : &learned_[size_t(warp) * warps_], word);
        refresh(warp);
    }
    if (purpose != Purpose::read) {
        join(word, &published_[size_t(warp) * warps_]);
    }
}

}  // namespace simt
