// SPDX-License-Identifier: Apache-2.0
//
// The mappings of the program: mmap and related functions are replaced. Those that make a mapping
// go through hooks.S.
#include <cstring>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "followed_call.h"
#include "os.h"

namespace numascape {
namespace {

bool read_program(uint64_t address, void* into, size_t bytes) {
    // The kernel has just read this memory.
    std::memcpy(into, reinterpret_cast<const void*>(address), bytes);
    return true;
}

}  // namespace

constinit MemoryLog memory(shard, memory_regions, read_program);
constinit LockedMemory locked_memory(memory, each_mapping, true);

FollowedCall::FollowedCall(const SystemCall& call, const ProgramRegisters* from,
                           uint64_t stack_pointer, uint64_t pc) {
    const ReentrancyGuard inside;
    recorder_ = !inside.nested() && recording() ? begin_thread() : nullptr;
    if (recorder_ != nullptr) {
        pending_.call = call;
        if (from != nullptr) {
            pending_.stack_id = call_stacks.identify(*recorder_, *from, pc, stack_pointer, 0);
        }
        memory.before(*recorder_, pending_);
    }
}

void FollowedCall::finish(long result) {
    const ReentrancyGuard inside;
    if (!options.faults) {
        pending_.kernel = {0, callers_of_replaced_function, __builtin_frame_address(0)};
    }
    const AddressRange mapped = memory.after(*recorder_, pending_, result, false);
    locked_memory.mapped(
        *recorder_, mapped,
        pending_.call.number != SYS_mmap || pending_.call.arguments[2] != PROT_NONE);
}

}  // namespace numascape

using namespace numascape;

#define MAPS(name)                                               \
    extern "C" __attribute__((visibility("hidden"))) void* name( \
        const ProgramRegisters* from, uint64_t stack_pointer, uint64_t pc)

MAPS(numascape_mmap) {
    using Function = void* (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    static Function real = nullptr;
    FollowedCall call({SYS_mmap,
                       {from->argument(0), from->argument(1), from->argument(2), from->argument(3),
                        from->argument(4), from->argument(5)},
                       {}},
                      from, stack_pointer, pc);
    return call.returned(next_of(real, "mmap")(from->argument(0), from->argument(1),
                                               from->argument(2), from->argument(3),
                                               from->argument(4), from->argument(5)));
}

MAPS(numascape_mremap) {
    using Function = void* (*)(uint64_t, uint64_t, uint64_t, uint64_t, ...);
    static Function real = nullptr;
    FollowedCall call({SYS_mremap,
                       {from->argument(0), from->argument(1), from->argument(2), from->argument(3),
                        from->argument(4)},
                       {}},
                      from, stack_pointer, pc);
    return call.returned(next_of(real, "mremap")(from->argument(0), from->argument(1),
                                                 from->argument(2), from->argument(3),
                                                 from->argument(4)));
}

MAPS(numascape_shmat) {
    using Function = void* (*)(uint64_t, uint64_t, uint64_t);
    static Function real = nullptr;
    FollowedCall call({SYS_shmat, {from->argument(0), from->argument(1), from->argument(2)}, {}},
                      from, stack_pointer, pc);
    return call.returned(
        next_of(real, "shmat")(from->argument(0), from->argument(1), from->argument(2)));
}

NUMASCAPE_EXPORTED int shmdt(const void* start) {
    static int (*real)(const void*) = nullptr;
    FollowedCall call(system_call(SYS_shmdt, start));
    return call.returned(next_of(real, "shmdt")(start));
}

NUMASCAPE_EXPORTED int munmap(void* start, size_t bytes) {
    static int (*real)(void*, size_t) = nullptr;
    FollowedCall call(system_call(SYS_munmap, start, bytes));
    return call.returned(next_of(real, "munmap")(start, bytes));
}

NUMASCAPE_EXPORTED int madvise(void* start, size_t bytes, int advice) {
    static int (*real)(void*, size_t, int) = nullptr;
    FollowedCall call(system_call(SYS_madvise, start, bytes, advice));
    return call.returned(next_of(real, "madvise")(start, bytes, advice));
}

NUMASCAPE_EXPORTED int mlock(const void* start, size_t bytes) {
    static int (*real)(const void*, size_t) = nullptr;
    FollowedCall call(system_call(SYS_mlock, start, bytes));
    return call.returned(next_of(real, "mlock")(start, bytes));
}

NUMASCAPE_EXPORTED int mlock2(const void* start, size_t bytes, unsigned flags) {
    static int (*real)(const void*, size_t, unsigned) = nullptr;
    FollowedCall call(system_call(SYS_mlock2, start, bytes, flags));
    return call.returned(next_of(real, "mlock2")(start, bytes, flags));
}

NUMASCAPE_EXPORTED int mlockall(int flags) {
    static int (*real)(int) = nullptr;
    {
        const ReentrancyGuard inside;
        ThreadRecorder* recorder = !inside.nested() && recording() ? begin_thread() : nullptr;
        if (recorder != nullptr) {
            const long result = locked_memory.lock_all(*recorder, static_cast<unsigned>(flags));
            if (result != 0) {
                errno = static_cast<int>(-result);
            }
            return result == 0 ? 0 : -1;
        }
    }
    return next_of(real, "mlockall")(flags);
}

NUMASCAPE_EXPORTED int munlockall() {
    static int (*real)() = nullptr;
    locked_memory.end();
    return next_of(real, "munlockall")();
}

// The C library's functions do not return the break, so ask the kernel.
NUMASCAPE_EXPORTED int brk(void* end) {
    static int (*real)(void*) = nullptr;
    FollowedCall call(system_call(SYS_brk, end));
    const int result = next_of(real, "brk")(end);
    call.returned(os::call(SYS_brk, 0));
    return result;
}

NUMASCAPE_EXPORTED void* sbrk(intptr_t increment) {
    static void* (*real)(intptr_t) = nullptr;
    if (increment == 0) {
        return next_of(real, "sbrk")(increment);
    }
    FollowedCall call(system_call(SYS_brk, os::call(SYS_brk, 0) + increment));
    void* result = next_of(real, "sbrk")(increment);
    call.returned(os::call(SYS_brk, 0));
    return result;
}
