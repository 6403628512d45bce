// Halves to floats and back, with the processor's own instructions where it has them.
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "floats.hpp"

namespace simt {

void read_halves(const u16* from, f32* to, int count) {
#if defined(__F16C__)
    for (int element = 0; element < count; element += 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + element));
        _mm256_storeu_ps(to + element, _mm256_cvtph_ps(halves));
    }
#else
    for (int element = 0; element < count; ++element) {
        to[element] = static_cast<f32>(bits_as<f16>(from[element]));
    }
#endif
}

void write_halves(const f32* from, u16* to, int count) {
#if defined(__F16C__)
    for (int element = 0; element < count; element += 8) {
        const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + element), _MM_FROUND_CUR_DIRECTION);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + element), halves);
    }
#else
    for (int element = 0; element < count; ++element) {
        to[element] = bits_as<u16>(static_cast<f16>(from[element]));
    }
#endif
    for (int element = 0; element < count; ++element) {
        to[element] = (to[element] & 0x7fff) > 0x7c00 ? 0x7fff : to[element];
    }
}

}  // namespace simt
