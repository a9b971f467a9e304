// SPDX-License-Identifier: Apache-2.0
// Cleaning of brain signals, ordered by channel, window and sample; a window of a channel is a
// page. Two steps alternate. A recursive filter runs along each channel: channels are divided among
// the threads. The common average is removed in each window: windows are divided, and a thread uses
// the same window of all channels. So a page belongs to one thread in one step and to another
// thread in the next, and a first touch by channels is right for half of the time only.
// label: signals = pages change users
// action: signals = divide | spread
#include <cstdio>
#include <cstdlib>

constexpr int kChannels = 64;
constexpr int kWindows = 64;
constexpr int kSamples = 512;
constexpr int kRounds = 10;

static double* window_of(double* signals, int channel, int window) {
    return signals + (static_cast<size_t>(channel) * kWindows + window) * kSamples;
}

static void record(double* signals) {
#pragma omp parallel for schedule(static)
    for (int channel = 0; channel < kChannels; channel++) {
        double* samples = window_of(signals, channel, 0);
        for (int s = 0; s < kWindows * kSamples; s++) {
            samples[s] = ((s * 37 + channel * 101) % 512) * 0.01 - 2.56;
        }
    }
}

static void filter_channels(double* signals) {
#pragma omp parallel for schedule(static)
    for (int channel = 0; channel < kChannels; channel++) {
        double* samples = window_of(signals, channel, 0);
        double state = samples[0];
        for (int s = 0; s < kWindows * kSamples; s++) {
            state = 0.98 * state + 0.02 * samples[s];
            samples[s] -= state;
        }
    }
}

static void remove_average(double* signals) {
#pragma omp parallel for schedule(static)
    for (int window = 0; window < kWindows; window++) {
        double average[kSamples] = {};
        for (int channel = 0; channel < kChannels; channel++) {
            const double* samples = window_of(signals, channel, window);
            for (int s = 0; s < kSamples; s++) average[s] += samples[s] / kChannels;
        }
        for (int channel = 0; channel < kChannels; channel++) {
            double* samples = window_of(signals, channel, window);
            for (int s = 0; s < kSamples; s++) samples[s] -= average[s];
        }
    }
}

int main() {
    size_t bytes = sizeof(double) * kChannels * kWindows * kSamples;
    double* signals = static_cast<double*>(std::aligned_alloc(4096, bytes));
    if (!signals) return 1;
    record(signals);
    for (int round = 0; round < kRounds; round++) {
        filter_channels(signals);
        remove_average(signals);
    }
    double power = 0;
#pragma omp parallel for schedule(static) reduction(+ : power)
    for (int channel = 0; channel < kChannels; channel++) {
        const double* samples = window_of(signals, channel, 0);
        for (int s = 0; s < kWindows * kSamples; s++) power += samples[s] * samples[s];
    }
    std::printf("power %.2f\n", power);
    std::free(signals);
}
