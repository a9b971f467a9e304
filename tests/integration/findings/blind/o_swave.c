// SPDX-License-Identifier: Apache-2.0
// Tiles of a matrix in diagonals: who has the tiles of a row changes from one diagonal to the
// next.
// label: dir = page-level false sharing
// action: dir = pad | divide | spread
// harm: dir = local
// minor: dir = false sharing of cache lines
// minor: hrow = pages change users | producer and consumer | false sharing of cache lines
// minor: frow = pages change users | producer and consumer | false sharing of cache lines
// minor: hcol = pages change users | producer and consumer | false sharing of cache lines
// minor: ecol = pages change users | producer and consumer | false sharing of cache lines
// minor: corner = false sharing of cache lines
// minor: run = load imbalance
// action: run = balance | none
// minor: query = cache-resident
// harm: query = copy
// minor: subject = cache-resident
// harm: subject = copy
/* swave - local alignment (Smith-Waterman, affine gaps) of two long sequences.
 * The score matrix is swept in anti-diagonals of tiles; only the borders of the
 * tiles are kept, plus one traceback byte for each cell.
 *
 *   swave [threads] [length]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 256, MATCH = 5, MISMATCH = -4, GAP_OPEN = 10, GAP_EXT = 1 };
enum { D_STOP = 0, D_DIAG = 1, D_UP = 2, D_LEFT = 3 };

typedef struct {
    int score;
    long i, j;
    char pad[64 - sizeof(int) - 2 * sizeof(long) - 4];
} hit_t;

static long n; /* both sequences are that long */
static int nthreads, ntiles;
static unsigned char *query, *subject;
static unsigned char* dir; /* n x n traceback codes */
static int *hrow, *frow;   /* bottom border of the tile above, per column */
static int *hcol, *ecol;   /* right border of the tile to the left, per row */
static int* corner;        /* H at the upper left corner of a tile column */
static hit_t* hits;
static pthread_barrier_t bar;

static inline int imax(int a, int b) {
    return a > b ? a : b;
}

static void tile(int bi, int bj, hit_t* best) {
    long i0 = (long)bi * TILE, i1 = i0 + TILE < n ? i0 + TILE : n;
    long j0 = (long)bj * TILE, j1 = j0 + TILE < n ? j0 + TILE : n;
    int up_left = bi ? corner[bj] : 0;
    int bs = best->score;

    for (long i = i0; i < i1; i++) {
        unsigned char q = query[i];
        int diag = up_left, left = hcol[i], e = ecol[i];
        unsigned char* d = dir + i * n;
        up_left = left;
        for (long j = j0; j < j1; j++) {
            int f = imax(frow[j] - GAP_EXT, hrow[j] - GAP_OPEN);
            e = imax(e - GAP_EXT, left - GAP_OPEN);
            int m = diag + (q == subject[j] ? MATCH : MISMATCH);
            int h = imax(m, imax(e, imax(f, 0)));
            d[j] = h == 0 ? D_STOP : h == m ? D_DIAG : h == f ? D_UP : D_LEFT;
            diag = hrow[j];
            hrow[j] = left = h;
            frow[j] = f;
            if (h > bs) {
                bs = h;
                best->i = i;
                best->j = j;
            }
        }
        hcol[i] = left;
        ecol[i] = e;
    }
    best->score = bs;
    /* the tile below us needs H(i1-1, j0-1) */
    corner[bj] = up_left;
}

static void* sweeper(void* arg) {
    int me = (int)(long)arg;
    hit_t best = {.score = 0};

    for (int diag = 0; diag < 2 * ntiles - 1; diag++) {
        int lo = diag < ntiles ? 0 : diag - ntiles + 1;
        int hi = diag < ntiles ? diag : ntiles - 1;
        int cnt = hi - lo + 1;
        int from = lo + cnt * me / nthreads, to = lo + cnt * (me + 1) / nthreads;
        for (int bi = from; bi < to; bi++) tile(bi, diag - bi, &best);
        pthread_barrier_wait(&bar);
    }
    hits[me] = best;
    return NULL;
}

static void make_sequences(void) {
    unsigned long long s = 0x9E3779B97F4A7C15ULL;
    for (long i = 0; i < n; i++) {
        s = s * 6364136223846793005ULL + 1442695040888963407ULL;
        query[i] = (s >> 60) & 3;
        /* the subject is a mutated copy, shifted now and then */
        subject[i] = ((s >> 40) & 15) < 3 ? (s >> 33) & 3 : query[i > 40 ? i - (i / 700) : i];
    }
}

int main(int argc, char** argv) {
    nthreads = argc > 1 ? atoi(argv[1]) : 4;
    n = argc > 2 ? atol(argv[2]) : 5000;
    ntiles = (n + TILE - 1) / TILE;

    query = malloc(n);
    subject = malloc(n);
    make_sequences();
    dir = malloc((size_t)n * n);
    hrow = calloc(n, sizeof *hrow);
    hcol = calloc(n, sizeof *hcol);
    frow = malloc(n * sizeof *frow);
    ecol = malloc(n * sizeof *ecol);
    corner = calloc(ntiles, sizeof *corner);
    for (long i = 0; i < n; i++) frow[i] = ecol[i] = -1000000;
    hits = aligned_alloc(64, nthreads * sizeof *hits);

    pthread_t* th = malloc(nthreads * sizeof *th);
    pthread_barrier_init(&bar, NULL, nthreads);
    for (long t = 0; t < nthreads; t++) pthread_create(&th[t], NULL, sweeper, (void*)t);
    for (int t = 0; t < nthreads; t++) pthread_join(th[t], NULL);

    hit_t b = hits[0];
    for (int t = 1; t < nthreads; t++)
        if (hits[t].score > b.score ||
            (hits[t].score == b.score && hits[t].i + hits[t].j < b.i + b.j))
            b = hits[t];

    /* walk back along the best path */
    long i = b.i, j = b.j, len = 0, same = 0;
    unsigned h = 2166136261u;
    while (i >= 0 && j >= 0 && dir[i * n + j] != D_STOP) {
        int c = dir[i * n + j];
        h = (h ^ c) * 16777619u;
        if (c == D_DIAG) {
            same += query[i] == subject[j];
            i--, j--;
        } else if (c == D_UP)
            i--;
        else
            j--;
        len++;
    }
    printf("score %d end (%ld,%ld) length %ld identity %.3f checksum %08x\n", b.score, b.i, b.j,
           len, len ? (double)same / len : 0.0, h);
    return 0;
}
