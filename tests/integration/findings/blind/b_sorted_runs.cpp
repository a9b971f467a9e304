// SPDX-License-Identifier: Apache-2.0
// The first half of an external sort: eight segments are read and sorted one after the other, each
// in a std::async of its own that is awaited before the next one starts. A segment is allocated,
// filled and sorted by one thread; the main thread merges all of them once at the end. At no time
// do two threads work.
// label: segments = partitioned
// action: segments = none
// label: run = no NUMA problem
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <future>
#include <vector>

constexpr size_t segment_count = 8, length = 1 << 17;

using Segment = std::vector<uint64_t>;

static Segment read_sorted(size_t number) {
    Segment segment(length);
    uint64_t state = number + 1;
    for (uint64_t& value : segment) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        value = state >> 16;
    }
    std::sort(segment.begin(), segment.end());
    return segment;
}

// A value that depends on the order of the merged numbers.
static uint64_t merge(const std::vector<Segment>& segments) {
    std::vector<size_t> at(segments.size());
    uint64_t mixed = 0;
    for (size_t n = 0; n < segments.size() * length; ++n) {
        size_t smallest = segments.size();
        uint64_t value = UINT64_MAX;
        for (size_t s = 0; s < segments.size(); ++s) {
            if (at[s] == length || segments[s][at[s]] >= value) continue;
            smallest = s;
            value = segments[s][at[s]];
        }
        ++at[smallest];
        mixed = mixed * 31 + value;
    }
    return mixed;
}

int main() {
    std::vector<Segment> segments;
    for (size_t number = 0; number < segment_count; ++number) {
        segments.push_back(std::async(std::launch::async, read_sorted, number).get());
    }
    std::printf("merged %llx\n", static_cast<unsigned long long>(merge(segments)));
}
