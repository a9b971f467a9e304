// SPDX-License-Identifier: Apache-2.0
// Counters of neighbouring threads are in the same cache lines. The text is local.
// label: stat = false sharing of cache lines
// action: stat = pad
// harm: stat = spread | local | copy
// label: text = partitioned
// action: text = none
// harm: text = spread
/* Text statistics: every worker scans its own part of a document.
 *   usage: tokstat [bytes] [threads]
 */
#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAXT 64

enum { ST_SPACE, ST_WORD, ST_NUMBER };

struct counts {
    long words;
    long numbers;
    long lines;
    long longest;
    long vowels;
};

struct job {
    int id;
    size_t lo, hi;
    pthread_t th;
};

static char* text;
static struct counts stat[MAXT];
static struct job jobs[MAXT];
static pthread_barrier_t made;

static void make_text(char* p, size_t n, uint64_t seed) {
    static const char letters[] = "etaoinshrdlucmfwypvbgkqjxz";
    uint64_t z = seed * 0x9E3779B97F4A7C15ull + 1;
    size_t i = 0;
    while (i < n) {
        z ^= z << 13;
        z ^= z >> 7;
        z ^= z << 17;
        size_t len = 1 + (z & 7) + ((z >> 3) & 3);
        int number = ((z >> 8) & 15) == 0;
        for (size_t k = 0; k < len && i < n; k++) {
            unsigned u = (unsigned)(z >> (10 + 4 * (k % 12))) & 31;
            p[i++] = number ? (char)('0' + u % 10) : letters[u % 26];
        }
        if (i < n) p[i++] = ((z >> 59) == 0) ? '\n' : ' ';
    }
}

static void scan(const char* p, const char* end, struct counts* c) {
    int state = ST_SPACE;
    long len = 0;
    for (; p < end; p++) {
        char ch = *p;
        switch (ch) {
            case 'a':
            case 'e':
            case 'i':
            case 'o':
            case 'u':
                c->vowels++;
                break;
            case '\n':
                c->lines++;
                break;
            default:
                break;
        }
        if (ch >= 'a' && ch <= 'z') {
            if (state != ST_WORD) {
                c->words++;
                state = ST_WORD;
                len = 0;
            }
            if (++len > c->longest) c->longest = len;
        } else if (ch >= '0' && ch <= '9') {
            if (state == ST_SPACE) {
                c->numbers++;
                state = ST_NUMBER;
            }
        } else {
            state = ST_SPACE;
        }
    }
}

static void* worker(void* arg) {
    struct job* j = arg;
    make_text(text + j->lo, j->hi - j->lo, (uint64_t)j->id + 17);
    pthread_barrier_wait(&made);
    for (int pass = 0; pass < 2; pass++) scan(text + j->lo, text + j->hi, &stat[j->id]);
    return NULL;
}

int main(int argc, char** argv) {
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 24u << 20;
    int nt = argc > 2 ? atoi(argv[2]) : 4;
    if (nt < 1 || nt > MAXT) {
        fprintf(stderr, "threads: 1..%d\n", MAXT);
        return 2;
    }
    text = malloc(n);
    if (!text) {
        perror("malloc");
        return 1;
    }
    pthread_barrier_init(&made, NULL, (unsigned)nt);
    for (int t = 0; t < nt; t++) {
        jobs[t].id = t;
        jobs[t].lo = n * (size_t)t / (size_t)nt;
        jobs[t].hi = n * (size_t)(t + 1) / (size_t)nt;
        if (pthread_create(&jobs[t].th, NULL, worker, &jobs[t]) != 0) {
            perror("pthread_create");
            return 1;
        }
    }
    struct counts sum;
    memset(&sum, 0, sizeof sum);
    for (int t = 0; t < nt; t++) {
        pthread_join(jobs[t].th, NULL);
        sum.words += stat[t].words;
        sum.numbers += stat[t].numbers;
        sum.lines += stat[t].lines;
        sum.vowels += stat[t].vowels;
        if (stat[t].longest > sum.longest) sum.longest = stat[t].longest;
    }
    printf("checksum %ld words %ld numbers %ld lines %ld longest %ld\n", sum.words * 3 + sum.vowels,
           sum.words, sum.numbers, sum.lines, sum.longest);
    free(text);
    return 0;
}
