// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "page_ranges.h"
#include "page_shares.h"
#include "region_pages.h"
#include "replay.h"
#include "window_pages.h"

namespace numascape {

// The owner of each page of a process at the present time of the replay (see replay.h).
class PageOwners {
  public:
    struct Owned {
        uint32_t owner;
        WindowPages pages;
    };

    // Adds the owners that it finds to `owners` and `paths`; the first entry is the unknown owner.
    PageOwners(Owners& owners, std::vector<std::string>& paths);

    // Blocks that are smaller than a page; only their sums over the run are known.
    // They are heap blocks, or regions.
    void add_small(uint32_t page, const SmallBlocksRecord& small, OwnerKind kind);

    // Parts of memory that the program named.
    void begin_region(const MemoryRegionRecord& region);
    // Variables of functions in their frames on the stack: regions, too. Returns the owner.
    struct Variable {
        uint64_t address;
        uint64_t bytes;
        uint32_t number;
        uint32_t thread;
        auto operator<=>(const Variable&) const = default;
    };
    uint32_t begin_variable(const Variable& variable, uint64_t time);
    void end_region(uint32_t owner, uint64_t time) { regions_.end(owner, time); }
    const RegionPages& regions() const { return regions_; }

    void begin_stack(uint32_t thread, uint64_t start, uint64_t bytes);
    std::optional<Owned> stack_of(uint32_t thread) const;

    // Returns the module's owner.
    uint32_t load_module(uint64_t start, uint64_t bytes, std::string_view path);
    void unload_module(WindowPages pages);

    // The properties of a mapping, without its addresses.
    struct Mapping {
        uint64_t stack_id = 0;
        uint32_t path = 0;
        uint8_t flags = 0;
        uint32_t object = 0;        // see Owners
        uint64_t object_start = 0;  // see Owners
    };
    void map(uint64_t start, uint64_t bytes, const Mapping& mapping);
    Mapping mapping(uint64_t stack_id, std::string_view path, uint8_t flags,
                    std::string_view object = "", uint64_t object_start = 0) {
        return {stack_id, path_index(path), flags, path_index(object), object_start};
    }
    // The mapping that contains the page.
    std::optional<Mapping> mapping_at(uint32_t page) const;
    // The mapping at `start` is now `bytes` long. False if there is none.
    bool lengthen(uint64_t start, uint64_t bytes);
    // The program asks for huge pages on these pages, or refuses them.
    void advise(WindowPages pages, bool huge);
    // Ends the mappings, modules, blocks and regions on the pages.
    void unmap(WindowPages pages);
    void unmap_beyond_window(uint64_t start, uint64_t bytes);

    static bool can_have(const AllocRecord& block) {
        return block.bytes != 0 && block.bytes <= kWindowMask;
    }
    // Announces a block that the log allocates later.
    void expect(const AllocRecord& block);
    // Announces a region or a variable that begins later.
    void expect_ends(uint64_t address, uint64_t bytes);
    // `never_used`: the program does not access the block, so the block gets no part of the counts
    // of a page that it shares with others.
    void allocate(const AllocRecord& block, bool never_used = false);
    std::optional<Owned> block_at(uint64_t address) const;
    void free(uint64_t address, uint64_t time);

    // The only owner of the page; none if it is shared.
    std::optional<uint32_t> sole(uint32_t page) const;
    // For a shared page: the owners that share the counts of [since, until], and all owners that
    // ever had a part.
    std::vector<PageShares::Share> shares(uint32_t page, uint64_t since, uint64_t until) const;
    std::vector<uint32_t> sharers(uint32_t page) const;
    // Whether a block or a region ends on the page, or will: its shares are then known by time.
    bool has_ends_of_blocks(uint32_t page) const { return ends_of_blocks_.contains(page); }
    // Whether the page is shared by small blocks alone, so that their shares never change.
    bool has_only_small(uint32_t page) const {
        return !regions_.divides(page) && shares_.has_only_small(page);
    }

    // For a block, the first block that was allocated with the same call stack. Otherwise, `owner`
    // itself.
    uint32_t first_of_call_stack(uint32_t owner);

    OwnerKind kind(uint32_t owner) const { return static_cast<OwnerKind>(owners_.kind[owner]); }
    bool is_region(uint32_t owner) const {
        return kind(owner) == OwnerKind::kRegion || kind(owner) == OwnerKind::kFrameVariable;
    }
    // The page's number in its owner (see CountColumns).
    uint32_t index_in(uint32_t owner, uint32_t page) const;
    std::optional<std::string_view> module_path(uint32_t page) const;
    bool is_of_shared_mapping(uint32_t page) const;
    // Several simultaneous mappings have this page of the window.
    bool is_ambiguous(uint32_t page) const;

  private:
    std::optional<uint32_t> sole_below(uint32_t page) const;
    uint32_t add_mapping(uint64_t start, uint64_t bytes, const Mapping& mapping);
    void map_in_window(uint64_t start, uint64_t bytes, const Mapping& mapping);
    uint32_t surrounding(uint32_t page) const;
    void follow_advice(uint32_t owner);
    uint32_t path_index(std::string_view path);
    Owned owned(uint32_t owner) const {
        return {owner, WindowPages::of(owners_.start[owner], owners_.bytes[owner])};
    }

    Owners& owners_;
    std::vector<std::string>& paths_;
    uint32_t unknown_;
    PageRanges blocks_, stacks_, modules_, mappings_;
    RegionPages regions_;  // before all others
    PageRanges advised_;   // OwnerFlags
    std::map<Variable, uint32_t> variables_;
    PageShares shares_;
    std::unordered_set<uint32_t> ends_of_blocks_;
    std::unordered_map<uint64_t, uint32_t> live_blocks_;  // address -> owner
    std::unordered_map<uint64_t, uint32_t> small_sites_;  // stack id, or name -> owner
    std::unordered_map<uint64_t, uint32_t> block_of_stack_id_;
    std::unordered_map<uint32_t, uint32_t> stack_of_thread_;
    std::unordered_map<std::string, uint32_t> path_indices_;
    std::unordered_map<uint32_t, uint64_t> mapping_high_;  // mapping owner -> address >> 40
    std::vector<WindowPages> ambiguous_;
    // Mappings larger than the window. They own the pages that have no other owner.
    std::vector<uint32_t> huge_;
};

}  // namespace numascape
