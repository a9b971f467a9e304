// SPDX-License-Identifier: Apache-2.0
// Books transfers between accounts from four threads. All threads write to accounts everywhere, but
// four of five go to the newest accounts: 512 KiB, 3 % of the pages, written by all threads, so no
// core's cache keeps them.
// label: accounts = shared, written
// action: accounts = spread
// label: accounts = hot pages
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

constexpr uint32_t account_count = 1 << 18, newest = 1 << 13, transfers = 700000;

struct alignas(64) Account {
    std::atomic<int64_t> balance{1000};
    std::atomic<uint64_t> movements{0};
    char owner[48];
};

static uint32_t choose(uint64_t random) {
    const uint32_t low = uint32_t(random) & 0xFFFFFF;
    if (random >> 24 & 0xFF) {
        if ((random >> 32) % 5) return account_count - newest + low % newest;
    }
    return low % account_count;
}

static void book(Account* accounts, uint64_t state) {
    for (uint32_t n = 0; n < transfers; ++n) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        Account& from = accounts[choose(state >> 20)];
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        Account& to = accounts[choose(state >> 20)];
        const int64_t amount = int64_t(state >> 60);
        from.balance.fetch_sub(amount, std::memory_order_relaxed);
        to.balance.fetch_add(amount, std::memory_order_relaxed);
        from.movements.fetch_add(1, std::memory_order_relaxed);
        to.movements.fetch_add(1, std::memory_order_relaxed);
    }
}

int main() {
    const char* wanted = std::getenv("THREADS");
    const int threads = wanted ? std::atoi(wanted) : 4;
    Account* accounts = new Account[account_count];
    std::vector<std::thread> tellers;
    for (int t = 0; t < threads; ++t) {
        tellers.emplace_back([accounts, t] { book(accounts, uint64_t(t) * 104729 + 5); });
    }
    for (std::thread& teller : tellers) teller.join();

    int64_t sum = 0;
    for (uint32_t i = account_count - 1000; i < account_count; ++i) sum += accounts[i].balance;
    std::printf("newest thousand hold %lld\n", static_cast<long long>(sum));
    delete[] accounts;
}
