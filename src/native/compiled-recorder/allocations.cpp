// SPDX-License-Identifier: Apache-2.0
//
// Replaces the allocation functions of the C library (with hooks.S). The operators new, and the
// allocation functions of other languages, call these functions.
#include <cerrno>
#include <cstdlib>

#include <malloc.h>

#include "followed_call.h"
#include "os.h"
#include "runtime.h"

namespace numascape {
namespace {

// Blocks of at least this size may be separate mappings, which free() unmaps.
constexpr uint64_t kMayBeMapped = 64 * 1024;

// The thread, if the program itself made the call and is recorded.
ThreadRecorder* recorded(const ReentrancyGuard& inside) {
    return !inside.nested() && recording() ? begin_thread() : nullptr;
}

uint64_t stack_of(ThreadRecorder& recorder, const ProgramRegisters& registers, uint64_t pc,
                  uint64_t stack_pointer, uint64_t bytes) {
    return call_stacks.identify(recorder, registers, pc, stack_pointer, bytes);
}

void* allocated(ThreadRecorder& recorder, void* block, uint64_t bytes, uint64_t stack_id) {
    if (block != nullptr && bytes != 0) {
        // The C library moves the program break by itself.
        memory.follow_break_to(recorder, reinterpret_cast<uint64_t>(block));
        heap.add(recorder, {reinterpret_cast<uint64_t>(block), bytes, stack_id, 0, 0});
    }
    return block;
}

bool is_mapped(uint64_t address) {
    unsigned char resident = 0;
    return os::call(SYS_mincore, static_cast<long>(page_floor(address)), kPageBytes,
                    reinterpret_cast<long>(&resident)) == 0;
}

// After a block was freed: if its pages were unmapped with it, their next access is a first touch
// again.
void forget_if_unmapped(ThreadRecorder& recorder, uint64_t address, uint64_t bytes, uint64_t time) {
    if (bytes >= kMayBeMapped && !is_mapped(address + bytes / 2)) {
        shard.forget_touches(window_page(address), window_page(address + bytes - 1) + 1);
        write_forget(shard, recorder, time, address, bytes, 0);
    }
}

template <typename Function>
auto let_run(Function real) {
    const Real scope;
    return real();
}

template <typename Allocate>
void* allocate(const ProgramRegisters* registers, uint64_t stack_pointer, uint64_t pc,
               uint64_t bytes, Allocate real) {
    const ReentrancyGuard inside;
    ThreadRecorder* recorder = recorded(inside);
    if (recorder == nullptr) {
        return let_run(real);
    }
    const uint64_t stack_id = stack_of(*recorder, *registers, pc, stack_pointer, bytes);
    return allocated(*recorder, let_run(real), bytes, stack_id);
}

template <typename Reallocate>
void* reallocate(const ProgramRegisters* registers, uint64_t stack_pointer, uint64_t pc,
                 uint64_t before, uint64_t bytes, Reallocate real) {
    const ReentrancyGuard inside;
    ThreadRecorder* recorder = recorded(inside);
    if (recorder == nullptr) {
        return let_run(real);
    }
    const uint64_t stack_id = stack_of(*recorder, *registers, pc, stack_pointer, bytes);
    const uint64_t bytes_before = heap.drop(*recorder, before);
    const uint64_t time = os::ticks();
    void* block = let_run(real);
    if (reinterpret_cast<uint64_t>(block) != before) {
        forget_if_unmapped(*recorder, before, bytes_before, time);
    }
    return allocated(*recorder, block, bytes, stack_id);
}

}  // namespace
}  // namespace numascape

using namespace numascape;

#define REPLACEMENT(name)                                        \
    extern "C" __attribute__((visibility("hidden"))) void* name( \
        const ProgramRegisters* from, uint64_t stack_pointer, uint64_t pc)

REPLACEMENT(numascape_malloc) {
    static void* (*real)(size_t) = nullptr;
    return allocate(from, stack_pointer, pc, from->argument(0),
                    [&] { return next_of(real, "malloc")(from->argument(0)); });
}

// The dynamic linker asks for zeroed memory while it looks up the real function.
REPLACEMENT(numascape_calloc) {
    static void* (*real)(size_t, size_t) = nullptr;
    alignas(16) static char room[4096];
    static size_t used = 0;
    const size_t bytes = from->argument(0) * from->argument(1);
    if (real == nullptr && thread_state.looking && used + bytes <= sizeof room) {
        void* block = room + used;
        used += (bytes + 15) & ~size_t{15};
        return block;
    }
    return allocate(from, stack_pointer, pc, bytes,
                    [&] { return next_of(real, "calloc")(from->argument(0), from->argument(1)); });
}

REPLACEMENT(numascape_realloc) {
    static void* (*real)(void*, size_t) = nullptr;
    return reallocate(from, stack_pointer, pc, from->argument(0), from->argument(1), [&] {
        return next_of(real, "realloc")(reinterpret_cast<void*>(from->argument(0)),
                                        from->argument(1));
    });
}

REPLACEMENT(numascape_reallocarray) {
    static void* (*real)(void*, size_t, size_t) = nullptr;
    return reallocate(
        from, stack_pointer, pc, from->argument(0), from->argument(1) * from->argument(2), [&] {
            return next_of(real, "reallocarray")(reinterpret_cast<void*>(from->argument(0)),
                                                 from->argument(1), from->argument(2));
        });
}

REPLACEMENT(numascape_aligned_alloc) {
    static void* (*real)(size_t, size_t) = nullptr;
    return allocate(from, stack_pointer, pc, from->argument(1), [&] {
        return next_of(real, "aligned_alloc")(from->argument(0), from->argument(1));
    });
}

REPLACEMENT(numascape_memalign) {
    static void* (*real)(size_t, size_t) = nullptr;
    return allocate(from, stack_pointer, pc, from->argument(1), [&] {
        return next_of(real, "memalign")(from->argument(0), from->argument(1));
    });
}

REPLACEMENT(numascape_valloc) {
    static void* (*real)(size_t) = nullptr;
    return allocate(from, stack_pointer, pc, from->argument(0),
                    [&] { return next_of(real, "valloc")(from->argument(0)); });
}

REPLACEMENT(numascape_pvalloc) {
    static void* (*real)(size_t) = nullptr;
    return allocate(from, stack_pointer, pc, from->argument(0),
                    [&] { return next_of(real, "pvalloc")(from->argument(0)); });
}

REPLACEMENT(numascape_posix_memalign) {
    static int (*real)(void**, size_t, size_t) = nullptr;
    int error = 0;
    auto** out = reinterpret_cast<void**>(from->argument(0));
    allocate(from, stack_pointer, pc, from->argument(2), [&]() -> void* {
        error = next_of(real, "posix_memalign")(out, from->argument(1), from->argument(2));
        return error == 0 ? *out : nullptr;
    });
    return reinterpret_cast<void*>(static_cast<intptr_t>(error));
}

NUMASCAPE_EXPORTED void free(void* block) {
    static void (*real)(void*) = nullptr;
    if (real == nullptr && thread_state.looking) {
        return;  // dlsym frees a few bytes; we keep them
    }
    const ReentrancyGuard inside;
    ThreadRecorder* recorder = block != nullptr ? recorded(inside) : nullptr;
    const auto give_back = [&] { next_of(real, "free")(block); };
    if (recorder == nullptr) {
        let_run(give_back);
        return;
    }
    const auto address = reinterpret_cast<uint64_t>(block);
    const uint64_t bytes = heap.drop(*recorder, address);
    const uint64_t time = os::ticks();
    let_run(give_back);
    forget_if_unmapped(*recorder, address, bytes, time);
}
