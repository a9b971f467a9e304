// SPDX-License-Identifier: Apache-2.0
// The memory of a small container that was destroyed is used again only for pages with the same
// nodes, and holds nothing that another container or process can see.
#include "numascape/range_cache.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <fstream>
#include <thread>
#include <vector>

#include "numascape/numa_vector.hpp"
#include "numascape/segmented_vector.hpp"

using namespace numascape;

namespace {

template <class V>
std::vector<const double*> segments_of(const V& v) {
    std::vector<const double*> starts;
    for (const auto segment : v.segments()) starts.push_back(segment.data());
    return starts;
}

// The addresses of the segments of two vectors that exist one after the other.
template <class First, class Second>
auto addresses(First first, Second second) {
    std::vector<const double*> before;
    {
        const auto v = first();
        before = segments_of(v);
    }
    const auto v = second();
    EXPECT_TRUE(v.verify().ok());
    return std::pair{before, segments_of(v)};
}

TEST(RangeCache, GivesMemoryToTheNextVectorOfTheSameNodes) {
    const auto where = layout{block{3}}.on({0});
    const auto make = [&] { return segmented_vector<double>{where, 1000, 2.0}; };
    const auto [before, after] = addresses(make, make);
    EXPECT_EQ(before, after);
    const auto contiguous = [&] { return numa_vector<double>{where, 5000, 2.0}; };
    const auto [one, other] = addresses(contiguous, contiguous);
    EXPECT_EQ(one, other);
}

TEST(RangeCache, GivesNothingToAnotherPlacement) {
    const auto where = layout{block{5}}.on({0});
    const auto make = [](auto placement, std::size_t n) {
        return [=] { return segmented_vector<double>{placement, n, 2.0}; };
    };
    const auto strict = where.when_node_is_full(when_full::fail);
    for (const auto& other :
         {where.first_touched(), where.padded(4096), strict, where.pages(page_size::kib64)}) {
        const auto [before, after] = addresses(make(where, 100), make(other, 100));
        EXPECT_NE(before, after);
    }
    const auto [small, large] = addresses(make(where, 100), make(where, 3000));
    EXPECT_NE(small, large);
}

TEST(RangeCache, KeepsOnlyWhatThePolicyPlaced) {
    const std::size_t n = 13 * 512;
    const auto where = layout{block{1}}.on({0});
    const detail::page_nodes nodes{where.extents(n, 8, 8, system::page_bytes()),
                                   system::page_bytes()};
    ASSERT_EQ(nodes.pages(), 13U);
    detail::range_cache& cache = detail::range_cache::of_process();
    while (cache.take(nodes, 8).size() > 0) continue;  // what other tests left
    {
        const segmented_vector<double> touched{where.first_touched(), n};
    }
    {
        const segmented_vector<double> strict{where.when_node_is_full(when_full::fail), n};
    }
    EXPECT_EQ(cache.take(nodes, 8).size(), 0U);
    {
        const segmented_vector<double> bound{where, n};
    }
    EXPECT_EQ(cache.take(nodes, 8).size(), n * 8);
    EXPECT_EQ(cache.take(nodes, 8).size(), 0U);
}

TEST(RangeCache, InitialisesElementsAgain) {
    for (int round = 0; round < 3; ++round) {
        segmented_vector<double> v{layout{}, 100};
        EXPECT_EQ(std::count(v.begin(), v.end(), 0.0), 100);
        std::fill(v.begin(), v.end(), 7.0);
    }
}

TEST(RangeCache, LeavesPagesUntouchedWithoutInitialisation) {
    {
        const segmented_vector<double> used{layout{}, 100, 1.0};
    }
    const segmented_vector<double> untouched{layout{}, 100, default_init};
    EXPECT_EQ(untouched.verify().absent(), untouched.verify().pages().size());
    struct Seven {
        double value = 7;
    };
    {
        const segmented_vector<double> used{layout{}, 100, 1.0};
    }
    const segmented_vector<Seven> sevens{layout{}, 100, default_init};
    for (const Seven& seven : sevens) EXPECT_EQ(seven.value, 7);
}

TEST(RangeCache, AlignsWhatItGives) {
    struct alignas(16384) Wide {
        char byte = 1;
    };
    {
        const std::vector<segmented_vector<double>> narrow(9, {layout{}.on({0}), 2048, 1.0});
    }
    const std::vector<segmented_vector<Wide>> wide(9, {layout{}.on({0}), 1, Wide{}});
    for (const auto& v : wide)
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&v[0]) % alignof(Wide), 0U);
}

std::size_t pages_of_this_process() {
    std::size_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages;
    return pages;
}

TEST(RangeCache, KeepsLittle) {
    constexpr std::size_t vectors = 500;
    constexpr std::size_t pages = detail::page_nodes::max_pages;
    const std::size_t before = pages_of_this_process();
    {
        std::vector<segmented_vector<double>> all;
        for (std::size_t i = 0; i < vectors; ++i)
            all.emplace_back(layout{block{1}}.on({0}), pages * 512, 1.0);
        // Some may be in memory that was kept before.
        EXPECT_GE(pages_of_this_process(),
                  before + vectors * pages - detail::range_cache::max_pages);
    }
    EXPECT_LT(pages_of_this_process(), before + vectors * pages / 2);
}

TEST(RangeCache, GivesARangeToOneThread) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int id = 1; id <= 4; ++id)
        threads.emplace_back([id, &wrong] {
            for (int round = 0; round < 300; ++round) {
                const segmented_vector<int> v{layout{}, 100, id};
                if (std::count(v.begin(), v.end(), id) != 100) ++wrong;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST(RangeCache, GivesUpALockThatNobodyReturns) {
    std::atomic_flag busy;
    {
        const detail::brief_lock first{busy};
        EXPECT_TRUE(first);
        EXPECT_FALSE(detail::brief_lock{busy});
    }
    EXPECT_TRUE(detail::brief_lock{busy});
}

// Whether a vector of 100 elements with this value, made now, keeps it.
bool holds(double value) {
    segmented_vector<double> v{layout{block{1}}.on({0}), 100, value};
    return std::count(v.begin(), v.end(), value) == 100;
}

TEST(RangeCache, HasCopiesInAChildProcess) {
    EXPECT_TRUE(holds(1));
    const pid_t child = fork();
    if (child == 0) _exit(holds(2) && holds(3) ? 0 : 1);
    EXPECT_TRUE(holds(4));
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(holds(5));
}

#if __has_feature(address_sanitizer)
TEST(RangeCacheDeathTest, ReportsAUseOfADestroyedVector) {
    double* element = nullptr;
    {
        segmented_vector<double> v{layout{}, 100, 1.0};
        element = &v[50];
    }
    EXPECT_DEATH(*element = 2, "AddressSanitizer: use-after-poison");
    const segmented_vector<double> again{layout{}, 100, 3.0};
    EXPECT_EQ(again[50], 3);
}
#endif

}  // namespace
