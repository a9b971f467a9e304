// SPDX-License-Identifier: Apache-2.0
// A contiguous vector whose blocks of pages are on chosen nodes, for code that needs data().
//
//     #include <numascape/numa_vector.hpp>
//     #include <numeric>
//     #include <cstdio>
//
//     int main() {
//         // Half of its pages on the first node, half on the second (where there are two).
//         numascape::numa_vector<double> v{numascape::layout{numascape::block{2}}, 1'000'000, 1.0};
//         std::printf("%g %d\n", std::accumulate(v.data(), v.data() + v.size(), 0.0),
//                     v.verify().ok());
//     }
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "numascape/element_table.hpp"

namespace numascape {

namespace detail {

// The extents of contiguous elements: a layout's segments, moved to the nearest page boundary. An
// element that crosses such a boundary belongs to the segment before it.
template <class Layout>
std::vector<segment_extent> contiguous_extents(const Layout& layout, std::size_t n,
                                               std::size_t element_bytes, std::size_t page) {
    if (n > (std::size_t{1} << 62) / element_bytes)
        throw std::length_error{"the vector is larger than the address space"};
    const std::size_t count = layout.segments(n);
    const std::size_t all = system::round_up(n * element_bytes, page);
    const auto boundary = [&](std::size_t k) {
        return k == count
                   ? all
                   : std::min(all, (layout.first(k, n) * element_bytes + page / 2) / page * page);
    };
    const auto element = [&](std::size_t byte) {
        return std::min(n, (byte + element_bytes - 1) / element_bytes);
    };
    std::vector<segment_extent> extents;
    extents.reserve(count);
    for (std::size_t k = 0; k < count; ++k) {
        const std::size_t from = boundary(k);
        const std::size_t to = boundary(k + 1);
        const std::size_t index = element(from);
        extents.push_back({index, element(to) - index, from, to - from, index * element_bytes,
                           layout.node(k, n)});
    }
    return extents;
}

}  // namespace detail

// Like segmented_vector, with the same constructors, but without gaps: each segment begins at the
// page boundary that is nearest to its place in the layout. Padding and offsets are ignored. (The
// layout's page size is the smallest unit of placement: with mib2, a vector of less than 1 MiB is
// on one node.)
template <class T, class Layout = layout<block>>
class numa_vector {
    static_assert((detail::check_element_type<T>(), true));

  public:
    using value_type = T;
    using layout_type = Layout;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using iterator = T*;
    using const_iterator = const T*;

    numa_vector() = default;

    explicit numa_vector(const Layout& layout, std::size_t n)
        : numa_vector{layout, n, value_init} {}
    template <initial_value<T> Initial>
    numa_vector(const Layout& layout, std::size_t n, const Initial& initial)
        : numa_vector{serial_executor{}, layout, n, initial} {}
    numa_vector(const Layout& layout, std::size_t n, const T& value)
        requires std::copy_constructible<T>
        : numa_vector{layout, n, detail::copies_of<T>{value}} {}

    template <node_executor Executor>
    numa_vector(Executor&& executor, const Layout& layout, std::size_t n)
        : numa_vector{executor, layout, n, value_init} {}
    template <node_executor Executor>
    numa_vector(Executor&& executor, const Layout& layout, std::size_t n, const T& value)
        requires std::copy_constructible<T>
        : numa_vector{executor, layout, n, detail::copies_of<T>{value}} {}
    template <node_executor Executor, initial_value<T> Initial>
    numa_vector(Executor&& executor, const Layout& layout, std::size_t n, const Initial& initial)
        : layout_{detail::with_nodes(layout)},
          size_{n},
          table_{executor,
                 detail::contiguous_extents(layout_, n, sizeof(T),
                                            layout_.granule(1, system::page_bytes())),
                 layout_.granule(alignof(T), system::page_bytes()),
                 {layout_.page(), layout_.placing(), layout_.full()},
                 initial} {}

    numa_vector(const numa_vector& other)
        requires std::copy_constructible<T>
        : numa_vector{serial_executor{}, other} {}
    template <node_executor Executor>
        requires std::copy_constructible<T>
    numa_vector(Executor&& executor, const numa_vector& other)
        : numa_vector{executor, other.layout_, other.size_, elements_of{other}} {}
    numa_vector(numa_vector&& other) noexcept
        : layout_{other.layout_},
          size_{std::exchange(other.size_, 0)},
          table_{std::move(other.table_)} {}
    numa_vector& operator=(numa_vector other) noexcept {
        swap(*this, other);
        return *this;
    }
    friend void swap(numa_vector& a, numa_vector& b) noexcept {
        using std::swap;
        swap(a.layout_, b.layout_);
        swap(a.size_, b.size_);
        swap(a.table_, b.table_);
    }

    // Destroys the elements, each by a worker of its node, and leaves the vector empty.
    template <node_executor Executor>
    void clear(Executor&& executor) {
        table_.destroy(executor);
        size_ = 0;
    }

    const Layout& layout() const noexcept { return layout_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T* data() noexcept { return empty() ? nullptr : table_.front()->first; }
    const T* data() const noexcept { return empty() ? nullptr : table_.front()->first; }

    // Not data()[i], whose test for an empty vector keeps GCC from vectorising loops.
    T& operator[](std::size_t i) noexcept { return table_.front()->first[i]; }
    const T& operator[](std::size_t i) const noexcept { return table_.front()->first[i]; }
    // Throws std::out_of_range.
    T& at(std::size_t i) { return data()[detail::checked(i, size_)]; }
    const T& at(std::size_t i) const { return data()[detail::checked(i, size_)]; }
    T& front() noexcept { return data()[0]; }
    const T& front() const noexcept { return data()[0]; }
    T& back() noexcept { return data()[size_ - 1]; }
    const T& back() const noexcept { return data()[size_ - 1]; }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }

    segment_range<T> segments() noexcept {
        return {segment_iterator<T>{table_.front()}, segment_iterator<T>{table_.sentinel()}};
    }
    segment_range<const T> segments() const noexcept {
        return {segment_iterator<const T>{table_.front()},
                segment_iterator<const T>{table_.sentinel()}};
    }
    std::span<const int> nodes() const noexcept { return table_.nodes(); }
    placement_report verify() const { return table_.verify(); }

    friend bool operator==(const numa_vector& a, const numa_vector& b)
        requires std::equality_comparable<T>
    {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

  private:
    struct elements_of {
        const numa_vector& source;

        void construct(T* first, T* last, std::size_t index) const {
            std::uninitialized_copy_n(source.data() + index, last - first, first);
        }
    };

    Layout layout_{};
    std::size_t size_ = 0;
    detail::element_table<T> table_;
};

}  // namespace numascape
