// SPDX-License-Identifier: Apache-2.0
// For random sizes, segments, parts and executors, an algorithm changes a placed range as the
// standard one changes an array.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>
#include <ranges>
#include <span>
#include <stdexcept>
#include <vector>

#include "numascape/any_distribution.hpp"
#include "numascape/numa_vector.hpp"
#include "numascape/parallel_algorithm.hpp"
#include "numascape/segmented_vector.hpp"
#include "numascape/sort.hpp"

using namespace numascape;

namespace {

constexpr auto is_odd = [](int x) { return x % 2 != 0; };
constexpr int cases = 25;

class Random {
  public:
    explicit Random(unsigned seed) : engine_{seed} {}
    std::size_t below(std::size_t end) { return engine_() % end; }

    layout<any_distribution> placement() {
        switch (below(3)) {
            case 0:
                return layout{any_distribution{block{1 + below(9), 1 + below(3)}}};
            case 1:
                return layout{any_distribution{block_cyclic{1 + below(400)}}};
            default:
                return layout{any_distribution{weighted{3, 0, static_cast<unsigned>(below(4))}}};
        }
    }
    std::vector<int> values(std::size_t n) {
        const std::size_t kinds = 1 + below(2 * n + 1);
        std::vector<int> result(n);
        for (int& x : result) x = static_cast<int>(below(kinds));
        return result;
    }

  private:
    std::mt19937 engine_;
};

// One type for all executors, so that the algorithms are compiled once.
struct Executor {
    std::function<void(std::span<const int>, const std::function<void(std::size_t)>&)> tasks;
    std::size_t workers;
    std::size_t elements;

    void bulk(std::span<const int> nodes, const std::function<void(std::size_t)>& f) const {
        tasks(nodes, f);
    }
    std::size_t workers_on(int /*node*/) const { return workers; }
    std::size_t grain() const { return elements; }
};

// Compares with the standard algorithms over `a`; `v` has the same elements.
template <class V>
void expect_searches(const Executor& executor, V&& v, const std::vector<int>& a, Random& random) {
    const auto at = [&](auto it) { return it - std::ranges::begin(v); };
    const auto in = [&](auto it) { return it - a.begin(); };
    const int value = static_cast<int>(random.below(a.size() + 1));
    EXPECT_EQ(at(find(executor, v, value)), in(std::find(a.begin(), a.end(), value)));
    EXPECT_EQ(at(find_if(executor, v, is_odd)), in(std::find_if(a.begin(), a.end(), is_odd)));
    EXPECT_EQ(count(executor, v, value), std::count(a.begin(), a.end(), value));
    EXPECT_EQ(count_if(executor, v, is_odd), std::count_if(a.begin(), a.end(), is_odd));
    EXPECT_EQ(at(min_element(executor, v)), in(std::min_element(a.begin(), a.end())));
    EXPECT_EQ(at(max_element(executor, v)), in(std::max_element(a.begin(), a.end())));
    const auto [low, high] = minmax_element(executor, v);
    const auto [least, most] = std::minmax_element(a.begin(), a.end());
    EXPECT_EQ(at(low), in(least));
    EXPECT_EQ(at(high), in(most));
    EXPECT_TRUE(equal(executor, v, a));
    std::vector<int> other = a;
    other.push_back(0);
    EXPECT_FALSE(equal(executor, v, other));
    if (!a.empty()) {
        ++other[random.below(a.size())];
        const auto differs = std::mismatch(a.begin(), a.end(), other.begin());
        EXPECT_EQ(at(mismatch(executor, v, other).first), in(differs.first));
        EXPECT_FALSE(equal(executor, v, other));
    }
}

template <class V>
void expect_numbers(const Executor& executor, V&& v, std::vector<int> a) {
    std::vector<int> expected(a.size());
    const auto is = [&] { return std::ranges::equal(v, expected); };
    EXPECT_EQ(reduce(executor, v, 3, std::plus<>{}), std::accumulate(a.begin(), a.end(), 3));
    EXPECT_EQ(inner_product(executor, v, a, 1LL),
              std::inner_product(a.begin(), a.end(), a.begin(), 1LL));
    std::exclusive_scan(a.begin(), a.end(), expected.begin(), 7);
    exclusive_scan(executor, a, v, 7);
    EXPECT_TRUE(is());
    std::inclusive_scan(a.begin(), a.end(), expected.begin(), std::plus<>{}, 7);
    inclusive_scan(executor, a, v, std::plus<>{}, 7);
    EXPECT_TRUE(is());
    std::adjacent_difference(expected.begin(), expected.end(), expected.begin());
    adjacent_difference(executor, v, v);  // in place
    EXPECT_TRUE(is());
    std::transform(a.begin(), a.end(), a.begin(), expected.begin(), std::minus<>{});
    transform(executor, a, a, v, std::minus<>{});
    EXPECT_TRUE(is());
    copy(executor, a, v);
    std::transform(a.begin(), a.end(), expected.begin(), std::negate<>{});
    transform(executor, v, v, std::negate<>{});  // in place
    EXPECT_TRUE(is());
    std::exclusive_scan(expected.begin(), expected.end(), expected.begin(), 1);
    exclusive_scan(executor, v, v, 1);  // in place
    EXPECT_TRUE(is());
    const std::size_t half = a.size() / 2;
    std::for_each_n(expected.begin(), half, [](int& x) { x += 2; });
    for_each_n(executor, v, half, [](int& x) { x += 2; });
    EXPECT_TRUE(is());
    copy(executor, a, v);
}

template <class V>
void expect_selections(const Executor& executor, V&& v, const std::vector<int>& a) {
    const auto refill = [&] { copy(executor, a, v); };
    std::vector<int> expected(a.size());
    std::vector<int> selected(a.size());
    const auto end = std::copy_if(a.begin(), a.end(), expected.begin(), is_odd);
    EXPECT_EQ(copy_if(executor, v, selected, is_odd) - selected.begin(), end - expected.begin());
    EXPECT_EQ(selected, expected);
    std::vector<int> few(static_cast<std::size_t>(end - expected.begin()));
    if (!few.empty()) {
        few.pop_back();
        EXPECT_THROW(copy_if(executor, v, few, is_odd), std::invalid_argument);
        EXPECT_EQ(few, std::vector<int>(few.size()));
    }

    const auto expect_front = [&](auto kept, std::vector<int> wanted) {
        EXPECT_EQ(std::vector<int>(std::ranges::begin(v), kept), wanted);
        refill();
    };
    std::vector<int> b = a;
    b.erase(std::remove_if(b.begin(), b.end(), is_odd), b.end());
    expect_front(remove_if(executor, v, is_odd), b);
    b = a;
    b.erase(std::unique(b.begin(), b.end()), b.end());
    expect_front(unique(executor, v), b);
    const auto same_parity = [](int x, int y) { return is_odd(x) == is_odd(y); };
    b = a;
    b.erase(std::unique(b.begin(), b.end(), same_parity), b.end());
    expect_front(unique(executor, v, same_parity), b);

    const auto border = partition(executor, v, is_odd);
    EXPECT_TRUE(std::ranges::is_partitioned(v, is_odd));
    EXPECT_EQ(border - std::ranges::begin(v), std::count_if(a.begin(), a.end(), is_odd));
    std::vector<int> sorted = a;
    std::sort(sorted.begin(), sorted.end());
    sort(executor, v);
    EXPECT_TRUE(std::ranges::equal(v, sorted));
    refill();
}

template <class V>
void expect_all(const Executor& executor, V&& v, const std::vector<int>& a, Random& random) {
    ASSERT_TRUE(std::ranges::equal(v, a));
    expect_searches(executor, v, a, random);
    expect_numbers(executor, v, a);
    expect_selections(executor, v, a);
}

template <class V>
void fill_from(V& v, const std::vector<int>& a) {
    std::copy(a.begin(), a.end(), v.begin());
}

// In the calling thread, over iterators.
void expect_serial(segmented_vector<int, layout<any_distribution>>& v, const std::vector<int>& a,
                   Random& random) {
    const auto at = [&](auto it) { return it - v.begin(); };
    const auto in = [&](auto it) { return it - a.begin(); };
    const int value = static_cast<int>(random.below(a.size() + 1));
    EXPECT_EQ(at(find(v, value)), in(std::find(a.begin(), a.end(), value)));
    EXPECT_EQ(count(v, value), std::count(a.begin(), a.end(), value));
    EXPECT_EQ(at(min_element(v)), in(std::min_element(a.begin(), a.end())));
    EXPECT_EQ(at(max_element(v)), in(std::max_element(a.begin(), a.end())));
    EXPECT_EQ(at(minmax_element(v).second), in(std::minmax_element(a.begin(), a.end()).second));
    std::vector<int> b = a;
    EXPECT_TRUE(numascape::equal(v, b));
    EXPECT_EQ(inner_product(v, b.begin(), 1LL),
              std::inner_product(a.begin(), a.end(), b.begin(), 1LL));
    if (!b.empty()) ++b[random.below(b.size())];
    EXPECT_EQ(at(numascape::mismatch(v, b).first),
              in(std::mismatch(a.begin(), a.end(), b.begin()).first));
    EXPECT_EQ(numascape::equal(b, v), a.empty());
    std::vector<int> wanted(a.size());
    std::vector<int> out(a.size());
    EXPECT_EQ(exclusive_scan(v, out.begin(), 5), out.end());
    std::exclusive_scan(a.begin(), a.end(), wanted.begin(), 5);
    EXPECT_EQ(out, wanted);
    auto w = v;
    EXPECT_EQ(adjacent_difference(v, w.begin()), w.end());
    std::adjacent_difference(a.begin(), a.end(), wanted.begin());
    EXPECT_TRUE(std::ranges::equal(w, wanted));
    EXPECT_EQ(for_each_n(w.begin(), std::ssize(a) / 2, [](int& x) { x = 0; }) - w.begin(),
              std::ssize(a) / 2);
    EXPECT_EQ(std::count(w.begin(), w.begin() + std::ssize(a) / 2, 0), std::ssize(a) / 2);
    b = a;
    b.erase(std::remove_if(b.begin(), b.end(), is_odd), b.end());
    w = v;
    EXPECT_EQ(std::vector<int>(w.begin(), remove_if(w, is_odd)), b);
    b = a;
    b.erase(std::unique(b.begin(), b.end()), b.end());
    w = v;
    EXPECT_EQ(std::vector<int>(w.begin(), numascape::unique(w)), b);
    w = v;
    EXPECT_EQ(numascape::partition(w, is_odd) - w.begin(),
              std::count_if(a.begin(), a.end(), is_odd));
    EXPECT_TRUE(std::ranges::is_partitioned(w, is_odd));
    const auto copied = numascape::copy_if(v, w.begin(), is_odd);
    EXPECT_EQ(copied - w.begin(), std::count_if(a.begin(), a.end(), is_odd));
}

TEST(Properties, AnAlgorithmDoesWhatTheStandardsDoes) {
    node_threads workers{topology::of_machine(), 3};
    const auto by_workers = [&](auto nodes, const auto& f) { workers.bulk(nodes, f); };
    const auto here = [](auto nodes, const auto& f) { serial_executor{}.bulk(nodes, f); };
    for (unsigned seed = 0; seed < cases; ++seed) {
        SCOPED_TRACE(seed);
        Random random{seed};
        const std::size_t n = random.below(seed % 5 == 0 ? 20'000 : 700);
        const std::vector<int> a = random.values(n);
        const auto where = random.placement();
        segmented_vector<int, layout<any_distribution>> v{workers, where, n};
        numa_vector<int, layout<any_distribution>> u{workers, where, n};
        fill_from(v, a);
        fill_from(u, a);
        expect_serial(v, a, random);
        const std::vector<Executor> executors{{by_workers, 3, 1 + random.below(99)},
                                              {by_workers, 3, 4096},
                                              {here, 1 + random.below(200), 1 + random.below(9)}};
        for (const Executor& executor : executors) {
            const std::size_t from = random.below(2) * random.below(n + 1);
            const std::size_t size = n - from - random.below(2) * random.below(n - from + 1);
            const auto first = a.begin() + static_cast<std::ptrdiff_t>(from);
            const std::vector<int> part(first, first + static_cast<std::ptrdiff_t>(size));
            expect_all(executor, slice(v, from, size), part, random);
            expect_all(executor, slice(u, from, size), part, random);
            expect_numbers(executor, slice(v | std::views::drop(from), 0, size), part);
        }
        EXPECT_TRUE(std::ranges::equal(v, a));  // nothing outside of the parts has changed
        EXPECT_TRUE(std::ranges::equal(u, a));
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(Properties, AFloatingPointSumDoesNotDependOnTheNumberOfWorkers) {
    const auto value = [](std::size_t i) { return 1.0 / (1.0 + static_cast<double>(i)); };
    const segmented_vector<double> v{layout{block{3}}, 100'000, from_index{value}};
    std::vector<double> sums;
    for (const std::size_t workers : {1, 2, 5}) {
        node_threads threads{topology::of_machine(), workers};
        sums.push_back(reduce(threads, v, 0.0, std::plus<>{}));
    }
    sums.push_back(reduce(serial_executor{}, v, 0.0, std::plus<>{}));
    EXPECT_EQ(sums, std::vector<double>(4, sums[0]));
}

TEST(Slices, AreInsideTheirRange) {
    segmented_vector<int> v{layout{block{2}}, 10};
    EXPECT_EQ(slice(v, 10, 0).size(), 0U);
    EXPECT_THROW(slice(v, 3, 8), std::out_of_range);
    EXPECT_THROW(slice(v, 11, 0), std::out_of_range);
    EXPECT_THROW(for_each_n(serial_executor{}, v, 11, [](int&) {}), std::out_of_range);
    node_threads workers;
    EXPECT_THROW((in_grains{workers, 0}), std::invalid_argument);
}

}  // namespace
