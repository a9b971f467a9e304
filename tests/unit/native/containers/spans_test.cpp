// SPDX-License-Identifier: Apache-2.0
// Loops over spans visit every element once; mdspan's policies find each element.
#include "numascape/spans.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "numascape/mdspan.hpp"
#include "numascape/numa_vector.hpp"
#include "numascape/parallel_algorithm.hpp"
#include "numascape/segmented_vector.hpp"

using namespace numascape;

namespace {

constexpr auto number = [](std::size_t i) { return static_cast<int>(i); };

TEST(Spans, AreCutWhereAnyRangesSegmentEnds) {
    segmented_vector<int> a{layout{block{3}}, 1000};
    const segmented_vector<int> b{layout{block{7}}, 1000, from_index{number}};
    const numa_vector<int> c{layout{}, 1000, 2};
    const std::vector<int> d(1000, 5);
    const auto loop = [](std::size_t index, std::span<int> x, std::span<const int> y,
                         std::span<const int> z, std::span<const int> w) {
        ASSERT_EQ(y.size(), x.size());
        ASSERT_EQ(z.size(), x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] += y[i] * z[i] + w[i] + static_cast<int>(index + i);
    };
    const auto expect = [&](int times) {
        for (std::size_t i = 0; i < 1000; ++i)
            ASSERT_EQ(a[i], times * (3 * static_cast<int>(i) + 5)) << i;
    };
    for_each_span(loop, a, b, c, d);
    expect(1);
    node_threads workers;
    for_each_span(in_grains{workers, 10}, loop, a, b, c, d);
    expect(2);
    for_each_span(workers, [](std::size_t, std::span<int> x) { x[0] = -1; }, slice(a, 5, 6));
    EXPECT_EQ(a[5], -1);
    EXPECT_THROW(for_each_span([](auto...) {}, a, std::vector<int>(3)), std::invalid_argument);
}

// The part of std::extents that the mapping needs.
struct Matrix {
    using index_type = std::size_t;
    using size_type = std::size_t;
    using rank_type = std::size_t;
    std::array<std::size_t, 2> sizes{};
    static constexpr std::size_t rank() { return 2; }
    constexpr std::size_t extent(std::size_t r) const { return sizes[r]; }
    bool operator==(const Matrix&) const = default;
};

TEST(Mdspan, APlainPointerWithTheMappingReachesEveryElement) {
    for (const std::size_t rows : {1, 2, 23, 64}) {
        for (const std::size_t segments : {1, 2, 3, 5}) {
            const std::size_t columns = 40;
            segmented_vector<int> v{layout{block{segments, columns}}.padded(4096), rows * columns,
                                    from_index{number}};
            const layout_segments::mapping<Matrix> at{Matrix{{rows, columns}}, v};
            int* const data = &v[0];
            std::size_t most = 0;
            for (std::size_t i = 0; i < rows; ++i)
                for (std::size_t j = 0; j < columns; ++j) {
                    ASSERT_EQ(data[at(i, j)], number(i * columns + j));
                    most = std::max(most, at(i, j));
                }
            EXPECT_EQ(at.required_span_size(), most + 1);
            EXPECT_EQ(at.is_exhaustive(), most + 1 == rows * columns);
        }
    }
}

TEST(Mdspan, AMappingRefusesWhatItCannotDescribe) {
    using mapping = layout_segments::mapping<Matrix>;
    const segmented_vector<int> wrong_size{layout{block{2}}, 10};
    EXPECT_THROW((mapping{Matrix{{3, 4}}, wrong_size}), std::invalid_argument);
    const segmented_vector<int> cut_rows{layout{block{3}}, 40};
    EXPECT_THROW((mapping{Matrix{{4, 10}}, cut_rows}), std::invalid_argument);
    const segmented_vector<int, layout<weighted>> unequal{layout{weighted{{1, 2, 1}, 10}}, 40};
    EXPECT_THROW((mapping{Matrix{{4, 10}}, unequal}), std::invalid_argument);
    const segmented_vector<int> staggered{layout{block{3, 10}}.staggered(64), 90};
    const mapping even{Matrix{{9, 10}}, staggered};  // the same distance between all of them
    EXPECT_EQ((&staggered[0])[even(8, 9)], staggered[89]);
}

TEST(Mdspan, TheAccessorFindsElementsOfAnyLayout) {
    segmented_vector<int, layout<weighted>> v{layout{weighted{{3, 0, 2}}}, 500, from_index{number}};
    const segmented_accessor<int> accessor{v};
    const auto later = accessor.offset(accessor.handle(), 100);
    for (std::size_t i = 0; i < 400; ++i) {
        ASSERT_EQ(accessor.access(accessor.handle(), i), number(i));
        ASSERT_EQ(accessor.access(later, i), number(i + 100));
    }
    const auto& constant = v;
    const segmented_accessor<const int> reading{constant};
    EXPECT_EQ(reading.access(reading.handle(), 499), 499);
}

}  // namespace
