// The comparison of one element with the float64 that is expected of it, by the rule of core/differences.py.
//
// `found`: mismatches, place of the first one, and as bits of a double the largest error: absolute, relative, in ulp, and
// over the allowed one. For numbers from 0 up, bits are in the order of the numbers, with NaN above all.
__device__ void kernelbench_compare_one(unsigned long long place, double value, double want, double relative,
                                        double absolute, double overflow, double roundoff, double smallest,
                                        unsigned long long* found) {
    typedef unsigned long long word;
    const double size = fabs(want);
    const bool alike = value == want || (isnan(value) && isnan(want));
    const bool beyond =
        isinf(value) && absolute + (1.0 + relative) * size >= overflow && (value > 0.0) == (want > 0.0);
    if (alike || beyond) return;
    const double error = fabs(value - want), allowed = absolute + relative * size;
    // The power of two below the magnitude; infinity has none.
    const word exponent = (word)__double_as_longlong(fmax(size, smallest)) & 0x7ff0000000000000ull;
    const double power = fmin(__longlong_as_double(exponent), 8.98846567431158e307);
    const double units[] = {1.0, size > 0.0 ? size : 1.0, fmax(2.0 * roundoff * power, smallest), allowed};
    // A division costs more than all the rest, and few elements raise a largest error. What is read here may be old, and
    // then a division and an atomic too many are done. An infinite error is always divided: over an infinite unit it is
    // NaN, above all, although it is not above an infinite bound.
    for (int k = 0; k < 4; ++k) {
        const double most = __longlong_as_double(found[2 + k]);
        if (isinf(error) || !(error <= (1.0 - 1e-15) * most * units[k])) {
            const word bits = (word)__double_as_longlong(error / units[k]);
            if (bits > found[2 + k]) atomicMax(found + 2 + k, bits);
        }
    }
    if (!(error <= allowed) || isinf(error)) {
        atomicAdd(found, (word)1);
        if (place < found[1]) atomicMin(found + 1, place);
    }
}
