// SPDX-License-Identifier: Apache-2.0
// A trie of numbers in an arena: the main thread inserts and looks up all of them. The only other
// thread reports the progress a few times. Nothing is shared that matters: there is no problem,
// although all pages are touched by one thread.
// label: arena = partitioned
// action: arena = none
// label: run = no NUMA problem
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

struct Node {
    uint32_t child[16] = {};
};

class Trie {
  public:
    Trie() { arena.emplace_back(); }

    void insert(uint32_t number) {
        uint32_t at = 0;
        for (int shift = 20; shift >= 0; shift -= 4) {
            const uint32_t digit = number >> shift & 15;
            uint32_t next = arena[at].child[digit];
            if (!next) {
                next = uint32_t(arena.size());
                arena[at].child[digit] = next;
                arena.emplace_back();
            }
            at = next;
        }
    }

    bool contains(uint32_t number) const {
        uint32_t at = 0;
        for (int shift = 20; shift >= 0; shift -= 4) {
            at = arena[at].child[number >> shift & 15];
            if (!at) return false;
        }
        return true;
    }

    size_t size() const { return arena.size(); }

  private:
    std::vector<Node> arena;
};

int main() {
    std::atomic<bool> done{false};
    std::atomic<uint32_t> progress{0};
    std::atomic<uint32_t> reported{0};
    std::thread reporter([&] {
        while (!done) {
            reported = progress.load();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    });

    Trie trie;
    uint32_t state = 17;
    for (int n = 0; n < 30000; ++n) {
        state = state * 1664525U + 1013904223U;
        trie.insert(state >> 8);
        progress.store(uint32_t(n), std::memory_order_relaxed);
    }
    uint32_t found = 0;
    for (uint32_t number = 0; number < 3000000; ++number) {
        found += trie.contains(number * 2654435761U >> 8);
    }
    done = true;
    reporter.join();
    std::printf("%zu nodes, %u found\n", trie.size(), found);
}
