// SPDX-License-Identifier: Apache-2.0
#include "page_owners.h"

#include <algorithm>

namespace numascape {
namespace {

// The pages that have nothing else on them.
WindowPages own_pages(const AllocRecord& block) {
    const auto [first, end] = WindowPages::of(block.address, block.bytes);
    const uint64_t bytes = block.exclusive_end - block.exclusive_start;
    if (block.exclusive_end <= block.exclusive_start || bytes > block.bytes + 2 * kPageBytes) {
        return {end, end};
    }
    const auto own = WindowPages::of(block.exclusive_start, bytes);
    return {std::max(own.first, first), std::min(own.end, end)};
}

// The pages at the ends of a block.
template <typename Visit>
void each_shared_page(WindowPages all, WindowPages own, Visit visit) {
    for (uint32_t page = all.first; page < std::min(own.first, all.end); ++page) {
        visit(page);
    }
    for (uint32_t page = std::max(own.end, own.first); page < all.end; ++page) {
        visit(page);
    }
}

}  // namespace

PageOwners::PageOwners(Owners& owners, std::vector<std::string>& paths)
    : owners_(owners), paths_(paths) {
    paths_.emplace_back();
    unknown_ = owners_.add({.kind = OwnerKind::kUnknown});
}

uint32_t PageOwners::path_index(std::string_view path) {
    if (path.empty()) {
        return 0;
    }
    const auto [at, fresh] =
        path_indices_.try_emplace(std::string(path), static_cast<uint32_t>(paths_.size()));
    if (fresh) {
        paths_.emplace_back(path);
    }
    return at->second;
}

void PageOwners::add_small(uint32_t page, const SmallBlocksRecord& small, OwnerKind kind) {
    if (small.blocks == 0 && small.bytes == 0) {
        return;
    }
    const auto [site, fresh] = small_sites_.try_emplace(small.stack_id, 0);
    if (fresh) {
        site->second = owners_.add({.kind = kind, .stack_id = small.stack_id, .blocks = 0});
    }
    owners_.bytes[site->second] += small.bytes;
    owners_.blocks[site->second] += small.blocks;
    if (kind == OwnerKind::kSmallRegions) {
        regions_.add_small(page, site->second, small.bytes, small.parts);
    } else {
        shares_.add_small(page, site->second, small.bytes, small.parts);
    }
}

void PageOwners::begin_region(const MemoryRegionRecord& region) {
    const uint32_t owner = owners_.add({.kind = OwnerKind::kRegion,
                                        .start = region.address,
                                        .bytes = region.bytes,
                                        .stack_id = region.name_id});
    regions_.begin(owner, region.address, region.bytes, region.time);
}

uint32_t PageOwners::begin_variable(const Variable& variable, uint64_t time) {
    // A function that is called again has its variables at the same place: they are one owner.
    const auto [known, fresh] = variables_.try_emplace(variable, 0);
    if (fresh) {
        known->second = owners_.add({.kind = OwnerKind::kFrameVariable,
                                     .start = variable.address,
                                     .bytes = variable.bytes,
                                     .stack_id = variable.number,
                                     .thread = variable.thread});
    }
    regions_.begin(known->second, variable.address, variable.bytes, time);
    return known->second;
}

void PageOwners::begin_stack(uint32_t thread, uint64_t start, uint64_t bytes) {
    const uint32_t owner =
        owners_.add({.kind = OwnerKind::kStack, .start = start, .bytes = bytes, .thread = thread});
    const auto [first, end] = owned(owner).pages;
    stacks_.assign(first, end, owner);
    stack_of_thread_[thread] = owner;
}

std::optional<PageOwners::Owned> PageOwners::stack_of(uint32_t thread) const {
    const auto at = stack_of_thread_.find(thread);
    return at != stack_of_thread_.end() ? std::optional(owned(at->second)) : std::nullopt;
}

uint32_t PageOwners::load_module(uint64_t start, uint64_t bytes, std::string_view path) {
    const uint32_t owner = owners_.add(
        {.kind = OwnerKind::kModule, .start = start, .bytes = bytes, .path = path_index(path)});
    const auto [first, end] = owned(owner).pages;
    modules_.assign(first, end, owner);
    return owner;
}

void PageOwners::unload_module(WindowPages pages) {
    modules_.erase(pages.first, pages.end);
}

void PageOwners::map(uint64_t start, uint64_t bytes, const Mapping& mapping) {
    if (bytes > kWindowMask) {
        huge_.push_back(add_mapping(start, bytes, mapping));
        return;
    }
    WindowPages::each_part(start, bytes, [&](uint64_t part, uint64_t part_bytes) {
        map_in_window(part, part_bytes, mapping);
    });
}

uint32_t PageOwners::add_mapping(uint64_t start, uint64_t bytes, const Mapping& mapping) {
    return owners_.add({.kind = OwnerKind::kMapping,
                        .start = start,
                        .bytes = bytes,
                        .stack_id = mapping.stack_id,
                        .path = mapping.path,
                        .flags = mapping.flags,
                        .object = mapping.object,
                        .object_start = mapping.object_start});
}

void PageOwners::map_in_window(uint64_t start, uint64_t bytes, const Mapping& mapping) {
    const auto pages = WindowPages::of(start, bytes);
    const uint64_t high = start >> kWindowBits;
    for (auto at = mappings_.all().lower_bound(pages.first);
         at != mappings_.all().end() && at->first < pages.end; ++at) {
        if (mapping_high_[at->second.value] != high) {
            ambiguous_.push_back(
                {std::max(pages.first, at->first), std::min(pages.end, at->second.end)});
        }
    }
    const uint32_t owner = add_mapping(start, bytes, mapping);
    mapping_high_[owner] = high;
    mappings_.assign(pages.first, pages.end, owner);
}

std::optional<PageOwners::Mapping> PageOwners::mapping_at(uint32_t page) const {
    const auto owner = mappings_.find(page);
    if (!owner) {
        return std::nullopt;
    }
    return Mapping{owners_.stack_id[*owner], owners_.path[*owner], owners_.flags[*owner],
                   owners_.object[*owner], owners_.object_start[*owner]};
}

bool PageOwners::lengthen(uint64_t start, uint64_t bytes) {
    const auto owner = mappings_.find(window_page(start));
    const uint64_t end = start + bytes;
    // Another mapping may have the same position in the window.
    if (!owner || start - owners_.start[*owner] >= owners_.bytes[*owner] ||
        (start >> kWindowBits) != (end - 1) >> kWindowBits) {
        return false;
    }
    owners_.bytes[*owner] = std::max(owners_.bytes[*owner], end - owners_.start[*owner]);
    const auto pages = WindowPages::of(start, bytes);
    mappings_.assign(pages.first, pages.end, *owner);
    return true;
}

void PageOwners::advise(WindowPages pages, bool huge) {
    advised_.assign(pages.first, pages.end, huge ? kAsksForHugePages : kRefusesHugePages);
    // Smaller owners are not of interest, because they have no huge page.
    constexpr uint32_t kHugePage = (uint32_t{2} << 20) / kPageBytes;
    std::optional<uint32_t> last;
    for (uint64_t page = pages.first; page < pages.end; page += kHugePage / 2) {
        const auto owner = sole(static_cast<uint32_t>(page));
        if (owner && owner != last && kind(*owner) != OwnerKind::kUnknown) {
            follow_advice(*owner);
        }
        last = owner;
    }
}

void PageOwners::follow_advice(uint32_t owner) {
    const auto [first, end] = owned(owner).pages;
    if (const auto advice = advised_.find(first + (end - first) / 2)) {
        constexpr uint32_t kEvery = kAsksForHugePages | kRefusesHugePages;
        owners_.flags[owner] = static_cast<uint8_t>((owners_.flags[owner] & ~kEvery) | *advice);
    }
}

void PageOwners::unmap(WindowPages pages) {
    advised_.erase(pages.first, pages.end);
    mappings_.erase(pages.first, pages.end);
    modules_.erase(pages.first, pages.end);
    blocks_.erase(pages.first, pages.end);
    regions_.erase(pages);
}

void PageOwners::unmap_beyond_window(uint64_t start, uint64_t bytes) {
    std::erase_if(huge_, [&](uint32_t owner) {
        return owners_.start[owner] < start + bytes &&
               start < owners_.start[owner] + owners_.bytes[owner];
    });
}

void PageOwners::expect(const AllocRecord& block) {
    const auto [first, end] = WindowPages::of(block.address, block.bytes);
    const WindowPages own = own_pages(block);
    each_shared_page({first, end}, own, [&](uint32_t page) { ends_of_blocks_.insert(page); });
}

void PageOwners::expect_ends(uint64_t address, uint64_t bytes) {
    const auto [first, end] = WindowPages::of(address, bytes);
    if (first < end) {
        ends_of_blocks_.insert({first, end - 1});
    }
}

void PageOwners::allocate(const AllocRecord& block, bool never_used) {
    const uint32_t owner = owners_.add({.kind = OwnerKind::kBlock,
                                        .start = block.address,
                                        .bytes = block.bytes,
                                        .stack_id = block.stack_id});
    live_blocks_[block.address] = owner;
    follow_advice(owner);
    const auto [first, end] = owned(owner).pages;
    const WindowPages own = own_pages(block);
    if (own.first < own.end) {
        blocks_.assign(own.first, own.end, owner);
    }
    // Pages at the ends, which also contain other blocks. An unused block keeps one byte,
    // because a page needs an owner.
    each_shared_page({first, end}, own, [&](uint32_t page) {
        const uint64_t low = page == first ? block.address % kPageBytes : 0;
        const uint64_t in_last = (block.address + block.bytes - 1) % kPageBytes + 1;
        const uint64_t high = page + 1 == end ? in_last : kPageBytes;
        shares_.add_block(page, owner, never_used ? 1 : high - low, block.time,
                          PageParts::of(low, high - low));
    });
}

std::optional<PageOwners::Owned> PageOwners::block_at(uint64_t address) const {
    const auto at = live_blocks_.find(address);
    return at != live_blocks_.end() ? std::optional(owned(at->second)) : std::nullopt;
}

void PageOwners::free(uint64_t address, uint64_t time) {
    const auto at = live_blocks_.find(address);
    if (at == live_blocks_.end()) {
        return;
    }
    const auto [owner, pages] = owned(at->second);
    const auto [first, end] = pages;
    blocks_.erase_value(first, end, owner);  // an overlapping later block keeps its pages
    for (const uint32_t page : {first, first + 1, end - 2, end - 1}) {  // where it may share
        if (pages.contains(page)) {
            shares_.end_block(page, owner, time);
        }
    }
    live_blocks_.erase(at);
}

std::optional<uint32_t> PageOwners::sole(uint32_t page) const {
    if (regions_.divides(page)) {
        return std::nullopt;
    }
    return sole_below(page);
}

// Like sole(), but regions that have only a part of the page are ignored.
std::optional<uint32_t> PageOwners::sole_below(uint32_t page) const {
    if (const auto region = regions_.at(page)) {
        return region;
    }
    if (const auto block = blocks_.find(page)) {
        return block;
    }
    if (const auto stack = stacks_.find(page)) {
        return stack;
    }
    return shares_.contains(page) ? std::nullopt : std::optional(surrounding(page));
}

std::vector<PageShares::Share> PageOwners::shares(uint32_t page, uint64_t since,
                                                  uint64_t until) const {
    std::vector<PageShares::Share> below;
    if (const auto owner = sole_below(page)) {
        below.push_back({*owner, 1, PageParts::every()});
    } else {
        below = shares_.during(page, since, until);
    }
    std::vector<PageShares::Share> shares = regions_.parts(page, since, until);
    if (shares.empty()) {
        return below;
    }
    double left = PageShares::page_weight(since, until);
    for (const PageShares::Share& share : shares) {
        left -= share.weight;
    }
    double total = 0;
    for (const PageShares::Share& share : below) {
        total += share.weight;
    }
    for (const PageShares::Share& share : below) {
        if (left > 0) {
            shares.push_back(share);
            shares.back().weight = share.weight / total * left;
        }
    }
    return shares;
}

std::vector<uint32_t> PageOwners::sharers(uint32_t page) const {
    std::vector<uint32_t> found = regions_.sharers(page);
    if (const auto owner = sole_below(page)) {
        found.push_back(*owner);
    } else {
        const auto below = shares_.owners(page);
        found.insert(found.end(), below.begin(), below.end());
    }
    return found;
}

uint32_t PageOwners::surrounding(uint32_t page) const {
    const uint32_t otherwise = huge_.empty() ? unknown_ : huge_.back();
    return modules_.find(page).value_or(mappings_.find(page).value_or(otherwise));
}

uint32_t PageOwners::first_of_call_stack(uint32_t owner) {
    if (kind(owner) != OwnerKind::kBlock) {
        return owner;
    }
    return block_of_stack_id_.try_emplace(owners_.stack_id[owner], owner).first->second;
}

uint32_t PageOwners::index_in(uint32_t owner, uint32_t page) const {
    switch (kind(owner)) {
        case OwnerKind::kSmall:
        case OwnerKind::kSmallRegions:
        case OwnerKind::kUnknown:
            return page;
        default:
            break;
    }
    return (page - window_page(owners_.start[owner])) & (kWindowPages - 1);
}

std::optional<std::string_view> PageOwners::module_path(uint32_t page) const {
    const auto module = modules_.find(page);
    return module ? std::optional<std::string_view>(paths_[owners_.path[*module]]) : std::nullopt;
}

bool PageOwners::is_of_shared_mapping(uint32_t page) const {
    const auto mapping = mappings_.find(page);
    return mapping && (owners_.flags[*mapping] & kMapShared) != 0;
}

bool PageOwners::is_ambiguous(uint32_t page) const {
    return std::any_of(ambiguous_.begin(), ambiguous_.end(),
                       [page](const WindowPages& pages) { return pages.contains(page); });
}

}  // namespace numascape
