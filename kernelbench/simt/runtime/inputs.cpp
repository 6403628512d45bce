// Inputs whose elements are generated when they are touched first.
//
// An element depends on the seed and its index alone, so that it is the same whoever touches it first, in whichever
// order. Only additions, multiplications, divisions and square roots are used: the same bits on every machine.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <type_traits>

#include "access.hpp"
#include "update_rules.hpp"

namespace simt {

namespace {

constexpr u32 TYPE_BYTES[] = {4, 2, 2, 8, 1, 1, 2, 2, 4, 4, 8, 8};
constexpr u32 BATCH = 64;
constexpr f32 TINY = 1.0f / 16777216.0f;  // 2^-24

// splitmix64
inline u64 scrambled(u64 seed, u64 index) {
    u64 z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// Natural logarithm of a normal number, to about 1e-7: mantissa in [sqrt(1/2), sqrt(2)), then an atanh series.
inline f32 logarithm(f32 x) {
    const u32 shifted = bits_as<u32>(x) - 0x3f3504f3u;
    const s32 exponent = s32(shifted) >> 23;
    const f32 mantissa = bits_as<f32>((shifted & 0x007fffffu) + 0x3f3504f3u);
    const f32 s = (mantissa - 1.0f) / (mantissa + 1.0f);
    const f32 t = s * s;
    const f32 series = 2.0f * s * (1.0f + t * (0.33333333f + t * (0.2f + t * (0.14285715f + t * 0.11111111f))));
    return series + f32(exponent) * 0.69314718f;
}

// sin(2 pi x) of x in [-1/4, 1/4], by its Taylor series.
inline f32 sine_turn(f32 x) {
    const f32 t = x * x;
    return x * (6.2831853f + t * (-41.341702f + t * (81.605249f + t * (-76.705860f + t * (42.058694f -
           t * 15.094642f)))));
}

// Box and Muller: two uniform numbers give two normal ones, the cosine for even and the sine for odd elements.
void normal(const Generator& generator, u64 first, f32 mean, f32 deviation, f32* out) {
    for (u32 k = 0; k < BATCH; ++k) {
        const u64 index = first + k;
        const u64 random = scrambled(generator.seed, index >> 1);
        const f32 radius_source = f32(u32(random >> 40) + 1) * TINY;  // (0, 1]
        f32 turn = f32(u32(random) & 0xffffffu) * TINY - 0.5f;         // [-1/2, 1/2)
        turn = index & 1 ? turn : turn + 0.25f;                        // cos x = sin(x + 1/4)
        turn = turn > 0.5f ? turn - 1.0f : turn;
        turn = turn > 0.25f ? 0.5f - turn : turn < -0.25f ? -0.5f - turn : turn;
        const f32 squared = -2.0f * logarithm(radius_source);
        const f32 radius = __builtin_sqrtf(squared > 0.0f ? squared : 0.0f);
        out[k] = mean + deviation * (radius * sine_turn(turn));
    }
}

void uniform(const Generator& generator, u64 first, f32* out) {
    const f32 low = f32(generator.first), width = f32(generator.second - generator.first);
    for (u32 k = 0; k < BATCH; ++k) {
        out[k] = low + width * (f32(u32(scrambled(generator.seed, first + k) >> 40)) * TINY);
    }
}

void mask(const Generator& generator, u64 first, f32* out) {
    const f32 probability = f32(generator.first);
    for (u32 k = 0; k < BATCH; ++k) {
        out[k] = f32(u32(scrambled(generator.seed, first + k) >> 40)) * TINY < probability ? 1.0f : 0.0f;
    }
}

// Normal numbers and -inf, by the rules of core/distributions.py, which has the same constants.
void masked(const Generator& generator, u64 first, f32* out) {
    constexpr u64 ROWS = 0x5851f42d4c957f2dull, ELEMENTS = 0x14057b7ef767814full;
    const u64 columns = u64(generator.first), inner = u64(generator.second);
    normal(generator, first, 0.0f, 1.0f, out);
    for (u32 k = 0; k < BATCH; ++k) {
        const u64 index = first + k;
        const u64 row = index / inner / columns * inner + index % inner, column = index / inner % columns;
        const bool hidden = row % 5 == 1   ? true
                            : row % 5 == 3 ? column != scrambled(generator.seed ^ ROWS, row) % columns
                                           : scrambled(generator.seed ^ ELEMENTS, index) >> 63;
        out[k] = hidden ? -__builtin_inff() : row % 5 == 3 ? out[k] - 200.0f : out[k];
    }
}

// Integers are rounded down, so that `uniform` of [0, 10) gives 0 to 9.
template <class T>
T converted(f32 value) {
    if constexpr (std::is_same_v<T, bf16>) {
        return narrowed(value);
    } else if constexpr (std::is_integral_v<T>) {
        return T(s64(__builtin_floorf(value)));
    } else {
        return T(value);
    }
}

template <class T>
void put(const f32* values, u32 count, u8* to) {
    T elements[BATCH];
    for (u32 k = 0; k < BATCH; ++k) {
        elements[k] = converted<T>(values[k]);
    }
    std::memcpy(to, elements, count * sizeof(T));
}

using Put = void (*)(const f32*, u32, u8*);
constexpr Put PUTS[] = {put<f32>, put<f16>, put<bf16>, put<f64>, put<s8>,  put<u8>,
                        put<s16>, put<u16>, put<s32>,  put<u32>, put<s64>, put<u64>};

void fill(const Generator& generator, u64 first, u64 last, u8* to) {
    const u32 size = TYPE_BYTES[generator.type];
    alignas(64) f32 values[BATCH];
    for (u64 index = first; index < last; index += BATCH) {
        if (generator.kind == u32(GeneratorKind::normal)) {
            normal(generator, index, f32(generator.first), f32(generator.second), values);
        } else if (generator.kind == u32(GeneratorKind::uniform)) {
            uniform(generator, index, values);
        } else if (generator.kind == u32(GeneratorKind::masked)) {
            masked(generator, index, values);
        } else {
            mask(generator, index, values);
        }
        PUTS[generator.type](values, u32(std::min<u64>(BATCH, last - index)), to);
        to += u64(BATCH) * size;
    }
}

enum ChunkState : u8 { EMPTY, BUSY, READY };

void generate_chunk(Allocation& allocation, u64 chunk) {
    u8* state = &allocation.chunks[chunk];
    u8 expected = EMPTY;
    if (__atomic_compare_exchange_n(state, &expected, u8(BUSY), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        const u64 elements = CHUNK / TYPE_BYTES[allocation.generator.type];
        const u64 begin = allocation.begin + chunk * CHUNK;
        const u64 count = std::min(CHUNK, allocation.end - begin) / TYPE_BYTES[allocation.generator.type];
        fill(allocation.generator, chunk * elements, chunk * elements + count, reinterpret_cast<u8*>(begin));
        __atomic_store_n(state, u8(READY), __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(state, __ATOMIC_ACQUIRE) != READY) {
        std::this_thread::yield();
    }
}

}  // namespace

void generate(Allocation& allocation, u64 begin, u64 end) {
    const u64 last = (end - 1 - allocation.begin) / CHUNK;
    for (u64 chunk = (begin - allocation.begin) / CHUNK; chunk <= last; ++chunk) {
        if (__atomic_load_n(&allocation.chunks[chunk], __ATOMIC_ACQUIRE) != READY) {
            generate_chunk(allocation, chunk);
        }
    }
}

}  // namespace simt

using namespace simt;

extern "C" void simt_generate(Allocation* allocation, u64 begin, u64 end) {
    if (end > begin && allocation->chunks) {
        generate(*allocation, begin, end);
    }
}

