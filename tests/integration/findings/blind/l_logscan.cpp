// SPDX-License-Identifier: Apache-2.0
// Each thread reads its part of a log with pread into its own buffer, and counts in its own table.
// label: run = no NUMA problem
// label: buffer = partitioned
// label: table = partitioned
// Aggregates a web access log: requests, bytes and slowest answer by path.
// usage: l_logscan [threads] [log size in MiB]
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

struct Stat {
    uint64_t requests = 0, bytes = 0, errors = 0, slowest = 0;
    void add(uint64_t b, unsigned status, uint64_t usec) {
        requests++;
        bytes += b;
        errors += status >= 500;
        slowest = std::max(slowest, usec);
    }
    void merge(const Stat& o) {
        requests += o.requests;
        bytes += o.bytes;
        errors += o.errors;
        slowest = std::max(slowest, o.slowest);
    }
};

constexpr size_t kDay = 6 << 20;

using Table = std::unordered_map<std::string, Stat>;

std::string make_log(size_t& bytes) {
    const char* dir = std::getenv("TMPDIR");
    std::string name = std::string(dir ? dir : "/tmp") + "/l_logscan_XXXXXX";
    int fd = mkstemp(name.data());
    if (fd < 0) {
        std::perror("mkstemp");
        std::exit(2);
    }
    static const char* area[] = {"shop", "static", "api", "account", "search", "img"};
    static const unsigned codes[] = {200, 200, 200, 304, 404, 500, 200, 503};
    std::string day;
    day.reserve(kDay + 256);
    uint64_t s = 88172645463325252ull;
    while (day.size() < kDay) {
        char line[160];
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        int k = std::snprintf(
            line, sizeof line, "10.%u.%u.7 - [%u] \"GET /%s/item%u HTTP/1.1\" %u %u %u\n",
            unsigned(s & 255), unsigned(s >> 8 & 255), unsigned(1700000000u + day.size() / 4096),
            area[(s >> 16) % 6], unsigned((s >> 20) % 700), codes[s >> 33 & 7],
            unsigned((s >> 40) % 90000), unsigned((s >> 44) % 400000));
        day.append(line, static_cast<size_t>(k));
    }
    size_t written = 0;
    while (written < bytes) {
        ssize_t k = write(fd, day.data(), day.size());
        if (k != static_cast<ssize_t>(day.size())) {
            std::perror("write");
            std::exit(2);
        }
        written += static_cast<size_t>(k);
    }
    close(fd);
    bytes = written;
    return name;
}

uint64_t number(const char*& p, const char* end) {
    uint64_t v = 0;
    while (p < end && *p >= '0' && *p <= '9') v = v * 10 + static_cast<uint64_t>(*p++ - '0');
    return v;
}

void parse_line(const char* p, const char* end, Table& table, std::string& key) {
    const char* q = static_cast<const char*>(std::memchr(p, '"', end - p));
    if (!q || end - q < 8) return;
    const char* path = q + 5;
    const char* stop = static_cast<const char*>(std::memchr(path, ' ', end - path));
    if (!stop) return;
    const char* r = static_cast<const char*>(std::memchr(stop, '"', end - stop));
    if (!r) return;
    r += 2;
    unsigned status = static_cast<unsigned>(number(r, end));
    r++;
    uint64_t bytes = number(r, end);
    r++;
    uint64_t usec = number(r, end);
    key.assign(path, stop);
    table[key].add(bytes, status, usec);
}

class Scanner {
  public:
    Scanner(std::string name, size_t from, size_t to)
        : name_(std::move(name)), from_(from), to_(to) {}

    void run() {
        Table table;
        table.reserve(8192);
        std::string key;
        std::vector<char> buffer(1 << 20);
        int fd = open(name_.c_str(), O_RDONLY);
        if (fd < 0) return;
        size_t at = from_, held = 0;
        bool skipping = from_ > 0;
        if (skipping) at--;
        size_t line_at = at;
        for (bool more = true; more;) {
            ssize_t got =
                pread(fd, buffer.data() + held, buffer.size() - held, static_cast<off_t>(at));
            if (got <= 0) break;
            at += static_cast<size_t>(got);
            const char *p = buffer.data(), *end = p + held + got;
            while (const char* nl = static_cast<const char*>(std::memchr(p, '\n', end - p))) {
                if (skipping)
                    skipping = false;
                else if (line_at >= to_) {
                    more = false;
                    break;
                } else
                    parse_line(p, nl, table, key);
                line_at += static_cast<size_t>(nl + 1 - p);
                p = nl + 1;
            }
            held = static_cast<size_t>(end - p);
            std::memmove(buffer.data(), p, held);
        }
        close(fd);
        result_.swap(table);
    }
    const Table& result() const { return result_; }

  private:
    std::string name_;
    size_t from_, to_;
    Table result_;
};

}  // namespace

int main(int argc, char** argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    int mib = argc > 2 ? std::atoi(argv[2]) : 400;
    if (threads < 1 || threads > 256 || mib < 1) {
        std::fprintf(stderr, "usage: %s [threads] [MiB]\n", argv[0]);
        return 1;
    }
    size_t size = static_cast<size_t>(mib) << 20;
    std::string name = make_log(size);
    std::vector<Scanner> parts;
    parts.reserve(static_cast<size_t>(threads));
    for (int t = 0; t < threads; t++) {
        size_t from = size * t / threads;
        size_t to = t == threads - 1 ? SIZE_MAX : size * (t + 1) / threads;
        parts.emplace_back(name, from, to);
    }
    std::vector<std::thread> pool;
    for (auto& p : parts) pool.emplace_back(&Scanner::run, &p);
    for (auto& t : pool) t.join();
    unlink(name.c_str());

    std::map<std::string, Stat> all;
    for (auto& p : parts)
        for (auto& e : p.result()) all[e.first].merge(e.second);
    uint64_t lines = 0, sum = 0;
    for (auto& e : all) {
        lines += e.second.requests;
        sum = sum * 1099511628211ull + e.second.bytes + 3 * e.second.errors + e.second.slowest;
    }
    std::printf("paths %zu lines %llu checksum %016llx\n", all.size(), (unsigned long long)lines,
                (unsigned long long)sum);
    return 0;
}
