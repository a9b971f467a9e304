// SPDX-License-Identifier: Apache-2.0
// The elements of a range of ranges as one sequence with segmented iterators. The inner ranges may
// be segmented, too: the algorithms then also split these.
//
//     #include <numascape/algorithm.hpp>
//     #include <numascape/flattened.hpp>
//     #include <numascape/per_node.hpp>
//     #include <vector>
//
//     int main() {
//         numascape::per_node<std::vector<int>> lists;
//         lists.local().assign({1, 2, 3});
//         const int sum = numascape::reduce(numascape::flattened{lists}, 0, std::plus<>{});
//         return sum == 6 ? 0 : 1;
//     }
#pragma once

#include <cstddef>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

#include "numascape/segmented_iterator.hpp"

namespace numascape {

// Bidirectional. Outer is the iterator of a range of bidirectional ranges that outlive it.
template <std::bidirectional_iterator Outer>
class flattened_iterator {
    using inner_range = std::remove_reference_t<std::iter_reference_t<Outer>>;

  public:
    // The begin and end of an inner range; default values after the last one.
    class segment_iterator {
      public:
        using local_iterator = std::ranges::iterator_t<inner_range>;

        segment_iterator() = default;
        segment_iterator(Outer at, Outer last) : at_{at}, last_{last} {}

        local_iterator begin() const {
            return at_ == last_ ? local_iterator{} : std::ranges::begin(*at_);
        }
        local_iterator end() const {
            return at_ == last_ ? local_iterator{} : std::ranges::end(*at_);
        }
        bool is_end() const { return at_ == last_; }
        segment_iterator& operator++() {
            ++at_;
            return *this;
        }
        segment_iterator& operator--() {
            --at_;
            return *this;
        }
        friend bool operator==(const segment_iterator& a, const segment_iterator& b) {
            return a.at_ == b.at_;
        }

      private:
        Outer at_{};
        Outer last_{};
    };

    using local_iterator = typename segment_iterator::local_iterator;
    using is_segmented_iterator = std::true_type;
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = std::iter_value_t<local_iterator>;
    using difference_type = std::ptrdiff_t;
    using reference = std::iter_reference_t<local_iterator>;
    using pointer = void;

    flattened_iterator() = default;
    flattened_iterator(segment_iterator segment, local_iterator local)
        : segment_{segment}, local_{local} {
        skip_empty();
    }

    segment_iterator segment() const { return segment_; }
    local_iterator local() const { return local_; }

    reference operator*() const { return *local_; }
    flattened_iterator& operator++() {
        ++local_;
        skip_empty();
        return *this;
    }
    flattened_iterator operator++(int) { return std::exchange(*this, std::next(*this)); }
    flattened_iterator& operator--() {
        while (local_ == segment_.begin()) {
            --segment_;
            local_ = segment_.end();
        }
        --local_;
        return *this;
    }
    flattened_iterator operator--(int) { return std::exchange(*this, std::prev(*this)); }
    friend bool operator==(const flattened_iterator& a, const flattened_iterator& b) {
        return a.segment_ == b.segment_ && a.local_ == b.local_;
    }

  private:
    void skip_empty() {
        while (!segment_.is_end() && local_ == segment_.end()) {
            ++segment_;
            local_ = segment_.begin();
        }
    }

    segment_iterator segment_{};
    local_iterator local_{};
};

// A view; the range of ranges must outlive it.
template <std::ranges::bidirectional_range R>
class flattened : public std::ranges::view_base {
  public:
    using iterator = flattened_iterator<std::ranges::iterator_t<R>>;

    explicit flattened(R& ranges)
        : first_{std::ranges::begin(ranges)}, last_{std::ranges::end(ranges)} {}

    iterator begin() const {
        const typename iterator::segment_iterator segment{first_, last_};
        return {segment, segment.begin()};
    }
    iterator end() const { return {{last_, last_}, {}}; }

  private:
    std::ranges::iterator_t<R> first_;
    std::ranges::iterator_t<R> last_;
};

}  // namespace numascape

// Its iterators may outlive it, because they belong to the range of ranges.
template <std::ranges::bidirectional_range R>
inline constexpr bool std::ranges::enable_borrowed_range<numascape::flattened<R>> = true;
