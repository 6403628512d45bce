// add, sub, mul, fma, neg, abs, min, max with modifiers, of f64, f16, bf16 and pairs.
#include "float_forms.hpp"

namespace simt {

FOR_EACH_FORMAT(f32x2, Single, 2)
FOR_EACH_FORMAT(f64, Double, 1)
FOR_EACH_FORMAT(f16, Half, 1)
FOR_EACH_FORMAT(f16x2, Half, 2)
FOR_EACH_FORMAT(bf16, Bfloat, 1)
FOR_EACH_FORMAT(bf16x2, Bfloat, 2)

}  // namespace simt
