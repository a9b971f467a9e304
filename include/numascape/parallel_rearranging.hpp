// SPDX-License-Identifier: Apache-2.0
// The algorithms of rearranging.hpp by the workers of an executor (parallel_algorithm.hpp).
// Elements are moved through buffers, because the destination of one worker is the source of
// another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "numascape/parallel_searching.hpp"
#include "numascape/rearranging.hpp"
#include "numascape/work_division.hpp"

namespace numascape {

namespace detail {

// Elements of a piece, and the position where they go.
template <class T>
struct moved_part {
    std::span<T> elements;
    std::size_t target = 0;
};

// Moves every part of every piece to its target. Nothing is done for a part that is in place.
template <class Executor, class R, class T>
void move_parts(Executor& executor, R& range, const divided_work<T>& work,
                const std::vector<std::vector<moved_part<T>>>& parts) {
    const auto in_place = [&](const moved_part<T>& part, std::size_t k) {
        const auto at = part.elements.data() - work[k].elements.data();
        return part.target == work[k].index + static_cast<std::size_t>(at);
    };
    std::vector<std::vector<T>> buffers(work.size());
    work.run(executor, [&](std::size_t k) {
        for (const moved_part<T>& part : parts[k])
            if (!in_place(part, k))
                buffers[k].insert(buffers[k].end(), std::move_iterator{part.elements.begin()},
                                  std::move_iterator{part.elements.end()});
    });
    work.run(executor, [&](std::size_t k) {
        auto next = buffers[k].begin();
        for (const moved_part<T>& part : parts[k]) {
            if (in_place(part, k)) continue;
            const auto end = next + std::ssize(part.elements);
            std::move(next, end, from(range, part.target));
            next = end;
        }
    });
}

}  // namespace detail

// Like copy_if in the calling thread, but the output is a range. If it has not enough elements,
// throws std::invalid_argument and writes nothing. Returns the end of the written elements.
template <node_executor E, placed_range R, detail::random_range Out, class P>
auto copy_if(E&& executor, R&& range, Out&& output, P predicate) {
    const auto work = detail::divide(executor, detail::runs_of(range));
    std::vector<std::vector<unsigned char>> chosen(work.size());
    std::vector<std::size_t> targets(work.size());
    work.run(executor, [&](std::size_t k) {
        chosen[k].reserve(work[k].elements.size());
        for (const auto& x : work[k].elements) {
            chosen[k].push_back(std::invoke(predicate, x) ? 1 : 0);
            targets[k] += chosen[k].back();
        }
    });
    std::size_t all = 0;
    for (const std::size_t k : work.in_order()) all += std::exchange(targets[k], all);
    if (all > std::ranges::size(output))
        throw std::invalid_argument{"the output has " + std::to_string(std::ranges::size(output)) +
                                    " elements, the selection " + std::to_string(all)};
    work.run(executor, [&](std::size_t k) {
        auto to = detail::from(output, targets[k]);
        for (std::size_t i = 0; i < chosen[k].size(); ++i) {
            if (chosen[k][i] == 0) continue;
            *to = work[k].elements[i];
            ++to;
        }
    });
    return detail::from(output, all);
}

template <node_executor E, placed_range R, class P>
auto remove_if(E&& executor, R&& range, P predicate) {
    using T = std::ranges::range_value_t<R>;
    const auto work = detail::divide(executor, detail::runs_of(range));
    std::vector<std::vector<detail::moved_part<T>>> parts(work.size());
    work.run(executor, [&](std::size_t k) {
        const auto elements = work[k].elements;
        const auto end = std::remove_if(elements.begin(), elements.end(), std::ref(predicate));
        parts[k].push_back({elements.first(static_cast<std::size_t>(end - elements.begin()))});
    });
    std::size_t all = 0;
    for (const std::size_t k : work.in_order()) {
        parts[k][0].target = all;
        all += parts[k][0].elements.size();
    }
    detail::move_parts(executor, range, work, parts);
    return detail::from(range, all);
}

template <node_executor E, placed_range R, class Equal = std::equal_to<>>
auto unique(E&& executor, R&& range, Equal equal = {}) {
    using T = std::ranges::range_value_t<R>;
    const auto work = detail::divide(executor, detail::runs_of(range));
    std::vector<std::vector<detail::moved_part<T>>> parts(work.size());
    work.run(executor, [&](std::size_t k) {
        const auto elements = work[k].elements;
        const auto end = std::unique(elements.begin(), elements.end(), std::ref(equal));
        parts[k].push_back({elements.first(static_cast<std::size_t>(end - elements.begin()))});
    });
    std::size_t all = 0;
    const T* last = nullptr;  // the last element that is kept
    for (const std::size_t k : work.in_order()) {
        auto& [elements, target] = parts[k][0];
        if (last != nullptr && std::invoke(equal, *last, elements.front()))
            elements = elements.subspan(1);
        target = all;
        all += elements.size();
        if (!elements.empty()) last = &elements.back();
    }
    detail::move_parts(executor, range, work, parts);
    return detail::from(range, all);
}

template <node_executor E, placed_range R, class P>
auto partition(E&& executor, R&& range, P predicate) {
    using T = std::ranges::range_value_t<R>;
    const auto work = detail::divide(executor, detail::runs_of(range));
    std::vector<std::vector<detail::moved_part<T>>> parts(work.size());
    work.run(executor, [&](std::size_t k) {
        const auto elements = work[k].elements;
        const auto end = std::partition(elements.begin(), elements.end(), std::ref(predicate));
        const auto count = static_cast<std::size_t>(end - elements.begin());
        parts[k] = {{elements.first(count)}, {elements.subspan(count)}};
    });
    std::size_t next = 0;
    std::size_t chosen = 0;
    for (std::size_t side = 0; side < 2; ++side) {
        for (const std::size_t k : work.in_order()) {
            parts[k][side].target = next;
            next += parts[k][side].elements.size();
        }
        if (side == 0) chosen = next;
    }
    detail::move_parts(executor, range, work, parts);
    return detail::from(range, chosen);
}

}  // namespace numascape
