// SPDX-License-Identifier: Apache-2.0
// Every algorithm has the result of the standard algorithm over an array, for any segmentations.
#include "numascape/algorithm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "numascape/numa_vector.hpp"
#include "numascape/segmented_vector.hpp"
#include "numascape/sort.hpp"

using namespace numascape;

namespace {

constexpr auto scattered = [](std::size_t i) { return static_cast<int>(i * 7919 % 1009); };
const std::vector<std::size_t> sizes{0, 1, 2, 7, 64, 257, 2000};

template <class V>
void expect_equal(const V& v, const std::vector<int>& expected) {
    ASSERT_EQ(std::vector<int>(v.begin(), v.end()), expected);
}

std::vector<int> flat(std::size_t n) {
    std::vector<int> result(n);
    for (std::size_t i = 0; i < n; ++i) result[i] = scattered(i);
    return result;
}

TEST(Serial, AlgorithmsGiveWhatTheStandardsGive) {
    for (const std::size_t n : sizes) {
        std::vector<int> a = flat(n);
        std::vector<int> b(n);
        segmented_vector<int> v{layout{block{3}}, n, from_index{scattered}};
        segmented_vector<int, layout<block_cyclic<32>>> w{layout{block_cyclic<32>{}}, n};
        const numa_vector<int> u{layout{block{2}}, n, from_index{scattered}};

        EXPECT_EQ(numascape::copy(v, w.begin()), w.end());
        expect_equal(w, a);
        EXPECT_EQ(transform(v, w.begin(), std::negate<>{}), w.end());
        std::transform(a.begin(), a.end(), b.begin(), std::negate<>{});
        expect_equal(w, b);
        EXPECT_EQ(transform(v, u.begin(), w.begin(), std::plus<>{}), w.end());
        EXPECT_EQ(transform(u, v.begin(), b.begin(), std::plus<>{}), b.end());
        expect_equal(w, b);
        EXPECT_EQ(inclusive_scan(v, w.begin(), std::plus<>{}, 5), w.end());
        std::inclusive_scan(a.begin(), a.end(), b.begin(), std::plus<>{}, 5);
        expect_equal(w, b);
        EXPECT_EQ(reduce(v, 1, std::plus<>{}), std::accumulate(a.begin(), a.end(), 1));
        EXPECT_EQ(reduce(v), std::reduce(a.begin(), a.end()));
        EXPECT_EQ(reduce(v.begin(), v.end()), std::reduce(a.begin(), a.end()));
        EXPECT_EQ(reduce(v, 2LL), std::reduce(a.begin(), a.end(), 2LL));
        EXPECT_EQ(reduce(v.begin(), v.end(), 2LL), std::reduce(a.begin(), a.end(), 2LL));
        EXPECT_EQ(transform_reduce(v, w.begin(), 0LL),
                  std::inner_product(a.begin(), a.end(), b.begin(), 0LL));
        EXPECT_EQ(transform_reduce(v, 0, std::plus<>{}, [](int x) { return x % 2; }),
                  std::count_if(a.begin(), a.end(), [](int x) { return x % 2; }));
        const auto max = [](int x, int y) { return std::max(x, y); };
        EXPECT_EQ(reduce(v, -1, max), std::accumulate(a.begin(), a.end(), -1, max));
        for_each(v, [](int& x) { x *= 2; });
        std::for_each(a.begin(), a.end(), [](int& x) { x *= 2; });
        expect_equal(v, a);
        int next = 0;
        generate(v, [&] { return next++; });
        std::iota(a.begin(), a.end(), 0);
        expect_equal(v, a);
        fill(v, 9);
        expect_equal(v, std::vector<int>(n, 9));
    }
}

TEST(Serial, AlgorithmsTakePartsOfRanges) {
    segmented_vector<int> v{layout{block{7}}, 50, from_index{scattered}};
    const std::vector<int> a = flat(50);
    for (std::ptrdiff_t first = 0; first <= 50; ++first)
        for (std::ptrdiff_t last = first; last <= 50; ++last)
            ASSERT_EQ(reduce(v.begin() + first, v.begin() + last, 0, std::plus<>{}),
                      std::accumulate(a.begin() + first, a.begin() + last, 0));
    std::vector<int> out(20);
    EXPECT_EQ(numascape::copy(v.begin() + 5, v.begin() + 25, out.begin()), out.end());
    EXPECT_TRUE(std::equal(out.begin(), out.end(), a.begin() + 5));
    const std::list<int> list(10, 3);
    EXPECT_EQ(numascape::copy(std::vector<int>(10, 3), v.begin() + 3), v.begin() + 13);
    EXPECT_EQ(std::count(v.begin() + 3, v.begin() + 13, 3), 10);
}

TEST(Serial, ReducesFloatingPointInLanesExactlyForIntegers) {
    for (const std::size_t n : {1UL, 31UL, 63UL, 64UL, 65UL, 200UL, 10'001UL}) {
        const segmented_vector<double> v{
            layout{block{2}}, n, from_index{[](std::size_t i) { return static_cast<double>(i); }}};
        EXPECT_EQ(reduce(v, 0.0, std::plus<>{}), static_cast<double>(n * (n - 1) / 2));
    }
    const segmented_vector<char> bytes{layout{block{2}}, 10'000, 'x'};
    EXPECT_EQ(reduce(bytes, 0L, std::plus<>{}), 10'000L * 'x');
}

TEST(Parallel, AlgorithmsGiveWhatTheStandardsGive) {
    node_threads workers;
    for (const std::size_t n : sizes) {
        const std::vector<int> a = flat(n);
        std::vector<int> b(n);
        segmented_vector<int> v{workers, layout{block{5}}, n, from_index{scattered}};
        segmented_vector<int, layout<block_cyclic<32>>> w{workers, layout{block_cyclic<32>{}}, n};
        numa_vector<int> u{workers, layout{block{2}}, n};

        copy(workers, v, w);
        expect_equal(w, a);
        copy(workers, a, u);
        expect_equal(u, a);
        transform(workers, v, w, std::negate<>{});
        std::transform(a.begin(), a.end(), b.begin(), std::negate<>{});
        expect_equal(w, b);
        transform(workers, v, a, u, std::plus<>{});
        std::transform(a.begin(), a.end(), a.begin(), b.begin(), std::plus<>{});
        expect_equal(u, b);
        inclusive_scan(workers, v, w, std::plus<>{}, 5);
        std::inclusive_scan(a.begin(), a.end(), b.begin(), std::plus<>{}, 5);
        expect_equal(w, b);
        inclusive_scan(workers, w, w, std::bit_xor<>{}, 0);  // in place
        std::inclusive_scan(b.begin(), b.end(), b.begin(), std::bit_xor<>{}, 0);
        expect_equal(w, b);
        EXPECT_EQ(reduce(workers, v, 1, std::plus<>{}), std::accumulate(a.begin(), a.end(), 1));
        EXPECT_EQ(transform_reduce(workers, v, a, 3LL),
                  std::inner_product(a.begin(), a.end(), a.begin(), 3LL));
        for_each(workers, v, [](int& x) { x += 1; });
        fill(workers, w, 2);
        expect_equal(w, std::vector<int>(n, 2));
        generate(workers, u, [] { return 4; });
        expect_equal(u, std::vector<int>(n, 4));
        EXPECT_EQ(reduce(workers, v, 0, std::plus<>{}),
                  std::accumulate(a.begin(), a.end(), static_cast<int>(n)));
    }
}

TEST(Parallel, CombinesInOrder) {
    node_threads workers;
    segmented_vector<std::string> words{
        workers, layout{block{6}}, 26,
        from_index{[](std::size_t i) { return std::string(1, static_cast<char>('a' + i)); }}};
    EXPECT_EQ(reduce(workers, words, std::string{">"}, std::plus<>{}),
              ">abcdefghijklmnopqrstuvwxyz");
    inclusive_scan(workers, words, words, std::plus<>{}, std::string{});
    EXPECT_EQ(words.back(), "abcdefghijklmnopqrstuvwxyz");
}

TEST(Serial, RunningSumsNeedNeitherInitNorOperation) {
    for (const std::size_t n : sizes) {
        const std::vector<int> a = flat(n);
        std::vector<int> b(n);
        const segmented_vector<int> v{layout{block{3}}, n, from_index{scattered}};
        segmented_vector<int, layout<block_cyclic<32>>> w{layout{block_cyclic<32>{}}, n};
        std::inclusive_scan(a.begin(), a.end(), b.begin());
        EXPECT_EQ(inclusive_scan(v, w.begin()), w.end());
        expect_equal(w, b);
        fill(w, 0);
        EXPECT_EQ(inclusive_scan(v.begin(), v.end(), w.begin()), w.end());
        expect_equal(w, b);
        // Its first element is copied: no value comes before it.
        std::inclusive_scan(a.begin(), a.end(), b.begin(), std::multiplies<>{});
        EXPECT_EQ(inclusive_scan(v, w.begin(), std::multiplies<>{}), w.end());
        expect_equal(w, b);
    }
}

TEST(Parallel, AlgorithmsReturnTheEndOfTheOutput) {
    node_threads threads;
    const in_grains workers{threads, 1};
    for (const std::size_t n : sizes) {
        const std::vector<int> a = flat(n);
        std::vector<int> b(n);
        segmented_vector<int> v{layout{block{3}}, n, from_index{scattered}};
        segmented_vector<int, layout<block_cyclic<32>>> w{layout{block_cyclic<32>{}}, n};
        std::inclusive_scan(a.begin(), a.end(), b.begin());
        EXPECT_EQ(inclusive_scan(workers, v, w), w.end());
        expect_equal(w, b);
        std::inclusive_scan(a.begin(), a.end(), b.begin(), std::multiplies<>{});
        EXPECT_EQ(inclusive_scan(workers, v, w, std::multiplies<>{}), w.end());
        expect_equal(w, b);
        EXPECT_EQ(inclusive_scan(workers, v, w, std::plus<>{}, 1), w.end());
        EXPECT_EQ(exclusive_scan(workers, v, w, 1), w.end());
        EXPECT_EQ(adjacent_difference(workers, v, w), w.end());
        EXPECT_EQ(numascape::copy(workers, v, w), w.end());
        EXPECT_EQ(transform(workers, v, w, std::negate<>{}), w.end());
        EXPECT_EQ(transform(workers, v, a, w, std::plus<>{}), w.end());
        EXPECT_EQ(for_each_n(workers, v, n / 2, [](int&) {}),
                  v.begin() + static_cast<std::ptrdiff_t>(n / 2));
        EXPECT_EQ(reduce(workers, v), std::reduce(a.begin(), a.end()));
        EXPECT_EQ(reduce(workers, v, 2LL), std::reduce(a.begin(), a.end(), 2LL));
    }
}

TEST(Both, PredicatesHoldForAnyAllOrNone) {
    node_threads workers;
    for (const std::size_t n : sizes) {
        const std::vector<int> a = flat(n);
        segmented_vector<int> v{layout{block{3}}, n, from_index{scattered}};
        for (const int limit : {-1, 0, 500, 2000}) {
            const auto below = [=](int x) { return x < limit; };
            const bool any = std::any_of(a.begin(), a.end(), below);
            const bool all = std::all_of(a.begin(), a.end(), below);
            EXPECT_EQ(any_of(v, below), any);
            EXPECT_EQ(any_of(v.begin(), v.end(), below), any);
            EXPECT_EQ(any_of(workers, v, below), any);
            EXPECT_EQ(all_of(v, below), all);
            EXPECT_EQ(all_of(v.begin(), v.end(), below), all);
            EXPECT_EQ(all_of(workers, v, below), all);
            EXPECT_EQ(none_of(v, below), !any);
            EXPECT_EQ(none_of(v.begin(), v.end(), below), !any);
            EXPECT_EQ(none_of(workers, v, below), !any);
        }
    }
}

TEST(Parallel, RefusesRangesOfOtherSizes) {
    segmented_vector<int> v{layout{block{2}}, 10};
    const std::vector<int> other(sizes.size() + 4);  // the compiler does not know this value
    EXPECT_THROW(numascape::copy(serial_executor{}, other, v), std::invalid_argument);
    EXPECT_THROW(transform_reduce(serial_executor{}, v, other, 0), std::invalid_argument);
}

TEST(Parallel, ThrowsTheFirstSegmentsException) {
    node_threads workers;
    segmented_vector<int> v{workers, layout{block{8}}, 800, from_index{scattered}};
    for (int round = 0; round < 20; ++round) {
        try {
            for_each(workers, v, [&](const int& x) {
                const auto k = static_cast<std::size_t>(&x - v.segments()[0].data()) / 1024;
                if (k >= 3) throw std::runtime_error{std::to_string(k)};
            });
            FAIL();
        } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), "3");
        }
    }
}

TEST(Sort, OrdersAnySegments) {
    node_threads workers;
    for (const std::size_t n : sizes) {
        std::vector<int> sorted = flat(n);
        std::sort(sorted.begin(), sorted.end());
        for (const std::size_t count : {1, 2, 7, 64, 65, 300}) {
            segmented_vector<int> v{layout{block{count}}, n, from_index{scattered}};
            sort(workers, v);
            expect_equal(v, sorted);
            sort(v, std::greater<>{});
            ASSERT_TRUE(std::is_sorted(v.begin(), v.end(), std::greater<>{}));
        }
        numa_vector<int> u{layout{block{3}}, n, from_index{scattered}};
        sort(workers, u);
        expect_equal(u, sorted);
    }
    segmented_vector<int> equal{layout{block{5}}, 100, 1};
    sort(workers, equal);
    expect_equal(equal, std::vector<int>(100, 1));
    segmented_vector<int> part{layout{block{5}}, 100, from_index{scattered}};
    sort(part.begin() + 10, part.end() - 10);
    EXPECT_TRUE(std::is_sorted(part.begin() + 10, part.end() - 10));
    EXPECT_EQ(part[9], scattered(9));
    EXPECT_EQ(part[90], scattered(90));
}

TEST(Sort, LosesNoMoreThanTheStandardsWhenComparingThrows) {
    using Pointer = std::unique_ptr<int>;
    node_threads workers;
    const auto make = from_index{[](std::size_t i) { return std::make_unique<int>(scattered(i)); }};
    segmented_vector<Pointer> v{workers, layout{block{6}}, 500, make};
    std::atomic<int> compared = 0;
    int fatal = 0;
    const auto less = [&](const Pointer& a, const Pointer& b) {
        if (++compared == fatal) throw std::runtime_error{"comparison"};
        return *a < *b;
    };
    sort(workers, v, less);
    EXPECT_TRUE(std::is_sorted(v.begin(), v.end(),
                               [](const Pointer& a, const Pointer& b) { return *a < *b; }));
    const int comparisons = compared;
    ASSERT_GT(comparisons, 1000);
    std::vector<int> sorted = flat(500);
    std::sort(sorted.begin(), sorted.end());
    int thrown = 0;
    for (fatal = 1; fatal < comparisons; fatal += 97) {
        segmented_vector<Pointer> w{layout{block{6}}, 500, make};
        compared = 0;
        try {
            sort(workers, w, less);
        } catch (const std::runtime_error&) {
            ++thrown;
        }
        std::vector<int> left;
        for (const Pointer& p : w)
            if (p != nullptr) left.push_back(*p);
        std::sort(left.begin(), left.end());
        ASSERT_TRUE(std::includes(sorted.begin(), sorted.end(), left.begin(), left.end()));
        ASSERT_GE(left.size(), 499U);  // std::sort has one element in a variable
    }
    EXPECT_GT(thrown, 10);
}

}  // namespace
