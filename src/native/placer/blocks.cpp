// SPDX-License-Identifier: Apache-2.0
#include "blocks.h"

#include <atomic>

#include "spin_lock.h"

namespace numascape::placer {
namespace {

// Open addressing; an entry is free when its rule is kNone, and was used when its first page is not
// 0. A process may have 65530 mappings (vm.max_map_count) unless its administrator allows more.
constexpr std::size_t kEntries = 1u << 18;
Block* entries = nullptr;
std::size_t used = 0;  // entries that are or were a block
std::atomic<bool> any{false};
SpinLock lock;

bool prepare() {
    if (entries == nullptr) {
        void* memory = os::map_sparse(kEntries * sizeof(Block));
        if (!os::failed(memory)) entries = static_cast<Block*>(memory);
    }
    return entries != nullptr;
}

bool is_live(const Block& block) {
    return block.placed.first != 0 && block.placed.rule != kNone;
}

std::size_t place_of(std::uint64_t first) {
    return static_cast<std::size_t>(first / kPageBytes * 0x9e3779b97f4a7c15u >> 40) % kEntries;
}

// The entry of the live block that begins at `first`, else nullptr.
Block* find(std::uint64_t first) {
    if (entries == nullptr || first == 0) return nullptr;
    std::size_t at = place_of(first);
    for (std::size_t tries = 0; tries < kEntries; ++tries, at = (at + 1) % kEntries) {
        Block& entry = entries[at];
        if (entry.placed.first == 0) return nullptr;
        if (entry.placed.first == first && is_live(entry)) return &entry;
    }
    return nullptr;
}

Block& free_entry(std::uint64_t first) {
    std::size_t at = place_of(first);
    while (is_live(entries[at])) at = (at + 1) % kEntries;
    return entries[at];
}

// Forgets the entries that were used. False when there are too many blocks for that to help.
bool rebuild() {
    Block* former = entries;
    std::size_t live = 0;
    for (std::size_t at = 0; at < kEntries; ++at) live += is_live(former[at]) ? 1 : 0;
    if (live > kEntries / 2) return false;
    entries = nullptr;
    if (!prepare()) {
        entries = former;
        return false;
    }
    for (std::size_t at = 0; at < kEntries; ++at) {
        if (is_live(former[at])) free_entry(former[at].placed.first) = former[at];
    }
    os::unmap(former, kEntries * sizeof(Block));
    used = live;
    return true;
}

}  // namespace

bool add_block(const Block& block) {
    SpinGuard guard(lock);
    if (!prepare()) return false;
    if (used >= kEntries / 4 * 3 && !rebuild()) return false;
    Block& entry = free_entry(block.placed.first);
    if (entry.placed.first == 0) ++used;
    entry = block;
    any.store(true, std::memory_order_relaxed);
    return true;
}

bool find_block(std::uint64_t first, Block& block) {
    SpinGuard guard(lock);
    const Block* found = find(first);
    if (found != nullptr) block = *found;
    return found != nullptr;
}

bool take_block(std::uint64_t first, Block& block) {
    SpinGuard guard(lock);
    Block* found = find(first);
    if (found == nullptr) return false;
    block = *found;
    found->placed.rule = kNone;
    return true;
}

bool any_blocks() {
    return any.load(std::memory_order_relaxed);
}

void for_each_block(void (*visit)(Block&)) {
    for (std::size_t at = 0; entries != nullptr && at < kEntries; ++at) {
        if (is_live(entries[at])) visit(entries[at]);
    }
}

void lock_blocks() {
    lock.lock();
}

void unlock_blocks() {
    lock.unlock();
}

}  // namespace numascape::placer
