// SPDX-License-Identifier: Apache-2.0
// A tokeniser: threads split their quarter of a text at spaces and look the words up in a shared
// dictionary. std::thread (main is one of four); statistics that a monitor could read are atomic,
// one block per thread.
// label: text = serial first touch
// Why: main reads the whole text, and each thread then scans only its own quarter, eight times.
// action: text = local|parallelise the existing loop
// label: dict = shared, read-mostly
// Why: main fills the hash table before the threads start; then all threads look up random words in
// it.
// action: dict = copy|spread
// label: ids = serial first touch
// Why: the constructor of the vector zeroes it in main, and then each thread writes its own
// quarter.
// action: ids = local
// label: stats = false sharing of cache lines
// Why: the counters of four threads are packed in two lines, and each token changes them.
// action: stats = pad
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr std::uint32_t kWords = 50000;
constexpr std::uint32_t kSlots = 131072;
constexpr std::size_t kText = 4u << 20;
constexpr std::size_t kSample = kText / 8;
constexpr int kPasses = 8;

struct Slot {
    std::uint64_t hash;
    std::uint32_t id;
    std::uint32_t length;
};

struct Stats {
    std::atomic<std::uint64_t> tokens{0};
    std::atomic<std::uint64_t> unknown{0};
    std::atomic<std::uint64_t> letters{0};
};

std::array<Stats, kThreads> stats;

// A word of three to eight letters for each number, and no two alike.
std::string word(std::uint32_t number) {
    std::string letters;
    std::uint32_t rest = number + 26 * 26;
    while (rest > 0) {
        letters.push_back(static_cast<char>('a' + rest % 26));
        rest /= 26;
    }
    letters.append(number % 5, 'x');
    letters.push_back('q');
    return letters;
}

std::uint64_t extended(std::uint64_t hash, char letter) {
    return (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ull;
}

constexpr std::uint64_t kStart = 0xcbf29ce484222325ull;

std::vector<Slot> read_dictionary() {
    std::vector<Slot> dict(kSlots, Slot{0, 0, 0});
    for (std::uint32_t number = 0; number < kWords; number++) {
        std::uint64_t hash = kStart;
        const std::string letters = word(number);
        for (char letter : letters) hash = extended(hash, letter);
        std::uint32_t at = static_cast<std::uint32_t>(hash >> 20) % kSlots;
        while (dict[at].hash != 0) at = (at + 1) % kSlots;
        dict[at] = {hash, number + 1, static_cast<std::uint32_t>(letters.size())};
    }
    return dict;
}

std::uint32_t find(const Slot* dict, std::uint64_t hash) {
    for (std::uint32_t at = static_cast<std::uint32_t>(hash >> 20) % kSlots; dict[at].hash != 0;
         at = (at + 1) % kSlots) {
        if (dict[at].hash == hash) return dict[at].id;
    }
    return 0;
}

// A sample, several times one after the other.
std::string read_text() {
    std::string sample;
    std::uint32_t state = 5;
    while (sample.size() < kSample) {
        state = state * 1664525u + 1013904223u;
        std::uint32_t number = (state >> 8) % (kWords + kWords / 50);
        sample += number < kWords ? word(number) : std::string("zzz");
        sample += ' ';
    }
    sample.resize(kSample - 1);
    sample += ' ';
    std::string text;
    text.reserve(kText + 1);
    while (text.size() < kText) text += sample;
    return text;
}

void tokenise(const char* text, const Slot* dict, std::uint32_t* ids, int t) {
    Stats& mine = stats[t];
    std::size_t at = kText / kThreads * t, end = kText / kThreads * (t + 1);
    // A word belongs to the quarter in which it begins.
    while (at > 0 && text[at - 1] != ' ') at++;
    std::size_t out = kText / 4 / kThreads * t;
    while (at < end) {
        std::uint64_t hash = kStart;
        std::size_t start = at;
        for (; text[at] != ' '; at++) hash = extended(hash, text[at]);
        std::uint32_t id = find(dict, hash);
        ids[out++] = id;
        mine.tokens.fetch_add(1, std::memory_order_relaxed);
        mine.letters.fetch_add(at - start, std::memory_order_relaxed);
        if (id == 0) mine.unknown.fetch_add(1, std::memory_order_relaxed);
        at++;
    }
}

}  // namespace

int main() {
    const std::vector<Slot> dict = read_dictionary();
    const std::string text = read_text();
    std::vector<std::uint32_t> ids(kText / 4);
    auto work = [&](int t) {
        for (int pass = 0; pass < kPasses; pass++)
            tokenise(text.data(), dict.data(), ids.data(), t);
    };
    std::vector<std::thread> threads;
    for (int t = 1; t < kThreads; t++) threads.emplace_back(work, t);
    work(0);
    for (std::thread& thread : threads) thread.join();
    std::uint64_t tokens = 0, unknown = 0, letters = 0, spaces = 0;
    for (const Stats& one : stats) {
        tokens += one.tokens;
        unknown += one.unknown;
        letters += one.letters;
    }
    for (std::size_t i = 0; i < kSample; i++) spaces += 8u * (text[i] == ' ');
    std::printf("%llu tokens, %llu unknown\n", static_cast<unsigned long long>(tokens),
                static_cast<unsigned long long>(unknown));
    bool share = unknown > tokens / 80 && unknown < tokens / 30;
    return tokens == kPasses * spaces && letters == kPasses * (kText - spaces) && share ? 0 : 1;
}
