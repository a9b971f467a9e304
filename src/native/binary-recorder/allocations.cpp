// SPDX-License-Identifier: Apache-2.0
//
// Heap blocks: the allocation functions of every module are wrapped. Blocks of at least a page are
// followed one by one, and their counts are taken out before their addresses are used again;
// smaller ones are summed by page and call stack.
#include <string_view>

#include "dr_api.h"
#include "drmgr.h"
#include "drwrap.h"
#include "hashtable.h"
#include "os.h"
#include "recorder.h"

namespace numascape {
namespace {

enum class Allocator : uint8_t {
    kMalloc,         // (bytes)
    kCalloc,         // (count, bytes)
    kRealloc,        // (block, bytes)
    kReallocArray,   // (block, count, bytes)
    kAligned,        // (alignment, bytes)
    kPosixMemalign,  // (&block, alignment, bytes)
    kFree,           // (block)
};

struct WrappedFunction {
    const char* name;
    Allocator kind;
};

// The C library's functions and the C++ operators by their mangled names (Itanium ABI).
constexpr WrappedFunction kFunctions[] = {
    {"malloc", Allocator::kMalloc},
    {"calloc", Allocator::kCalloc},
    {"realloc", Allocator::kRealloc},
    {"reallocarray", Allocator::kReallocArray},
    {"aligned_alloc", Allocator::kAligned},
    {"memalign", Allocator::kAligned},
    {"valloc", Allocator::kMalloc},
    {"pvalloc", Allocator::kMalloc},
    {"posix_memalign", Allocator::kPosixMemalign},
    {"_Znwm", Allocator::kMalloc},
    {"_Znam", Allocator::kMalloc},
    {"_ZnwmRKSt9nothrow_t", Allocator::kMalloc},
    {"_ZnamRKSt9nothrow_t", Allocator::kMalloc},
    {"_ZnwmSt11align_val_t", Allocator::kMalloc},
    {"_ZnamSt11align_val_t", Allocator::kMalloc},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", Allocator::kMalloc},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", Allocator::kMalloc},
    {"free", Allocator::kFree},
    {"cfree", Allocator::kFree},
    {"_ZdlPv", Allocator::kFree},
    {"_ZdaPv", Allocator::kFree},
    {"_ZdlPvm", Allocator::kFree},
    {"_ZdaPvm", Allocator::kFree},
};
constexpr size_t kFunctionCount = sizeof kFunctions / sizeof *kFunctions;

struct LargeBlock {
    uint64_t address;
    uint64_t bytes;
    uint64_t exclusive_start;
    uint64_t exclusive_end;
    uint64_t stack_id;
};

// What a thread is doing in the allocator. Wrapped functions call each other (operator new calls
// malloc): the outermost call is the program's.
struct CallInProgress {
    uint32_t depth;
    Allocator kind;
    uint64_t bytes;
    uint64_t old_block;
    uint64_t out_pointer;
    uint64_t stack_id;
    uint64_t mapped_start;  // mapping made by the allocator during the call
    uint64_t mapped_end;
};

int call_index = -1;
SpinLock blocks_lock;
hashtable_t blocks;                  // address -> LargeBlock *
std::atomic<uint8_t>* block_starts;  // by window page: a followed block starts there

CallInProgress* call_in_progress() {
    return static_cast<CallInProgress*>(
        drmgr_get_tls_field(dr_get_current_drcontext(), call_index));
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

void add_large_block(ThreadRecorder& recorder, const CallInProgress& call, uint64_t address) {
    LargeBlock block{address, call.bytes, 0, 0, call.stack_id};
    // The allocator's own header may precede the block in its first page; nothing else fits there.
    constexpr uint64_t kAllocatorHeader = 16;
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
    auto* kept = static_cast<LargeBlock*>(dr_global_alloc(sizeof(LargeBlock)));
    *kept = block;
    {
        SpinGuard guard(blocks_lock);
        auto* old = static_cast<LargeBlock*>(
            hashtable_add_replace(&blocks, reinterpret_cast<void*>(address), kept));
        if (old != nullptr) {
            dr_global_free(old, sizeof(LargeBlock));
        }
        block_starts[window_page(address)].store(1, std::memory_order_relaxed);
    }
    write_block(recorder, block, os::ticks());
}

// Takes the block's counts out. Must run before the allocator gets the block back.
void drop_block(ThreadRecorder& recorder, uint64_t address) {
    if (address == 0 || block_starts[window_page(address)].load(std::memory_order_relaxed) == 0) {
        return;
    }
    LargeBlock block{};
    {
        SpinGuard guard(blocks_lock);
        auto* kept =
            static_cast<LargeBlock*>(hashtable_lookup(&blocks, reinterpret_cast<void*>(address)));
        if (kept == nullptr) {
            return;
        }
        block = *kept;
        hashtable_remove(&blocks, reinterpret_cast<void*>(address));
        dr_global_free(kept, sizeof(LargeBlock));
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

uint64_t argument(void* wrap, int index) {
    return reinterpret_cast<uint64_t>(drwrap_get_arg(wrap, index));
}

void before_allocation(void* wrap, void** user_data) {
    const auto kind = static_cast<Allocator>(reinterpret_cast<uintptr_t>(*user_data));
    ThreadRecorder* recorder = self();
    CallInProgress* call = call_in_progress();
    if (recorder == nullptr || call == nullptr || call->depth++ != 0) {
        return;
    }
    call->kind = kind;
    call->old_block = call->out_pointer = call->mapped_start = call->mapped_end = 0;
    switch (kind) {
        case Allocator::kMalloc:
            call->bytes = argument(wrap, 0);
            break;
        case Allocator::kCalloc:
            call->bytes = argument(wrap, 0) * argument(wrap, 1);
            break;
        case Allocator::kRealloc:
            call->old_block = argument(wrap, 0);
            call->bytes = argument(wrap, 1);
            break;
        case Allocator::kReallocArray:
            call->old_block = argument(wrap, 0);
            call->bytes = argument(wrap, 1) * argument(wrap, 2);
            break;
        case Allocator::kAligned:
            call->bytes = argument(wrap, 1);
            break;
        case Allocator::kPosixMemalign:
            call->out_pointer = argument(wrap, 0);
            call->bytes = argument(wrap, 2);
            break;
        case Allocator::kFree:
            break;
    }
    dr_mcontext_t* context = drwrap_get_mcontext_ex(
        wrap, static_cast<dr_mcontext_flags_t>(DR_MC_INTEGER | DR_MC_CONTROL));
    context->pc = drwrap_get_func(wrap);
    call->stack_id =
        call_stack(*recorder, *context, reinterpret_cast<uint64_t>(drwrap_get_retaddr(wrap)));
    drop_block(*recorder, call->old_block);
}

void after_allocation(void* wrap, void*) {
    ThreadRecorder* recorder = self();
    CallInProgress* call = call_in_progress();
    if (recorder == nullptr || call == nullptr || call->depth == 0 || --call->depth != 0) {
        return;
    }
    if (wrap == nullptr) {
        return;  // left by longjmp or an exception
    }
    auto result = reinterpret_cast<uint64_t>(drwrap_get_retval(wrap));
    if (call->kind == Allocator::kPosixMemalign) {
        uint64_t block = 0;
        size_t got = 0;
        const bool read =
            static_cast<int>(result) == 0 &&
            dr_safe_read(reinterpret_cast<void*>(call->out_pointer), sizeof block, &block, &got);
        result = read ? block : 0;
    }
    if (result == 0 || call->bytes == 0) {
        return;
    }
    if (call->bytes >= kPageBytes) {
        add_large_block(*recorder, *call, result);
    } else {
        shard.add_small_block(*recorder, result, call->bytes, call->stack_id);
    }
}

void before_free(void* wrap, void**) {
    ThreadRecorder* recorder = self();
    CallInProgress* call = call_in_progress();
    if (recorder != nullptr && call != nullptr && call->depth == 0) {
        drop_block(*recorder, argument(wrap, 0));
    }
}

// Of the C++ operators only those of allocators are wrapped: the C++ libraries' own call malloc,
// which sees the same call stack.
bool is_operator(const char* name) {
    return name[0] == '_' && name[1] == 'Z';
}

bool is_cxx_library(const module_data_t* module) {
    const std::string_view path = module->full_path;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.starts_with("libstdc++.") || name.starts_with("libc++.");
}

void wrap_once(app_pc function, void (*before)(void*, void**), void (*after)(void*, void*),
               void* user_data, uint flags) {
    if (!drwrap_is_wrapped(function, before, after)) {
        const bool wrapped = drwrap_wrap_ex(function, before, after, user_data,
                                            flags | static_cast<uint>(DRWRAP_CALLCONV_DEFAULT));
        DR_ASSERT_MSG(wrapped, "an allocation function cannot be wrapped");
    }
}

void wrap_function(app_pc function, Allocator kind, bool throws) {
    // Several names may be one function (cfree, memalign): drwrap takes each function once.
    if (kind == Allocator::kFree) {
        wrap_once(function, before_free, nullptr, nullptr, 0);
        return;
    }
    // Replacing the return address is many times cheaper than finding every place to return to,
    // but no exception may pass it.
    wrap_once(function, before_allocation, after_allocation,
              reinterpret_cast<void*>(static_cast<uintptr_t>(kind)),
              throws ? 0 : static_cast<uint>(DRWRAP_REPLACE_RETADDR));
}

void thread_started(void* drcontext) {
    auto* call = static_cast<CallInProgress*>(dr_thread_alloc(drcontext, sizeof(CallInProgress)));
    *call = {};
    drmgr_set_tls_field(drcontext, call_index, call);
}

void thread_ended(void* drcontext) {
    dr_thread_free(drcontext, drmgr_get_tls_field(drcontext, call_index), sizeof(CallInProgress));
    drmgr_set_tls_field(drcontext, call_index, nullptr);
}

}  // namespace

void allocations_init() {
    drwrap_init();
    drwrap_set_global_flags(
        static_cast<drwrap_global_flags_t>(DRWRAP_NO_FRILLS | DRWRAP_FAST_CLEANCALLS));
    hashtable_init_ex(&blocks, 12, HASH_INTPTR, false, false, nullptr, nullptr, nullptr);
    block_starts = static_cast<std::atomic<uint8_t>*>(os::map_sparse(kWindowPages));
    DR_ASSERT(!os::failed(block_starts));
    call_index = drmgr_register_tls_field();
    drmgr_register_thread_init_event(thread_started);
    drmgr_register_thread_exit_event(thread_ended);
}

void allocations_exit() {
    drwrap_exit();
}

void allocations_module_loaded(const module_data_t* module) {
    for (const WrappedFunction& function : kFunctions) {
        auto found = reinterpret_cast<app_pc>(dr_get_proc_address(module->handle, function.name));
        // A lookup may resolve to another module's definition.
        if (found != nullptr && dr_module_contains_addr(module, found) &&
            !(is_operator(function.name) && is_cxx_library(module))) {
            wrap_function(found, function.kind, is_operator(function.name));
        }
    }
    module_data_t* main = dr_get_main_module();
    if (main == nullptr || main->start != module->start) {
        dr_free_module_data(main);
        return;
    }
    dr_free_module_data(main);
    SymbolWanted wanted[kFunctionCount];
    for (size_t i = 0; i < kFunctionCount; ++i) {
        wanted[i] = {kFunctions[i].name, 0};
    }
    find_symbols(module->full_path, reinterpret_cast<uint64_t>(module->start), wanted,
                 kFunctionCount);
    for (size_t i = 0; i < kFunctionCount; ++i) {
        auto found = reinterpret_cast<app_pc>(wanted[i].address);
        if (found != nullptr && dr_module_contains_addr(module, found) &&
            found !=
                reinterpret_cast<app_pc>(dr_get_proc_address(module->handle, kFunctions[i].name))) {
            wrap_function(found, kFunctions[i].kind, is_operator(kFunctions[i].name));
        }
    }
}

bool inside_allocator() {
    const CallInProgress* call = call_in_progress();
    return call != nullptr && call->depth > 0;
}

void allocator_mapped(uint64_t start, uint64_t bytes) {
    CallInProgress* call = call_in_progress();
    call->mapped_start = start;
    call->mapped_end = start + bytes;
}

void write_live_blocks(ThreadRecorder& recorder, uint64_t time) {
    SpinGuard guard(blocks_lock);
    for (uint bucket = 0; bucket < HASHTABLE_SIZE(blocks.table_bits); ++bucket) {
        for (hash_entry_t* entry = blocks.table[bucket]; entry != nullptr; entry = entry->next) {
            write_block(recorder, *static_cast<LargeBlock*>(entry->payload), time);
        }
    }
}

void allocations_after_fork() {
    blocks_lock.reset();
}

}  // namespace numascape
