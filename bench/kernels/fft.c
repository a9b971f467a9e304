// SPDX-License-Identifier: Apache-2.0
// Forward and inverse complex FFT, in place, radix 2. Its strides are powers of two, and its bit
// reversal jumps over the whole array. Usage: fft [LOG2_SIZE [ROUNDS]]
#include <complex.h>
#include <math.h>

#include "size.h"

static void swap_by_reversed_bits(double complex* data, long size) {
    for (long i = 1, reversed = 0; i < size; i++) {
        long bit = size >> 1;
        for (; reversed & bit; bit >>= 1) reversed ^= bit;
        reversed ^= bit;
        if (i < reversed) {
            double complex swapped = data[i];
            data[i] = data[reversed];
            data[reversed] = swapped;
        }
    }
}

// `direction` is -1 forward, +1 inverse (unscaled); roots[k] = exp(2 pi i k / size), k < size / 2.
static void transform(double complex* data, const double complex* roots, long size, int direction) {
    swap_by_reversed_bits(data, size);
    for (long half = 1; half < size; half *= 2)
        for (long start = 0; start < size; start += 2 * half)
            for (long k = 0; k < half; k++) {
                double complex root = roots[k * (size / (2 * half))];
                if (direction < 0) root = conj(root);
                double complex even = data[start + k], odd = root * data[start + k + half];
                data[start + k] = even + odd;
                data[start + k + half] = even - odd;
            }
}

int main(int argc, char** argv) {
    long size = 1L << size_argument(argc, argv, 1, 18);
    long rounds = size_argument(argc, argv, 2, 10);
    double complex* data = malloc((size_t)size * sizeof *data);
    double complex* roots = malloc((size_t)size / 2 * sizeof *roots);
    if (!data || !roots) return 1;
    for (long k = 0; k < size / 2; k++) roots[k] = cexp(2.0 * M_PI * I * (double)k / (double)size);
    for (long i = 0; i < size; i++) data[i] = (double)(i % 13) - 6.0;

    for (long round = 0; round < rounds; round++) {
        transform(data, roots, size, -1);
        transform(data, roots, size, +1);
        for (long i = 0; i < size; i++) data[i] /= (double)size;
    }
    double error = 0.0;
    for (long i = 0; i < size; i++) error = fmax(error, cabs(data[i] - ((double)(i % 13) - 6.0)));
    printf("fft: %ld points, %ld rounds, error %.1e\n", size, rounds, error);
    return error < 1e-9 ? 0 : 1;
}
