// SPDX-License-Identifier: Apache-2.0
// The common part of segmented_vector and numa_vector: one reservation, a table of its segments,
// and the construction and destruction of the elements by the workers that own them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "numascape/executor.hpp"
#include "numascape/initial_value.hpp"
#include "numascape/layout.hpp"
#include "numascape/page_memory.hpp"
#include "numascape/placement_report.hpp"
#include "numascape/range_cache.hpp"
#include "numascape/segmented_iterator.hpp"
#include "numascape/topology.hpp"
#include "numascape/work_division.hpp"

namespace numascape::detail {

template <class T>
constexpr void check_element_type() {
    static_assert(std::is_object_v<T> && !std::is_array_v<T>,
                  "numascape: elements are objects, not references, functions or arrays");
    static_assert(std::is_same_v<T, std::remove_cv_t<T>>,
                  "numascape: elements are neither const nor volatile");
    static_assert(std::is_nothrow_destructible_v<T>,
                  "numascape: an element's destructor must not throw");
}

// Returns the index, or throws std::out_of_range.
inline std::size_t checked(std::size_t i, std::size_t size) {
    if (i >= size)
        throw std::out_of_range{"element " + std::to_string(i) + " of " + std::to_string(size)};
    return i;
}

// A layout without nodes gets the nodes of this machine that have memory and CPUs.
template <class Layout>
Layout with_nodes(const Layout& layout) {
    if (!layout.nodes().empty()) return layout;
    const std::vector<int> nodes = topology::usable_nodes();
    return layout.on(
        node_list{std::span{nodes}.first(std::min(nodes.size(), node_list::capacity))});
}

// The page policy of a table's extents.
struct page_request {
    page_size page;
    placing how;
    when_full full;

    // Whether memory with this policy can be used again: its nodes alone determine its pages.
    bool reusable() const noexcept {
        return page == page_size::base && how == placing::bind && full == when_full::spill;
    }
};

// Elements that are not initialised leave their pages untouched, so their memory must be new.
template <class T, class Initial>
inline constexpr bool leaves_pages_untouched =
    std::is_same_v<Initial, default_init_t> && std::is_trivially_default_constructible_v<T>;

template <class T>
class element_table {
  public:
    element_table() = default;

    // Constructs the elements of `extents`, each by a worker of its segment's node. If a
    // constructor throws, or if a node is full and this is an error, the workers destroy the
    // constructed elements, the memory is freed, and the exception is thrown.
    template <class Executor, class Initial>
    element_table(Executor& executor, std::vector<segment_extent> extents, std::size_t alignment,
                  page_request request, const Initial& initial)
        : extents_{std::move(extents)},
          pages_{request.reusable() ? page_nodes{extents_, system::page_bytes()} : page_nodes{}},
          segments_{std::make_unique<segment_record<T>[]>(extents_.size() + 1)} {
        if constexpr (!leaves_pages_untouched<T, Initial>)
            memory_ = range_cache::of_process().take(pages_, alignment);
        const bool placed = memory_.size() > 0;
        if (!placed) memory_ = {extents_.back().region + extents_.back().region_bytes, alignment};
        fill_segments();
        // All pages are placed before the first element is constructed, because an element may
        // reach into the next region.
        if (!placed) place(executor, request, alignment);
        construct(executor, initial, request.how == placing::bind);
    }
    element_table(element_table&& other) noexcept
        : extents_{std::exchange(other.extents_, {})},
          pages_{std::exchange(other.pages_, {})},
          memory_{std::move(other.memory_)},
          segments_{std::move(other.segments_)},
          nodes_{std::exchange(other.nodes_, {})} {}
    element_table& operator=(element_table&& other) noexcept {
        std::swap(extents_, other.extents_);
        std::swap(pages_, other.pages_);
        std::swap(memory_, other.memory_);
        std::swap(segments_, other.segments_);
        std::swap(nodes_, other.nodes_);
        return *this;
    }
    ~element_table() { destroy(serial_executor{}); }

    // Destroys the elements, by the workers that constructed them.
    template <class Executor>
    void destroy(Executor&& executor) {
        if constexpr (!std::is_trivially_destructible_v<T>) destroy_elements(executor);
        nodes_.clear();
        segments_.reset();
        extents_.clear();
        range_cache::of_process().keep(std::exchange(pages_, {}), std::exchange(memory_, {}));
    }

    const std::vector<int>& nodes() const noexcept { return nodes_; }
    const segment_record<T>* front() const noexcept { return segments_.get(); }
    const segment_record<T>* sentinel() const noexcept { return segments_.get() + nodes_.size(); }

    placement_report verify() const {
        std::vector<page_place> pages;
        for (std::size_t k = 0; k < extents_.size(); ++k) {
            const std::byte* at = memory_.data() + extents_[k].region;
            for (const int node : system::nodes_of_pages(at, extents_[k].region_bytes)) {
                pages.push_back({at, k, nodes_[k], node});
                at += system::page_bytes();
            }
        }
        return placement_report{std::move(pages)};
    }

  private:
    void fill_segments() {
        const std::size_t count = extents_.size();
        segment_record<T>* const table = segments_.get();
        nodes_.reserve(count);
        for (std::size_t k = 0; k < count; ++k) {
            const segment_extent& extent = extents_[k];
            T* const first = at(extent.offset);
            table[k] = {first, first + extent.size, extent.index, extent.node,
                        table, table + count};
            nodes_.push_back(extent.node);
        }
        T* const end = at(memory_.size());
        table[count] = {end, end,   extents_.back().index + extents_.back().size,
                        0,   table, table + count};
    }
    T* at(std::size_t offset) const noexcept {
        return reinterpret_cast<T*>(memory_.data() + offset);
    }

    // If pages must be touched, they are divided among the workers like the elements. Otherwise,
    // the calling thread sets the policy of each region with one call.
    template <class Executor>
    void place(Executor& executor, const page_request& request, std::size_t granule) {
        const bool touched = request.how == placing::first_touch || request.full == when_full::fail;
        std::vector<placed_run<std::byte>> regions;
        for (const segment_extent& extent : extents_)
            if (extent.region_bytes > 0)
                regions.push_back({memory_.data() + extent.region, extent.region_bytes,
                                   extent.region, extent.node});
        const std::size_t whole = std::numeric_limits<std::ptrdiff_t>::max();
        const divided_work<std::byte> work{executor, regions,
                                           touched ? std::max(granule, grain_bytes) : whole};
        work.run(executor, !touched, [&](std::size_t k) {
            const auto [pages, region, block] = work[k];
            const auto extent = std::upper_bound(
                extents_.begin(), extents_.end(), region,
                [](std::size_t at, const segment_extent& e) { return at < e.region; });
            system::place(pages.data(), pages.size(), (extent - 1)->node, request.page, request.how,
                          request.full);
        });
    }

    template <class Executor, class Initial>
    void construct(Executor& executor, const Initial& initial, bool anywhere) {
        const auto work = divide(executor, runs());
        std::vector<char> constructed(work.size(), 0);
        const bool here = anywhere && std::is_trivially_copyable_v<T> && work.blocks() == 1;
        try {
            work.run(executor, here, [&](std::size_t k) {
                T* const first = work[k].elements.data();
                initial.construct(first, first + work[k].elements.size(), work[k].index);
                constructed[k] = 1;
            });
        } catch (...) {
            destroy_pieces(executor, work, constructed);
            throw;
        }
    }
    template <class Executor>
    void destroy_elements(Executor& executor) {
        const auto work = divide(executor, runs());
        std::vector<char> living(work.size(), 1);
        if (const auto failure = destroy_pieces(executor, work, living)) {
            segments_.reset();
            nodes_.clear();
            std::rethrow_exception(failure);
        }
    }
    // Destroys the elements of marked pieces. If the executor fails, this thread destroys the rest.
    template <class Executor>
    static std::exception_ptr destroy_pieces(Executor& executor, const divided_work<T>& work,
                                             std::vector<char>& marked) {
        const auto destroy = [&](std::size_t k) {
            if (std::exchange(marked[k], 0) != 0)
                std::destroy(work[k].elements.begin(), work[k].elements.end());
        };
        try {
            work.run(executor, false, destroy);
        } catch (...) {
            work.run(executor, true, destroy);
            return std::current_exception();
        }
        return nullptr;
    }
    std::vector<placed_run<T>> runs() const {
        std::vector<placed_run<T>> result;
        for (std::size_t k = 0; k < nodes_.size(); ++k) {
            const segment_record<T>& s = segments_[k];
            const auto size = static_cast<std::size_t>(s.last - s.first);
            if (size > 0) result.push_back({s.first, size, s.index, s.node});
        }
        return result;
    }

    std::vector<segment_extent> extents_;
    page_nodes pages_;  // none if the memory cannot be used again
    system::reservation memory_;
    std::unique_ptr<segment_record<T>[]> segments_;  // one more than nodes_: the sentinel
    std::vector<int> nodes_;
};

}  // namespace numascape::detail
