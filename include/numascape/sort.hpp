// SPDX-License-Identifier: Apache-2.0
// Sorts a segmented range. A part is what one worker has, or several consecutive segments. First, a
// worker of each part sorts its elements in a local buffer. Then the boundaries of the parts in the
// whole order are searched in the sorted buffers. Finally, each worker merges the elements that
// belong to its part.
//
//     #include <numascape/segmented_vector.hpp>
//     #include <numascape/sort.hpp>
//     #include <functional>
//
//     int main() {
//         using namespace numascape;
//         node_threads workers;
//         segmented_vector<int> v{layout{block{4}}, 1000, from_index{[](std::size_t i) {
//                                     return static_cast<int>(i * 7 % 1000);
//                                 }}};
//         sort(workers, v);             // by an executor's workers
//         sort(v, std::greater<>{});    // in the calling thread
//         sort(v.begin() + 10, v.end());
//         return v[0] == 999 && v[10] == 0 ? 0 : 1;
//     }
//
// Not stable. If the comparison throws, the order of the elements is unspecified, and one element
// of each part may be moved from, because std::sort sorts the buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "numascape/parallel_algorithm.hpp"

namespace numascape {

namespace detail {

// A buffer for elements that are temporarily moved.
template <class T>
class sort_buffer {
  public:
    sort_buffer() = default;
    sort_buffer(const sort_buffer&) = delete;
    sort_buffer& operator=(const sort_buffer&) = delete;
    ~sort_buffer() {
        std::destroy(data_, data_ + size_);
        ::operator delete(data_, std::align_val_t{alignof(T)});
    }

    void take(const std::vector<std::span<T>>& runs) {
        std::size_t all = 0;
        for (const std::span<T> run : runs) all += run.size();
        data_ = static_cast<T*>(::operator new(all * sizeof(T), std::align_val_t{alignof(T)}));
        for (const std::span<T> run : runs) {
            std::uninitialized_move(run.begin(), run.end(), data_ + size_);
            size_ += run.size();
        }
    }
    void give_back(const std::vector<std::span<T>>& runs) noexcept {
        T* from = data_;
        for (const std::span<T> run : runs)
            for (T& to : run)
                if (from != data_ + size_) to = std::move(*from++);
    }
    T* begin() const noexcept { return data_; }
    T* end() const noexcept { return data_ + size_; }
    std::size_t size() const noexcept { return size_; }

  private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

// How many elements of each buffer are among the `rank` smallest of all; equal elements are ordered
// by the number of their buffer. Halves the widest of the remaining ranges until none is left.
template <class T, class Compare>
std::vector<std::size_t> split_at(const std::vector<sort_buffer<T>>& sorted, std::size_t rank,
                                  Compare& before) {
    std::vector<std::size_t> low(sorted.size(), 0);
    std::vector<std::size_t> high;
    for (const sort_buffer<T>& buffer : sorted) high.push_back(buffer.size());
    std::vector<std::size_t> position(sorted.size());
    for (;;) {
        std::size_t widest = 0;
        for (std::size_t s = 1; s < sorted.size(); ++s)
            if (high[s] - low[s] > high[widest] - low[widest]) widest = s;
        if (high[widest] == low[widest]) return low;
        const std::size_t middle = low[widest] + (high[widest] - low[widest]) / 2;
        const T& pivot = sorted[widest].begin()[middle];
        std::size_t smaller = 0;
        for (std::size_t s = 0; s < sorted.size(); ++s) {
            T* const first = sorted[s].begin();
            T* const at = s == widest  ? first + middle
                          : s < widest ? std::upper_bound(first, sorted[s].end(), pivot, before)
                                       : std::lower_bound(first, sorted[s].end(), pivot, before);
            position[s] = static_cast<std::size_t>(at - first);
            smaller += position[s];
        }
        for (std::size_t s = 0; s < sorted.size(); ++s) {
            if (smaller < rank)
                low[s] = std::max(low[s], position[s] + (s == widest));
            else
                high[s] = std::min(high[s], position[s]);
        }
    }
}

// Merges [from[s], to[s]) of every sorted buffer into the runs, which have the same total length.
template <class T, class Compare>
void merge_into(const std::vector<std::span<T>>& runs, const std::vector<sort_buffer<T>>& sorted,
                const std::vector<std::size_t>& from, const std::vector<std::size_t>& to,
                Compare& before) {
    struct source {
        T* at;
        T* end;
    };
    std::vector<source> heap;  // ordered by `order`
    for (std::size_t s = 0; s < sorted.size(); ++s)
        if (from[s] != to[s])
            heap.push_back({sorted[s].begin() + from[s], sorted[s].begin() + to[s]});
    // The heap contains numbers, so that a comparison that throws loses no source.
    std::vector<std::size_t> order(heap.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto later = [&](std::size_t a, std::size_t b) {
        return before(*heap[b].at, *heap[a].at);
    };
    std::size_t run = 0;
    std::size_t offset = 0;
    const auto put = [&](T& element) {
        while (offset == runs[run].size()) {
            ++run;
            offset = 0;
        }
        runs[run][offset++] = std::move(element);
    };
    try {
        std::make_heap(order.begin(), order.end(), later);
        while (!order.empty()) {
            std::pop_heap(order.begin(), order.end(), later);
            source& least = heap[order.back()];
            put(*least.at++);
            if (least.at == least.end)
                order.pop_back();
            else
                std::push_heap(order.begin(), order.end(), later);
        }
    } catch (...) {
        for (source& rest : heap)
            while (rest.at != rest.end) put(*rest.at++);
        throw;
    }
}

// Sorts consecutive runs; a worker of nodes[p] sorts part p, which has the runs parts[p].
template <class Executor, class T, class Compare>
void sort_parts(Executor&& executor, std::span<const int> nodes,
                const std::vector<std::vector<std::span<T>>>& parts, Compare before) {
    if (parts.size() == 1 && parts[0].size() == 1) {
        executor.bulk(
            nodes, [&](std::size_t) { std::sort(parts[0][0].begin(), parts[0][0].end(), before); });
        return;
    }
    std::vector<sort_buffer<T>> buffers(parts.size());
    std::vector<std::vector<std::size_t>> splits(parts.size() + 1);
    try {
        executor.bulk(nodes, [&](std::size_t p) {
            buffers[p].take(parts[p]);
            std::sort(buffers[p].begin(), buffers[p].end(), before);
        });
        std::vector<std::size_t> ranks{0};
        for (const sort_buffer<T>& buffer : buffers) {
            ranks.push_back(ranks.back() + buffer.size());
            splits.back().push_back(buffer.size());
        }
        executor.bulk(nodes,
                      [&](std::size_t p) { splits[p] = split_at(buffers, ranks[p], before); });
    } catch (...) {
        for (std::size_t p = 0; p < parts.size(); ++p) buffers[p].give_back(parts[p]);
        throw;
    }
    executor.bulk(nodes, [&](std::size_t p) {
        merge_into(parts[p], buffers, splits[p], splits[p + 1], before);
    });
}

// More parts are combined, because the search for boundaries takes cubic time in their number; each
// worker searches for one part.
inline constexpr std::size_t max_parts = 64;
inline constexpr std::size_t max_parallel_parts = 256;

}  // namespace detail

template <node_executor E, placed_range R, class Compare = std::less<>>
void sort(E&& executor, R&& range, Compare before = {}) {
    using T = std::ranges::range_value_t<R>;
    const auto runs = detail::runs_of(range);
    const auto work = detail::divide(executor, runs);
    const auto order = work.in_order();
    const std::size_t together =
        (order.size() + detail::max_parallel_parts - 1) / detail::max_parallel_parts;
    std::vector<std::vector<std::span<T>>> parts;
    std::vector<int> nodes;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i % together == 0) {
            parts.emplace_back();
            nodes.push_back(work.node_of(order[i]));
        }
        parts.back().push_back(work[order[i]].elements);
    }
    if (parts.empty()) return;
    if (work.is_small())
        detail::sort_parts(serial_executor{}, nodes, parts, before);
    else
        detail::sort_parts(executor, nodes, parts, before);
}

template <std::random_access_iterator I, class Compare = std::less<>>
    requires segmented<I>
void sort(I first, I last, Compare before = {}) {
    using T = std::iter_value_t<I>;
    std::vector<std::vector<std::span<T>>> parts;
    detail::for_each_run(first, last, [&](auto p, auto q) {
        if (parts.size() < detail::max_parts) parts.emplace_back();
        parts.back().push_back(std::span<T>{p, q});
    });
    const std::vector<int> nodes(parts.size(), 0);
    const serial_executor here;
    if (!parts.empty()) detail::sort_parts(here, nodes, parts, before);
}
template <std::ranges::random_access_range R, class Compare = std::less<>>
    requires segmented<std::ranges::iterator_t<R>>
void sort(R&& range, Compare before = {}) {
    numascape::sort(std::ranges::begin(range), std::ranges::end(range), before);
}

}  // namespace numascape
