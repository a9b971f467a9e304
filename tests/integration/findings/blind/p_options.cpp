// SPDX-License-Identifier: Apache-2.0
// Each task makes and prices its own paths. Nothing is wrong.
// label: run = no NUMA problem
// action: run = none
// minor: level_ = partitioned
// action: level_ = none
// harm: level_ = spread
// minor: mean_ = partitioned | cache-resident
// action: mean_ = none
// minor: low_ = partitioned | cache-resident
// action: low_ = none
// minor: value = cache-resident | partitioned
// action: value = none
// minor: book = cache-resident | shared, read-mostly
// action: book = none
// minor: market = cache-resident | shared, read-mostly
// action: market = none
// Monte Carlo pricing of a book of Asian and barrier options on a common
// set of simulated paths, one std::async task per batch.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

struct Option {
    double strike, barrier;
    bool asian;
};

struct Market {
    double spot = 100, rate = 0.02, vol[24];
    int months = 24;
};

class Normal {
  public:
    explicit Normal(uint64_t seed) : s_(seed * 0x9E3779B97F4A7C15ull | 1) {}

    double operator()() {
        if (have_) {
            have_ = false;
            return spare_;
        }
        double u = uniform(), v = 6.283185307179586 * uniform();
        double r = std::sqrt(-2 * std::log(u));
        spare_ = r * std::sin(v);
        have_ = true;
        return r * std::cos(v);
    }

  private:
    double uniform() {
        s_ ^= s_ << 13;
        s_ ^= s_ >> 7;
        s_ ^= s_ << 17;
        return (double(s_ >> 11) + 0.5) / 9007199254740992.0;
    }

    uint64_t s_;
    double spare_ = 0;
    bool have_ = false;
};

class PathSet {
  public:
    PathSet(size_t paths, int months)
        : n_(paths), months_(months), level_(paths * months), mean_(paths), low_(paths) {}

    void simulate(const Market& m, Normal& normal) {
        std::fill(mean_.begin(), mean_.end(), 0.0);
        std::fill(low_.begin(), low_.end(), m.spot);
        const double dt = 1.0 / 12;
        for (int t = 0; t < months_; t++) {
            double drift = (m.rate - 0.5 * m.vol[t] * m.vol[t]) * dt, sd = m.vol[t] * std::sqrt(dt);
            const double* prev = t ? &level_[size_t(t - 1) * n_] : nullptr;
            double* now = &level_[size_t(t) * n_];
            for (size_t i = 0; i < n_; i++) {
                now[i] = (prev ? prev[i] : m.spot) * std::exp(drift + sd * normal());
                mean_[i] += now[i];
                low_[i] = std::min(low_[i], now[i]);
            }
        }
        for (double& x : mean_) x /= months_;
    }

    double payoff(const Option& o) const {
        double sum = 0;
        if (o.asian) {
            for (size_t i = 0; i < n_; i++) sum += std::max(mean_[i] - o.strike, 0.0);
        } else {
            const double* last = &level_[size_t(months_ - 1) * n_];
            for (size_t i = 0; i < n_; i++)
                if (low_[i] > o.barrier) sum += std::max(last[i] - o.strike, 0.0);
        }
        return sum / double(n_);
    }

  private:
    size_t n_;
    int months_;
    std::vector<double> level_, mean_, low_;
};

static std::vector<double> price_batches(const Market& market, const std::vector<Option>& book,
                                         int first, int count) {
    std::vector<double> value(book.size());
    PathSet paths(10000, market.months);
    for (int b = first; b < first + count; b++) {
        Normal normal(b + 1);
        paths.simulate(market, normal);
        for (size_t k = 0; k < book.size(); k++) value[k] += paths.payoff(book[k]);
    }
    return value;
}

int main(int argc, char** argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    const int batches = 96;

    Market market;
    for (int t = 0; t < market.months; t++) market.vol[t] = 0.2 + 0.05 * std::sin(t * 0.5);
    std::vector<Option> book;
    for (int k = 0; k < 120; k++) book.push_back({80.0 + k * 0.4, 60.0 + k * 0.1, k % 3 != 0});

    std::vector<std::future<std::vector<double>>> parts;
    for (int t = 0; t < threads; t++) {
        int first = batches * t / threads, last = batches * (t + 1) / threads;
        parts.push_back(std::async(std::launch::async, price_batches, std::cref(market),
                                   std::cref(book), first, last - first));
    }

    std::vector<double> value(book.size());
    for (auto& p : parts) {
        auto v = p.get();
        for (size_t k = 0; k < v.size(); k++) value[k] += v[k];
    }
    double discount = std::exp(-market.rate * market.months / 12.0), sum = 0;
    for (double v : value) sum += v * discount / batches;
    std::printf("options: book value %.8f\n", sum);
}
