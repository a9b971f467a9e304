// SPDX-License-Identifier: Apache-2.0
//
// Heap blocks. The allocation functions of every module are hooked at their first instruction; to
// see what they return, the outermost call's return address is exchanged for a stub's, which puts
// it back. Blocks of at least a page are followed one by one, and their counts are taken out before
// their addresses are used again; smaller ones are summed by page and call stack.
//
// The hooks run out of line (out_of_line.cpp), in the program's thread and on our own stack, and
// call nothing of DynamoRIO's: the program's vector registers are still in place.
#include "allocations.h"

#include "drmgr.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

struct LargeBlock {
    uint64_t address;  // 0: the entry is free
    uint64_t bytes;
    uint64_t exclusive_start;
    uint64_t exclusive_end;
    uint64_t stack_id;
    uint32_t next_free;
};

// At most one block of a page or more begins in a page: entries are found by that page.
constexpr uint32_t kMostBlocks = 1u << 24;
SpinLock blocks_lock;
std::atomic<uint32_t>* block_entry;  // by window page: entry of the block that begins there, or 0
LargeBlock* blocks;                  // entry 0 is not used
uint32_t used_entries = 1;
uint32_t free_entry = 0;

// A return address that was exchanged, and where on the stack.
struct Exchanged {
    uint64_t stack_pointer;
    uint64_t return_address;
};

// What a thread is doing in the allocator. Hooked functions call each other (operator new calls
// malloc): the outermost call is the program's.
struct CallInProgress {
    bool active;
    Hooked kind;
    uint64_t stack_pointer;  // at its first instruction
    uint64_t bytes;
    uint64_t out_pointer;
    uint64_t stack_id;
    uint64_t mapped_start;  // mapping made by the allocator during the call
    uint64_t mapped_end;
    // Usually one; more when a signal handler allocates on a stack of its own meanwhile.
    static constexpr uint32_t kMostExchanged = 16;
    uint32_t exchanged_count;
    Exchanged exchanged[kMostExchanged];
    CallInProgress* next;  // in all_calls
};

int call_index = -1;
SpinLock all_calls_lock;
CallInProgress* all_calls = nullptr;
std::atomic<bool> stopping{false};  // no more return addresses are exchanged

CallInProgress* this_call() {
    return static_cast<CallInProgress*>(read_thread_slot(ThreadSlot::kCall));
}

CallInProgress* call_of(void* drcontext) {
    return static_cast<CallInProgress*>(drmgr_get_tls_field(drcontext, call_index));
}

uint64_t* stack_word(uint64_t address) {
    return reinterpret_cast<uint64_t*>(address);
}

void write_block(ThreadRecorder& recorder, const LargeBlock& block, uint64_t time) {
    auto* record = static_cast<AllocRecord*>(
        shard.append(recorder, RecordType::kAlloc, recorder.thread, sizeof(AllocRecord)));
    record->time = time;
    record->address = block.address;
    record->bytes = block.bytes;
    record->exclusive_start = block.exclusive_start;
    record->exclusive_end = block.exclusive_end;
    record->stack_id = block.stack_id;
    shard.commit(recorder, record);
}

// 0 when there are too many blocks.
uint32_t take_entry() {
    if (free_entry != 0) {
        const uint32_t entry = free_entry;
        free_entry = blocks[entry].next_free;
        return entry;
    }
    return used_entries < kMostBlocks ? used_entries++ : 0;
}

LargeBlock describe(const CallInProgress& call, uint64_t address) {
    // The allocator's own header may precede the block in its first page; nothing else fits there.
    constexpr uint64_t kAllocatorHeader = 16;
    LargeBlock block{address, call.bytes, 0, 0, call.stack_id, 0};
    block.exclusive_start = (address - kAllocatorHeader + kPageBytes - 1) & ~(kPageBytes - 1);
    block.exclusive_end = (address + call.bytes) & ~(kPageBytes - 1);
    if (address >= call.mapped_start && address + call.bytes <= call.mapped_end) {
        const uint64_t end = (address + call.bytes + kPageBytes - 1) & ~(kPageBytes - 1);
        // A mapping of its own, or the start of a new arena: in an arena the rest is not its.
        if (end + kPageBytes >= call.mapped_end) {
            block.exclusive_start = address & ~(kPageBytes - 1);
            block.exclusive_end = end;
        }
    }
    return block;
}

void add_large_block(ThreadRecorder& recorder, const LargeBlock& block) {
    std::atomic<uint32_t>& place = block_entry[window_page(block.address)];
    {
        SpinGuard guard(blocks_lock);
        uint32_t entry = place.load(std::memory_order_relaxed);
        entry = entry != 0 ? entry : take_entry();
        if (entry != 0) {
            blocks[entry] = block;
        }
        place.store(entry, std::memory_order_relaxed);
    }
    write_block(recorder, block, os::ticks());
}

// Takes the block's counts out. Must run before the allocator gets the block back.
void drop_block(ThreadRecorder& recorder, uint64_t address) {
    std::atomic<uint32_t>& place = block_entry[window_page(address)];
    if (address == 0 || place.load(std::memory_order_relaxed) == 0) {
        return;
    }
    LargeBlock block{};
    {
        SpinGuard guard(blocks_lock);
        const uint32_t entry = place.load(std::memory_order_relaxed);
        if (entry == 0 || blocks[entry].address != address) {
            return;
        }
        block = blocks[entry];
        blocks[entry].address = 0;
        blocks[entry].next_free = free_entry;
        free_entry = entry;
        place.store(0, std::memory_order_relaxed);
    }
    const uint64_t time = os::ticks();
    if (block.exclusive_end > block.exclusive_start) {
        shard.query_placement(recorder, block.exclusive_start, block.exclusive_end, time);
        shard.retire(recorder, window_page(block.exclusive_start),
                     window_page(block.exclusive_end - 1) + 1, time);
    }
    auto* record = static_cast<FreeRecord*>(
        shard.append(recorder, RecordType::kFree, recorder.thread, sizeof(FreeRecord)));
    record->time = time + 1;
    record->address = address;
    shard.commit(recorder, record);
}

void put_back(CallInProgress& call) {
    for (uint32_t i = 0; i < call.exchanged_count; ++i) {
        uint64_t* word = stack_word(call.exchanged[i].stack_pointer);
        if (*word == return_stub()) {
            *word = call.exchanged[i].return_address;
        }
    }
    call.exchanged_count = 0;
    call.active = false;
}

void thread_started(void* drcontext) {
    auto* call = static_cast<CallInProgress*>(dr_thread_alloc(drcontext, sizeof(CallInProgress)));
    *call = {};
    drmgr_set_tls_field(drcontext, call_index, call);
    write_thread_slot(ThreadSlot::kCall, call);
    SpinGuard guard(all_calls_lock);
    call->next = all_calls;
    all_calls = call;
}

void thread_ended(void* drcontext) {
    CallInProgress* call = call_of(drcontext);
    if (detached) {
        put_back(*call);  // the program goes on without us
    }
    {
        SpinGuard guard(all_calls_lock);
        CallInProgress** at = &all_calls;
        while (*at != nullptr && *at != call) {
            at = &(*at)->next;
        }
        if (*at == call) {
            *at = call->next;
        }
    }
    dr_thread_free(drcontext, call, sizeof(CallInProgress));
    drmgr_set_tls_field(drcontext, call_index, nullptr);
}

// What was exchanged at `stack_pointer`; null when nothing was.
Exchanged* find_exchanged(CallInProgress& call, uint64_t stack_pointer) {
    for (uint32_t i = call.exchanged_count; i > 0; --i) {
        if (call.exchanged[i - 1].stack_pointer == stack_pointer) {
            return &call.exchanged[i - 1];
        }
    }
    return nullptr;
}

void read_arguments(CallInProgress& call, const ProgramRegisters& registers) {
    switch (call.kind) {
        case Hooked::kMalloc:
            call.bytes = registers.rdi;
            break;
        case Hooked::kCalloc:
            call.bytes = registers.rdi * registers.rsi;
            break;
        case Hooked::kRealloc:
        case Hooked::kAligned:
            call.bytes = registers.rsi;
            break;
        case Hooked::kReallocArray:
            call.bytes = registers.rsi * registers.rdx;
            break;
        case Hooked::kPosixMemalign:
            call.out_pointer = registers.rdi;
            call.bytes = registers.rdx;
            break;
        default:
            break;
    }
}

bool gives_back(Hooked kind) {
    return kind == Hooked::kRealloc || kind == Hooked::kReallocArray;
}

}  // namespace

void allocation_called(const FunctionHook& hook, ThreadRecorder& recorder,
                       const ProgramRegisters& registers, uint64_t stack_pointer) {
    CallInProgress* call = this_call();
    if (call == nullptr) {
        return;
    }
    if (hook.kind == Hooked::kUnwind) {
        put_back(*call);  // exceptions find their way by return addresses
        return;
    }
    if (stopping.load(std::memory_order_relaxed) && hook.kind != Hooked::kFree) {
        return;
    }
    // Inside another hooked call; unless that was left by longjmp, and the stack is above it.
    if (call->active && stack_pointer < call->stack_pointer) {
        return;
    }
    if (hook.kind == Hooked::kFree) {
        drop_block(recorder, registers.rdi);
        return;
    }
    if (call->exchanged_count == CallInProgress::kMostExchanged) {
        call->exchanged_count = 0;  // left by longjmp, all of them
    }
    const uint64_t return_address = *stack_word(stack_pointer);
    if (in_return_stub(reinterpret_cast<app_pc>(return_address))) {
        return;  // a hooked function's tail call
    }
    call->active = true;
    call->kind = hook.kind;
    call->stack_pointer = stack_pointer;
    call->out_pointer = call->mapped_start = call->mapped_end = 0;
    read_arguments(*call, registers);
    call->stack_id = call_stack(recorder, registers, hook.pc, stack_pointer);
    if (gives_back(hook.kind)) {
        drop_block(recorder, registers.rdi);
    }
    call->exchanged[call->exchanged_count++] = {stack_pointer, return_address};
    *stack_word(stack_pointer) = return_stub();
}

void allocations_stop() {
    constexpr int kMostRounds = 500;
    stopping.store(true);
    for (int round = 0; round < kMostRounds; ++round) {
        bool idle = true;
        {
            SpinGuard guard(all_calls_lock);
            for (const CallInProgress* call = all_calls; call != nullptr; call = call->next) {
                idle = idle &&
                       std::atomic_ref(*const_cast<uint32_t*>(&call->exchanged_count)).load() == 0;
            }
        }
        dr_sleep(1);
        if (idle) {
            return;
        }
    }
}

void allocation_returned(ThreadRecorder& recorder, uint64_t result, uint64_t stack_pointer) {
    CallInProgress* call = this_call();
    if (call == nullptr) {
        return;
    }
    const uint64_t entry = stack_pointer - 8;
    if (Exchanged* exchanged = find_exchanged(*call, entry)) {
        *stack_word(entry) = exchanged->return_address;  // where the stub's ret takes it from
        *exchanged = call->exchanged[--call->exchanged_count];
    }
    if (!call->active || entry != call->stack_pointer) {
        return;
    }
    call->active = false;
    if (call->kind == Hooked::kPosixMemalign) {
        result = static_cast<int>(result) == 0 ? *stack_word(call->out_pointer) : 0;
    }
    if (result == 0 || call->bytes == 0) {
        return;
    }
    if (call->bytes >= kPageBytes) {
        add_large_block(recorder, describe(*call, result));
    } else {
        shard.add_small_block(recorder, result, call->bytes, call->stack_id);
    }
}

const void* block_entries() {
    return block_entry;
}

uint64_t program_return(void* drcontext, uint64_t stack_pointer) {
    // Nothing is taken: the thread may be stopped again, elsewhere, if it is at a bad place here.
    CallInProgress* call = call_of(drcontext);
    const uint64_t entry = stack_pointer - 8;
    const Exchanged* exchanged = call != nullptr ? find_exchanged(*call, entry) : nullptr;
    return exchanged != nullptr ? exchanged->return_address : *stack_word(entry);
}

void allocations_init() {
    block_entry =
        static_cast<std::atomic<uint32_t>*>(os::map_sparse(kWindowPages * sizeof(uint32_t)));
    blocks = static_cast<LargeBlock*>(os::map_sparse(kMostBlocks * sizeof(LargeBlock)));
    DR_ASSERT(!os::failed(block_entry) && !os::failed(blocks));
    call_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
}

bool inside_allocator() {
    const CallInProgress* call = this_call();
    return call != nullptr && call->active;
}

void allocator_mapped(uint64_t start, uint64_t bytes) {
    CallInProgress* call = this_call();
    call->mapped_start = start;
    call->mapped_end = start + bytes;
}

void write_live_blocks(ThreadRecorder& recorder, uint64_t time) {
    SpinGuard guard(blocks_lock);
    for (uint32_t entry = 1; entry < used_entries; ++entry) {
        if (blocks[entry].address != 0) {
            write_block(recorder, blocks[entry], time);
        }
    }
}

void allocations_after_fork() {
    blocks_lock.reset();
    all_calls_lock.reset();
}

}  // namespace numascape
