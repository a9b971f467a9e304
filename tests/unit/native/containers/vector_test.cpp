// SPDX-License-Identifier: Apache-2.0
// Elements of every kind are constructed and destroyed once, and nothing is left after an
// exception.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "numascape/numa_vector.hpp"
#include "numascape/segmented_vector.hpp"

using namespace numascape;

namespace {

// Counts the living objects; construction number `fatal` throws.
struct Counted {
    static inline std::atomic<int> living = 0;
    static inline std::atomic<int> made = 0;
    static inline int fatal = -1;

    explicit Counted(int v = 7) : value{std::make_unique<int>(v)} { count(); }
    Counted(const Counted& other) : value{std::make_unique<int>(*other.value)} { count(); }
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --living; }
    static void reset(int fatal_one = -1) {
        ASSERT_EQ(living, 0);
        made = 0;
        fatal = fatal_one;
    }

    std::unique_ptr<int> value;

  private:
    static void count() {
        if (made++ == fatal) throw std::runtime_error{"construction"};
        ++living;
    }
};

// The size of this process's address space, in pages.
std::size_t address_space() {
    std::size_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages;
    return pages;
}

template <class V>
class Vectors : public testing::Test {};
struct SegmentedOnes {
    template <class T>
    using of = segmented_vector<T>;
};
struct ContiguousOnes {
    template <class T>
    using of = numa_vector<T>;
};
using Kinds = testing::Types<SegmentedOnes, ContiguousOnes>;
TYPED_TEST_SUITE(Vectors, Kinds);

TYPED_TEST(Vectors, ConstructAndDestroyEachElementOnce) {
    using V = typename TypeParam::template of<Counted>;
    Counted::reset();
    {
        node_threads workers;
        V v{workers, layout{block{7}}, 2000};
        EXPECT_EQ(Counted::living, 2000);
        EXPECT_EQ(*v[1999].value, 7);
        V copy = v;
        EXPECT_EQ(Counted::living, 4000);
        EXPECT_NE(copy[0].value, v[0].value);
        V moved = std::move(copy);
        EXPECT_EQ(Counted::living, 4000);
        v = moved;
        EXPECT_EQ(Counted::living, 4000);
        moved.clear(workers);
        EXPECT_EQ(Counted::living, 2000);
        EXPECT_TRUE(moved.empty());
        EXPECT_EQ(moved.begin(), moved.end());
        v = V{};
        EXPECT_EQ(Counted::living, 0);
    }
    Counted::reset();
}

TYPED_TEST(Vectors, UndoWhatWasConstructedBeforeAnException) {
    using V = typename TypeParam::template of<Counted>;
    node_threads workers;
    for (const int fatal : {0, 1, 99, 100, 500, 999}) {
        Counted::reset(fatal);
        EXPECT_THROW((V{workers, layout{block{10}}, 1000}), std::runtime_error);
        Counted::reset(fatal);
        EXPECT_THROW((V{layout{block{10}}, 1000}), std::runtime_error);
        const Counted seven{(Counted::reset(), 7)};
        Counted::fatal = fatal + 1;
        EXPECT_THROW((V{workers, layout{block{10}}, 1000, seven}), std::runtime_error);
    }
    Counted::fatal = -1;
}

TYPED_TEST(Vectors, KeepTheirElementsWhenAssignmentFails) {
    using V = typename TypeParam::template of<Counted>;
    Counted::reset();
    V v{layout{block{2}}, 10};
    const V other{layout{block{2}}, 20};
    Counted::fatal = Counted::made + 5;
    EXPECT_THROW(v = other, std::runtime_error);
    EXPECT_EQ(v.size(), 10U);
    EXPECT_EQ(*v[9].value, 7);
    Counted::fatal = -1;
}

TYPED_TEST(Vectors, HoldTypesThatCannotBeCopied) {
    using V = typename TypeParam::template of<std::unique_ptr<int>>;
    V v{layout{block{3}}, 10,
        from_index{[](std::size_t i) { return std::make_unique<int>(static_cast<int>(i)); }}};
    EXPECT_EQ(*v[7], 7);
    V moved = std::move(v);
    EXPECT_EQ(*moved[9], 9);
    static_assert(!std::copy_constructible<V>);
    using A = typename TypeParam::template of<std::atomic<int>>;
    A atoms{layout{block{3}}, 10};  // neither copied nor moved
    EXPECT_EQ(atoms[9], 0);
}

struct alignas(8192) Wide {
    char byte = 1;
};
struct Odd {
    char bytes[3] = {1, 2, 3};
};

TYPED_TEST(Vectors, AlignWideElements) {
    typename TypeParam::template of<Wide> wide{layout{block{3}}.staggered(64), 10};
    for (std::size_t i = 0; i < wide.size(); ++i) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&wide[i]) % 8192, 0U);
        EXPECT_EQ(wide[i].byte, 1);
    }
    typename TypeParam::template of<Odd> odd{layout{block{3}}, 10'000};
    EXPECT_EQ(odd[9999].bytes[2], 3);
    EXPECT_TRUE(odd.verify().ok());
}

TYPED_TEST(Vectors, InitialiseAsAsked) {
    using V = typename TypeParam::template of<int>;
    const V zeros{layout{block{3}}, 10'000};
    const V fives{layout{block{3}}, 10'000, 5};
    EXPECT_EQ(std::count(zeros.begin(), zeros.end(), 0), 10'000);
    EXPECT_EQ(std::count(fives.begin(), fives.end(), 5), 10'000);
    const V untouched{layout{block{3}}, 10'000, default_init};
    EXPECT_EQ(untouched.verify().absent(), untouched.verify().pages().size());
    EXPECT_TRUE(untouched.verify().ok());
    const V touched{layout{block{3}}.first_touched(), 10'000, default_init};
    EXPECT_EQ(touched.verify().absent(), 0U);
    const auto strict = layout{block{3}}.on({0}).first_touched().when_node_is_full(when_full::fail);
    EXPECT_EQ((V{strict, 10'000, default_init}).verify().absent(), 0U);
    EXPECT_EQ(fives, (V{layout{block{3}}, 10'000, 5}));
    EXPECT_FALSE(fives == zeros);
}

TYPED_TEST(Vectors, SayWhatCannotBe) {
    using V = typename TypeParam::template of<double>;
    EXPECT_THROW((V{layout{}, std::size_t{1} << 60}), std::exception);
    for (const int node : {63, 1023, 1024, 16383, 16384, 1 << 30})
        EXPECT_THROW((V{layout{}.on({node}), 1}), std::system_error) << node;
    const std::size_t n = 1 << 20;  // 8 MiB, of which no page is touched
    const std::size_t before = address_space();
    for (int round = 0; round < 50; ++round) {
        EXPECT_THROW((V{layout{}.on({63}), n}), std::system_error);
        Counted::reset(5);
        EXPECT_THROW((typename TypeParam::template of<Counted>{layout{}, n}), std::runtime_error);
    }
    EXPECT_LT(address_space(), before + 50 * 1024);  // a leak of any would be at least 100 * 2048
    Counted::fatal = -1;
}

TYPED_TEST(Vectors, ReportEveryPage) {
    using V = typename TypeParam::template of<double>;
    for (const page_size page : {page_size::base, page_size::kib64, page_size::mib2}) {
        const V v{layout{block{4}}.on({0}).pages(page).when_node_is_full(when_full::fail), 100'000};
        const placement_report report = v.verify();
        EXPECT_GE(report.pages().size() * 4096, 800'000U);
        EXPECT_EQ(report.pages().size() % (bytes(page) / 4096), 0U);
        EXPECT_TRUE(report.ok()) << report.describe();
        EXPECT_EQ(report.absent() + report.misplaced(), 0U);
    }
}

TEST(SegmentedVector, ChecksIndexesAndParts) {
    segmented_vector<int> v{layout{block{4, 10}}, 100, from_index{[](std::size_t i) {
                                return static_cast<int>(i);
                            }}};  // segments of 30, 30, 30, 10
    EXPECT_EQ(v.at(99), 99);
    EXPECT_THROW((void)v.at(100), std::out_of_range);
    EXPECT_EQ(v.part(50, 10)[9], 59);
    EXPECT_THROW((void)v.part(55, 10), std::out_of_range);
    EXPECT_THROW((void)v.part(95, 6), std::out_of_range);
    EXPECT_EQ(v.front(), 0);
    EXPECT_EQ(v.back(), 99);
}

TEST(SegmentedVector, IsDeducedFromItsArguments) {
    const segmented_vector v{layout{block_cyclic<64>{}}, 10, 2.5};
    static_assert(
        std::same_as<decltype(v), const segmented_vector<double, layout<block_cyclic<64>>>>);
    const numa_vector w{layout{}, 10, 'x'};
    static_assert(std::same_as<decltype(w), const numa_vector<char>>);
    EXPECT_EQ(v[9] + static_cast<double>(w[9]), 2.5 + 'x');
}

TEST(SegmentedVector, SegmentsStartOnPagesOfTheirOwn) {
    const segmented_vector<double> v{layout{block{8}}.pages(page_size::mib2), 1000};
    for (const std::span<const double> segment : v.segments())
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.data()) % (2U << 20), 0U);
}

TEST(NumaVector, IsContiguousAndDividedAtPages) {
    numa_vector<double> v{layout{block{3}}, 10'000, 1.0};
    EXPECT_EQ(&v[9999] - v.data(), 9999);
    EXPECT_EQ(&v.front(), v.data());
    EXPECT_EQ(&v.back(), &v.at(9999));
    EXPECT_THROW((void)v.at(10'000), std::out_of_range);
    std::size_t expected = 0;
    for (const std::span<double> segment : v.segments()) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.data()) % 4096, 0U);
        EXPECT_EQ(static_cast<std::size_t>(segment.data() - v.data()), expected);
        expected += segment.size();
    }
    EXPECT_EQ(expected, v.size());
    static_assert(std::contiguous_iterator<numa_vector<double>::iterator>);
    EXPECT_EQ((numa_vector<double>{layout{}, 0}.data()), nullptr);
}

}  // namespace
