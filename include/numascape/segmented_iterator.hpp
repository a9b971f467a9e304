// SPDX-License-Identifier: Apache-2.0
// Segmented iterators as Matthew Austern described them ("Segmented Iterators and Hierarchical
// Algorithms", 1998): an iterator over several segments. An algorithm can split it into a segment
// and a local position, so that its inner loop runs over plain pointers.
//
// The traits also have the form that Boost.Container's experimental segmented algorithms expect;
// boost_iterators.hpp provides them.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace numascape {

// A run of elements on one node; `index` is the position of its first element in the container. A
// table of such records ends with an empty record, the sentinel. The `first` of the sentinel is not
// the address of any element. `front` and `sentinel` are the ends of the table.
template <class T>
struct segment_record {
    T* first = nullptr;
    T* last = nullptr;
    std::size_t index = 0;
    int node = 0;
    const segment_record* front = nullptr;
    const segment_record* sentinel = nullptr;
};

// Iterates over a container's segments; `*it` is a std::span. T may be const.
template <class T>
class segment_iterator {
    using record = segment_record<std::remove_const_t<T>>;

  public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;  // *it is not a reference
    using value_type = std::span<T>;
    using difference_type = std::ptrdiff_t;
    using reference = std::span<T>;
    using pointer = void;

    constexpr segment_iterator() = default;
    constexpr explicit segment_iterator(const record* at) noexcept : at_{at} {}
    template <class U>
        requires std::same_as<const U, T>
    constexpr segment_iterator(const segment_iterator<U>& other) noexcept : at_{other.base()} {}

    constexpr T* begin() const noexcept { return at_ == nullptr ? nullptr : at_->first; }
    constexpr T* end() const noexcept { return at_ == nullptr ? nullptr : at_->last; }
    constexpr std::size_t index() const noexcept { return at_->index; }
    constexpr int node() const noexcept { return at_->node; }
    constexpr const record* base() const noexcept { return at_; }

    constexpr std::span<T> operator*() const noexcept { return {at_->first, at_->last}; }
    constexpr std::span<T> operator[](difference_type n) const noexcept { return *(*this + n); }
    constexpr segment_iterator& operator++() noexcept { return *this += 1; }
    constexpr segment_iterator operator++(int) noexcept { return std::exchange(*this, *this + 1); }
    constexpr segment_iterator& operator--() noexcept { return *this -= 1; }
    constexpr segment_iterator operator--(int) noexcept { return std::exchange(*this, *this - 1); }
    constexpr segment_iterator& operator+=(difference_type n) noexcept {
        at_ += n;
        return *this;
    }
    constexpr segment_iterator& operator-=(difference_type n) noexcept {
        at_ -= n;
        return *this;
    }
    friend constexpr segment_iterator operator+(segment_iterator it, difference_type n) noexcept {
        return it += n;
    }
    friend constexpr segment_iterator operator+(difference_type n, segment_iterator it) noexcept {
        return it += n;
    }
    friend constexpr segment_iterator operator-(segment_iterator it, difference_type n) noexcept {
        return it -= n;
    }
    friend constexpr difference_type operator-(segment_iterator a, segment_iterator b) noexcept {
        return a.at_ - b.at_;
    }
    friend constexpr bool operator==(segment_iterator a, segment_iterator b) noexcept {
        return a.at_ == b.at_;
    }
    friend constexpr auto operator<=>(segment_iterator a, segment_iterator b) noexcept {
        return std::compare_three_way{}(a.at_, b.at_);
    }

  private:
    const record* at_ = nullptr;
};

// Iterates over all elements, in order, and skips empty segments. Random access is as cheap as that
// of a pointer within a segment, and a search among the segments otherwise. Stays valid if its
// container is moved.
template <class T>
class segmented_iterator {
    using record = segment_record<std::remove_const_t<T>>;

  public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::remove_const_t<T>;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using pointer = T*;
    using is_segmented_iterator = std::true_type;
    using segment_iterator = numascape::segment_iterator<T>;
    using local_iterator = T*;

    constexpr segmented_iterator() = default;
    // The end of a segment becomes the beginning of the next one that has elements.
    constexpr segmented_iterator(segment_iterator segment, T* local) noexcept
        : segment_{segment.base()}, local_{local} {
        if (segment_ != nullptr && local_ == segment_->last) skip_to_element();
    }
    template <class U>
        requires std::same_as<const U, T>
    constexpr segmented_iterator(const segmented_iterator<U>& other) noexcept
        : segment_{other.segment().base()}, local_{other.local()} {}

    constexpr segment_iterator segment() const noexcept { return segment_iterator{segment_}; }
    constexpr T* local() const noexcept { return local_; }
    // The position in the container.
    constexpr difference_type index() const noexcept {
        if (segment_ == nullptr) return 0;
        return static_cast<difference_type>(segment_->index) + (local_ - segment_->first);
    }

    constexpr T& operator*() const noexcept { return *local_; }
    constexpr T* operator->() const noexcept { return local_; }
    constexpr T& operator[](difference_type n) const noexcept { return *(*this + n); }
    constexpr segmented_iterator& operator++() noexcept {
        if (++local_ == segment_->last) skip_to_element();
        return *this;
    }
    constexpr segmented_iterator operator++(int) noexcept {
        segmented_iterator before = *this;
        ++*this;
        return before;
    }
    constexpr segmented_iterator& operator--() noexcept {
        while (local_ == segment_->first) local_ = (--segment_)->last;
        --local_;
        return *this;
    }
    constexpr segmented_iterator operator--(int) noexcept {
        segmented_iterator before = *this;
        --*this;
        return before;
    }
    constexpr segmented_iterator& operator+=(difference_type n) noexcept {
        if (segment_ == nullptr) return *this;  // the container is empty, so n is 0
        const difference_type position = local_ - segment_->first + n;
        if (position >= 0 && position < segment_->last - segment_->first)
            local_ = segment_->first + position;
        else
            seek(static_cast<std::size_t>(index() + n));
        return *this;
    }
    constexpr segmented_iterator& operator-=(difference_type n) noexcept { return *this += -n; }

    friend constexpr segmented_iterator operator+(segmented_iterator it,
                                                  difference_type n) noexcept {
        return it += n;
    }
    friend constexpr segmented_iterator operator+(difference_type n,
                                                  segmented_iterator it) noexcept {
        return it += n;
    }
    friend constexpr segmented_iterator operator-(segmented_iterator it,
                                                  difference_type n) noexcept {
        return it -= n;
    }
    friend constexpr difference_type operator-(const segmented_iterator& a,
                                               const segmented_iterator& b) noexcept {
        return a.index() - b.index();
    }
    // Addresses ascend with the elements, because a container has one reservation.
    friend constexpr bool operator==(const segmented_iterator& a,
                                     const segmented_iterator& b) noexcept {
        return a.local_ == b.local_;
    }
    friend constexpr auto operator<=>(const segmented_iterator& a,
                                      const segmented_iterator& b) noexcept {
        return std::compare_three_way{}(a.local_, b.local_);
    }

  private:
    constexpr void skip_to_element() noexcept {
        while (segment_ != segment_->sentinel && local_ == segment_->last)
            local_ = (++segment_)->first;
    }
    constexpr void seek(std::size_t target) noexcept {
        // The last segment that starts at or before the target; of several, the one with elements.
        segment_ = std::upper_bound(segment_->front, segment_->sentinel, target,
                                    [](std::size_t at, const record& s) { return at < s.index; }) -
                   1;
        local_ = segment_->first + (target - segment_->index);
        if (local_ == segment_->last) skip_to_element();
    }

    const record* segment_ = nullptr;
    T* local_ = nullptr;
};

// How algorithms split an iterator; specialise it for your own iterators. `compose` accepts the end
// of a segment, and returns the beginning of the next one. At the end of a range, algorithms use
// only the segment and the local position. If this is also the end of the container, the local
// position equals `begin` of its segment.
template <class Iterator>
struct segmented_iterator_traits {
    using is_segmented_iterator = std::false_type;
};

template <class Iterator>
    requires Iterator::is_segmented_iterator::value
struct segmented_iterator_traits<Iterator> {
    using is_segmented_iterator = std::true_type;
    using segment_iterator = typename Iterator::segment_iterator;
    using local_iterator = typename Iterator::local_iterator;

    static constexpr segment_iterator segment(const Iterator& it) { return it.segment(); }
    static constexpr local_iterator local(const Iterator& it) { return it.local(); }
    static constexpr local_iterator begin(const segment_iterator& s) { return s.begin(); }
    static constexpr local_iterator end(const segment_iterator& s) { return s.end(); }
    static constexpr Iterator compose(segment_iterator s, local_iterator l) { return {s, l}; }
};

// An iterator that algorithms can split.
template <class I>
concept segmented = segmented_iterator_traits<I>::is_segmented_iterator::value;

// The segments of a container, from first to last, without the sentinel.
template <class T>
class segment_range : public std::ranges::view_base {
  public:
    constexpr segment_range() = default;
    constexpr segment_range(segment_iterator<T> first, segment_iterator<T> last) noexcept
        : first_{first}, last_{last} {}
    constexpr segment_iterator<T> begin() const noexcept { return first_; }
    constexpr segment_iterator<T> end() const noexcept { return last_; }
    constexpr std::size_t size() const noexcept { return static_cast<std::size_t>(last_ - first_); }
    constexpr bool empty() const noexcept { return first_ == last_; }
    constexpr std::span<T> operator[](std::size_t k) const noexcept {
        return first_[static_cast<std::ptrdiff_t>(k)];
    }

  private:
    segment_iterator<T> first_;
    segment_iterator<T> last_;
};

}  // namespace numascape

// Its iterators may outlive it, because they belong to the container.
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<numascape::segment_range<T>> = true;
