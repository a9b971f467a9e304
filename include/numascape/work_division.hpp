// SPDX-License-Identifier: Apache-2.0
// Divides the elements of a placed range among the workers of an executor. The elements on one
// node are divided in equal shares among all workers of that node, however few segments they are
// in. A share is whole blocks of 16 KiB of one segment, so two workers rarely write to one page.
//
//     #include <numascape/parallel_algorithm.hpp>
//     #include <numascape/segmented_vector.hpp>
//
//     int main() {
//         using namespace numascape;
//         node_threads workers;
//         segmented_vector<int> v{workers, layout{}, 1000, 1};
//         fill(workers, slice(v, 10, 980), 2);                           // a part of it
//         for_each(in_grains{workers, 1}, v, [](int& task) { ++task; });  // each element is work
//         return v[0] == 2 && v[10] == 3 ? 0 : 1;
//     }
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <map>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "numascape/executor.hpp"
#include "numascape/segmented_iterator.hpp"

namespace numascape {

// Consecutive elements in one segment; `index` is the position of the first in the range.
template <class T>
struct placed_run {
    T* first = nullptr;
    std::size_t size = 0;
    std::size_t index = 0;
    int node = 0;
};

// An executor whose smallest unit of work is `elements` elements, instead of 16 KiB: for few
// elements that each need much time.
template <class Executor>
class in_grains {
  public:
    in_grains(Executor& executor, std::size_t elements) : executor_{&executor}, grain_{elements} {
        if (elements == 0) throw std::invalid_argument{"a grain has at least one element"};
    }

    template <std::invocable<std::size_t> F>
    void bulk(std::span<const int> nodes, F&& f) const {
        executor_->bulk(nodes, f);
    }
    std::size_t workers_on(int node) const
        requires requires(Executor& executor) { executor.workers_on(node); }
    {
        return executor_->workers_on(node);
    }
    std::size_t grain() const noexcept { return grain_; }

  private:
    Executor* executor_;
    std::size_t grain_;
};

// Elements [first, first + size) of a placed range; a view. Algorithms with an executor accept it.
template <class Iterator, class T>
class placed_slice : public std::ranges::view_base {
  public:
    placed_slice(Iterator first, Iterator last, std::vector<placed_run<T>> runs)
        : first_{first}, last_{last}, runs_{std::move(runs)} {}

    Iterator begin() const { return first_; }
    Iterator end() const { return last_; }
    std::size_t size() const { return static_cast<std::size_t>(last_ - first_); }
    const std::vector<placed_run<T>>& placed_runs() const noexcept { return runs_; }

  private:
    Iterator first_;
    Iterator last_;
    std::vector<placed_run<T>> runs_;
};

namespace detail {

inline constexpr std::size_t grain_bytes = 16384;

template <class R>
concept segmented_container = requires(R& range) {
    { range.nodes() } -> std::convertible_to<std::span<const int>>;
    { range.segments().begin().index() } -> std::convertible_to<std::size_t>;
};
template <class R>
concept sliced = requires(R& range) { range.placed_runs(); };
// A part of a segmented_vector, such as std::views::drop or std::ranges::subrange makes.
template <class R>
concept segmented_part = requires(std::ranges::iterator_t<R> it) {
    { it.segment().node() } -> std::same_as<int>;
    { it.segment().index() } -> std::convertible_to<std::size_t>;
    { it.local() } -> std::same_as<typename std::ranges::iterator_t<R>::pointer>;
};

template <class R>
using element_of = std::remove_reference_t<std::ranges::range_reference_t<R>>;

template <segmented_container R>
std::vector<placed_run<element_of<R>>> runs_of(R& range) {
    std::vector<placed_run<element_of<R>>> runs;
    const auto segments = range.segments();
    for (auto s = segments.begin(); s != segments.end(); ++s) {
        const auto size = static_cast<std::size_t>(s.end() - s.begin());
        if (size > 0) runs.push_back({s.begin(), size, s.index(), s.node()});
    }
    return runs;
}
template <sliced R>
std::vector<placed_run<element_of<R>>> runs_of(R& range) {
    return range.placed_runs();
}
template <segmented_part R>
    requires(!segmented_container<R> && !sliced<R>)
std::vector<placed_run<element_of<R>>> runs_of(R& range) {
    std::vector<placed_run<element_of<R>>> runs;
    std::size_t index = 0;
    std::size_t left = std::ranges::size(range);
    if (left == 0) return runs;
    auto segment = std::ranges::begin(range).segment();
    for (auto* at = std::ranges::begin(range).local(); left > 0; at = (++segment).begin()) {
        const std::size_t size = std::min(left, static_cast<std::size_t>(segment.end() - at));
        if (size > 0) runs.push_back({at, size, index, segment.node()});
        index += size;
        left -= size;
    }
    return runs;
}

// The parts of the runs that are in elements [index, index + size).
template <class T>
std::vector<placed_run<T>> clipped(const std::vector<placed_run<T>>& runs, std::size_t index,
                                   std::size_t size) {
    std::vector<placed_run<T>> result;
    for (const placed_run<T>& run : runs) {
        const std::size_t from = std::max(run.index, index);
        const std::size_t to = std::min(run.index + run.size, index + size);
        if (from < to)
            result.push_back({run.first + (from - run.index), to - from, from - index, run.node});
    }
    return result;
}

// A part of a worker's share. Block b of a range has the same elements for any number of workers.
template <class T>
struct work_piece {
    std::span<T> elements;
    std::size_t index = 0;
    std::size_t block = 0;  // the number of its first block
};

// Shares of a range, one for each task of an executor, in pieces.
template <class T>
class divided_work {
  public:
    template <class Executor>
    divided_work(const Executor& executor, const std::vector<placed_run<T>>& runs,
                 std::size_t grain)
        : grain_{grain} {
        if constexpr (requires { executor.grain(); }) grain_ = executor.grain();
        std::vector<std::vector<const placed_run<T>*>> by_node;
        std::map<int, std::size_t> group_of_node;
        std::vector<std::size_t> first_blocks;
        for (const placed_run<T>& run : runs) {
            const auto [group, added] = group_of_node.emplace(run.node, by_node.size());
            if (added) by_node.emplace_back();
            by_node[group->second].push_back(&run);
            first_blocks.push_back(blocks_);
            blocks_ += blocks_in(run.size);
            elements_ += run.size;
        }
        const auto first_block = [&](const placed_run<T>* run) {
            return first_blocks[static_cast<std::size_t>(run - runs.data())];
        };
        for (const auto& group : by_node) share(executor, group, first_block);
        firsts_.push_back(pieces_.size());
    }

    // The number of blocks of the whole range.
    std::size_t blocks() const noexcept { return blocks_; }
    std::size_t grain() const noexcept { return grain_; }
    // The node of each task.
    std::span<const int> nodes() const noexcept { return nodes_; }
    std::size_t size() const noexcept { return pieces_.size(); }
    const work_piece<T>& operator[](std::size_t piece) const noexcept { return pieces_[piece]; }
    int node_of(std::size_t piece) const noexcept {
        const auto task = std::upper_bound(firsts_.begin(), firsts_.end(), piece) - 1;
        return nodes_[static_cast<std::size_t>(task - firsts_.begin())];
    }
    // The numbers of all pieces, in the order of their elements.
    std::vector<std::size_t> in_order() const {
        std::vector<std::size_t> order(pieces_.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::sort(order.begin(), order.end(),
                  [&](auto a, auto b) { return pieces_[a].index < pieces_[b].index; });
        return order;
    }

    // Whether the range is only one block of elements that own nothing. The calling thread does it,
    // because that is quicker than to wake a worker.
    bool is_small() const noexcept {
        return std::is_trivially_copyable_v<T> && elements_ <= grain_;
    }

    // Calls f(number of a piece) for each piece, by its worker. The calling thread does a small
    // range.
    template <class Executor, class F>
    void run(Executor& executor, F f) const {
        run(executor, is_small(), f);
    }
    template <class Executor, class F>
    void run(Executor& executor, bool here, F f) const {
        const auto task = [&](std::size_t t) {
            for (std::size_t piece = firsts_[t]; piece < firsts_[t + 1]; ++piece) f(piece);
        };
        if (here)
            serial_executor{}.bulk(nodes_, task);
        else
            executor.bulk(nodes_, task);
    }

  private:
    std::size_t blocks_in(std::size_t size) const noexcept {
        return size / grain_ + (size % grain_ != 0);
    }

    // Divides the runs on one node among its workers; an executor that does not tell their number
    // gets one task for each run.
    template <class Executor, class FirstBlock>
    void share(const Executor& executor, const std::vector<const placed_run<T>*>& runs,
               FirstBlock first_block) {
        std::size_t all = 0;
        for (const auto* run : runs) all += blocks_in(run->size);
        std::size_t tasks = runs.size();
        if constexpr (requires { executor.workers_on(0); })
            tasks = std::clamp<std::size_t>(executor.workers_on(runs[0]->node), 1, all);
        std::size_t task = 0;
        std::size_t done = 0;  // blocks
        for (const auto* run : runs) {
            const std::size_t blocks = blocks_in(run->size);
            if constexpr (!requires { executor.workers_on(0); }) {
                start_task(run->node);
                add(*run, 0, blocks, first_block(run));
                continue;
            }
            for (std::size_t block = 0; block < blocks;) {
                if (done == task * all / tasks) {
                    start_task(run->node);
                    ++task;
                }
                const std::size_t part = std::min(blocks - block, task * all / tasks - done);
                add(*run, block, block + part, first_block(run));
                block += part;
                done += part;
            }
        }
    }
    void start_task(int node) {
        firsts_.push_back(pieces_.size());
        nodes_.push_back(node);
    }
    void add(const placed_run<T>& run, std::size_t from, std::size_t to, std::size_t first_block) {
        const std::size_t begin = from * grain_;
        const std::size_t end = std::min(run.size, to * grain_);
        pieces_.push_back(
            {{run.first + begin, end - begin}, run.index + begin, first_block + from});
    }

    std::size_t grain_;
    std::size_t blocks_ = 0;
    std::size_t elements_ = 0;
    std::vector<work_piece<T>> pieces_;
    std::vector<std::size_t> firsts_;  // the first piece of each task, and the end
    std::vector<int> nodes_;
};

template <class T, class Executor>
divided_work<T> divide(const Executor& executor, const std::vector<placed_run<T>>& runs) {
    return {executor, runs, std::max<std::size_t>(grain_bytes / sizeof(T), 1)};
}

// Calls f(elements, index of the first) for pieces that together are the range.
template <class Executor, class R, class F>
void for_each_piece(Executor& executor, R& range, F f) {
    const auto work = divide(executor, runs_of(range));
    work.run(executor, [&](std::size_t k) { f(work[k].elements, work[k].index); });
}

// Calls f(number, elements, index of the first) for each block.
template <class Executor, class T, class F>
void for_each_block(Executor& executor, const divided_work<T>& work, F f) {
    work.run(executor, [&](std::size_t k) {
        const auto& [elements, index, block] = work[k];
        const std::size_t grain = work.grain();
        for (std::size_t i = 0; i * grain < elements.size(); ++i) {
            const std::size_t from = i * grain;
            f(block + i, elements.subspan(from, std::min(grain, elements.size() - from)),
              index + from);
        }
    });
}

}  // namespace detail

// A range whose elements have known nodes: segmented_vector, numa_vector, per_node, a slice of
// them, and views of a part of a segmented_vector (std::views::drop, std::ranges::subrange).
template <class R>
concept placed_range = std::ranges::random_access_range<R> &&
                       (detail::segmented_container<std::remove_reference_t<R>> ||
                        detail::sliced<std::remove_reference_t<R>> ||
                        detail::segmented_part<std::remove_reference_t<R>>);

// Elements [index, index + size). Throws std::out_of_range.
template <placed_range R>
auto slice(R&& range, std::size_t index, std::size_t size) {
    using T = detail::element_of<R>;
    const auto all = static_cast<std::size_t>(std::ranges::size(range));
    if (index > all || size > all - index)
        throw std::out_of_range{"a slice of " + std::to_string(size) + " elements from element " +
                                std::to_string(index) + " of " + std::to_string(all)};
    const auto first = std::ranges::begin(range) + static_cast<std::ptrdiff_t>(index);
    return placed_slice<std::ranges::iterator_t<R>, T>{
        first, first + static_cast<std::ptrdiff_t>(size),
        detail::clipped(detail::runs_of(range), index, size)};
}

}  // namespace numascape

// Its iterators belong to the container.
template <class Iterator, class T>
inline constexpr bool std::ranges::enable_borrowed_range<numascape::placed_slice<Iterator, T>> =
    true;
