// SPDX-License-Identifier: Apache-2.0
// Blurs a photo three times with a separable filter of five taps.
// The horizontal pass divides the rows among the threads, and the vertical pass divides the photo
// into vertical strips. A strip is one page wide, so that in each pass a page has one thread.
// label: image = pages change users
// action: image = divide
// label: scratch = pages change users
// action: scratch = divide
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 4096, HEIGHT = 1024, STRIP = 1024, ROUNDS = 3 };

static const float tap[3] = {0.4f, 0.2f, 0.1f};

static void decode(float* image) {
#pragma omp parallel for schedule(static)
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            image[(size_t)y * WIDTH + x] = (float)((x * 7 + y * 13) & 255);
}

static void blur_rows(const float* restrict image, float* restrict scratch) {
#pragma omp parallel for schedule(static)
    for (int y = 0; y < HEIGHT; y++) {
        const float* from = image + (size_t)y * WIDTH;
        float* to = scratch + (size_t)y * WIDTH;
        to[0] = from[0];
        to[1] = from[1];
        for (int x = 2; x < WIDTH - 2; x++)
            to[x] = tap[0] * from[x] + tap[1] * (from[x - 1] + from[x + 1]) +
                    tap[2] * (from[x - 2] + from[x + 2]);
        to[WIDTH - 2] = from[WIDTH - 2];
        to[WIDTH - 1] = from[WIDTH - 1];
    }
}

static void blur_columns(const float* restrict scratch, float* restrict image) {
#pragma omp parallel for schedule(static)
    for (int strip = 0; strip < WIDTH / STRIP; strip++) {
        for (int y = 2; y < HEIGHT - 2; y++) {
            const float* from = scratch + (size_t)y * WIDTH + strip * STRIP;
            float* to = image + (size_t)y * WIDTH + strip * STRIP;
            for (int x = 0; x < STRIP; x++)
                to[x] = tap[0] * from[x] + tap[1] * (from[x - WIDTH] + from[x + WIDTH]) +
                        tap[2] * (from[x - 2 * WIDTH] + from[x + 2 * WIDTH]);
        }
    }
}

int main(void) {
    size_t bytes = (size_t)WIDTH * HEIGHT * sizeof(float);
    float* image = aligned_alloc(4096, bytes);
    float* scratch = aligned_alloc(4096, bytes);
    if (!image || !scratch) return 1;
    decode(image);
    for (int round = 0; round < ROUNDS; round++) {
        blur_rows(image, scratch);
        blur_columns(scratch, image);
    }
    double sum = 0;
    for (int y = 8; y < HEIGHT; y += 64) sum += image[(size_t)y * WIDTH + y];
    printf("mean of the sample: %.4f\n", sum / (HEIGHT / 64));
    free(image);
    free(scratch);
    return 0;
}
