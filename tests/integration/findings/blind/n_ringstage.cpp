// SPDX-License-Identifier: Apache-2.0
// Main creates the rings. One stage writes the slots of a ring, and the next one reads them.
// label: slots = producer and consumer
// action: slots = local | none
// label: rings = false sharing of cache lines
// action: rings = pad
// label: state = partitioned
// action: state = none
// harm: state = spread
// Pipeline of stages connected by single producer / single consumer rings.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

static const size_t FRAME = 2048, SLOTS = 64, STATE = 32768;
static const size_t FRAMES = 20000;

struct Ring {
    std::atomic<size_t> head{0}, tail{0};
    std::vector<double> slots;
    Ring() : slots(FRAME * SLOTS) {}

    double* begin_write() {
        size_t h = head.load(std::memory_order_relaxed);
        while (h - tail.load(std::memory_order_acquire) == SLOTS) std::this_thread::yield();
        return &slots[h % SLOTS * FRAME];
    }
    void end_write() { head.fetch_add(1, std::memory_order_release); }
    double* begin_read() {
        size_t t = tail.load(std::memory_order_relaxed);
        while (head.load(std::memory_order_acquire) == t) std::this_thread::yield();
        return &slots[t % SLOTS * FRAME];
    }
    void end_read() { tail.fetch_add(1, std::memory_order_release); }
};

static double stage(int id, Ring* in, Ring* out) {
    std::vector<double> state(STATE, 0.5 * id);
    double acc = 0;
    uint64_t s = 12345;
    for (size_t f = 0; f < FRAMES; f++) {
        double* dst = out ? out->begin_write() : nullptr;
        double* st = &state[f * FRAME % STATE];
        if (!in) {
            for (size_t i = 0; i < FRAME; i++) {
                s = s * 6364136223846793005ULL + 1442695040888963407ULL;
                dst[i] = double(s >> 40) * 0x1p-24;
            }
        } else {
            const double* src = in->begin_read();
            if (dst)
                for (size_t i = 0; i < FRAME; i++) {
                    st[i] = 0.9 * st[i] + 0.1 * src[i];
                    dst[i] = src[i] - 0.5 * st[i];
                }
            else
                for (size_t i = 0; i < FRAME; i++) {
                    st[i] = 0.99 * st[i] + src[i] * src[i];
                    acc += st[i] * 1e-3;
                }
            in->end_read();
        }
        if (out) out->end_write();
    }
    return acc;
}

int main(int argc, char** argv) {
    int nt = 4;
    if (argc > 1)
        nt = std::atoi(argv[1]);
    else if (const char* e = std::getenv("OMP_NUM_THREADS"))
        nt = std::atoi(e);
    if (nt < 2) nt = 2;

    std::vector<std::unique_ptr<Ring>> rings;
    for (int i = 0; i + 1 < nt; i++) rings.push_back(std::make_unique<Ring>());
    double result = 0;
    std::vector<std::thread> pool;
    for (int i = 0; i < nt; i++)
        pool.emplace_back([&, i] {
            double r =
                stage(i, i ? rings[i - 1].get() : nullptr, i + 1 < nt ? rings[i].get() : nullptr);
            if (i + 1 == nt) result = r;
        });
    for (auto& t : pool) t.join();
    std::printf("stages %d result %.8f\n", nt, result);
    return 0;
}
