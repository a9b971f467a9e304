// SPDX-License-Identifier: Apache-2.0
// Money goes between random accounts of one bank, with a lock for each account.
// std::thread, eight of them; each counts what it did in one array.
// label: accounts = shared, written
// Why: any thread uses any account, in random order, and changes it.
// action: accounts = spread
// harm: accounts = copy
// harm: accounts = local
// label: done = false sharing of cache lines
// Why: the counters of all threads are in two lines, and each transfer changes them.
// action: done = pad
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 8;
constexpr std::uint32_t kAccounts = 1u << 18;
constexpr int kTransfers = 100000;

struct Account {
    std::atomic_flag lock = ATOMIC_FLAG_INIT;
    std::int64_t cents = 100'000;
    std::uint32_t changes = 0;

    void enter() {
        while (lock.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    }
    void leave() { lock.clear(std::memory_order_release); }
};

struct Done {
    std::atomic<std::uint64_t> transfers;
    std::atomic<std::uint64_t> refused;
};

std::vector<Account> accounts(kAccounts);
alignas(64) std::array<Done, kThreads> done;

void clerk(int id) {
    std::uint64_t state = 0x9e3779b97f4a7c15ull * static_cast<std::uint64_t>(id + 1);
    for (int n = 0; n < kTransfers; n++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        auto from = static_cast<std::uint32_t>(state % kAccounts);
        auto to = static_cast<std::uint32_t>((state >> 32) % kAccounts);
        if (from == to) continue;
        Account& first = accounts[from < to ? from : to];
        Account& second = accounts[from < to ? to : from];
        first.enter();
        second.enter();
        auto amount = static_cast<std::int64_t>(state % 20'000);
        bool allowed = accounts[from].cents >= amount;
        if (allowed) {
            accounts[from].cents -= amount;
            accounts[from].changes++;
            accounts[to].cents += amount;
            accounts[to].changes++;
        }
        second.leave();
        first.leave();
        auto& counter = allowed ? done[id].transfers : done[id].refused;
        counter.fetch_add(1, std::memory_order_relaxed);
    }
}

}  // namespace

int main() {
    std::vector<std::thread> clerks;
    for (int id = 0; id < kThreads; id++) clerks.emplace_back(clerk, id);
    for (std::thread& each : clerks) each.join();
    std::int64_t sum = 0;
    for (const Account& account : accounts) sum += account.cents;
    std::uint64_t transfers = 0;
    for (const Done& each : done) transfers += each.transfers;
    std::printf("%llu transfers, %lld cents\n", static_cast<unsigned long long>(transfers),
                static_cast<long long>(sum));
    return sum == static_cast<std::int64_t>(kAccounts) * 100'000 ? 0 : 1;
}
