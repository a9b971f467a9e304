// SPDX-License-Identifier: Apache-2.0
// Main builds the table, which all threads look up, and reads the orders, of which each thread
// probes a block. The counters and the headers of the results share lines.
// label: slots_ = shared, read-mostly
// action: slots_ = copy or spread
// label: orders = serial first touch
// action: orders = local
// harm: orders = copy
// label: stats = false sharing of cache lines
// action: stats = pad
// label: result = false sharing of cache lines
// action: result = pad
// label: result = partitioned
// harm: result = spread
// Hash join orders |><| customers: build once, probe in parallel, keep the matching rows per
// worker.
//   usage: hashjoin [orders] [threads]
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

struct Customer {
    uint64_t id;
    uint32_t region;
    uint32_t discount;
};

struct Order {
    uint64_t customer;
    uint32_t order_no;
    uint32_t cents;
};

struct Joined {
    uint32_t order_no;
    uint32_t cents;
};

static uint64_t hash64(uint64_t x) {
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93ull;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93ull;
    return x ^ (x >> 32);
}

class HashTable {
  public:
    explicit HashTable(size_t rows) {
        size_t cap = 16;
        while (cap < rows * 2) cap *= 2;
        mask_ = cap - 1;
        slots_.resize(cap);  // id 0 = empty
    }
    void insert(const Customer& c) {
        size_t at = hash64(c.id) & mask_;
        while (slots_[at].id) at = (at + 1) & mask_;
        slots_[at] = c;
    }
    const Customer* lookup(uint64_t id) const {
        size_t at = hash64(id) & mask_;
        while (slots_[at].id) {
            if (slots_[at].id == id) return &slots_[at];
            at = (at + 1) & mask_;
        }
        return nullptr;
    }

  private:
    std::vector<Customer> slots_;
    size_t mask_ = 0;
};

struct Stats {  // one per worker
    uint64_t matched = 0;
    uint64_t missed = 0;
    uint64_t revenue = 0;
};

static void probe(const HashTable& ht, const Order* first, const Order* last,
                  std::vector<Joined>& out, Stats& st) {
    for (const Order* o = first; o != last; ++o) {
        const Customer* c = ht.lookup(o->customer);
        if (!c) {
            st.missed++;
            continue;
        }
        st.matched++;
        uint32_t cents = o->cents - o->cents * c->discount / 100;
        st.revenue += cents;
        if (c->region != 3) out.push_back({o->order_no, cents});
    }
}

static std::vector<Order> read_orders(size_t n, uint64_t customers) {
    std::vector<Order> v(n);
    uint64_t z = 0x9E3779B97F4A7C15ull;
    for (size_t i = 0; i < n; i++) {
        z ^= z << 13;
        z ^= z >> 7;
        z ^= z << 17;
        v[i].customer = hash64(1 + (z >> 20) % (customers + customers / 8)) | 1;
        v[i].order_no = (uint32_t)i;
        v[i].cents = 100 + (uint32_t)(z & 0xffff);
    }
    return v;
}

int main(int argc, char** argv) {
    size_t norders = argc > 1 ? strtoul(argv[1], nullptr, 10) : 2000000;
    int nt = argc > 2 ? atoi(argv[2]) : 4;
    size_t ncust = norders / 4;

    HashTable customers(ncust);
    for (uint64_t i = 1; i <= ncust; i++)
        customers.insert({hash64(i) | 1, (uint32_t)(hash64(i + 7) % 11), (uint32_t)(i % 20)});

    std::vector<Order> orders = read_orders(norders, ncust);

    std::vector<Stats> stats(nt);
    std::vector<std::vector<Joined>> result(nt);
    std::vector<std::thread> workers;
    for (int t = 0; t < nt; t++)
        workers.emplace_back([&, t] {
            size_t lo = norders * t / nt, hi = norders * (t + 1) / nt;
            probe(customers, orders.data() + lo, orders.data() + hi, result[t], stats[t]);
        });
    for (auto& w : workers) w.join();

    Stats sum;
    size_t rows = 0;
    for (int t = 0; t < nt; t++) {
        sum.matched += stats[t].matched;
        sum.missed += stats[t].missed;
        sum.revenue += stats[t].revenue;
        rows += result[t].size();
    }
    printf("checksum %llu matched %llu missed %llu rows %zu\n", (unsigned long long)sum.revenue,
           (unsigned long long)sum.matched, (unsigned long long)sum.missed, rows);
}
