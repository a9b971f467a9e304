// SPDX-License-Identifier: Apache-2.0
// Memory of chosen nodes for the standard's containers: a std::pmr::memory_resource and an
// allocator. Both get whole pages from the system for each allocation, which is suitable for
// arrays. For many small blocks, put a pool on top, as below.
//
//     #include <numascape/memory_resource.hpp>
//     #include <list>
//     #include <memory_resource>
//     #include <vector>
//
//     int main() {
//         using namespace numascape;
//         std::vector<double, placed_allocator<double>> v(1000, 1.0, page_policy::on_node(0));
//         placed_resource pages{page_policy::interleaved({0})};
//         std::pmr::unsynchronized_pool_resource pool{&pages};
//         std::pmr::list<int> numbers{{1, 2, 3}, &pool};
//         return v.size() == 1000 && numbers.size() == 3 ? 0 : 1;
//     }
#pragma once

#include <sys/mman.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory_resource>
#include <new>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "numascape/page_memory.hpp"

namespace numascape {

// Nodes (0 to 63), and how pages are placed on them: on one node (`on_node`), or in turn on several
// (`interleaved`). Memory of equal policies is interchangeable.
class page_policy {
  public:
    // Throws std::invalid_argument for a node beyond 63.
    static page_policy on_node(int node) { return page_policy{{&node, 1}}; }
    static page_policy interleaved(std::span<const int> nodes) { return page_policy{nodes}; }
    static page_policy interleaved(std::initializer_list<int> nodes) {
        return page_policy{{nodes.begin(), nodes.size()}};
    }

    page_policy pages(page_size page) const {
        page_policy result = *this;
        result.page_ = page;
        return result;
    }
    // What happens if the node is full; interleaved pages always spill.
    page_policy when_node_is_full(when_full full) const {
        page_policy result = *this;
        result.full_ = full;
        return result;
    }

    std::vector<int> nodes() const {
        std::vector<int> result;
        for (int node = 0; node < 64; ++node)
            if (mask_ >> node & 1) result.push_back(node);
        return result;
    }
    page_size page() const noexcept { return page_; }
    when_full full() const noexcept { return full_; }

    // Throws std::bad_alloc, node_full, and std::system_error for a node that does not exist.
    void* allocate(std::size_t size, std::size_t alignment) const {
        if (size > std::numeric_limits<std::ptrdiff_t>::max() - 2 * bytes(page_))
            throw std::bad_alloc{};
        system::reservation memory{mapped(size), std::max(alignment, bytes(page_))};
        if (std::has_single_bit(mask_)) {
            system::place(memory.data(), memory.size(), std::countr_zero(mask_), page_,
                          placing::bind, full_);
        } else {
            system::advise_pages(memory.data(), memory.size(), page_, placing::bind);
            system::set_policy(memory.data(), memory.size(), MPOL_INTERLEAVE, nodes());
        }
        return memory.release();
    }
    void deallocate(void* start, std::size_t size) const noexcept { munmap(start, mapped(size)); }

    bool operator==(const page_policy&) const = default;

  private:
    explicit page_policy(std::span<const int> nodes) {
        if (nodes.empty()) throw std::invalid_argument{"a page policy has at least one node"};
        for (const int node : nodes) {
            if (node < 0 || node > 63)
                throw std::invalid_argument{"a page policy has nodes from 0 to 63"};
            mask_ |= std::uint64_t{1} << node;
        }
    }
    std::size_t mapped(std::size_t size) const noexcept {
        const std::size_t some = size == 0 ? 1 : size;
        return system::round_up(system::round_up(some, bytes(page_)), system::page_bytes());
    }

    std::uint64_t mask_ = 0;
    page_size page_ = page_size::base;
    when_full full_ = when_full::spill;
};

// Equal to another one of the same policy: containers may then exchange their memory.
class placed_resource : public std::pmr::memory_resource {
  public:
    explicit placed_resource(const page_policy& policy) : policy_{policy} {}
    const page_policy& policy() const noexcept { return policy_; }

  private:
    void* do_allocate(std::size_t size, std::size_t alignment) override {
        return policy_.allocate(size, alignment);
    }
    void do_deallocate(void* start, std::size_t size, std::size_t /*alignment*/) override {
        policy_.deallocate(start, size);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        const auto* const placed = dynamic_cast<const placed_resource*>(&other);
        return placed != nullptr && placed->policy_ == policy_;
    }

    page_policy policy_;
};

// Equal to another one with the same policy. A container that is moved or swapped takes its policy
// along with the memory. A copy of a container has the same policy. A container to which another
// one is copied by assignment keeps its own policy.
template <class T>
class placed_allocator {
    static_assert(std::is_object_v<T> && std::is_same_v<T, std::remove_cv_t<T>>,
                  "numascape: an allocator's elements are objects, neither const nor volatile");

  public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    placed_allocator(const page_policy& policy) noexcept : policy_{policy} {}
    template <class U>
    placed_allocator(const placed_allocator<U>& other) noexcept : policy_{other.policy()} {}

    T* allocate(std::size_t n) {
        if (n > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T))
            throw std::bad_array_new_length{};
        return static_cast<T*>(policy_.allocate(n * sizeof(T), alignof(T)));
    }
    void deallocate(T* start, std::size_t n) noexcept { policy_.deallocate(start, n * sizeof(T)); }

    const page_policy& policy() const noexcept { return policy_; }

    template <class U>
    friend bool operator==(const placed_allocator& a, const placed_allocator<U>& b) noexcept {
        return a.policy() == b.policy();
    }

  private:
    page_policy policy_;
};

}  // namespace numascape
