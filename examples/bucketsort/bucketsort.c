// SPDX-License-Identifier: Apache-2.0
// Ranks integer keys with a bucket sort, repeatedly, with OpenMP: the method of the NAS benchmark
// IS. A key is the mean of four uniform random numbers: most are in the middle of the range.
//
// A bucket is a range of key values; the bucket's part of `key_buffer` counts its keys. A loop over
// buckets increments `key_buffer`. The schedule of this loop decides which thread uses which page:
//
//   dynamic  a free thread takes the next bucket: in the end, every thread has used every page
//   cyclic   bucket b always goes to thread b mod T
//   halves   chunks of buckets / (2 T): each thread has one piece of the lower half of the range
//            and one of the upper half, the same in every iteration. One piece has many keys and
//            the other has few, so the work is balanced
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "../options.h"

enum { ITERATIONS = 10, MAX_THREADS = 4096 };

static int log2_keys = 21, log2_range = 18, log2_buckets = 8;
static size_t key_count, key_range, bucket_count;

static uint32_t* keys;           // [key_count], as generated
static uint32_t* bucketed_keys;  // [key_count], keys grouped by bucket
static uint32_t* key_buffer;     // [key_range], first counts, then ranks of the key values
static size_t* bucket_ends;      // [threads][bucket_count], where a thread puts its next key

// A well-mixed 64-bit value for each counter (the finaliser of MurmurHash3, by A. Appleby), so that
// a key depends on its index only and not on the number of threads.
static uint64_t mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

static uint32_t bell_curve_key(size_t index) {
    uint64_t sum = 0;
    for (uint64_t draw = 0; draw < 4; draw++) sum += mix(4 * index + draw + 1) >> 32;
    return (uint32_t)(((sum / 4) * key_range) >> 32);
}

static size_t bucket_of(uint32_t key) {
    return key >> (log2_range - log2_buckets);
}

// Turns every thread's bucket sizes into the places where it puts its first key of each bucket:
// bucket by bucket, and within a bucket thread by thread.
static void place_buckets(int threads) {
    size_t next = 0;
    for (size_t b = 0; b < bucket_count; b++)
        for (int t = 0; t < threads; t++) {
            size_t* entry = &bucket_ends[(size_t)t * bucket_count + b];
            size_t count = *entry;
            *entry = next;
            next += count;
        }
}

static void group_by_bucket(void) {
#pragma omp parallel
    {
        size_t* ends = bucket_ends + (size_t)omp_get_thread_num() * bucket_count;
        memset(ends, 0, bucket_count * sizeof *ends);
#pragma omp for schedule(static)
        for (size_t i = 0; i < key_count; i++) ends[bucket_of(keys[i])]++;
#pragma omp single
        place_buckets(omp_get_num_threads());
#pragma omp for schedule(static)
        for (size_t i = 0; i < key_count; i++) bucketed_keys[ends[bucket_of(keys[i])]++] = keys[i];
    }
}

// Then key_buffer[v] is the number of keys <= v. The last thread's ends are those of the buckets.
static void rank_keys(int threads) {
    const size_t* ends = bucket_ends + (size_t)(threads - 1) * bucket_count;
    size_t width = key_range / bucket_count;
#pragma omp parallel for schedule(runtime)
    for (size_t b = 0; b < bucket_count; b++) {
        size_t first_key = b == 0 ? 0 : ends[b - 1];
        uint32_t* counts = key_buffer + b * width;
        memset(counts, 0, width * sizeof *counts);
        for (size_t i = first_key; i < ends[b]; i++) key_buffer[bucketed_keys[i]]++;
        counts[0] += (uint32_t)first_key;
        for (size_t v = 1; v < width; v++) counts[v] += counts[v - 1];
    }
}

// Compares every rank with a plain serial count of the keys.
static bool correct(void) {
    uint32_t* expected = calloc(key_range, sizeof *expected);
    if (expected == NULL) out_of_memory(key_range * sizeof *expected);
    for (size_t i = 0; i < key_count; i++) expected[bell_curve_key(i)]++;
    bool right = true;
    uint32_t rank = 0;
    for (size_t v = 0; v < key_range; v++) {
        rank += expected[v];
        right = right && key_buffer[v] == rank;
    }
    free(expected);
    return right && rank == key_count;
}

static void usage(void) {
    fprintf(stderr,
            "usage: bucketsort [-n LOG2_KEYS] [-m LOG2_RANGE] [-b LOG2_BUCKETS] "
            "[-t THREADS] dynamic|cyclic|halves\n");
    exit(2);
}

static void choose_schedule(const char* version, int threads) {
    int half_chunk = (int)bucket_count / (2 * threads);
    if (strcmp(version, "dynamic") == 0)
        omp_set_schedule(omp_sched_dynamic, 1);
    else if (strcmp(version, "cyclic") == 0)
        omp_set_schedule(omp_sched_static, 1);
    else if (strcmp(version, "halves") == 0)
        omp_set_schedule(omp_sched_static, half_chunk > 0 ? half_chunk : 1);
    else
        usage();
}

int main(int argc, char** argv) {
    int threads = 4;
    for (int option; (option = getopt(argc, argv, "n:m:b:t:")) != -1;) switch (option) {
            case 'n':
                log2_keys = (int)whole_number("-n", optarg, 0, 31);
                break;
            case 'm':
                log2_range = (int)whole_number("-m", optarg, 0, 31);
                break;
            case 'b':
                log2_buckets = (int)whole_number("-b", optarg, 0, 24);
                break;
            case 't':
                threads = (int)whole_number("-t", optarg, 1, MAX_THREADS);
                break;
            default:
                usage();
        }
    if (optind != argc - 1) usage();
    if (log2_buckets > log2_range) {
        fprintf(stderr, "-b %d asks for more buckets than -m %d has key values\n", log2_buckets,
                log2_range);
        return 2;
    }
    key_count = (size_t)1 << log2_keys;
    key_range = (size_t)1 << log2_range;
    bucket_count = (size_t)1 << log2_buckets;
    omp_set_dynamic(0);  // exactly `threads` of them: bucket_ends has a row for each
    omp_set_num_threads(threads);
    choose_schedule(argv[optind], threads);

    keys = malloc(key_count * sizeof *keys);
    bucketed_keys = malloc(key_count * sizeof *bucketed_keys);
    key_buffer = malloc(key_range * sizeof *key_buffer);
    bucket_ends = malloc((size_t)threads * bucket_count * sizeof *bucket_ends);
    if (keys == NULL || bucketed_keys == NULL || key_buffer == NULL || bucket_ends == NULL)
        out_of_memory((2 * key_count + key_range) * sizeof *keys);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < key_count; i++) keys[i] = bell_curve_key(i);
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        group_by_bucket();
        rank_keys(threads);
    }
    bool right = correct();
    printf("bucketsort %s: %zu keys below %zu in %zu buckets, %d threads, ranks %s\n", argv[optind],
           key_count, key_range, bucket_count, threads, right ? "correct" : "WRONG");

    free(bucket_ends);
    free(key_buffer);
    free(bucketed_keys);
    free(keys);
    return right ? 0 : 1;
}
