// SPDX-License-Identifier: Apache-2.0
#include "mappings.h"

#include <cerrno>
#include <cstdarg>

#include <sys/mman.h>

#include "held_signals.h"
#include "os.h"
#include "placer.h"
#include "report.h"

namespace numascape::placer {
namespace {

// For the program, a call is one step: a handler that leaves it with siglongjmp, or a request to
// cancel the thread, finds it before or after. The program may have forbidden the system call that
// holds signals; then nothing is placed any more.
class CallInUse {
  private:
    os::HeldSignals held_{!is_silent && (any_blocks() || places_blocks)};
};

// The state of the table of calls; blocks are in a separate map.
MemoryState memory;

void* to_errno(long result) {
    if (result < 0 && result > -4096) {
        errno = static_cast<int>(-result);
        return MAP_FAILED;
    }
    return reinterpret_cast<void*>(result);
}

// Blocks that may end are counted while their pages exist.
struct Leaving {
    LeavingBlocks ending;
    LeavingBlocks moving;

    void take(const Effect& effect) {
        const std::uint64_t end = effect.start + effect.bytes;
        if (effect.kind == EffectKind::kUnmap) {
            for_each_block_in(effect.start, end, report_block);
            ending = leave_blocks(effect.start, end);
        } else if (effect.kind == EffectKind::kMove) {
            moving = leave_blocks(effect.start, end);
        }
    }

    void move(const Effect& effect) {
        const bool had_blocks = !moving.empty();
        return_blocks(moving, effect.start - effect.from);
        moving = {};
        if (!had_blocks) return;
        const std::uint64_t end = effect.start + effect.bytes;
        Block block{};
        if (effect.bytes < effect.from_bytes) {
            forget_blocks(leave_blocks(end, effect.start + effect.from_bytes));
        } else if (find_block(effect.start, block) && block.placed.end < end) {
            block.placed.bytes += end - block.placed.end;  // the kernel gave it the same policy
            block.placed.end = end;
            add_block(block);
        }
    }

    void reinsert() {
        return_blocks(ending, 0);
        return_blocks(moving, 0);
    }
};

long call_kernel(const SystemCall& call) {
    const std::uint64_t* a = call.arguments;
    return os::call(call.number, static_cast<long>(a[0]), static_cast<long>(a[1]),
                    static_cast<long>(a[2]), static_cast<long>(a[3]), static_cast<long>(a[4]),
                    static_cast<long>(a[5]));
}

// The kernel has just assigned these addresses. Older information about them is from a mapping
// whose end was not seen, for example the stack of a thread.
void forget_former(std::uint64_t address, std::uint64_t bytes) {
    for_each_block_in(address, address + bytes, report_block);
    forget_blocks(leave_blocks(address, address + bytes));
}

[[gnu::noinline]] void place_mapping(std::uint64_t address, std::size_t bytes) {
    const int error = errno;
    const std::uint32_t rule = rule_now(true);
    if (rule != kNone) {
        place_now({address, bytes, address, address + page_up(bytes), rule});
    }
    errno = error;
}

}  // namespace

long call_and_follow(SystemCall call) {
    if (!any_blocks()) return call_kernel(call);
    Leaving leaving;
    auto take = [&](const Effect& effect) { leaving.take(effect); };
    ranges_at_risk(memory, call, sink_of(take));
    const long result = call_kernel(call);
    auto follow = [&](const Effect& effect) {
        if (effect.kind == EffectKind::kMap) forget_former(effect.start, effect.bytes);
        if (effect.kind == EffectKind::kMove) leaving.move(effect);
    };
    effects_of(memory, call, result, sink_of(follow));
    if (result < 0 && result > -4096) {
        leaving.reinsert();
    } else {
        forget_blocks(leaving.ending);
        return_blocks(leaving.moving, 0);
    }
    return result;
}

}  // namespace numascape::placer

using namespace numascape::placer;
using numascape::SystemCall;

#pragma GCC visibility push(default)
extern "C" {

void* mmap(void* hint, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    const CallInUse in_use;
    const SystemCall call{
        SYS_mmap,
        {reinterpret_cast<std::uint64_t>(hint), bytes, static_cast<std::uint64_t>(protection),
         static_cast<std::uint64_t>(flags), static_cast<std::uint64_t>(file),
         static_cast<std::uint64_t>(offset)},
        {}};
    void* memory = to_errno(call_and_follow(call));
    // A file's pages belong to the page cache, which determines their nodes.
    if (memory != MAP_FAILED && places_blocks && (flags & MAP_ANONYMOUS) != 0) {
        place_mapping(reinterpret_cast<std::uint64_t>(memory), bytes);
    }
    return memory;
}

void* mmap64(void* hint, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    return mmap(hint, bytes, protection, flags, file, offset);
}

int munmap(void* memory, std::size_t bytes) {
    const CallInUse in_use;
    const SystemCall call{SYS_munmap, {reinterpret_cast<std::uint64_t>(memory), bytes}, {}};
    return to_errno(call_and_follow(call)) == MAP_FAILED ? -1 : 0;
}

void* mremap(void* memory, std::size_t former_bytes, std::size_t bytes, int flags, ...) {
    std::va_list arguments;
    va_start(arguments, flags);
    const int names_target = MREMAP_FIXED | 4;  // MREMAP_DONTUNMAP
    void* to = (flags & names_target) != 0 ? va_arg(arguments, void*) : nullptr;
    va_end(arguments);
    const CallInUse in_use;
    const SystemCall call{SYS_mremap,
                          {reinterpret_cast<std::uint64_t>(memory), former_bytes, bytes,
                           static_cast<std::uint64_t>(flags), reinterpret_cast<std::uint64_t>(to)},
                          {}};
    return to_errno(call_and_follow(call));
}

}  // extern "C"
#pragma GCC visibility pop
