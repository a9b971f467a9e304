// SPDX-License-Identifier: Apache-2.0
// Tone mapping of a photograph, row by row and in several passes. OpenMP; rows of 2 KiB are dealt
// to the threads in turn, as schedule(static, 1) does, also when they are filled.
// label: image = page-level false sharing
// Why: a page has two rows, and neighbouring rows belong to different threads.
// action: image = pad|divide
// harm: image = copy
// label: exposure = page-level false sharing
// Why: as `image`, which is read beside it.
// action: exposure = pad|divide
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 2048, COLUMNS = 512, PASSES = 10 };

int main(void) {
    size_t bytes = sizeof(float) * ROWS * COLUMNS;
    float* image = aligned_alloc(4096, bytes);
    float* exposure = aligned_alloc(4096, bytes);
    if (!image || !exposure) return 1;
#pragma omp parallel for schedule(static, 1)
    for (int row = 0; row < ROWS; row++) {
        for (int x = 0; x < COLUMNS; x++) {
            image[row * COLUMNS + x] = (float)((row * 31 + x * 17) % 256) / 255;
            exposure[row * COLUMNS + x] = 1 + (float)((row + x) % 64) / 640;
        }
    }
    for (int pass = 0; pass < PASSES; pass++) {
#pragma omp parallel for schedule(static, 1)
        for (int row = 0; row < ROWS; row++) {
            for (int x = 0; x < COLUMNS; x++) {
                float light = image[row * COLUMNS + x] * exposure[row * COLUMNS + x];
                image[row * COLUMNS + x] = light / (1 + 0.05f * light);
            }
        }
    }
    double sum = 0;
    for (int i = 0; i < ROWS * COLUMNS; i += 97) sum += image[i];
    printf("light %.4f\n", sum);
    free(image);
    free(exposure);
    return isfinite(sum) ? 0 : 1;
}
