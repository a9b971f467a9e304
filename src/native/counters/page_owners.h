// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "page_ranges.h"
#include "page_shares.h"
#include "replay.h"
#include "window_pages.h"

namespace numascape {

// Who owns each page of a process at the moment that its replay has come to (see replay.h).
class PageOwners {
  public:
    struct Owned {
        uint32_t owner;
        WindowPages pages;
    };

    // Adds what it learns to `owners` and `paths`; first that of which nothing is known.
    PageOwners(Owners& owners, std::vector<std::string>& paths);

    // Blocks smaller than a page, which are known only from the whole run.
    void add_small(uint32_t page, const SmallBlocksRecord& small);

    void begin_stack(uint32_t thread, uint64_t start, uint64_t bytes);
    std::optional<Owned> stack_of(uint32_t thread) const;

    // Returns the module's owner.
    uint32_t load_module(uint64_t start, uint64_t bytes, std::string_view path);
    void unload_module(WindowPages pages);

    void map(const MapRecord& mapped, std::string_view path, uint8_t flags);
    // Whatever is there.
    void unmap(WindowPages pages);

    void allocate(const AllocRecord& block);
    std::optional<Owned> block_at(uint64_t address) const;
    void free(uint64_t address, uint64_t time);

    // The one owner of the page; none when it is shared.
    std::optional<uint32_t> sole(uint32_t page) const;
    // Of a shared page: who shares counts made in [since, until], and all who ever had a part.
    std::vector<PageShares::Share> shares(uint32_t page, uint64_t since, uint64_t until) const {
        return shares_.during(page, since, until);
    }
    std::vector<uint32_t> sharers(uint32_t page) const { return shares_.owners(page); }

    OwnerKind kind(uint32_t owner) const { return static_cast<OwnerKind>(owners_.kind[owner]); }
    // The page's number in its owner (see CountColumns).
    uint32_t index_in(uint32_t owner, uint32_t page) const;
    std::optional<std::string_view> module_path(uint32_t page) const;
    bool is_of_shared_mapping(uint32_t page) const;
    // Mappings that were there at the same time fall on this page of the window.
    bool is_ambiguous(uint32_t page) const;

  private:
    uint32_t surrounding(uint32_t page) const;
    uint32_t path_index(std::string_view path);
    Owned owned(uint32_t owner) const {
        return {owner, WindowPages::of(owners_.start[owner], owners_.bytes[owner])};
    }

    Owners& owners_;
    std::vector<std::string>& paths_;
    uint32_t unknown_;
    PageRanges blocks_, stacks_, modules_, mappings_;
    PageShares shares_;
    std::unordered_map<uint64_t, uint32_t> live_blocks_;  // address -> owner
    std::unordered_map<uint64_t, uint32_t> small_sites_;  // stack id -> owner
    std::unordered_map<uint32_t, uint32_t> stack_of_thread_;
    std::unordered_map<std::string, uint32_t> path_indices_;
    std::unordered_map<uint32_t, uint64_t> mapping_high_;  // mapping owner -> address >> 40
    std::vector<WindowPages> ambiguous_;
};

}  // namespace numascape
