// SPDX-License-Identifier: Apache-2.0
// One read-only copy of an object or an array on each node, for tables that all threads read.
//
//     #include <numascape/replicated.hpp>
//     #include <memory_resource>
//     #include <vector>
//
//     int main() {
//         const std::vector<double> table(10'000, 0.5);
//         const numascape::replicated<double[]> near_table{table};
//         // All memory of an object that takes an allocator is on its node.
//         const numascape::replicated<std::pmr::vector<int>> primes{{2, 3, 5, 7}};
//         return near_table.local()[9'999] == 0.5 && primes.local().back() == 7 ? 0 : 1;
//     }
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include "numascape/element_table.hpp"
#include "numascape/memory_resource.hpp"
#include "numascape/node_slots.hpp"

namespace numascape {

// One const T on each node, copied from one source. Any number of threads may read. Constructors
// throw what T's copy constructor throws, std::bad_alloc and std::system_error; then nothing
// remains.
template <class T>
class replicated {
    static_assert((detail::check_element_type<T>(), true));
    static_assert(std::copy_constructible<T>, "numascape: what is replicated can be copied");

  public:
    // On the given nodes, or on the machine's nodes with memory and CPUs.
    explicit replicated(const T& source, const node_list& nodes = {})
        : replicated{serial_executor{}, source, nodes} {}
    // Each copy is made by a worker of its node.
    template <node_executor Executor>
    explicit replicated(Executor&& executor, const T& source, const node_list& nodes = {})
        : slots_{nodes} {
        for (const int node : slots_.nodes()) {
            pages_.push_back(std::make_unique<placed_resource>(page_policy::on_node(node)));
            memory_.push_back(
                std::make_unique<std::pmr::monotonic_buffer_resource>(pages_.back().get()));
        }
        table_ = {executor,
                  slots_.extents(1, sizeof(T), alignof(T), page_size::base),
                  slots_.granule(alignof(T), page_size::base),
                  {page_size::base, placing::bind, when_full::spill},
                  copy_of{source, memory_}};
    }

    replicated(replicated&&) noexcept = default;
    // Swaps, so that objects are destroyed before the memory that they have from their node.
    replicated& operator=(replicated&& other) noexcept {
        std::swap(slots_, other.slots_);
        std::swap(pages_, other.pages_);
        std::swap(memory_, other.memory_);
        std::swap(table_, other.table_);
        return *this;
    }

    // The copy nearest to the calling thread, and the one on a node (throws std::out_of_range).
    const T& local() const noexcept { return *table_.front()[slots_.near()].first; }
    const T& on(int node) const { return *table_.front()[slots_.of(node)].first; }
    const T& operator*() const noexcept { return local(); }
    const T* operator->() const noexcept { return &local(); }

    std::span<const int> nodes() const noexcept { return slots_.nodes(); }
    // The pages of the objects themselves.
    placement_report verify() const { return table_.verify(); }

  private:
    using resources = std::vector<std::unique_ptr<std::pmr::monotonic_buffer_resource>>;

    struct copy_of {
        const T& source;
        const resources& memory;

        void construct(T* first, T* last, std::size_t index) const {
            if (first == last) return;
            std::uninitialized_construct_using_allocator(
                first, std::pmr::polymorphic_allocator<>{memory[index].get()}, source);
        }
    };

    detail::node_slots slots_;
    std::vector<std::unique_ptr<placed_resource>> pages_;
    resources memory_;
    detail::element_table<T> table_;
};

// A copy of an array on each node; local() and on() give spans.
template <class T>
class replicated<T[]> {
    static_assert((detail::check_element_type<T>(), true));
    static_assert(std::copy_constructible<T>, "numascape: what is replicated can be copied");

  public:
    explicit replicated(std::span<const T> source, const node_list& nodes = {},
                        page_size page = page_size::base)
        : replicated{serial_executor{}, source, nodes, page} {}
    template <node_executor Executor>
    explicit replicated(Executor&& executor, std::span<const T> source, const node_list& nodes = {},
                        page_size page = page_size::base)
        : slots_{nodes},
          table_{executor,
                 slots_.extents(source.size(), sizeof(T), alignof(T), page),
                 slots_.granule(alignof(T), page),
                 {page, placing::bind, when_full::spill},
                 copy_of{source}} {}

    std::span<const T> local() const noexcept { return span(slots_.near()); }
    std::span<const T> on(int node) const { return span(slots_.of(node)); }

    std::span<const int> nodes() const noexcept { return slots_.nodes(); }
    placement_report verify() const { return table_.verify(); }

  private:
    struct copy_of {
        std::span<const T> source;

        void construct(T* first, T* /*last*/, std::size_t /*index*/) const {
            std::uninitialized_copy(source.begin(), source.end(), first);
        }
    };
    std::span<const T> span(std::size_t slot) const noexcept {
        return {table_.front()[slot].first, table_.front()[slot].last};
    }

    detail::node_slots slots_;
    detail::element_table<T> table_;
};

}  // namespace numascape
