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
            shares.push_back({block.owner, static_cast<double>(block.bytes), block.parts});
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
    const double time = left / static_cast<double>(kPageBytes);
    for (const Block& block : at->second.blocks) {
        const uint64_t begin = std::max(block.begin, since);
        const uint64_t end = std::min(block.end, until);
        if (end > begin) {
            const double weight = static_cast<double>(end - begin) * block.bytes;
            left -= weight;
            shares.push_back({block.owner, weight, block.parts});
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
