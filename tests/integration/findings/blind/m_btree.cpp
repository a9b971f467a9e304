// SPDX-License-Identifier: Apache-2.0
// Main builds the index, and all threads look random keys up.
// label: leaves_ = shared, read-mostly
// action: leaves_ = copy or spread
// harm: leaves_ = local | pad
// label: level = shared, read-mostly
// action: level = copy or spread
// Added after the first look: the small upper levels, which live in the caches.
// label: level = cache-resident
// harm: level = local | pad
// Bulk-loaded B+ tree as a read-only index; workers answer point queries from their own request
// streams.
//   usage: btree [keys] [threads]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

class Index {
  public:
    static constexpr int FAN = 16;

    struct Leaf {
        uint64_t key[FAN];
        uint64_t val[FAN];
        int n = 0;
    };
    struct Inner {
        uint64_t sep[FAN];  // smallest key below child i
        uint32_t child[FAN];
        int n = 0;
    };

    void bulk_load(uint64_t count) {
        leaves_.reserve((count + FAN - 1) / FAN);
        uint64_t k = 0;
        for (uint64_t i = 0; i < count; i++) {
            k += 1 + (mix(i) & 7);
            if (leaves_.empty() || leaves_.back().n == FAN) leaves_.emplace_back();
            Leaf& l = leaves_.back();
            l.key[l.n] = k;
            l.val[l.n++] = mix(k);
        }
        max_ = k;
        std::vector<uint64_t> first;
        first.reserve(leaves_.size());
        for (auto& l : leaves_) first.push_back(l.key[0]);
        while (first.size() > 1) {
            std::vector<Inner> level((first.size() + FAN - 1) / FAN);
            std::vector<uint64_t> up;
            for (size_t i = 0; i < first.size(); i++) {
                Inner& in = level[i / FAN];
                if (in.n == 0) up.push_back(first[i]);
                in.sep[in.n] = first[i];
                in.child[in.n++] = (uint32_t)i;
            }
            levels_.push_back(std::move(level));
            first.swap(up);
        }
    }

    const uint64_t* find(uint64_t key) const {
        uint32_t at = 0;
        for (auto lv = levels_.rbegin(); lv != levels_.rend(); ++lv) {
            const Inner& in = (*lv)[at];
            int i = 0;
            while (i + 1 < in.n && in.sep[i + 1] <= key) i++;
            at = in.child[i];
        }
        const Leaf& l = leaves_[at];
        for (int i = 0; i < l.n; i++)
            if (l.key[i] == key) return &l.val[i];
        return nullptr;
    }

    uint64_t max_key() const { return max_; }
    size_t depth() const { return levels_.size() + 1; }

    static uint64_t mix(uint64_t x) {
        x ^= x >> 31;
        x *= 0x7FB5D329728EA185ull;
        x ^= x >> 27;
        x *= 0x81DADEF4BC2DD44Dull;
        return x ^ (x >> 33);
    }

  private:
    std::vector<Leaf> leaves_;
    std::vector<std::vector<Inner>> levels_;
    uint64_t max_ = 0;
};

struct Answer {
    uint64_t hits = 0, sum = 0;
};

static Answer serve(const Index& ix, uint64_t seed, long requests) {
    Answer a;
    uint64_t z = Index::mix(seed + 99);
    for (long r = 0; r < requests; r++) {
        z ^= z << 13;
        z ^= z >> 7;
        z ^= z << 17;
        const uint64_t* v = ix.find((z >> 11) % ix.max_key());
        if (v) {
            a.hits++;
            a.sum += *v;
        }
    }
    return a;
}

int main(int argc, char** argv) {
    uint64_t keys = argc > 1 ? strtoull(argv[1], nullptr, 10) : 2500000;
    int nt = argc > 2 ? atoi(argv[2]) : 4;

    Index ix;
    ix.bulk_load(keys);

    const long per = 200000;
    std::vector<Answer> answers(nt);
    std::vector<std::thread> pool;
    for (int t = 0; t < nt; t++)
        pool.emplace_back([&, t] { answers[t] = serve(ix, (uint64_t)t, per); });
    for (auto& th : pool) th.join();

    uint64_t hits = 0, sum = 0;
    for (auto& a : answers) {
        hits += a.hits;
        sum += a.sum;
    }
    printf("checksum %016llx hits %llu depth %zu\n", (unsigned long long)sum,
           (unsigned long long)hits, ix.depth());
}
