// add, sub, mul, fma, neg, abs, min, max of f32 and f64, straight over the registers; with modifiers, of f32.
#include "float_forms.hpp"

namespace simt {

#define FOR_EACH_PLAIN(T) \
    BINARY(add_##T, T, T, T, a + b) \
    BINARY(sub_##T, T, T, T, a - b) \
    BINARY(mul_##T, T, T, T, a * b) \
    UNARY(neg_##T, T, T, -a) \
    UNARY(abs_##T, T, T, __builtin_fabs(a)) \
    BINARY(min_##T, T, T, T, extreme<false>(a, b, false)) \
    BINARY(max_##T, T, T, T, extreme<true>(a, b, false))
FOR_EACH_PLAIN(f32)
FOR_EACH_PLAIN(f64)
TERNARY(fma_f32, f32, f32, f32, f32, __builtin_fmaf(a, b, c))
TERNARY(fma_f64, f64, f64, f64, f64, __builtin_fma(a, b, c))

BINARY(add_ftz_f32, f32, f32, f32, flushed(flushed(a) + flushed(b)))
BINARY(sub_ftz_f32, f32, f32, f32, flushed(flushed(a) - flushed(b)))
BINARY(mul_ftz_f32, f32, f32, f32, flushed(flushed(a) * flushed(b)))
TERNARY(fma_ftz_f32, f32, f32, f32, f32, flushed(__builtin_fmaf(flushed(a), flushed(b), flushed(c))))
UNARY(neg_ftz_f32, f32, f32, -flushed(a))
UNARY(abs_ftz_f32, f32, f32, __builtin_fabs(flushed(a)))
BINARY(min_ftz_f32, f32, f32, f32, extreme<false>(flushed(a), flushed(b), false))
BINARY(max_ftz_f32, f32, f32, f32, extreme<true>(flushed(a), flushed(b), false))

FOR_EACH_FORMAT(f32, Single, 1)

}  // namespace simt
