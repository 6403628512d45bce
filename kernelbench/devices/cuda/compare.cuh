// The comparison of elements with the float64 values that are expected of them, by the rule of core/differences.py.
//
// `found` in memory: mismatches, place of the first one, and as bits of a double the largest error: absolute, relative, in
// ulp, and over the allowed one. For numbers from 0 up, bits are in the order of the numbers, with NaN above all.
struct Compared {
    typedef unsigned long long word;
    double relative, absolute, overflow, roundoff, smallest;
    word wrong, first, most[4];  // of the elements so far

    __device__ Compared(double relative, double absolute, double overflow, double roundoff, double smallest)
        : relative(relative), absolute(absolute), overflow(overflow), roundoff(roundoff), smallest(smallest),
          wrong(0), first(~0ull), most{} {}

    __device__ void add(word place, double value, double want) {
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
        // A division costs more than all the rest, and few elements raise a largest error. An infinite error is always
        // divided: over an infinite unit it is NaN, above all, although it is not above an infinite bound.
        for (int k = 0; k < 4; ++k)
            if (isinf(error) || !(error <= (1.0 - 1e-15) * __longlong_as_double(most[k]) * units[k]))
                most[k] = max(most[k], (word)__double_as_longlong(error / units[k]));
        if (error <= allowed && !isinf(error)) return;
        ++wrong;
        first = min(first, place);
    }

    // What a thread found joins what all have found. Memory is read first: few threads raise it.
    __device__ void join(word* found) const {
        for (int k = 0; k < 4; ++k)
            if (most[k] > found[2 + k]) atomicMax(found + 2 + k, most[k]);
        if (!wrong) return;
        atomicAdd(found, wrong);
        if (first < found[1]) atomicMin(found + 1, first);
    }
};
