// SPDX-License-Identifier: Apache-2.0
#include "page_shares.h"

#include <algorithm>

#include "shard_format.h"

namespace numascape {

bool PageShares::has_only_small(uint32_t page) const {
    const auto at = pages_.find(page);
    return at != pages_.end() && at->second.blocks.empty() && at->second.small.size() > 1;
}

void PageShares::add_small(uint32_t page, uint32_t owner, uint64_t bytes, const PageParts& parts) {
    pages_[page].small.push_back({owner, std::max<uint64_t>(bytes, 1), parts});
}

void PageShares::add_block(uint32_t page, uint32_t owner, uint64_t bytes, uint64_t begin,
                           const PageParts& parts) {
    const auto on_page = static_cast<uint32_t>(std::clamp<uint64_t>(bytes, 1, kPageBytes));
    pages_[page].blocks.push_back({owner, on_page, parts, begin, kAlive});
}

void PageShares::end_block(uint32_t page, uint32_t owner, uint64_t end) {
    const auto at = pages_.find(page);
    if (at == pages_.end()) {
        return;
    }
    // The latest blocks are at the end, and most blocks are short-lived.
    auto& blocks = at->second.blocks;
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
        if (block->owner == owner) {
            block->end = end;
            return;
        }
    }
}

std::vector<PageShares::Share> PageShares::during(uint32_t page, uint64_t since,
                                                  uint64_t until) const {
    std::vector<Share> shares = parts(page, since, until);
    const auto at = pages_.find(page);
    if (shares.empty() && at != pages_.end()) {
        for (const Block& block : at->second.blocks) {
            shares.push_back({block.owner, static_cast<double>(block.bytes), block.parts,
                              block.begin, block.end});
        }
        for (const Small& small : at->second.small) {
            shares.push_back({small.owner, static_cast<double>(small.bytes), small.parts});
        }
    }
    return shares;
}

std::vector<PageShares::Share> PageShares::parts(uint32_t page, uint64_t since,
                                                 uint64_t until) const {
    std::vector<Share> shares;
    const auto at = pages_.find(page);
    if (at == pages_.end()) {
        return shares;
    }
    double left = page_weight(since, until);
    const double time = ticks(since, until);
    for (const Block& block : at->second.blocks) {
        const uint64_t begin = std::max(block.begin, since);
        const uint64_t end = std::min(block.end, until);
        if (end > begin) {
            const double weight = static_cast<double>(end - begin) * block.bytes;
            left -= weight;
            shares.push_back({block.owner, weight, block.parts, block.begin, block.end});
        }
    }
    double wanted = 0;
    for (const Small& small : at->second.small) {
        wanted += time * static_cast<double>(small.bytes);
    }
    const double scale = wanted > left ? std::max(left, 0.0) / wanted : 1.0;
    for (const Small& small : at->second.small) {
        if (scale > 0) {
            shares.push_back(
                {small.owner, scale * time * static_cast<double>(small.bytes), small.parts});
        }
    }
    return shares;
}

std::vector<PageShares::Share> PageShares::narrow(const std::vector<Share>& shares,
                                                  const PageParts& used, uint64_t time,
                                                  double length) {
    std::vector<Share> found;
    const Share* whole = nullptr;
    const Share* next = nullptr;
    for (const Share& share : shares) {
        if (!share.parts.meets(used) || share.end <= time) {
            continue;
        }
        if (share.begin > time) {
            next = next == nullptr || share.begin < next->begin ? &share : next;
            continue;
        }
        found.push_back(share);
        const auto common = static_cast<double>(share.parts.bytes_in(used));
        found.back().weight *= common / static_cast<double>(share.parts.bytes());
        if (share.has_times()) {
            found.back().weight = common * length;
            const bool later = whole == nullptr || share.begin > whole->begin;
            whole = later && share.parts.contains(used) ? &share : whole;
        }
    }
    // Where a block is, there is no other block at the same time. A sample has the time of the
    // first access that it sums up. If no block is there yet at this time, the sample belongs to
    // the block that begins next.
    const Share* only = found.empty() ? next : whole;
    return only == nullptr ? found : std::vector<Share>{*only};
}

std::vector<uint32_t> PageShares::owners(uint32_t page) const {
    std::vector<uint32_t> found;
    const auto at = pages_.find(page);
    if (at != pages_.end()) {
        for (const Small& small : at->second.small) {
            found.push_back(small.owner);
        }
        for (const Block& block : at->second.blocks) {
            found.push_back(block.owner);
        }
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
    }
    return found;
}

}  // namespace numascape
