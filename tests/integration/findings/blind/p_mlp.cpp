// SPDX-License-Identifier: Apache-2.0
// Main fills the samples. Any thread may have any sample in each round.
// label: features = shared, read-mostly | serial first touch | pages change users
// called: features = data_.row
// action: features = divide | spread
// harm: features = local
// minor: weights_ = cache-resident | shared, written | shared, read-mostly
// minor: weights_ = true sharing of cache lines
// action: weights_ = none
// minor: gradient_ = cache-resident | serial first touch | page-level false sharing
// minor: gradient_ = shared, written
// called: gradient_ = grad
// action: gradient_ = local
// minor: loss_ = false sharing of cache lines
// action: loss_ = divide | pad
// minor: order_ = shared, read-mostly | cache-resident | serial first touch | producer and consumer
// action: order_ = none
// minor: data.label = cache-resident | shared, read-mostly
// action: data.label = none
// Two-layer perceptron, synchronous mini-batch SGD, C++20 barrier.
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

constexpr int kIn = 128, kHidden = 32, kClasses = 8;
constexpr int kSamples = 48000, kBatch = 480, kEpochs = 5;
constexpr size_t kW2 = size_t(kIn) * kHidden;
constexpr size_t kParams = kW2 + size_t(kHidden) * kClasses;

struct Dataset {
    std::vector<float> features;
    std::vector<uint8_t> label;

    explicit Dataset(std::mt19937& gen) : features(size_t(kSamples) * kIn), label(kSamples) {
        std::normal_distribution<float> noise(0.0f, 1.0f);
        std::vector<float> proto(kClasses * kIn);
        for (float& p : proto) p = noise(gen);
        for (int i = 0; i < kSamples; i++) {
            label[i] = uint8_t(gen() % kClasses);
            for (int k = 0; k < kIn; k++)
                features[size_t(i) * kIn + k] =
                    0.3f * proto[label[i] * kIn + k] + (float(gen() & 1023) / 512.0f - 1.0f);
        }
    }

    const float* row(int i) const { return &features[size_t(i) * kIn]; }
};

class Trainer {
  public:
    Trainer(const Dataset& data, int threads, std::mt19937& gen)
        : data_(data),
          threads_(threads),
          weights_(kParams),
          order_(kSamples),
          gen_(gen),
          sync_(threads) {
        std::normal_distribution<float> init(0.0f, 0.1f);
        for (float& w : weights_) w = init(gen);
        std::iota(order_.begin(), order_.end(), 0);
        gradient_.assign(threads, std::vector<float>(kParams));
        loss_.assign(threads, 0.0);
    }

    void train() {
        for (int e = 0; e < kEpochs; e++) {
            std::shuffle(order_.begin(), order_.end(), gen_);
            std::vector<std::thread> team;
            for (int t = 0; t < threads_; t++) team.emplace_back(&Trainer::epoch, this, t);
            for (auto& t : team) t.join();
        }
    }

    double checksum() const {
        double s = 0;
        for (float w : weights_) s += std::fabs(w);
        return s + std::accumulate(loss_.begin(), loss_.end(), 0.0) / kSamples;
    }

  private:
    void epoch(int t) {
        for (int b = 0; b < kSamples; b += kBatch) {
            std::fill(gradient_[t].begin(), gradient_[t].end(), 0.0f);
            for (int i = b + kBatch * t / threads_; i < b + kBatch * (t + 1) / threads_; i++)
                backprop(t, order_[i]);
            sync_.arrive_and_wait();
            for (size_t k = kParams * t / threads_; k < kParams * (t + 1) / threads_; k++) {
                float g = 0;
                for (int o = 0; o < threads_; o++) g += gradient_[o][k];
                weights_[k] -= 0.05f * g / kBatch;
            }
            sync_.arrive_and_wait();
        }
    }

    void backprop(int t, int i) {
        const float* x = data_.row(i);
        float* grad = gradient_[t].data();
        float h[kHidden], out[kClasses], delta[kHidden];
        for (int j = 0; j < kHidden; j++) h[j] = 0;
        for (int k = 0; k < kIn; k++)
            for (int j = 0; j < kHidden; j++) h[j] += x[k] * weights_[size_t(k) * kHidden + j];
        float sum = 0;
        for (int j = 0; j < kHidden; j++) h[j] = h[j] > 0 ? h[j] : 0;
        for (int c = 0; c < kClasses; c++) {
            float z = 0;
            for (int j = 0; j < kHidden; j++) z += h[j] * weights_[kW2 + size_t(c) * kHidden + j];
            out[c] = std::exp(z);
            sum += out[c];
        }
        loss_[t] -= std::log(out[data_.label[i]] / sum);
        for (int j = 0; j < kHidden; j++) delta[j] = 0;
        for (int c = 0; c < kClasses; c++) {
            float d = out[c] / sum - (c == data_.label[i] ? 1.0f : 0.0f);
            for (int j = 0; j < kHidden; j++) {
                delta[j] += d * weights_[kW2 + size_t(c) * kHidden + j];
                grad[kW2 + size_t(c) * kHidden + j] += d * h[j];
            }
        }
        for (int j = 0; j < kHidden; j++) delta[j] = h[j] > 0 ? delta[j] : 0;
        for (int k = 0; k < kIn; k++)
            for (int j = 0; j < kHidden; j++) grad[size_t(k) * kHidden + j] += x[k] * delta[j];
    }

    const Dataset& data_;
    int threads_;
    std::vector<float> weights_;
    std::vector<int> order_;
    std::mt19937& gen_;
    std::barrier<> sync_;
    std::vector<std::vector<float>> gradient_;
    std::vector<double> loss_;
};

int main(int argc, char** argv) {
    int threads = argc > 1 ? std::atoi(argv[1]) : 4;
    std::mt19937 gen(1);
    Dataset data(gen);
    Trainer trainer(data, threads, gen);
    trainer.train();
    std::printf("mlp: checksum %.6f\n", trainer.checksum());
}
