// SPDX-License-Identifier: Apache-2.0
// Main creates all shards, and all threads read and write them at random.
// label: nodes = shared, written
// action: nodes = spread
// harm: nodes = copy
// label: bucket = shared, written
// action: bucket = spread
// harm: bucket = copy
// label: shards = true sharing of cache lines
// action: shards = pad | none
// label: cdf = shared, read-mostly
// action: cdf = copy | none
// label: keys = partitioned
// action: keys = none
// harm: keys = spread
// LRU cache with one lock per shard, skewed key stream.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

static const int SHARDS = 64, CAP = 4096, NBUCKET = 8192, NRANK = 65536, OPS = 150000;

struct Node {
    uint64_t key;
    uint64_t value;
    int prev, next, chain, pad;
};

struct Shard {
    std::mutex m;
    std::vector<Node> nodes;
    std::vector<int> bucket;
    int head = 0, tail = 0;
    long hits = 0, misses = 0;

    Shard() : nodes(CAP), bucket(NBUCKET, -1) {
        for (int i = 0; i < CAP; i++)
            nodes[i] = Node{~0ULL, 0, i - 1, i + 1 < CAP ? i + 1 : -1, -1, 0};
        tail = CAP - 1;
    }
    void unlink(int i) {
        Node& n = nodes[i];
        if (n.prev >= 0)
            nodes[n.prev].next = n.next;
        else
            head = n.next;
        if (n.next >= 0)
            nodes[n.next].prev = n.prev;
        else
            tail = n.prev;
    }
    void push_front(int i) {
        nodes[i].prev = -1;
        nodes[i].next = head;
        if (head >= 0)
            nodes[head].prev = i;
        else
            tail = i;
        head = i;
    }
    uint64_t get(uint64_t key, uint64_t h) {
        std::lock_guard<std::mutex> g(m);
        int b = int(h & (NBUCKET - 1));
        int i = bucket[b];
        while (i >= 0 && nodes[i].key != key) i = nodes[i].chain;
        if (i >= 0) {
            hits++;
            unlink(i);
            push_front(i);
            return nodes[i].value;
        }
        misses++;
        i = tail;
        unlink(i);
        if (nodes[i].key != ~0ULL) {
            int* p = &bucket[int(hash(nodes[i].key) & (NBUCKET - 1))];
            while (*p != i) p = &nodes[*p].chain;
            *p = nodes[i].chain;
        }
        nodes[i].key = key;
        nodes[i].value = key * 3 + 1;
        nodes[i].chain = bucket[b];
        bucket[b] = i;
        push_front(i);
        return nodes[i].value;
    }
    static uint64_t hash(uint64_t k) {
        k *= 0x9E3779B97F4A7C15ULL;
        return k ^ (k >> 31);
    }
};

int main(int argc, char** argv) {
    int nt = 4;
    if (argc > 1)
        nt = std::atoi(argv[1]);
    else if (const char* e = std::getenv("OMP_NUM_THREADS"))
        nt = std::atoi(e);
    if (nt < 1) nt = 4;

    std::vector<Shard> shards(SHARDS);
    std::vector<double> cdf(NRANK);
    double c = 0;
    for (int i = 0; i < NRANK; i++) cdf[i] = c += 1.0 / std::pow(i + 1.0, 0.6);
    for (auto& x : cdf) x /= c;

    std::vector<uint64_t> sums(nt);
    std::vector<std::thread> pool;
    for (int t = 0; t < nt; t++)
        pool.emplace_back([&, t] {
            uint64_t s = 0x1234567ULL * (t + 1) + 99, sum = 0;
            std::vector<uint64_t> keys(OPS);
            for (auto& k : keys) {
                s ^= s << 13;
                s ^= s >> 7;
                s ^= s << 17;
                double u = double(s >> 11) * 0x1p-53;
                uint64_t rank = uint64_t(std::lower_bound(cdf.begin(), cdf.end(), u) - cdf.begin());
                k = rank * 8 + (s & 7);
            }
            for (int round = 0; round < 2; round++)
                for (uint64_t k : keys) {
                    uint64_t h = Shard::hash(k);
                    sum += shards[(h >> 20) % SHARDS].get(k, h);
                }
            sums[t] = sum;
        });
    for (auto& t : pool) t.join();
    uint64_t total = 0;
    long hits = 0, misses = 0;
    for (auto x : sums) total += x;
    for (auto& sh : shards) {
        hits += sh.hits;
        misses += sh.misses;
    }
    std::printf("ops %ld sum %llu hit rate about %.1f\n", hits + misses, (unsigned long long)total,
                double(hits) / double(hits + misses));
    return 0;
}
