// SPDX-License-Identifier: Apache-2.0
#include "heap_blocks.h"

#include "os.h"
#include "private_memory.h"

namespace numascape {

bool HeapBlocks::open() {
    entry_ = map_private<std::atomic<uint32_t>>(kWindowPages * sizeof(uint32_t));
    blocks_ = map_private<Block>(kMaxBlocks * sizeof(Block));
    return entry_ != nullptr && blocks_ != nullptr;
}

void HeapBlocks::close() {
    os::unmap(entry_, kWindowPages * sizeof(uint32_t));
    os::unmap(blocks_, kMaxBlocks * sizeof(Block));
}

void HeapBlocks::write(ThreadRecorder& recorder, const Block& block, uint64_t time) {
    auto* record = static_cast<AllocRecord*>(
        shard_.append(recorder, RecordType::kAlloc, recorder.thread, sizeof(AllocRecord)));
    record->time = time;
    record->address = block.address;
    record->bytes = block.bytes;
    record->exclusive_start = block.exclusive_start;
    record->exclusive_end = block.exclusive_end;
    record->stack_id = block.stack_id;
    shard_.commit(recorder, record);
}

// 0 if there are too many blocks.
uint32_t HeapBlocks::take_entry() {
    if (free_entry_ != 0) {
        const uint32_t entry = free_entry_;
        free_entry_ = blocks_[entry].next_free;
        return entry;
    }
    return used_entries_ < kMaxBlocks ? used_entries_++ : 0;
}

HeapBlocks::Block HeapBlocks::describe(const Allocation& allocation) {
    // The header of the allocator may precede the block in its first page; nothing else fits there.
    constexpr uint64_t kAllocatorHeader = 16;
    const uint64_t address = allocation.address;
    const uint64_t bytes = allocation.bytes;
    Block block{address, bytes, 0, 0, allocation.stack_id, 0};
    block.exclusive_start = (address - kAllocatorHeader + kPageBytes - 1) & ~(kPageBytes - 1);
    block.exclusive_end = (address + bytes) & ~(kPageBytes - 1);
    if (address >= allocation.mapped_start && address + bytes <= allocation.mapped_end) {
        const uint64_t end = (address + bytes + kPageBytes - 1) & ~(kPageBytes - 1);
        // A separate mapping, or the start of a new arena. In an arena, the rest does not belong to
        // the block.
        if (end + kPageBytes >= allocation.mapped_end) {
            block.exclusive_start = address & ~(kPageBytes - 1);
            block.exclusive_end = end;
        }
    }
    return block;
}

void HeapBlocks::add(ThreadRecorder& recorder, const Allocation& allocation) {
    if (allocation.bytes < kPageBytes) {
        shard_.add_small_block(recorder, allocation.address, allocation.bytes, allocation.stack_id);
        return;
    }
    const Block block = describe(allocation);
    std::atomic<uint32_t>& place = entry_[window_page(block.address)];
    {
        SpinGuard guard(lock_);
        uint32_t entry = place.load(std::memory_order_relaxed);
        entry = entry != 0 ? entry : take_entry();
        if (entry != 0) {
            blocks_[entry] = block;
        }
        place.store(entry, std::memory_order_relaxed);
    }
    write(recorder, block, os::ticks());
}

uint64_t HeapBlocks::drop(ThreadRecorder& recorder, uint64_t address) {
    std::atomic<uint32_t>& place = entry_[window_page(address)];
    if (address == 0 || place.load(std::memory_order_relaxed) == 0) {
        return 0;
    }
    Block block{};
    {
        SpinGuard guard(lock_);
        const uint32_t entry = place.load(std::memory_order_relaxed);
        if (entry == 0 || blocks_[entry].address != address) {
            return 0;
        }
        block = blocks_[entry];
        blocks_[entry].address = 0;
        blocks_[entry].next_free = free_entry_;
        free_entry_ = entry;
        place.store(0, std::memory_order_relaxed);
    }
    const uint64_t time = os::ticks();
    if (block.exclusive_end > block.exclusive_start) {
        shard_.query_placement(recorder, block.exclusive_start, block.exclusive_end, time);
        shard_.retire(recorder, window_page(block.exclusive_start),
                      window_page(block.exclusive_end - 1) + 1, time);
    }
    auto* record = static_cast<FreeRecord*>(
        shard_.append(recorder, RecordType::kFree, recorder.thread, sizeof(FreeRecord)));
    record->time = time + 1;
    record->address = address;
    shard_.commit(recorder, record);
    regions_.memory_ends(block.address, block.bytes);
    return block.bytes;
}

void HeapBlocks::write_live(ThreadRecorder& recorder, uint64_t time) {
    SpinGuard guard(lock_);
    for (uint32_t entry = 1; entry < used_entries_; ++entry) {
        if (blocks_[entry].address != 0) {
            write(recorder, blocks_[entry], time);
        }
    }
}

}  // namespace numascape
