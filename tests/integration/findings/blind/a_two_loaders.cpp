// SPDX-License-Identifier: Apache-2.0
// Two loader threads parse two "files" each into vectors that grow by push_back; when they are
// done, one worker per file goes over its records many times. A page is first touched by a loader,
// which then ends, and used by one worker. The files are of slightly different lengths.
// label: parts = remote first touch
// action: parts = local
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int FILES = 4;
constexpr int LENGTHS[FILES] = {60000, 64000, 58000, 62000};
constexpr int PASSES = 100;

struct Record {
    int64_t account;
    double amount, balance, fee;
};

using Part = std::vector<Record>;

void load(Part& part, int file) {
    uint64_t state = 77 + file;
    for (int i = 0; i < LENGTHS[file]; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        part.push_back({i, static_cast<double>(state >> 54), 1000, 0});
    }
}

void settle(Part& part) {
    for (int pass = 0; pass < PASSES; pass++) {
        double pool = 0;
        for (auto& record : part) {
            const double fee = 0.001 * record.amount + 0.0001 * pool;
            record.fee += fee;
            record.balance += record.amount - fee;
            pool = 0.9 * pool + fee;
        }
    }
}

}  // namespace

int main() {
    std::vector<Part> parts(FILES);
    std::vector<std::thread> loaders;
    for (int l = 0; l < FILES / 2; l++) {
        loaders.emplace_back([&parts, l] {
            load(parts[2 * l], 2 * l);
            load(parts[2 * l + 1], 2 * l + 1);
        });
    }
    for (auto& loader : loaders) loader.join();
    std::vector<std::thread> workers;
    for (auto& part : parts) workers.emplace_back([&part] { settle(part); });
    for (auto& worker : workers) worker.join();
    double balance = 0;
    for (const auto& part : parts) {
        for (const auto& record : part) balance += record.balance;
    }
    std::printf("balance %.3f\n", balance);
    return 0;
}
