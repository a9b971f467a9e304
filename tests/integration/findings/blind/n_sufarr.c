// SPDX-License-Identifier: Apache-2.0
// Main scatters the suffixes into buckets, tasks sort these, and static loops then read them in
// blocks.
// label: text = shared, read-mostly
// action: text = copy | spread | none
// label: sa = pages change users
// action: sa = spread | divide | local
// harm: sa = copy
// label: rank = shared, written
// action: rank = spread | none
// label: lcp = partitioned
// action: lcp = none
// harm: lcp = spread
/* Suffix array by bucket tasks, then inverse permutation and LCP. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1500000
#define PADDING 68
#define NB 256

static uint64_t seed = 88172645463325252ULL;
static uint32_t rnd(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 32);
}

static int less_suffix(const unsigned char* t, int a, int b, int d) {
    const unsigned char *p = t + a + d, *q = t + b + d;
    while (*p == *q) {
        if (*p == 0) return a > b;
        p++;
        q++;
    }
    return *p < *q;
}

static void insertion(int32_t* s, int n, const unsigned char* t, int d) {
    for (int i = 1; i < n; i++) {
        int32_t v = s[i];
        int j = i;
        while (j > 0 && less_suffix(t, v, s[j - 1], d)) {
            s[j] = s[j - 1];
            j--;
        }
        s[j] = v;
    }
}

static void mkqsort(int32_t* s, int n, const unsigned char* t, int d) {
    while (n > 12) {
        int a = t[s[n / 4] + d], b = t[s[n / 2] + d], c = t[s[3 * (n / 4)] + d];
        int piv = a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b));
        int lt = 0, i = 0, gt = n;
        while (i < gt) {
            int ch = t[s[i] + d];
            if (ch < piv) {
                int32_t x = s[lt];
                s[lt] = s[i];
                s[i] = x;
                lt++;
                i++;
            } else if (ch > piv) {
                gt--;
                int32_t x = s[gt];
                s[gt] = s[i];
                s[i] = x;
            } else
                i++;
        }
        mkqsort(s, lt, t, d);
        mkqsort(s + gt, n - gt, t, d);
        if (piv == 0) return;
        s += lt;
        n = gt - lt;
        d++;
    }
    insertion(s, n, t, d);
}

int main(int argc, char** argv) {
    if (argc > 1)
        omp_set_num_threads(atoi(argv[1]));
    else if (!getenv("OMP_NUM_THREADS"))
        omp_set_num_threads(4);

    unsigned char* text = malloc(N + PADDING);
    int32_t* sa = malloc(N * sizeof *sa);
    int32_t* rank = malloc(N * sizeof *rank);
    int32_t* lcp = malloc(N * sizeof *lcp);
    for (int i = 0; i < N; i++) {
        if (i > 5000 && rnd() % 400 == 0) { /* a repeat */
            int from = rnd() % (i - 40), len = 8 + rnd() % 30;
            for (int k = 0; k < len && i < N; k++) text[i++] = text[from + k];
            i--;
        } else
            text[i] = "ACGT"[rnd() & 3];
    }
    memset(text + N, 0, PADDING);

    static int code[256];
    code['C'] = 1;
    code['G'] = 2;
    code['T'] = 3;
    static int start[NB + 1];
#define KEY(i) \
    (code[text[i]] << 6 | code[text[(i) + 1]] << 4 | code[text[(i) + 2]] << 2 | code[text[(i) + 3]])
    for (int i = 0; i < N; i++) start[KEY(i) + 1]++;
    for (int b = 0; b < NB; b++) start[b + 1] += start[b];
    int pos[NB];
    memcpy(pos, start, sizeof pos);
    for (int i = 0; i < N; i++) sa[pos[KEY(i)]++] = i;

#pragma omp parallel
#pragma omp single
    for (int b = 0; b < NB; b++) {
#pragma omp task firstprivate(b)
        mkqsort(sa + start[b], start[b + 1] - start[b], text, 0);
    }

#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) rank[sa[i]] = i;

    lcp[0] = 0;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
        int h = 0;
        if (i > 0) {
            const unsigned char *p = text + sa[i - 1], *q = text + sa[i];
            while (p[h] && p[h] == q[h]) h++;
        }
        lcp[i] = h;
    }

    long long sum = 0;
    unsigned long long mix = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, mix)
    for (int i = 0; i < N; i++) {
        sum += lcp[i];
        mix += (unsigned long long)rank[i] * (unsigned)(i & 1023);
    }
    printf("lcp sum %lld rank mix %llu\n", sum, mix);
    free(text);
    free(sa);
    free(rank);
    free(lcp);
    return 0;
}
