// SPDX-License-Identifier: Apache-2.0
// Runs short transactions of a database against the frames of a buffer pool, and logs them ahead of
// the writes. The pool and the log buffers of the workers are vectors of the main thread, whose
// constructors clear them. Each transaction latches a frame at random, reads half a row group and
// changes a few values. Each worker appends to its own log buffer, and computes a checksum of it
// before the end.
// label: frames = shared, written
// action: frames = spread
// harm: frames = local
// harm: frames = divide
// label: wal = serial first touch
// action: wal = local
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kValues = 500;
constexpr std::size_t kFrames = 4096;
constexpr std::size_t kTransactions = 262144;

struct alignas(4096) Frame {
    std::mutex latch;
    std::uint64_t version;
    std::uint64_t values[kValues];
};

struct LogRecord {
    std::uint64_t lsn, frame, slot, before, after, version, worker, check;
};

struct Worker {
    explicit Worker(std::size_t records) : wal(records) {}
    std::vector<LogRecord> wal;
    std::uint64_t checksum = 0;
};

void run(std::vector<Frame>& frames, Worker& self, std::uint64_t id) {
    std::uint64_t state = 0x9e3779b97f4a7c15u * (id + 1);
    const std::size_t records = self.wal.size();
    LogRecord* wal = self.wal.data();
    for (std::size_t n = 0; n < records; n++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const std::size_t number = state >> 52;
        const std::size_t slot = (state >> 40) % (kValues - 64);
        Frame& frame = frames[number];
        const std::lock_guard<std::mutex> hold(frame.latch);
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < 48; i++) total += frame.values[slot + i];
        const std::uint64_t before = frame.values[slot];
        for (std::size_t i = 0; i < 8; i++) frame.values[slot + 8 * i] += total % 7 + 1;
        frame.version++;
        wal[n] = {n, number, slot, before, total, frame.version, id, total ^ n};
    }
    std::uint64_t checksum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (std::size_t n = 0; n < records; n++) {
            const LogRecord& r = wal[n];
            checksum = checksum * 31 + (r.lsn ^ r.frame ^ r.slot ^ r.worker);
        }
    self.checksum = checksum;
}

}  // namespace

int main() {
    const char* setting = std::getenv("THREADS");
    const std::size_t threads = setting ? std::strtoul(setting, nullptr, 10) : 4;
    if (threads == 0) return 1;
    std::vector<Frame> frames(kFrames);
    std::vector<Worker> workers;
    for (std::size_t w = 0; w < threads; w++) workers.emplace_back(kTransactions / threads);
    std::vector<std::thread> pool;
    for (std::size_t w = 0; w < threads; w++)
        pool.emplace_back(run, std::ref(frames), std::ref(workers[w]), w);
    for (std::thread& thread : pool) thread.join();
    std::uint64_t checksum = 0, versions = 0;
    for (const Worker& worker : workers) checksum ^= worker.checksum;
    for (std::size_t f = 0; f < kFrames; f += 64) versions += frames[f].version;
    std::printf("checksum %llx, versions in the sample %llu\n",
                static_cast<unsigned long long>(checksum),
                static_cast<unsigned long long>(versions));
}
