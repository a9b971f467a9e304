// SPDX-License-Identifier: Apache-2.0
// Keeps the memory of small containers that were destroyed, for the next containers whose pages
// have the same nodes. To map, bind, touch and unmap a page takes about 20 us.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "numascape/layout.hpp"
#include "numascape/page_memory.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define NUMASCAPE_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NUMASCAPE_ADDRESS_SANITIZER
#endif
#endif
#ifdef NUMASCAPE_ADDRESS_SANITIZER
// From <sanitizer/asan_interface.h>, which not every compiler has.
extern "C" void __asan_poison_memory_region(const volatile void* start, std::size_t size);
extern "C" void __asan_unpoison_memory_region(const volatile void* start, std::size_t size);
#endif

namespace numascape::detail {

// The node of each page of a small range. It has no pages if the range is too large to be kept.
class page_nodes {
  public:
    static constexpr std::size_t max_pages = 16;

    page_nodes() = default;
    page_nodes(std::span<const segment_extent> extents, std::size_t page) noexcept {
        const std::size_t pages = (extents.back().region + extents.back().region_bytes) / page;
        if (pages > max_pages) return;
        nodes_.fill(gap);
        for (const segment_extent& extent : extents) {
            if (extent.node < 0 || extent.node > max_node) return;
            std::fill_n(nodes_.begin() + static_cast<std::ptrdiff_t>(extent.region / page),
                        extent.region_bytes / page, static_cast<std::int16_t>(extent.node));
        }
        pages_ = pages;
    }

    std::size_t pages() const noexcept { return pages_; }
    // Whether pages with these nodes, as move_pages(2) tells them, are where they should be. A page
    // without memory gets it by its policy.
    bool match(std::span<const int> actual) const noexcept {
        for (std::size_t i = 0; i < pages_; ++i)
            if (nodes_[i] != gap && actual[i] != nodes_[i] && actual[i] != -ENOENT) return false;
        return true;
    }
    bool operator==(const page_nodes&) const = default;

  private:
    static constexpr std::int16_t gap = -1;  // between segments: belongs to none
    static constexpr int max_node = 32767;

    std::size_t pages_ = 0;
    std::array<std::int16_t, max_pages> nodes_{};
};

// Locks, or gives up soon: in a child process, the thread that had the lock at fork does not exist.
class brief_lock {
  public:
    explicit brief_lock(std::atomic_flag& busy) noexcept {
        for (int tries = 0; tries < 200 && flag_ == nullptr; ++tries)
            if (!busy.test_and_set(std::memory_order_acquire)) flag_ = &busy;
    }
    brief_lock(const brief_lock&) = delete;
    brief_lock& operator=(const brief_lock&) = delete;
    ~brief_lock() {
        if (flag_ != nullptr) flag_->clear(std::memory_order_release);
    }
    explicit operator bool() const noexcept { return flag_ != nullptr; }

  private:
    std::atomic_flag* flag_ = nullptr;
};

// Every thread may use it. Its ranges are private memory, so a child process has its own copies. It
// has no destructor, because containers with static storage duration are destroyed at the end.
class range_cache {
  public:
    static constexpr std::size_t max_ranges = 64;
    static constexpr std::size_t max_pages = 256;

    static range_cache& of_process() noexcept {
        static constinit range_cache cache;
        return cache;
    }

    // A range that was kept with these nodes, at a multiple of `alignment`; empty if there is none.
    // Its pages have any content.
    system::reservation take(const page_nodes& nodes, std::size_t alignment) noexcept {
        if (nodes.pages() == 0) return {};
        const brief_lock lock{busy_};
        if (!lock) return {};
        // The latest first, because it is most likely in the processor's caches.
        for (std::size_t i = count_; i-- > 0;) {
            const auto address = reinterpret_cast<std::uintptr_t>(ranges_[i].start);
            if (ranges_[i].nodes == nodes && address % alignment == 0) return remove(i);
        }
        return {};
    }

    // Keeps a range, and unmaps the oldest ones beyond the bounds. Unmaps it at once if a page is
    // on another node, because the node was full or the program moved the page.
    void keep(const page_nodes& nodes, system::reservation range) noexcept {
        if (nodes.pages() == 0 || !is_placed(nodes, range)) return;
        while (range.size() > 0) {
            system::reservation oldest;  // unmapped after the lock is released
            const brief_lock lock{busy_};
            if (!lock) return;
            if (count_ == max_ranges || pages_ + nodes.pages() > max_pages) {
                oldest = remove(0);
                continue;
            }
            ranges_[count_++] = {nodes, range.size(), poisoned(range)};
            pages_ += nodes.pages();
        }
    }

  private:
    struct kept_range {
        page_nodes nodes;
        std::size_t size = 0;
        std::byte* start = nullptr;
    };

    static bool is_placed(const page_nodes& nodes, const system::reservation& range) noexcept {
        try {
            return nodes.match(system::nodes_of_pages(range.data(), range.size()));
        } catch (const std::exception&) {  // not permitted, or no memory for the answer
            return false;
        }
    }
    // The address sanitizer reports a use of what a destroyed container had.
    static std::byte* poisoned(system::reservation& range) noexcept {
#ifdef NUMASCAPE_ADDRESS_SANITIZER
        __asan_poison_memory_region(range.data(), range.size());
#endif
        return range.release();
    }
    system::reservation remove(std::size_t i) noexcept {
        const kept_range range = ranges_[i];
        const auto at = ranges_.begin() + static_cast<std::ptrdiff_t>(i);
        std::move(std::next(at), ranges_.begin() + static_cast<std::ptrdiff_t>(count_--), at);
        pages_ -= range.nodes.pages();
#ifdef NUMASCAPE_ADDRESS_SANITIZER
        __asan_unpoison_memory_region(range.start, range.size);
#endif
        return system::reservation::adopt(range.start, range.size);
    }

    std::atomic_flag busy_;
    std::size_t count_ = 0;
    std::size_t pages_ = 0;
    std::array<kept_range, max_ranges> ranges_{};  // the oldest first
};

}  // namespace numascape::detail

#undef NUMASCAPE_ADDRESS_SANITIZER
