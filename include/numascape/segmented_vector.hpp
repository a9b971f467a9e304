// SPDX-License-Identifier: Apache-2.0
// A vector in segments, each on its own pages and on a node that the layout chooses.
//
//     #include <numascape/parallel_algorithm.hpp>
//     #include <numascape/segmented_vector.hpp>
//     #include <cstdio>
//
//     int main() {
//         using namespace numascape;
//         node_threads workers;  // one for each CPU, bound to its node
//         // 8 segments; the elements of each are constructed by a worker of the segment's node.
//         segmented_vector<double> v{workers, layout{block{8}}, 1'000'000, 1.0};
//         for_each(workers, v, [](double& x) { x *= 2; });
//         for (std::span<double> segment : v.segments()) segment[0] = 0;
//         std::printf("%g %d\n", reduce(workers, v, 0.0, std::plus<>{}), v.verify().ok());
//     }
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "numascape/element_table.hpp"

namespace numascape {

// Elements keep their addresses as long as the vector, or the vector that it is moved into, exists.
// The size cannot change. Iterators are random access; algorithm.hpp splits them into segments,
// which makes loops over them as fast as over an array.
//
// Constructors take a layout, the number of elements and their initial value (a value, value_init,
// default_init or from_index{f}). With an executor as first argument, its workers construct the
// elements; otherwise the calling thread does. They throw what elements throw, std::bad_alloc,
// std::length_error, std::system_error if a node does not exist, and node_full if the layout says
// so; then nothing remains.
template <class T, class Layout = layout<block>>
class segmented_vector {
    static_assert((detail::check_element_type<T>(), true));

  public:
    using value_type = T;
    using layout_type = Layout;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using iterator = segmented_iterator<T>;
    using const_iterator = segmented_iterator<const T>;

    segmented_vector() = default;

    explicit segmented_vector(const Layout& layout, std::size_t n)
        : segmented_vector{layout, n, value_init} {}
    template <initial_value<T> Initial>
    segmented_vector(const Layout& layout, std::size_t n, const Initial& initial)
        : segmented_vector{serial_executor{}, layout, n, initial} {}
    segmented_vector(const Layout& layout, std::size_t n, const T& value)
        requires std::copy_constructible<T>
        : segmented_vector{layout, n, detail::copies_of<T>{value}} {}

    template <node_executor Executor>
    segmented_vector(Executor&& executor, const Layout& layout, std::size_t n)
        : segmented_vector{executor, layout, n, value_init} {}
    template <node_executor Executor>
    segmented_vector(Executor&& executor, const Layout& layout, std::size_t n, const T& value)
        requires std::copy_constructible<T>
        : segmented_vector{executor, layout, n, detail::copies_of<T>{value}} {}
    template <node_executor Executor, initial_value<T> Initial>
    segmented_vector(Executor&& executor, const Layout& layout, std::size_t n,
                     const Initial& initial)
        : layout_{detail::with_nodes(layout)},
          size_{n},
          locator_{layout_.locator(n)},
          table_{executor,
                 layout_.extents(n, sizeof(T), alignof(T), system::page_bytes()),
                 layout_.granule(alignof(T), system::page_bytes()),
                 {layout_.page(), layout_.placing(), layout_.full()},
                 initial} {}

    // A copy has the same layout, and is constructed by the calling thread.
    segmented_vector(const segmented_vector& other)
        requires std::copy_constructible<T>
        : segmented_vector{serial_executor{}, other} {}
    // A copy by an executor's workers.
    template <node_executor Executor>
        requires std::copy_constructible<T>
    segmented_vector(Executor&& executor, const segmented_vector& other)
        : segmented_vector{executor, other.layout_, other.size_, elements_of{other}} {}
    segmented_vector(segmented_vector&& other) noexcept
        : layout_{other.layout_},
          size_{std::exchange(other.size_, 0)},
          locator_{other.locator_},
          table_{std::move(other.table_)} {}
    segmented_vector& operator=(segmented_vector other) noexcept {
        swap(*this, other);
        return *this;
    }
    friend void swap(segmented_vector& a, segmented_vector& b) noexcept {
        using std::swap;
        swap(a.layout_, b.layout_);
        swap(a.size_, b.size_);
        swap(a.locator_, b.locator_);
        swap(a.table_, b.table_);
    }

    // Destroys the elements, each by a worker of its segment's node, and leaves the vector empty.
    // (The destructor destroys them in its own thread.)
    template <node_executor Executor>
    void clear(Executor&& executor) {
        table_.destroy(executor);
        size_ = 0;
    }

    const Layout& layout() const noexcept { return layout_; }
    std::size_t size() const noexcept { return size_; }
    std::size_t capacity() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    T& operator[](std::size_t i) noexcept { return element(i); }
    const T& operator[](std::size_t i) const noexcept { return element(i); }
    // Throws std::out_of_range.
    T& at(std::size_t i) { return element(detail::checked(i, size_)); }
    const T& at(std::size_t i) const { return element(detail::checked(i, size_)); }
    T& front() noexcept { return *begin(); }
    const T& front() const noexcept { return *begin(); }
    T& back() noexcept { return *--end(); }
    const T& back() const noexcept { return *--end(); }

    iterator begin() noexcept { return first<T>(); }
    iterator end() noexcept { return last<T>(); }
    const_iterator begin() const noexcept { return first<const T>(); }
    const_iterator end() const noexcept { return last<const T>(); }
    const_iterator cbegin() const noexcept { return begin(); }
    const_iterator cend() const noexcept { return end(); }

    // A random-access range of std::span, one for each segment, empty ones included.
    segment_range<T> segments() noexcept { return range<T>(); }
    segment_range<const T> segments() const noexcept { return range<const T>(); }
    // The intended node of each segment.
    std::span<const int> nodes() const noexcept { return table_.nodes(); }
    // Elements [i, i + n), which must be in one segment, for example a row in segments of whole
    // rows (the grain of a block distribution). Throws std::out_of_range.
    std::span<T> part(std::size_t i, std::size_t n) { return part_of<T>(i, n); }
    std::span<const T> part(std::size_t i, std::size_t n) const { return part_of<const T>(i, n); }

    // Asks the kernel for the node of each page. Throws std::system_error if it does not tell.
    placement_report verify() const { return table_.verify(); }

    friend bool operator==(const segmented_vector& a, const segmented_vector& b)
        requires std::equality_comparable<T>
    {
        return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
    }

  private:
    // Copies the elements of a vector with the same layout, which therefore has the same segments.
    struct elements_of {
        const segmented_vector& source;

        void construct(T* first, T* last, std::size_t index) const {
            const auto from = source.part(index, static_cast<std::size_t>(last - first));
            std::uninitialized_copy(from.begin(), from.end(), first);
        }
    };

    T& element(std::size_t i) const noexcept {
        const segment_record<T>& home = table_.front()[locator_(i)];
        return home.first[i - home.index];
    }
    template <class U>
    segmented_iterator<U> first() const noexcept {
        const segment_record<T>* const front = table_.front();
        return front == nullptr ? segmented_iterator<U>{}
                                : segmented_iterator<U>{segment_iterator<U>{front}, front->first};
    }
    template <class U>
    segmented_iterator<U> last() const noexcept {
        if (table_.front() == nullptr) return {};
        return {segment_iterator<U>{table_.sentinel()}, table_.sentinel()->first};
    }
    template <class U>
    segment_range<U> range() const noexcept {
        return {segment_iterator<U>{table_.front()}, segment_iterator<U>{table_.sentinel()}};
    }
    template <class U>
    std::span<U> part_of(std::size_t i, std::size_t n) const {
        if (n == 0) return {};
        const segment_record<T>& home = table_.front()[locator_(detail::checked(i, size_))];
        const std::size_t begin = i - home.index;
        if (n > static_cast<std::size_t>(home.last - home.first) - begin)
            throw std::out_of_range{"a part of " + std::to_string(n) + " elements from element " +
                                    std::to_string(i) + " crosses the end of a segment"};
        return {home.first + begin, n};
    }

    Layout layout_{};
    std::size_t size_ = 0;
    decltype(std::declval<const Layout&>().locator(0)) locator_ = layout_.locator(0);
    detail::element_table<T> table_;
};

}  // namespace numascape
