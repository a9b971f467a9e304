// SPDX-License-Identifier: Apache-2.0
// The iterators model the standard's concepts, cross segments and skip empty ones.
#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <list>
#include <numeric>
#include <ranges>
#include <span>
#include <vector>

#include "numascape/algorithm.hpp"
#include "numascape/boost_iterators.hpp"
#include "numascape/flattened.hpp"
#include "numascape/layout_text.hpp"
#include "numascape/segmented_vector.hpp"

// The traits as Boost.Container documents them; Debian 12 has no Boost with these traits.
namespace boost::container {
struct segmented_iterator_tag {
    static constexpr bool value = true;
};
struct non_segmented_iterator_tag {
    static constexpr bool value = false;
};
template <class Iterator>
struct segmented_iterator_traits {
    using is_segmented_iterator = non_segmented_iterator_tag;
};
}  // namespace boost::container

using namespace numascape;

namespace {

using Vector = segmented_vector<int>;
static_assert(std::random_access_iterator<Vector::iterator>);
static_assert(std::random_access_iterator<Vector::const_iterator>);
static_assert(std::sentinel_for<Vector::const_iterator, Vector::iterator>);
static_assert(std::sized_sentinel_for<Vector::iterator, Vector::const_iterator>);
static_assert(std::convertible_to<Vector::iterator, Vector::const_iterator>);
static_assert(!std::convertible_to<Vector::const_iterator, Vector::iterator>);
static_assert(std::indirectly_writable<Vector::iterator, int>);
static_assert(!std::indirectly_writable<Vector::const_iterator, int>);
static_assert(std::sortable<Vector::iterator>);
static_assert(std::ranges::random_access_range<Vector> && std::ranges::sized_range<Vector>);
static_assert(std::ranges::common_range<const Vector>);
using Segments = decltype(std::declval<Vector&>().segments());
static_assert(std::ranges::random_access_range<Segments> && std::ranges::view<Segments>);
static_assert(std::same_as<std::ranges::range_value_t<Segments>, std::span<int>>);
static_assert(
    std::same_as<std::ranges::range_value_t<decltype(std::declval<const Vector&>().segments())>,
                 std::span<const int>>);
static_assert(std::ranges::borrowed_range<Segments>);
static_assert(std::ranges::borrowed_range<flattened<std::vector<Vector>>>);
static_assert(segmented<Vector::iterator> && !segmented<int*>);
using Nested = flattened<std::vector<Vector>>::iterator;
static_assert(std::bidirectional_iterator<Nested> && segmented<Nested>);
static_assert(segmented<segmented_iterator_traits<Nested>::local_iterator>);

template <class Iterator>
using boost_tag =
    typename boost::container::segmented_iterator_traits<Iterator>::is_segmented_iterator;
static_assert(std::same_as<boost_tag<Vector::iterator>, boost::container::segmented_iterator_tag>);
static_assert(std::same_as<boost_tag<Nested>, boost::container::segmented_iterator_tag>);
static_assert(std::same_as<boost_tag<int*>, boost::container::non_segmented_iterator_tag>);

constexpr auto index = [](std::size_t i) { return static_cast<int>(i); };

// One segment, more segments than elements, empty ones at both ends and between.
constexpr auto layouts = {"block",
                          "block 1",
                          "block 3",
                          "block 50",
                          "cyclic 4",
                          "weighted 0 0 3 0 1 0",
                          "weighted 0 1; padding 1; stagger 4"};
using Any = segmented_vector<int, any_layout>;

TEST(Iterator, GoesOverAllElementsBothWays) {
    for (const char* const where : layouts) {
        for (const std::size_t n : {0, 1, 2, 17, 40}) {
            Any v{parse_layout(where), n, from_index{index}};
            int expected = 0;
            for (const int x : v) ASSERT_EQ(x, expected++);
            ASSERT_EQ(expected, static_cast<int>(n));
            for (auto it = v.end(); it != v.begin();) ASSERT_EQ(*--it, --expected);
            for (auto it = std::make_reverse_iterator(v.end()); it.base() != v.begin(); ++it)
                ASSERT_EQ(*it, static_cast<int>(n) - 1 - expected++);
        }
    }
}

TEST(Iterator, IsRandomAccess) {
    for (const char* const where : layouts) {
        const std::ptrdiff_t n = 23;
        Any v{parse_layout(where), n, from_index{index}};
        const auto begin = v.begin();
        for (std::ptrdiff_t i = 0; i <= n; ++i) {
            for (std::ptrdiff_t j = 0; j <= n; ++j) {
                const auto it = begin + i + (j - i);
                ASSERT_EQ(it - begin, j);
                ASSERT_EQ((begin + i) - it, i - j);
                ASSERT_EQ(it == begin + j, true);
                ASSERT_EQ(begin + i < it, i < j);
                if (j == n) continue;
                ASSERT_EQ(it[0], static_cast<int>(j));
                ASSERT_EQ((begin + i)[j - i], static_cast<int>(j));
            }
        }
        ASSERT_EQ(v.end() - v.begin(), n);
        ASSERT_EQ(v.begin() + n, v.end());
    }
}

TEST(Iterator, ComposesWhatItWasTakenApartInto) {
    using traits = segmented_iterator_traits<Vector::iterator>;
    Vector v{layout{block{4}}, 10, from_index{index}};  // lengths 3 3 3 1
    for (auto it = v.begin(); it != v.end(); ++it)
        EXPECT_EQ(traits::compose(traits::segment(it), traits::local(it)), it);
    const auto first = traits::segment(v.begin());
    EXPECT_EQ(traits::compose(first, traits::end(first)), v.begin() + 3);
    EXPECT_EQ(traits::begin(traits::segment(v.end())), traits::local(v.end()));
}

TEST(Iterator, IsTakenApartByTheTraitsOfBoost) {
    using traits = boost::container::segmented_iterator_traits<Vector::iterator>;
    Vector v{layout{block{4}}, 10, from_index{index}};
    int sum = 0;
    auto segment = traits::segment(v.begin());
    for (; segment != traits::segment(v.end()); ++segment)
        for (traits::local_iterator it = traits::begin(segment); it != traits::end(segment); ++it)
            sum += *it;
    EXPECT_EQ(sum, 45);
    EXPECT_EQ(traits::compose(traits::segment(v.begin()), traits::local(v.begin())), v.begin());
}

TEST(Iterator, OfAnEmptyVectorIsItsEnd) {
    Vector nothing;
    EXPECT_EQ(nothing.begin(), nothing.end());
    EXPECT_EQ(nothing.end() - nothing.begin(), 0);
    EXPECT_TRUE(nothing.segments().empty());
    EXPECT_EQ(reduce(nothing, 7, std::plus<>{}), 7);
    Vector none{layout{block{3}}, 0};
    EXPECT_EQ(none.begin(), none.end());
    EXPECT_EQ(none.segments().size(), 3U);
}

TEST(Iterator, StaysValidWhenTheVectorMoves) {
    Vector v{layout{block{3}}, 10, from_index{index}};
    auto it = v.begin() + 2;
    const int* const address = &v[9];
    Vector moved = std::move(v);
    EXPECT_EQ(*++it, 3);
    EXPECT_EQ(moved.end() - it, 7);
    EXPECT_EQ(&moved[9], address);
    EXPECT_TRUE(v.empty() && v.begin() == v.end());  // NOLINT: moved from is empty
}

TEST(Segments, AreSpansOfAllElements) {
    const Vector v{layout{block{4}}, 10, from_index{index}};
    std::vector<std::size_t> sizes;
    int expected = 0;
    for (const std::span<const int> segment : v.segments()) {
        sizes.push_back(segment.size());
        for (const int x : segment) EXPECT_EQ(x, expected++);
    }
    EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 3, 3, 1}));
    EXPECT_EQ(v.segments()[3][0], 9);
}

TEST(Flattened, GoesOverRangesInRanges) {
    std::vector<Vector> vectors;
    vectors.emplace_back();
    vectors.emplace_back(layout{block{2}}, 5, from_index{index});
    vectors.emplace_back(layout{block{3}}, 0);
    vectors.emplace_back(layout{block{9}}, 3, from_index{index});
    vectors.emplace_back();
    const flattened all{vectors};
    EXPECT_EQ(std::vector<int>(all.begin(), all.end()), (std::vector{0, 1, 2, 3, 4, 0, 1, 2}));
    std::vector<int> backwards;
    for (auto it = all.end(); it != all.begin();) backwards.push_back(*--it);
    EXPECT_EQ(backwards, (std::vector{2, 1, 0, 4, 3, 2, 1, 0}));
}

TEST(Flattened, IsTakenApartByAlgorithms) {
    std::vector<Vector> vectors;
    for (int i = 0; i < 4; ++i)
        vectors.emplace_back(layout{block{3}}, static_cast<std::size_t>(7 * i), 1);
    flattened nested{vectors};
    EXPECT_EQ(reduce(nested, 0, std::plus<>{}), 42);
    for_each(nested, [](int& x) { x = 2; });
    fill(std::next(nested.begin(), 40), nested.end(), 5);
    std::vector<int> copied(42);
    EXPECT_EQ(numascape::copy(nested, copied.begin()), copied.end());
    EXPECT_EQ(std::accumulate(copied.begin(), copied.end(), 0), 40 * 2 + 2 * 5);
    std::iota(copied.begin(), copied.end(), 0);
    EXPECT_EQ(numascape::copy(copied, nested.begin()), nested.end());
    EXPECT_EQ(*std::next(nested.begin(), 41), 41);
    Vector v{layout{block{5}}, 42};
    transform(nested, v.begin(), [](int x) { return -x; });
    EXPECT_EQ(v[41], -41);
    std::list<std::list<int>> lists{{}, {1, 2}, {}, {3}};
    EXPECT_EQ(std::ranges::distance(flattened{lists}), 3);
}

}  // namespace
