// SPDX-License-Identifier: Apache-2.0
#include "shared_lines.h"

#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace numascape {
namespace {

constexpr CacheShape kShape{8, 6, 6};
constexpr uint64_t kFirstLine = (uint64_t{0x7f1234} << 20) >> 6;

using Pair = std::pair<uint32_t, uint32_t>;  // from, to
struct Sums {
    uint64_t transfers = 0;
    uint64_t judged = 0;
    uint64_t shared = 0;
    bool operator==(const Sums&) const = default;
};
using SumsOfPairs = std::map<Pair, Sums>;

struct LineAccess {
    uint32_t thread;
    uint64_t line;
    ByteMask bytes;
    bool write;
};

// The threads of a program; their accesses come one after the other, as from the recorder's code.
class Threads {
  public:
    explicit Threads(uint32_t count) {
        lines_.open(kShape.line_bits);
        for (uint32_t thread = 0; thread < count; ++thread) {
            auto& one = threads_.emplace_back(std::make_unique<Thread>());
            lines_.begin_thread(thread, one->cache);
        }
    }
    ~Threads() { lines_.close(); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

    void access(const LineAccess& access) {
        CacheModel& cache = *threads_[access.thread]->cache;
        if (cache.in_filter(access.line, access.write)) {
            return;
        }
        const bool full = cache.touch(access.line, access.write);
        if (!lines_.may_use(SharedLines::user(access.thread), access.line, access.write)) {
            const SharedLines::Access one{access.bytes, 0, access.write};
            calls += 1;
            note(lines_.use(access.thread, access.line, &one, 1), access.thread);
        }
        if (full) {
            cache.drain(true, [](const CacheModel::Traffic*, uint32_t) {});
        }
    }

    SumsOfPairs found;
    uint64_t calls = 0;  // of use()

  private:
    struct Thread {
        Thread()
            : memory(mmap(nullptr, CacheModel::bytes(kShape), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
              cache(CacheModel::create(memory, kShape, false)) {
            cache->publish_next(&next);
        }
        ~Thread() { munmap(memory, CacheModel::bytes(kShape)); }
        Thread(const Thread&) = delete;
        Thread& operator=(const Thread&) = delete;

        void* memory;
        CacheModel* cache;
        const void* next = nullptr;
    };

    void note(const SharedLines::Noted& noted, uint32_t to) {
        if (noted.any) {
            const Transfer& transfer = noted.transfer;
            Sums& sums = found[{transfer.from, to}];
            sums.transfers += transfer.transfers;
            sums.judged += transfer.watched ? transfer.transfers : 0;
            sums.shared += transfer.shared;
        }
    }

    SharedLines lines_;
    std::vector<std::unique_ptr<Thread>> threads_;
};

// A transfer, as the header defines it, in the simplest form. `shared`: true sharing of these.
class ExpectedTransfers {
  public:
    void access(const LineAccess& access) {
        Line& line = lines_[access.line];
        User& user =
            line.users.try_emplace(access.thread, User{.foreign = line.bytes}).first->second;
        if (!user.has) {
            user.has = true;
            user.took = line.written && line.writer != access.thread;
            user.from = line.writer;
            user.shared = false;
            found[{user.from, access.thread}].transfers += user.took ? 1 : 0;
        }
        if (user.took && !user.shared && (access.bytes & user.foreign) != 0) {
            user.shared = true;
            found[{user.from, access.thread}].shared += 1;
        }
        if (access.write) {
            line.written = true;
            line.writer = access.thread;
            line.bytes |= access.bytes;
            for (auto& [thread, other] : line.users) {
                if (thread != access.thread) {
                    other.foreign = (other.has ? 0 : other.foreign) | access.bytes;
                    other.has = false;
                }
            }
        }
    }

    SumsOfPairs found;

  private:
    struct User {
        bool has = false;
        bool took = false;
        bool shared = false;
        uint32_t from = 0;
        ByteMask foreign = 0;
    };
    struct Line {
        bool written = false;
        uint32_t writer = 0;
        ByteMask bytes = 0;  // written by anyone
        std::map<uint32_t, User> users;
    };
    std::map<uint64_t, Line> lines_;
};

ByteMask word(unsigned number) {
    return ByteMask{0xff} << 8 * number;
}

TEST(SharedLines, RandomAccessesOfManyThreads) {
    constexpr uint32_t kThreads = 40;
    Threads threads(kThreads);
    ExpectedTransfers expected;
    std::mt19937_64 random(7);
    for (int i = 0; i < 200'000; ++i) {
        const LineAccess access{static_cast<uint32_t>(random() % kThreads),
                                kFirstLine + random() % 600 * (random() % 3), word(random() % 8),
                                random() % 4 == 0};
        threads.access(access);
        expected.access(access);
    }
    uint64_t transfers = 0;
    for (const auto& [pair, sums] : expected.found) {
        EXPECT_EQ(threads.found[pair].transfers, sums.transfers) << pair.first << pair.second;
        transfers += sums.transfers;
    }
    EXPECT_GT(transfers, 100'000u);
}

// Threads take a line in turn. Each touches its words at the start of its turn, and then the first
// of them again and again.
TEST(SharedLines, BytesInCommonAreSeenInEachTurn) {
    constexpr uint32_t kThreads = 12;
    constexpr int kTurns = 5000;
    Threads threads(kThreads);
    ExpectedTransfers expected;
    std::mt19937_64 random(8);
    for (int turn = 0; turn < kTurns; ++turn) {
        const auto thread = static_cast<uint32_t>(random() % kThreads);
        const unsigned first = random() % 8;
        for (unsigned i = 0; i < 40; ++i) {
            const unsigned at = i < 3 ? (first + i) % 8 : first;
            const LineAccess access{thread, kFirstLine, word(at), i == 1};
            threads.access(access);
            expected.access(access);
        }
    }
    Sums all_found;
    Sums all_expected;
    for (const auto& [pair, sums] : expected.found) {
        EXPECT_EQ(threads.found[pair].transfers, sums.transfers);
        all_expected.transfers += sums.transfers;
        all_expected.shared += sums.shared;
        all_found.judged += threads.found[pair].judged;
        all_found.shared += threads.found[pair].shared;
    }
    // The bytes are not known before the line is watched.
    EXPECT_GE(all_found.judged + 4, all_expected.transfers);
    EXPECT_LE(all_found.shared, all_expected.shared);
    EXPECT_GE(all_found.shared + kThreads, all_expected.shared);
}

// A thread sets a word, and others read it until it is set: nearly all of their accesses need no
// call, once it is known that they never touch another byte.
TEST(SharedLines, ThreadsThatWaitAreSeldomFollowed) {
    constexpr uint32_t kThreads = 16;
    constexpr int kTurns = 1000;
    Threads threads(kThreads);
    for (int turn = 0; turn < kTurns; ++turn) {
        threads.access({0, kFirstLine, word(0), true});
        for (int i = 0; i < 100; ++i) {
            for (uint32_t thread = 1; thread < kThreads; ++thread) {
                threads.access({thread, kFirstLine, word(0), false});
            }
        }
    }
    for (uint32_t thread = 1; thread < kThreads; ++thread) {
        const Sums& sums = threads.found[{0, thread}];
        EXPECT_EQ(sums.transfers, kTurns);
        EXPECT_EQ(sums.shared, sums.judged);
        EXPECT_GE(sums.judged, kTurns - 2);
    }
    EXPECT_LT(threads.calls, 5 * kTurns * kThreads);
}

// A byte that a thread touches late in each turn is found, however often it touched others before.
TEST(SharedLines, AByteThatIsTouchedLateIsSeen) {
    constexpr int kTurns = 1000;
    Threads threads(2);
    for (int turn = 0; turn < kTurns; ++turn) {
        threads.access({0, kFirstLine, word(0), true});
        threads.access({0, kFirstLine, word(7), true});
        for (int i = 0; i < 12; ++i) {
            threads.access({1, kFirstLine, word(1), true});
        }
        threads.access({1, kFirstLine, word(7), false});
    }
    const Sums& sums = threads.found[{0, 1}];
    EXPECT_EQ(sums.transfers, kTurns);
    EXPECT_EQ(sums.shared, sums.judged);
    EXPECT_GE(sums.judged, kTurns - 2);
}

}  // namespace
}  // namespace numascape
