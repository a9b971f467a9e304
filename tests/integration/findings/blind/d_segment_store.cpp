// SPDX-License-Identifier: Apache-2.0
// A log-structured store with a shard per thread. All shards are in one new file that is mapped
// once; the file has no pages yet, so those of a shard are made when the thread of the shard writes
// its sorted runs. The thread then looks keys up in its own runs only. The table in memory that
// collects records is also allocated and used by one thread.
// label: run = no NUMA problem
// label: segments = partitioned
// action: segments = none
// label: memtable = partitioned
// action: memtable = none
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

struct Record {
    std::uint64_t key;
    std::uint64_t value;
};

constexpr std::size_t run_length = 1 << 15;
constexpr std::size_t runs_per_shard = 8;
constexpr std::size_t shard_length = run_length * runs_per_shard;
constexpr int lookups = 45000;

std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
    x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44du;
    return x ^ (x >> 33);
}

const Record* find(const Record* run, std::uint64_t key) {
    const Record* end = run + run_length;
    const Record* at =
        std::lower_bound(run, end, key, [](const Record& r, std::uint64_t k) { return r.key < k; });
    return at != end && at->key == key ? at : nullptr;
}

std::uint64_t serve_shard(Record* segment, std::uint64_t shard) {
    std::vector<Record> memtable(run_length);
    std::uint64_t written = 0;
    for (std::size_t run = 0; run < runs_per_shard; ++run) {
        for (Record& record : memtable) {
            record = {mix(shard << 32 | written), written};
            ++written;
        }
        std::sort(memtable.begin(), memtable.end(),
                  [](const Record& a, const Record& b) { return a.key < b.key; });
        std::copy(memtable.begin(), memtable.end(), segment + run * run_length);
    }
    std::uint64_t sum = 0;
    for (int i = 0; i < lookups; ++i) {
        const std::uint64_t key =
            mix(shard << 32 | mix(static_cast<std::uint64_t>(i)) % (written + written / 4));
        for (std::size_t run = runs_per_shard; run-- > 0;) {
            if (const Record* record = find(segment + run * run_length, key)) {
                sum += record->value;
                break;
            }
        }
    }
    return sum;
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t threads = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 4;
    const std::size_t bytes = threads * shard_length * sizeof(Record);
    std::FILE* file = std::tmpfile();
    if (file == nullptr || ftruncate(fileno(file), static_cast<off_t>(bytes)) != 0) return 1;
    void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (mapping == MAP_FAILED) return 1;
    Record* segments = static_cast<Record*>(mapping);
    std::vector<std::uint64_t> sums(threads);
    std::vector<std::thread> shards;
    for (std::size_t t = 0; t < threads; ++t) {
        shards.emplace_back([=, &sums] { sums[t] = serve_shard(segments + t * shard_length, t); });
    }
    for (std::thread& shard : shards) shard.join();
    std::uint64_t sum = 0;
    for (const std::uint64_t s : sums) sum += s;
    std::printf("sum of values %llu\n", static_cast<unsigned long long>(sum));
    munmap(mapping, bytes);
    std::fclose(file);
    return 0;
}
