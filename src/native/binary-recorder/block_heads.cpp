// SPDX-License-Identifier: Apache-2.0
#include "block_heads.h"

#include "access_groups.h"
#include "counting_code.h"
#include "drmgr.h"
#include "instruction_facts.h"
#include "os.h"
#include "recorder.h"
#include "register_loops.h"
#include "scratch.h"
#include "special_counts.h"
#include "thread_memory.h"

namespace numascape {
namespace {

constexpr uint32_t kMaxPlaces = BlockPlan::kMaxGroups + 2 * BlockPlan::kMaxSpecials;
static_assert(kMaxPlaces <= 1u << kPlaceBits);
static_assert(uint64_t{kCounters} << kPlaceBits <= uint64_t{1} << 32);
static_assert(1 + BlockPlan::kMaxSpecials < kBlockCountersPerGranule);

constexpr uint32_t kMinInstructionsAlone = 16;

constexpr uint32_t kMaxDescribed = BlockPlan::kMaxAccesses + 2 * BlockPlan::kMaxSpecials;

struct Description {
    BlockAccess access[kMaxDescribed];
    uint32_t accesses;
    uint32_t counters;  // the block's own, and one for each instruction that counts by its data
    uint16_t instructions;
};

// A hash table of blocks, by their start. Nearby blocks have nearby entries, so that the memory of
// the table is used page by page.
struct KnownBlock {
    uint64_t signature;  // 0: free
    uint32_t number;
};
constexpr uint64_t kKnownBlocks = uint64_t{kCounters} * 2;
constexpr uint64_t kMaxKnownBlocks = kKnownBlocks / 4 * 3;

SpinLock known_lock;
KnownBlock* known = nullptr;
uint64_t known_blocks = 0;
uint32_t next_counter = 0;
int description_index = -1;
ThreadMemory descriptions(sizeof(Description));

void add(Description& out, uint64_t pc, uint32_t place, bool write, uint32_t own_counter) {
    BlockAccess* last = out.accesses > 0 ? &out.access[out.accesses - 1] : nullptr;
    if (last == nullptr || last->pc != pc || last->place != place ||
        last->own_counter != own_counter) {
        last = &out.access[out.accesses++];
        *last = {pc, static_cast<uint16_t>(place), 0, 0, static_cast<uint16_t>(own_counter)};
    }
    (write ? last->writes : last->reads) += 1;
}

// Zero in a block that only waits for another thread.
uint16_t instructions_of(const BlockPlan& plan) {
    uint16_t instructions = 0;
    for (uint32_t i = 0; i < plan.instructions; ++i) {
        if (only_waits(plan.instruction[i])) {
            return 0;
        }
        instructions += instr_is_app(plan.instruction[i]) ? 1 : 0;
    }
    return instructions;
}

void describe(const BlockPlan& plan, Description& out) {
    out.accesses = 0;
    out.counters = 1;
    out.instructions = instructions_of(plan);
    for (uint32_t g = 0; g < plan.groups; ++g) {
        const AccessGroup& group = plan.group[g];
        for (uint32_t i = group.first_access; i != kNoAccess; i = plan.access[i].next) {
            add(out, plan.access[i].pc, g, plan.access[i].write, 0);
        }
    }
    for (uint32_t s = 0; s < plan.specials; ++s) {
        const uint64_t pc = program_pc(plan, plan.special[s].instruction);
        const SpecialCounts counts = special_counts(plan.special[s].instruction);
        const uint32_t own = counts.exact ? 0 : 1 + s;
        const uint32_t place = plan.groups + 2 * s;
        if (counts.reads) {
            add(out, pc, place, false, own);
        }
        if (counts.writes) {
            add(out, pc, place + 1, true, own);
        }
        out.counters = 2 + s;
    }
}

uint64_t signature_of(uint64_t start, const Description& description) {
    uint64_t hash = start * 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < description.accesses; ++i) {
        const BlockAccess& access = description.access[i];
        const uint64_t counts = uint64_t{access.place} << 48 | uint64_t{access.reads} << 32 |
                                uint64_t{access.writes} << 16 | access.own_counter;
        hash = (hash ^ access.pc) * 0xc2b2ae3d27d4eb4fu;
        hash = ((hash >> 29) ^ hash ^ counts) * 0x9e3779b97f4a7c15u;
    }
    return hash | 1;
}

// The block's counters lie in one page of a table.
uint32_t take_counters(uint32_t count) {
    const uint32_t left = kBlockCountersPerGranule - next_counter % kBlockCountersPerGranule;
    next_counter += count > left ? left : 0;
    if (next_counter + count > kCounters) {
        shard.set_flag(kShardBlocksLost);
        return kNoBlock;
    }
    next_counter += count;
    return next_counter - count;
}

// Counting takes three instructions, so a block without accesses is only counted if it is long, or
// part of a loop that no other counter shows.
bool worth_counting(void* drcontext, app_pc start, const BlockPlan& plan) {
    return plan.groups + plan.specials != 0 || plan.instructions >= kMinInstructionsAlone ||
           in_register_loop(drcontext, start);
}

void thread_started(void* drcontext) {
    drmgr_set_tls_field(drcontext, description_index, descriptions.take());
}

void thread_ended(void* drcontext) {
    descriptions.give_back(drmgr_get_tls_field(drcontext, description_index),
                           dr_get_current_drcontext() == drcontext);
}

}  // namespace

void block_heads_init() {
    known = static_cast<KnownBlock*>(os::map_sparse(kKnownBlocks * sizeof(KnownBlock)));
    DR_ASSERT(!os::failed(known));
    description_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
}

void block_heads_after_fork() {
    known_lock.reset();
    descriptions.after_fork();
}

void block_heads_exit() {
    os::unmap(known, kKnownBlocks * sizeof(KnownBlock));
    descriptions.close();
}

uint32_t number_block(void* drcontext, void* tag, const BlockPlan& plan) {
    if (plan.groups + plan.specials == 0 && plan.head.instruction == nullptr) {
        return kNoBlock;
    }
    auto& description =
        *static_cast<Description*>(drmgr_get_tls_field(drcontext, description_index));
    describe(plan, description);
    const auto start = reinterpret_cast<uint64_t>(dr_fragment_app_pc(tag));
    const uint64_t signature = signature_of(start, description);
    // Null if a thread without a recorder builds a known block again, to find the registers of a
    // stopped thread.
    ThreadRecorder* recorder = self();
    uint32_t number = kNoBlock;
    {
        SpinGuard guard(known_lock);
        uint64_t at = (start >> 3) % kKnownBlocks;
        while (known[at].signature != 0 && known[at].signature != signature) {
            at = (at + 1) % kKnownBlocks;
        }
        if (known[at].signature == signature) {
            return known[at].number;
        }
        if (recorder == nullptr) {
            return kNoBlock;
        }
        if (known_blocks == kMaxKnownBlocks) {
            shard.set_flag(kShardBlocksLost);
            return kNoBlock;
        }
        if (worth_counting(drcontext, dr_fragment_app_pc(tag), plan)) {
            number = take_counters(description.counters);
            if (number == kNoBlock) {
                return kNoBlock;
            }
        }
        // A block that is not counted is noted, too. If it is built again, its code must be the
        // same, although the program's code behind it may have changed.
        known[at] = {signature, number};
        ++known_blocks;
    }
    if (number != kNoBlock) {
        shard.write_block(*recorder, number, description.instructions, description.access,
                          description.accesses);
    }
    return number;
}

uint32_t group_site(uint32_t block, uint32_t group) {
    return block == kNoBlock ? kNoSite : block << kPlaceBits | group;
}

uint32_t special_site(uint32_t block, const BlockPlan& plan, uint32_t special) {
    return block == kNoBlock ? kNoSite : block << kPlaceBits | (plan.groups + 2 * special);
}

namespace {

// Restores the real table of the thread, and returns it. Another thread may switch the phase at any
// moment.
const CountTable& end_sample(ThreadRecorder& recorder) {
    recorder.sampling.weight = 0;
    const CountTable* table = nullptr;
    do {
        table = recorder.current.load(std::memory_order_relaxed);
        write_thread_slot(ThreadSlot::kTable, table->page_counters);
    } while (table != recorder.current.load(std::memory_order_relaxed));
    return *table;
}

}  // namespace

void stop_sampling(ThreadRecorder& recorder) {
    if (recorder.sampling.weight != 0) {
        end_sample(recorder);
    }
}

void block_counter_ran_out(uint64_t argument, const void* info, ThreadRecorder* recorder,
                           const void*, uint64_t, const void*) {
    auto* page_counters = reinterpret_cast<PageCounter*>(argument);
    const auto block = static_cast<uint32_t>(reinterpret_cast<uint64_t>(info));
    if (recorder->current.load(std::memory_order_relaxed) ==
        nullptr) {  // a thread that is not counted
        counter_at<BlockCounter>(page_counters, block).left = ~uint64_t{0} >> 1;
        return;
    }
    if (page_counters == recorder->sampling.table) {
        counter_at<BlockCounter>(page_counters, block) = {0, 0};
        const CountTable& real = end_sample(*recorder);
        auto& counter = shard.counter<BlockCounter>(real, block);
        counter.left -= 1;
        if (counter.left != ~uint64_t{0}) {
            return;
        }
        page_counters = real.page_counters;
    }
    if (shard.begin_sample(*recorder, page_counters, block)) {
        write_thread_slot(ThreadSlot::kTable, recorder->sampling.table);
    }
}

void count_sample(ThreadRecorder& recorder, uint32_t page, const AccessingCode& code, uint32_t site,
                  const SeenParts& seen) {
    shard.count_sample(recorder, page, code, site, seen);
}

void note_special(ThreadRecorder& recorder, uint32_t block, uint32_t site, uint64_t address,
                  const SeenParts& seen, uint64_t times) {
    const Sampling& sampling = recorder.sampling;
    const bool always = ShardWriter::always_noted(recorder, times);
    if (always || (sampling.weight != 0 && sampling.block == block)) {
        shard.note_sample(recorder, site, window_page(address), seen,
                          always ? times : sampling.weight * times, always);
    }
}

}  // namespace numascape
