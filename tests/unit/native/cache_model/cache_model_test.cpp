// SPDX-License-Identifier: Apache-2.0
#include "cache_model.h"

#include <sys/mman.h>

#include <algorithm>
#include <list>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace numascape {
namespace {

struct Line {
    uint64_t number;
    bool write;
};
using Traffic = std::vector<std::tuple<uint32_t, bool, bool>>;  // page, fetched, dirtied

// The simplest implementation of the cache that the header describes.
class Expected {
  public:
    explicit Expected(const CacheShape& shape)
        : shape_(shape), sets_(uint64_t{1} << shape.set_bits) {}

    void use(const Line& line, Traffic& traffic) {
        auto& set = sets_[line.number % sets_.size()];
        const auto at = std::find_if(set.begin(), set.end(),
                                     [&](const Line& one) { return one.number == line.number; });
        const bool found = at != set.end();
        const bool dirty = found && at->write;
        if (found) {
            set.erase(at);
        } else if (set.size() == shape_.ways) {
            set.pop_back();
        }
        set.push_front({line.number, line.write || dirty});
        if (!found || (line.write && !dirty)) {
            traffic.emplace_back(((line.number << shape_.line_bits) & kWindowMask) >> kPageShift,
                                 !found, line.write && !dirty);
        }
    }

  private:
    CacheShape shape_;
    std::vector<std::list<Line>> sets_;  // the last used first
};

// A model in memory like that in a recorded program.
class Modelled {
  public:
    Modelled(const CacheShape& shape, bool wide)
        : bytes_(CacheModel::bytes(shape)),
          memory_(
              mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
          model_(CacheModel::create(memory_, shape, wide)),
          waiting_(CacheModel::waiting_bytes(shape) / sizeof(WaitingLine)) {
        model_->publish_next(&next_);
    }
    ~Modelled() { munmap(memory_, bytes_); }
    Modelled(const Modelled&) = delete;
    Modelled& operator=(const Modelled&) = delete;

    // Without the filter.
    Traffic use(const std::vector<Line>& lines) {
        Traffic traffic;
        size_t waiting = 0;
        for (const Line& line : lines) {
            auto* next = static_cast<WaitingLine*>(const_cast<void*>(next_));
            *next = line.number | WaitingLine{line.write} << kWrittenBit;
            next_ = next + 1;
            if (++waiting == waiting_) {
                drain(traffic);
                waiting = 0;
            }
        }
        drain(traffic);
        return traffic;
    }

    // Whether the line was put into the queue, because the filter did not have it.
    bool touch(uint64_t line) {
        const void* before = next_;
        Traffic ignored;
        const bool full = model_->touch(line, false);
        const bool waited = full || next_ != before;
        if (full) {
            drain(ignored);
        }
        return waited;
    }

    // The lines of a thread that another one has taken, or that its next thread begins with.
    Traffic take() {
        Traffic traffic;
        drain(traffic, false);
        return traffic;
    }
    void begin_again() { model_->publish_next(&next_); }

    void drain(Traffic& traffic, bool own = true) {
        model_->drain(own, [&](const CacheModel::Traffic* each, uint32_t count) {
            for (const auto* end = each + count; each != end; ++each) {
                traffic.emplace_back(each->page(), each->has(CacheModel::kFetched),
                                     each->has(CacheModel::kDirtied));
            }
        });
    }

  private:
    size_t bytes_;
    void* memory_;
    CacheModel* model_;
    size_t waiting_;
    const void* next_ = nullptr;
};

// Random lines, walks with several strides, and repeated lines.
std::vector<Line> some_lines(const CacheShape& shape) {
    std::vector<Line> lines;
    uint64_t random = 88172645463325252;
    const uint64_t base = (uint64_t{0x7f1234} << 20 | 1) >> shape.line_bits;
    for (uint64_t i = 0; i < 20000; ++i) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const bool write = random % 5 == 0;
        lines.push_back({base + random / 8 % (2 * shape.lines()), write});
        lines.push_back({base + (i % 700) * 64, random % 16 == 0});
        lines.push_back({base + i, false});
    }
    return lines;
}

using Kind = std::tuple<uint32_t, bool>;  // ways, wide vectors

class Caches : public testing::TestWithParam<Kind> {
  protected:
    void SetUp() override {
        std::tie(shape_.ways, wide_) = GetParam();
        shape_.set_bits = 6;
        shape_.line_bits = 6;
        if (wide_ && !CacheModel::wide_vectors_here()) {
            GTEST_SKIP() << "no AVX2 here";
        }
    }
    CacheShape shape_;
    bool wide_ = false;
};

TEST_P(Caches, TheLeastRecentlyUsedLineLeaves) {
    const std::vector<Line> lines = some_lines(shape_);
    Expected expected(shape_);
    Traffic traffic;
    for (const Line& line : lines) {
        expected.use(line, traffic);
    }
    Modelled modelled(shape_, wide_);
    EXPECT_TRUE(modelled.use(lines) == traffic);
    EXPECT_GT(traffic.size(), 20000U);
}

TEST_P(Caches, ANextThreadBeginsWithoutTheLinesThatWereTaken) {
    constexpr uint64_t kLine = 0x7f1234007;
    shape_.set_bits = 12;  // a small cache takes each line at once
    Modelled modelled(shape_, wide_);
    for (uint64_t i = 0; i < 5; ++i) {
        modelled.touch(kLine + i);
    }
    EXPECT_EQ(modelled.take().size(), 5U);
    EXPECT_EQ(modelled.take().size(), 0U);
    modelled.begin_again();
    EXPECT_EQ(modelled.take().size(), 0U);
    modelled.touch(kLine + 9);
    EXPECT_EQ(modelled.take().size(), 1U);
}

// Lines of the same set as `line` that do not take its entry of the filter.
std::vector<uint64_t> others_of_set(const CacheShape& shape, uint64_t line, size_t count) {
    const uint32_t mask = CacheModel::filter_mask(shape);
    std::vector<uint64_t> others;
    for (uint64_t other = line; others.size() < count; other += uint64_t{1} << shape.set_bits) {
        if (CacheModel::filter_offset(other, mask) != CacheModel::filter_offset(line, mask)) {
            others.push_back(other);
        }
    }
    return others;
}

TEST_P(Caches, WhatLeavesTheCacheLeavesTheFilter) {
    constexpr uint64_t kLine = 0x7f1234007;  // any line in use
    Modelled modelled(shape_, wide_);
    Traffic ignored;
    EXPECT_TRUE(modelled.touch(kLine));
    EXPECT_FALSE(modelled.touch(kLine));
    const auto others = others_of_set(shape_, kLine, shape_.ways);
    for (const uint64_t other : others) {
        modelled.drain(ignored);
        EXPECT_FALSE(modelled.touch(kLine));
        modelled.touch(other);
    }
    modelled.drain(ignored);
    EXPECT_TRUE(modelled.touch(kLine));
}

INSTANTIATE_TEST_SUITE_P(OfAllSizes, Caches,
                         testing::Combine(testing::Values(1, 2, 4, 5, 8, 11, 16, 32, 64),
                                          testing::Bool()));

}  // namespace
}  // namespace numascape
