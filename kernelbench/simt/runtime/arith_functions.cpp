// div, rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh, copysign. The .approx forms of div, rcp, sqrt and rsqrt are exact
// or within 1.5 ulp here, nearer than the manual promises. Names without "any" take no modifiers.
#include <cmath>

#include "approximate.hpp"

namespace simt {
namespace {

// Quick division multiplies by a reciprocal that is flushed to zero: 0 for 2^126 < |b|, and NaN for infinity over it.
inline f32 quick_quotient(f32 a, f32 b) {
    const f32 size = __builtin_fabsf(b);
    return size > 0x1p126f && size < __builtin_inff() ? a * __builtin_copysignf(0, b) : a / b;
}

// rcp and rsqrt.approx.ftz.f64 see and make only the upper half of the number.
inline f64 upper_half(f64 a) {
    return bits_as<f64>(bits_as<u64>(a) & 0xffffffff00000000ull);
}

inline f64 flushed(f64 a) {
    return __builtin_fabs(a) < 0x1p-1022 ? a * 0 : a;
}

// Large angles are done one by one, as they need all the bits of pi.
template <s32 QUARTER>
void compute_sine(Warp& warp, const Instruction& instruction, u32 lanes) {
    f32 angles[LANES];
    std::memcpy(angles, lanes_of<f32>(warp.registers, instruction.a), sizeof(angles));
    compute<Single, 1>(warp, instruction, lanes, [](f32 a, f32, f32) { return sine_of(a, QUARTER); });
    const u32 large = lanes_that([&](int lane) { return __builtin_fabsf(angles[lane]) > LARGEST_REDUCED; });
    f32* d = lanes_of<f32>(warp.registers, instruction.d);
    for (u32 left = lanes & large; left; left &= left - 1) {
        const int lane = first_lane(left);
        const f64 angle = angles[lane];
        d[lane] = static_cast<f32>(QUARTER ? std::cos(angle) : std::sin(angle));
    }
}

}  // namespace

BINARY(div_f32, f32, f32, f32, a / b)
BINARY(div_f64, f64, f64, f64, a / b)
BINARY(div_approx_f32, f32, f32, f32, quick_quotient(a, b))
UNARY(rcp_f32, f32, f32, 1.0f / a)
UNARY(rcp_f64, f64, f64, 1.0 / a)
UNARY(sqrt_f32, f32, f32, __builtin_sqrtf(a))
UNARY(sqrt_f64, f64, f64, __builtin_sqrt(a))
UNARY(rsqrt_f32, f32, f32, 1.0f / __builtin_sqrtf(a))
UNARY(rsqrt_f64, f64, f64, 1.0 / __builtin_sqrt(a))
UNARY(rcp_upper_f64, f64, f64, upper_half(flushed(1.0 / upper_half(flushed(a)))))
UNARY(rsqrt_upper_f64, f64, f64, upper_half(flushed(1.0 / __builtin_sqrt(upper_half(flushed(a))))))
UNARY(ex2_f32, f32, f32, exp2_of(a))
UNARY(ex2_ftz_f32, f32, f32, flushed(exp2_of(flushed(a))))
UNARY(lg2_f32, f32, f32, log2_of(a))
UNARY(lg2_ftz_f32, f32, f32, flushed(log2_of(flushed(a))))
UNARY(rcp_ftz_f32, f32, f32, flushed(1.0f / flushed(a)))
UNARY(rsqrt_ftz_f32, f32, f32, 1.0f / __builtin_sqrtf(flushed(a)))
BINARY(div_approx_ftz_f32, f32, f32, f32, flushed(quick_quotient(flushed(a), flushed(b))))
BINARY(copysign_f32, f32, f32, f32, __builtin_copysignf(b, a))
BINARY(copysign_f64, f64, f64, f64, __builtin_copysign(b, a))

FORM(div, f32, Single, 1, a / b)
FORM(div, f64, Double, 1, a / b)
FORM(rcp, f32, Single, 1, 1.0f / a)
FORM(rcp, f64, Double, 1, 1.0 / a)
FORM(sqrt, f32, Single, 1, __builtin_sqrtf(a))
FORM(sqrt, f64, Double, 1, __builtin_sqrt(a))
OPERATION(sin_any_f32) { compute_sine<0>(warp, instruction, lanes); }
OPERATION(cos_any_f32) { compute_sine<1>(warp, instruction, lanes); }

#define FOR_EACH_FORMAT(type, Format, PER_LANE) \
    FORM(ex2, type, Format, PER_LANE, exp2_of(a)) \
    FORM(tanh, type, Format, PER_LANE, tanh_of(a))
FOR_EACH_FORMAT(f32, Single, 1)
FOR_EACH_FORMAT(f16, Half, 1)
FOR_EACH_FORMAT(f16x2, Half, 2)
FOR_EACH_FORMAT(bf16, Bfloat, 1)
FOR_EACH_FORMAT(bf16x2, Bfloat, 2)

}  // namespace simt
