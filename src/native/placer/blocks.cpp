// SPDX-License-Identifier: Apache-2.0
#include "blocks.h"

#include "held_signals.h"
#include "placer.h"

namespace numascape::placer {
namespace {

using Blocks = IntervalMap<Block>;
constinit Blocks blocks;

// While a thread changes or reads the map, it runs no handler: the handler may map memory, free
// it, or fork. After the program has forbidden itself system calls, this one may be forbidden, too.
class BlocksInUse {
  private:
    os::HeldSignals held_{!is_silent};
};

Block& block_of(Blocks::Interval& interval) {
    interval.value.placed.first = interval.start;
    interval.value.placed.end = interval.end;
    return interval.value;
}

}  // namespace

bool add_block(const Block& block) {
    const BlocksInUse in_use;
    return blocks.insert(block.placed.first, block.placed.end, block);
}

bool find_block(std::uint64_t first, Block& block) {
    const BlocksInUse in_use;
    Blocks::Interval found{};
    if (!blocks.find(first, found) || found.start != first) return false;
    block = block_of(found);
    return true;
}

bool take_block(std::uint64_t first, Block& block) {
    const BlocksInUse in_use;
    if (!find_block(first, block)) return false;
    const LeavingBlocks taken = blocks.take(first, block.placed.end);
    blocks.drop(taken);
    return !taken.empty();
}

void for_each_block_in(std::uint64_t first, std::uint64_t end, void (*visit)(Block&)) {
    const BlocksInUse in_use;
    blocks.each_in(first, end, [&](Blocks::Interval& interval) { visit(block_of(interval)); });
}

LeavingBlocks leave_blocks(std::uint64_t first, std::uint64_t end) {
    const BlocksInUse in_use;
    return blocks.take(first, end);
}

void return_blocks(LeavingBlocks left, std::uint64_t shift) {
    const BlocksInUse in_use;
    blocks.each(left, [&](Blocks::Interval& interval) { interval.value.placed.address += shift; });
    blocks.reinsert(left, shift);
}

void forget_blocks(LeavingBlocks left) {
    const BlocksInUse in_use;
    blocks.drop(left);
}

bool any_blocks() {
    return blocks.any();
}

void for_each_block(void (*visit)(Block&)) {
    blocks.for_each([&](Blocks::Interval& interval) { visit(block_of(interval)); });
}

void lock_blocks() {
    blocks.lock();
}

void unlock_blocks() {
    blocks.unlock();
}

}  // namespace numascape::placer
