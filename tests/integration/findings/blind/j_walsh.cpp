// SPDX-License-Identifier: Apache-2.0
// label: signal = serial first touch
// Why: One thread draws the whole signal. All but the two widest of the 22 stages of each transform
// stay within the fixed quarter of a thread, so the pages could be local for nearly all of the
// work.
// action: signal = local | spread
// harm: signal = copy | parallelise the existing loop
// harm: run = balance
// A Walsh-Hadamard transform in place, a threshold for the noise, and the transform back.
//   usage: walsh [threads] [log2 of length] [rounds]
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

class Transform {
  public:
    Transform(std::vector<double>& signal, int threads)
        : signal_(signal), threads_(threads), meet_(threads) {}

    void run(int rounds) {
        std::vector<std::jthread> team;
        for (int me = 0; me < threads_; ++me)
            team.emplace_back([this, me, rounds] {
                for (int r = 0; r < rounds; ++r) {
                    stages(me);
                    denoise(me, 0.2);
                    stages(me);
                }
            });
    }

  private:
    void stages(int me) {
        for (size_t half = 1; half < signal_.size(); half *= 2) {
            butterflies(me, half);
            meet_.arrive_and_wait();
        }
    }

    // Pair k of a stage is an element of the lower half of a block, and the one at a distance of
    // half.
    void butterflies(int me, size_t half) {
        const size_t pairs = signal_.size() / 2;
        const size_t first = pairs * me / threads_, last = pairs * (me + 1) / threads_;
        double* const x = signal_.data();
        for (size_t k = first; k < last;) {
            const size_t block = k / half, from = k % half;
            size_t to = from + (last - k);
            if (to > half) to = half;
            double *const low = x + block * 2 * half, *const high = low + half;
            for (size_t i = from; i < to; ++i) {
                const double a = low[i], b = high[i];
                low[i] = a + b;
                high[i] = a - b;
            }
            k += to - from;
        }
    }

    // Soft threshold, and the scale that makes two transforms the identity.
    void denoise(int me, double factor) {
        const size_t n = signal_.size();
        const size_t first = n * me / threads_, last = n * (me + 1) / threads_;
        const double limit = factor * std::sqrt(double(n)), scale = 1.0 / double(n);
        for (size_t i = first; i < last; ++i) {
            const double size = std::fabs(signal_[i]) - limit;
            signal_[i] = size > 0 ? std::copysign(size, signal_[i]) * scale : 0.0;
        }
        meet_.arrive_and_wait();
    }

    std::vector<double>& signal_;
    const int threads_;
    std::barrier<> meet_;
};

static std::vector<double> record(size_t length) {
    std::mt19937 generator(7);
    std::vector<double> signal;
    signal.reserve(length);
    for (size_t i = 0; i < length; ++i) {
        const double noise = generator() / 4294967296.0 - 0.5;
        signal.push_back(((i >> 9) & 1 ? 1.0 : -1.0) + ((i >> 15) & 1 ? 0.5 : -0.5) + noise);
    }
    return signal;
}

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    const int bits = argc > 2 ? std::atoi(argv[2]) : 22;
    const int rounds = argc > 3 ? std::atoi(argv[3]) : 2;
    std::vector<double> signal = record(size_t(1) << bits);
    Transform transform(signal, threads);
    transform.run(rounds);
    double energy = 0;
    for (double s : signal) energy += s * s;
    std::printf("energy %.9f first %.9f\n", energy / double(signal.size()), signal.front());
}
