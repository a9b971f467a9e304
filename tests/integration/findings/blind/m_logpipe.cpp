// SPDX-License-Identifier: Apache-2.0
// Workers look names up in an inventory that main built. The reader's blocks go to any worker.
// label: inv = shared, read-mostly
// action: inv = copy or spread
// harm: inv = local
// label: blk = producer and consumer
// action: blk = none
// harm: blk = spread | local
// Log enrichment pipeline: one reader cuts the input into blocks and puts them into a bounded
// queue; workers take the next block, split the lines and look every host name up in the inventory.
//   usage: logpipe [hosts] [threads]       (threads = workers, the reader comes on top)
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

using Block = std::vector<char>;

class BoundedQueue {
  public:
    explicit BoundedQueue(size_t cap) : cap_(cap) {}
    void push(Block b) {
        std::unique_lock<std::mutex> l(m_);
        room_.wait(l, [&] { return q_.size() < cap_; });
        q_.push_back(std::move(b));
        avail_.notify_one();
    }
    bool pop(Block& b) {
        std::unique_lock<std::mutex> l(m_);
        avail_.wait(l, [&] { return !q_.empty() || closed_; });
        if (q_.empty()) return false;
        b = std::move(q_.front());
        q_.pop_front();
        room_.notify_one();
        return true;
    }
    void close() {
        std::lock_guard<std::mutex> l(m_);
        closed_ = true;
        avail_.notify_all();
    }

  private:
    std::mutex m_;
    std::condition_variable room_, avail_;
    std::deque<Block> q_;
    size_t cap_;
    bool closed_ = false;
};

struct HostInfo {
    uint32_t site = 0;
    uint32_t weight = 0;
    char owner[24] = {};
};

using Inventory = std::unordered_map<std::string, HostInfo>;

static uint64_t scramble(uint64_t x) {
    x *= 0x9E3779B97F4A7C15ull;
    return x ^ (x >> 29);
}

// "n0001234.r17.example"
static int host_name(char* buf, uint64_t i) {
    uint64_t v = i;
    buf[0] = 'n';
    for (int k = 7; k >= 1; k--, v /= 10) buf[k] = (char)('0' + v % 10);
    buf[8] = '.';
    buf[9] = 'r';
    buf[10] = (char)('0' + i % 61 / 10);
    buf[11] = (char)('0' + i % 61 % 10);
    memcpy(buf + 12, ".example", 8);
    return 20;
}

static Inventory load_inventory(uint64_t hosts) {
    Inventory inv;
    inv.reserve(hosts);
    char buf[40];
    for (uint64_t i = 0; i < hosts; i++) {
        int len = host_name(buf, scramble(i) % hosts);
        HostInfo& h = inv[std::string(buf, len)];
        h.site = (uint32_t)(i % 17);
        h.weight = (uint32_t)(scramble(i) & 255);
        snprintf(h.owner, sizeof h.owner, "team%llu", (unsigned long long)(i % 977));
    }
    return inv;
}

static void reader(BoundedQueue& q, uint64_t hosts, int blocks, size_t block_size) {
    uint64_t z = 123456789;
    char line[128];
    for (int b = 0; b < blocks; b++) {
        Block blk;
        blk.reserve(block_size);
        for (;;) {
            z ^= z << 13;
            z ^= z >> 7;
            z ^= z << 17;
            int n = host_name(line, (z >> 16) % hosts);
            memset(line + n, ' ', 1);
            memset(line + n + 1, 'x', 20 + (z & 31));
            n += 21 + (int)(z & 31);
            line[n++] = '\n';
            if (blk.size() + n > block_size) break;
            blk.insert(blk.end(), line, line + n);
        }
        q.push(std::move(blk));
    }
    q.close();
}

struct Tally {
    uint64_t lines = 0, unknown = 0, weight = 0, finger = 0;
    uint64_t per_site[17] = {};
};

static Tally work(BoundedQueue& q, const Inventory& inv) {
    Tally t;
    Block b;
    std::string key;
    while (q.pop(b)) {
        const char *p = b.data(), *end = p + b.size();
        while (p < end) {
            const char* nl = (const char*)memchr(p, '\n', end - p);
            const char* sp = (const char*)memchr(p, ' ', nl - p);
            key.assign(p, sp);
            auto it = inv.find(key);
            if (it == inv.end()) {
                t.unknown++;
            } else {
                t.weight += it->second.weight + (uint64_t)it->second.owner[4];
                t.per_site[it->second.site]++;
            }
            uint64_t h = 14695981039346656037ull;  // fingerprint, for duplicates
            for (const char* c = sp; c < nl; c++) h = (h ^ (unsigned char)*c) * 1099511628211ull;
            t.finger ^= h;
            t.lines++;
            p = nl + 1;
        }
    }
    return t;
}

int main(int argc, char** argv) {
    uint64_t hosts = argc > 1 ? strtoull(argv[1], nullptr, 10) : 200000;
    int nt = argc > 2 ? atoi(argv[2]) : 4;

    Inventory inv = load_inventory(hosts);
    BoundedQueue q(16);
    std::vector<Tally> tally(nt);
    std::vector<std::thread> th;
    for (int t = 0; t < nt; t++) th.emplace_back([&, t] { tally[t] = work(q, inv); });
    reader(q, hosts, 600, 64 << 10);
    for (auto& x : th) x.join();

    Tally s;
    uint64_t sites = 0;
    for (auto& t : tally) {
        s.lines += t.lines;
        s.unknown += t.unknown;
        s.weight += t.weight;
        s.finger ^= t.finger;
        for (int k = 0; k < 17; k++) sites += t.per_site[k] * (k + 1);
    }
    printf("checksum %llx lines %llu unknown %llu sites %llu\n",
           (unsigned long long)(s.weight ^ s.finger), (unsigned long long)s.lines,
           (unsigned long long)s.unknown, (unsigned long long)sites);
}
