// SPDX-License-Identifier: Apache-2.0
// K-means over 128 Ki points of 8 coordinates. The threads draw the points with the static division
// with which they later assign them. Everybody reads the 8 centroids (256 bytes), which main moves
// after each round: a small serial part. Every 64th point moves its centroid (a mini-batch).
// Nothing is to be fixed.
// label: points = partitioned
// action: points = none
// label: centroids = cache-resident
// action: centroids = none
// label: run = no NUMA problem
#include <stdio.h>
#include <string.h>

enum { POINTS = 1 << 17, D = 8, K = 8, BATCH = 64, ROUNDS = 30 };

static float points[POINTS][D];
static float centroids[K][D];

static int nearest(const float* point) {
    int best = 0;
    float least = 1e30F;
    for (int k = 0; k < K; k++) {
        float distance = 0;
        for (int d = 0; d < D; d++) {
            float difference = point[d] - centroids[k][d];
            distance += difference * difference;
        }
        if (distance < least) {
            least = distance;
            best = k;
        }
    }
    return best;
}

static void draw_points(void) {
#pragma omp parallel for schedule(static)
    for (int p = 0; p < POINTS; p++) {
        unsigned state = (unsigned)p * 2654435761U + 1;
        for (int d = 0; d < D; d++) {
            state = state * 1664525U + 1013904223U;
            points[p][d] = (float)(state >> 20);
        }
    }
}

int main(void) {
    draw_points();
    memcpy(centroids, points, sizeof centroids);
    long sums[K][D], members[K], labels = 0;
    for (int round = 0; round < ROUNDS; round++) {
        memset(sums, 0, sizeof sums);
        memset(members, 0, sizeof members);
#pragma omp parallel for schedule(static) reduction(+ : sums, members, labels)
        for (int p = 0; p < POINTS; p++) {
            int k = nearest(points[p]);
            labels += k;
            if (p % BATCH != round % BATCH) continue;
            members[k]++;
            for (int d = 0; d < D; d++) sums[k][d] += (long)points[p][d];
        }
        for (int k = 0; k < K; k++) {
            for (int d = 0; d < D && members[k]; d++) {
                centroids[k][d] = (float)(sums[k][d] / members[k]);
            }
        }
    }
    double total = (double)labels;
    for (int k = 0; k < K; k++) total += centroids[k][k % D] + (double)members[k];
    printf("centroids %.0f\n", total);
    return 0;
}
