// SPDX-License-Identifier: Apache-2.0
// One object on each node, each on pages of its own: counters, queues, pools, partial results.
//
//     #include <numascape/per_node.hpp>
//     #include <atomic>
//     #include <cstdio>
//
//     int main() {
//         numascape::per_node<std::atomic<long>> counters{0};
//         counters.local() += 5;  // the one near to this thread
//         long all = 0;
//         for (const std::atomic<long>& counter : counters) all += counter;
//         std::printf("%ld on %zu nodes\n", all, counters.size());
//     }
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "numascape/element_table.hpp"
#include "numascape/memory_resource.hpp"
#include "numascape/node_slots.hpp"

namespace numascape {

// Objects that take an allocator (std::pmr::vector) get a thread-safe one with memory on their
// node. A thread may leave its node between local() and the use of the result. Objects that several
// threads use must therefore be thread-safe.
template <class T>
class per_node {
    static_assert((detail::check_element_type<T>(), true));

  public:
    using value_type = T;
    using iterator = segmented_iterator<T>;
    using const_iterator = segmented_iterator<const T>;

    // Constructs T(arguments...) on each of the machine's nodes with memory and CPUs. Throws what
    // T's constructor throws, std::bad_alloc and std::system_error; then nothing remains.
    template <class... Arguments>
        requires std::constructible_from<T, const Arguments&...>
    explicit per_node(const Arguments&... arguments)
        : per_node{std::in_place, serial_executor{}, node_list{}, arguments...} {}

    // On the given nodes, each constructed by a worker of its node.
    template <node_executor Executor, class... Arguments>
    per_node(std::in_place_t /*tag*/, Executor&& executor, const node_list& nodes,
             const Arguments&... arguments)
        : slots_{nodes} {
        for (const int node : slots_.nodes()) {
            pages_.push_back(std::make_unique<placed_resource>(page_policy::on_node(node)));
            memory_.push_back(
                std::make_unique<std::pmr::synchronized_pool_resource>(pages_.back().get()));
        }
        const auto construct = [&](T* at, std::size_t slot) {
            std::uninitialized_construct_using_allocator(
                at, std::pmr::polymorphic_allocator<>{memory_[slot].get()}, arguments...);
        };
        table_ = {executor,
                  slots_.extents(1, sizeof(T), alignof(T), page_size::base),
                  slots_.granule(alignof(T), page_size::base),
                  {page_size::base, placing::bind, when_full::spill},
                  one_each<decltype(construct)>{construct}};
    }

    per_node(per_node&&) noexcept = default;
    // Swaps, so that objects are destroyed before the memory that they have from their node.
    per_node& operator=(per_node&& other) noexcept {
        std::swap(slots_, other.slots_);
        std::swap(pages_, other.pages_);
        std::swap(memory_, other.memory_);
        std::swap(table_, other.table_);
        return *this;
    }

    // The object nearest to the calling thread, and that of a node (throws std::out_of_range).
    T& local() noexcept { return *table_.front()[slots_.near()].first; }
    const T& local() const noexcept { return *table_.front()[slots_.near()].first; }
    T& on(int node) { return *table_.front()[slots_.of(node)].first; }
    const T& on(int node) const { return *table_.front()[slots_.of(node)].first; }

    std::size_t size() const noexcept { return slots_.size(); }
    std::span<const int> nodes() const noexcept { return slots_.nodes(); }
    iterator begin() noexcept { return at<T>(0); }
    iterator end() noexcept { return at<T>(size()); }
    const_iterator begin() const noexcept { return at<const T>(0); }
    const_iterator end() const noexcept { return at<const T>(size()); }
    // Each object is a segment, so that parallel algorithms give it to a worker of its node.
    segment_range<T> segments() noexcept { return {begin().segment(), end().segment()}; }
    segment_range<const T> segments() const noexcept {
        return {begin().segment(), end().segment()};
    }
    // The pages of the objects themselves.
    placement_report verify() const { return table_.verify(); }

  private:
    template <class Construct>
    struct one_each {
        const Construct& call;

        void construct(T* first, T* last, std::size_t index) const {
            if (first != last) call(first, index);
        }
    };
    template <class U>
    segmented_iterator<U> at(std::size_t slot) const noexcept {
        const auto* const record = table_.front() + slot;
        return {segment_iterator<U>{record}, record->first};
    }

    detail::node_slots slots_;
    std::vector<std::unique_ptr<placed_resource>> pages_;
    std::vector<std::unique_ptr<std::pmr::synchronized_pool_resource>> memory_;
    detail::element_table<T> table_;
};

}  // namespace numascape
