// SPDX-License-Identifier: Apache-2.0
// label: run = no NUMA problem
// Why: One thread reads a file into recycled blocks of 64 KB, which parsers read once; parsing
// costs far more than the memory. What the parsers keep, they allocate and fill themselves.
// action: run = none
// harm: empty.bytes = spread | copy | divide
// harm: run = balance
// A reader and several parsers: blocks of lines of a table go to whichever parser is free.
//   usage: csv_readers [lines] [parsers]
#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

struct Block {
    std::vector<char> bytes = std::vector<char>(65536);
    size_t used = 0;
};

class Channel {
  public:
    void put(std::unique_ptr<Block> block) {
        {
            std::lock_guard hold(lock_);
            blocks_.push(std::move(block));
        }
        ready_.notify_one();
    }
    std::unique_ptr<Block> take() {
        std::unique_lock hold(lock_);
        ready_.wait(hold, [this] { return !blocks_.empty(); });
        auto block = std::move(blocks_.front());
        blocks_.pop();
        return block;
    }

  private:
    std::mutex lock_;
    std::condition_variable ready_;
    std::queue<std::unique_ptr<Block>> blocks_;
};

struct Columns {
    std::vector<int> station;
    std::vector<double> temperature, rain;
};

static void parse(const Block& block, Columns& into) {
    const char *at = block.bytes.data(), *end = at + block.used;
    while (at < end) {
        int station = 0;
        double temperature = 0, rain = 0;
        at = std::from_chars(at, end, station).ptr + 1;
        at = std::from_chars(at, end, temperature).ptr + 1;
        at = std::from_chars(at, end, rain).ptr + 1;
        into.station.push_back(station);
        into.temperature.push_back(temperature);
        into.rain.push_back(rain);
    }
}

static FILE* make_table(int lines) {
    FILE* file = std::tmpfile();
    unsigned random = 99;
    for (int i = 0; file && i < lines; ++i) {
        random = random * 1664525u + 1013904223u;
        std::fprintf(file, "%u,%.2f,%.1f\n", random >> 22, 30.0 * (random >> 8 & 0xfff) / 4096,
                     (random & 0xff) / 10.0);
    }
    if (file) std::rewind(file);
    return file;
}

int main(int argc, char** argv) {
    const int lines = argc > 1 ? std::atoi(argv[1]) : 300000;
    const int count = argc > 2 ? std::atoi(argv[2]) : 3;
    FILE* file = make_table(lines);
    if (!file) return 1;
    Channel full, empty;
    for (int b = 0; b < 2 * count; ++b) empty.put(std::make_unique<Block>());
    std::vector<Columns> results(count);
    std::vector<std::thread> parsers;
    for (int t = 0; t < count; ++t)
        parsers.emplace_back([&, t] {
            Columns mine;
            while (auto block = full.take()) {
                parse(*block, mine);
                empty.put(std::move(block));
            }
            results[t] = std::move(mine);
        });
    std::string rest;
    for (;;) {
        auto block = empty.take();
        std::memcpy(block->bytes.data(), rest.data(), rest.size());
        const size_t got = std::fread(block->bytes.data() + rest.size(), 1,
                                      block->bytes.size() - rest.size(), file);
        const size_t filled = rest.size() + got;
        if (filled == 0) break;
        size_t cut = filled;
        while (cut > 0 && block->bytes[cut - 1] != '\n') --cut;
        rest.assign(block->bytes.data() + cut, filled - cut);
        block->used = cut;
        full.put(std::move(block));
    }
    for (int t = 0; t < count; ++t) full.put(nullptr);
    for (auto& thread : parsers) thread.join();
    std::fclose(file);
    size_t rows = 0;
    double sum = 0;
    for (const Columns& c : results) {
        rows += c.station.size();
        for (size_t i = 0; i < c.rain.size(); i += 500) sum += c.rain[i];
    }
    std::printf("%zu rows, %s\n", rows, sum > 0 ? "wet" : "dry");
}
