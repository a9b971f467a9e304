// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: All threads read the reference at random places, but for each place of 140 bytes they
// compute 14000 cells of an alignment in rows that stay in the first cache. Tasks even out the
// work.
// action: run = none
// harm: reference = copy | local | divide
// harm: reads = copy | spread
// harm: run = balance
// Short reads aligned to a reference at the places that their seeds suggest, in tasks of 100 reads.
//   usage: align_reads [threads] [reads] [length of the reference]
#include <omp.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

constexpr int read_length = 100, slack = 20, window = read_length + 2 * slack;

struct Read {
    std::array<char, read_length> bases;
    uint32_t seed_at;  // where an index of seeds says that it may be from
};

struct Hit {
    int score = 0;
    uint32_t end = 0;
};

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint32_t next() {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        return uint32_t(state_ >> 33);
    }

  private:
    uint64_t state_;
};

static std::string load_reference(size_t length) {
    Random random(17);
    std::string reference(length, 'A');
    for (char& base : reference) base = "ACGT"[random.next() & 3];
    return reference;
}

static std::vector<Read> sequence(const std::string& reference, int count) {
    Random random(99);
    std::vector<Read> reads(count);
    for (Read& read : reads) {
        read.seed_at = uint32_t((uint64_t(random.next()) << 8 ^ random.next()) %
                                (reference.size() - 2 * window));
        size_t from = read.seed_at + slack;
        for (char& base : read.bases) {
            base = reference[from++];
            const uint32_t chance = random.next() % 100;
            if (chance < 3) base = "ACGT"[random.next() & 3];  // a wrong base
            if (chance == 50) ++from;                          // a lost one
        }
    }
    return reads;
}

/// Smith and Waterman's local alignment with affine gaps; only two rows are kept.
static Hit align(const Read& read, const char* reference) {
    constexpr int match = 2, mismatch = -3, open = -5, extend = -1;
    std::array<int, window + 1> best{}, gap;
    gap.fill(-1000);
    Hit hit;
    for (int i = 0; i < read_length; ++i) {
        int diagonal = 0, across = -1000;
        for (int j = 1; j <= window; ++j) {
            const int same = diagonal + (read.bases[i] == reference[j - 1] ? match : mismatch);
            diagonal = best[j];
            gap[j] = std::max(best[j] + open, gap[j] + extend);
            across = std::max(best[j - 1] + open, across + extend);
            const int score = std::max(std::max(0, same), std::max(gap[j], across));
            best[j] = score;
            if (score > hit.score) {
                hit.score = score;
                hit.end = uint32_t(j);
            }
        }
    }
    return hit;
}

int main(int argc, char** argv) {
    omp_set_num_threads(argc > 1 ? std::atoi(argv[1]) : 4);
    const int count = argc > 2 ? std::atoi(argv[2]) : 14000;
    const size_t length = argc > 3 ? std::atol(argv[3]) : 24000000;
    const std::string reference = load_reference(length);
    const std::vector<Read> reads = sequence(reference, count);
    std::vector<Hit> hits(count);

#pragma omp parallel
#pragma omp single
    for (int first = 0; first < count; first += 100) {
#pragma omp task firstprivate(first) shared(reads, reference, hits)
        {
            std::array<Hit, 100> mine;
            const int last = std::min(first + 100, count);
            for (int r = first; r < last; ++r)
                mine[r - first] = align(reads[r], reference.data() + reads[r].seed_at);
            std::copy(mine.begin(), mine.begin() + (last - first), hits.begin() + first);
        }
    }

    long total = 0, good = 0, ends = 0;
    for (const Hit& hit : hits) {
        total += hit.score;
        good += hit.score > 150;
        ends += hit.end;
    }
    std::printf("aligned %ld of %d, total score %ld, ends %ld\n", good, count, total, ends);
}
