// SPDX-License-Identifier: Apache-2.0
// label: frames = producer and consumer
// Why: The camera thread writes one frame while three workers read the other in fixed stripes,
// then the two swap roles. The stripes could lie at the workers that read them several times.
// action: frames = local | none
// harm: frames = copy
// label: edges = partitioned
// Why: Each worker touches its stripe of the result first, and alone writes it.
// action: edges = none
// harm: edges = spread | copy
// Edges in a video: two frames in turn, one is filled by the camera while the other is worked on.
//   usage: frame_swap [width] [height] [frames]
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WORKERS 3
static int width = 1024, height = 900, count = 10;
static float *frames[2], *edges;
static pthread_barrier_t turn;
static double strength[WORKERS][8];

static void* camera(void* unused) {
    for (int f = 0; f <= count; f++) {
        if (f < count) {
            float* frame = frames[f % 2];
            for (int y = 0; y < height; y++)
                for (int x = 0; x < width; x++)
                    frame[(size_t)y * width + x] =
                        (float)((x + 3 * f) % 97) * (float)((y + f) % 53);
        }
        pthread_barrier_wait(&turn);
    }
    return unused;
}

static void* worker(void* argument) {
    int me = (int)(long)argument;
    int top = height * me / WORKERS, bottom = height * (me + 1) / WORKERS;
    if (top == 0) top = 1;
    if (bottom == height) bottom = height - 1;
    double sum = 0;
    for (int f = 0; f <= count; f++) {
        if (f > 0) {
            const float* frame = frames[(f - 1) % 2];
            for (int y = top; y < bottom; y++)
                for (int x = 1; x < width - 1; x++) {
                    const float* p = frame + (size_t)y * width + x;
                    float across = p[1 - width] + 2 * p[1] + p[1 + width] - p[-1 - width] -
                                   2 * p[-1] - p[width - 1];
                    float down = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] -
                                 2 * p[-width] - p[1 - width];
                    float edge = sqrtf(across * across + down * down);
                    edges[(size_t)y * width + x] =
                        0.7f * edges[(size_t)y * width + x] + 0.3f * edge;
                    sum += edge;
                }
        }
        pthread_barrier_wait(&turn);
    }
    strength[me][0] = sum;
    return NULL;
}

int main(int argc, char** argv) {
    if (argc > 1) width = atoi(argv[1]);
    if (argc > 2) height = atoi(argv[2]);
    if (argc > 3) count = atoi(argv[3]);
    size_t size = sizeof(float) * width * height;
    frames[0] = malloc(size);
    frames[1] = malloc(size);
    edges = calloc(1, size);
    if (!frames[0] || !frames[1] || !edges) return 1;
    pthread_barrier_init(&turn, NULL, WORKERS + 1);
    pthread_t threads[WORKERS + 1];
    pthread_create(&threads[WORKERS], NULL, camera, NULL);
    for (long w = 0; w < WORKERS; w++) pthread_create(&threads[w], NULL, worker, (void*)w);
    double sum = 0;
    for (int t = 0; t <= WORKERS; t++) pthread_join(threads[t], NULL);
    for (int w = 0; w < WORKERS; w++) sum += strength[w][0];
    printf("edges %.3e\n", sum);
    return 0;
}
