// SPDX-License-Identifier: Apache-2.0
// The nodes of a container's pages as the kernel reports them, and the intended nodes.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace numascape {

// One page: its address, its segment, its intended node, and its actual node. A negative node is an
// error of move_pages(2): -ENOENT is an untouched page.
struct page_place {
    const void* address = nullptr;
    std::size_t segment = 0;
    int wanted = 0;
    int node = 0;

    bool operator==(const page_place&) const = default;
};

// All pages of a container, in order of addresses, in units of the kernel's base pages.
//
//     const auto report = v.verify();
//     if (!report.ok()) std::cerr << report.describe();
class placement_report {
  public:
    placement_report() = default;
    explicit placement_report(std::vector<page_place> pages) : pages_{std::move(pages)} {}

    const std::vector<page_place>& pages() const noexcept { return pages_; }
    std::size_t misplaced() const noexcept {
        return count(
            [](const page_place& page) { return page.node >= 0 && page.node != page.wanted; });
    }
    // Pages that have no memory yet.
    std::size_t absent() const noexcept {
        return count([](const page_place& page) { return page.node == -ENOENT; });
    }
    // Whether each page is on its intended node, or has no memory yet.
    bool ok() const noexcept {
        return count([](const page_place& page) { return page.node == page.wanted; }) + absent() ==
               pages_.size();
    }

    // One line for each run of pages with the same state.
    std::string describe() const {
        std::string text;
        for (std::size_t i = 0; i < pages_.size();) {
            std::size_t end = i + 1;
            while (end < pages_.size() && alike(pages_[i], pages_[end])) ++end;
            const page_place& page = pages_[i];
            text += "segment " + std::to_string(page.segment) + ": " + std::to_string(end - i) +
                    " pages for node " + std::to_string(page.wanted) +
                    (page.node >= 0         ? ", on node " + std::to_string(page.node)
                     : page.node == -ENOENT ? std::string{", not touched"}
                                            : ", error " + std::to_string(-page.node)) +
                    "\n";
            i = end;
        }
        return text;
    }

  private:
    static bool alike(const page_place& a, const page_place& b) noexcept {
        return a.segment == b.segment && a.wanted == b.wanted && a.node == b.node;
    }
    template <class Predicate>
    std::size_t count(Predicate predicate) const noexcept {
        return static_cast<std::size_t>(std::count_if(pages_.begin(), pages_.end(), predicate));
    }

    std::vector<page_place> pages_;
};

}  // namespace numascape
