// SPDX-License-Identifier: Apache-2.0
#include "kernel_touches.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "os.h"

namespace numascape {
namespace {

uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

void tell(EffectKind kind, uint64_t start, uint64_t bytes, bool writes, EffectSink sink) {
    if (start != 0 && bytes != 0 && start + bytes > start) {
        Effect effect{};
        effect.kind = kind;
        effect.start = start;
        effect.bytes = bytes;
        effect.writes = writes;
        sink(effect);
    }
}

using Tell = void (*)(uint64_t start, uint64_t bytes, bool writes, EffectSink sink);

struct Vectors {
    uint64_t address;
    uint64_t count;
};

// Reports the first `bytes` of the buffers that the vectors describe.
void each_vector(const MemoryState& state, Vectors vectors, uint64_t bytes, bool writes,
                 EffectSink sink, Tell tell_of = tell_access) {
    constexpr uint64_t kMaxVectors = 1 << 14;  // the kernel takes no more in one call
    for (uint64_t i = 0; i < vectors.count && i < kMaxVectors && bytes > 0; ++i) {
        iovec vector{};
        if (!state.read(vectors.address + i * sizeof vector, &vector, sizeof vector)) {
            return;
        }
        const uint64_t part = least(bytes, vector.iov_len);
        tell_of(reinterpret_cast<uint64_t>(vector.iov_base), part, writes, sink);
        bytes -= part;
    }
}

void fill_message(const MemoryState& state, const msghdr& message, uint64_t bytes,
                  EffectSink sink) {
    each_vector(state, {reinterpret_cast<uint64_t>(message.msg_iov), message.msg_iovlen}, bytes,
                true, sink);
}

}  // namespace

void tell_touch(uint64_t start, uint64_t bytes, bool writes, EffectSink sink) {
    tell(EffectKind::kTouch, start, bytes, writes, sink);
}

void tell_access(uint64_t start, uint64_t bytes, bool writes, EffectSink sink) {
    tell(EffectKind::kAccess, start, bytes, writes, sink);
}

void fills_buffer(const MemoryState&, const SystemCall& call, uint64_t result, EffectSink sink) {
    // A datagram's length may be more than its buffer's (MSG_TRUNC).
    tell_access(call.arguments[1], least(result, call.arguments[2]), true, sink);
}

void fills_first_argument(const MemoryState&, const SystemCall& call, uint64_t result,
                          EffectSink sink) {
    tell_access(call.arguments[0], least(result, call.arguments[1]), true, sink);
}

void fills_vectors(const MemoryState& state, const SystemCall& call, uint64_t result,
                   EffectSink sink) {
    each_vector(state, {call.arguments[1], call.arguments[2]}, result, true, sink);
}

void fills_message(const MemoryState& state, const SystemCall& call, uint64_t result,
                   EffectSink sink) {
    msghdr message{};
    if (state.read(call.arguments[1], &message, sizeof message)) {
        fill_message(state, message, result, sink);
    }
}

void fills_messages(const MemoryState& state, const SystemCall& call, uint64_t result,
                    EffectSink sink) {
    for (uint64_t i = 0; i < least(result, call.arguments[2]); ++i) {
        mmsghdr message{};
        if (!state.read(call.arguments[1] + i * sizeof message, &message, sizeof message)) {
            return;
        }
        fill_message(state, message.msg_hdr, message.msg_len, sink);
    }
}

void copies_between_processes(const MemoryState& state, const SystemCall& call, uint64_t result,
                              EffectSink sink) {
    const uint64_t* argument = call.arguments;
    const bool into_own = call.number == SYS_process_vm_readv;
    each_vector(state, {argument[1], argument[2]}, result, into_own, sink);
    if (argument[0] == os::process_id()) {
        each_vector(state, {argument[3], argument[4]}, result, !into_own, sink);
    }
}

void registers_buffers(const MemoryState& state, const SystemCall& call, uint64_t,
                       EffectSink sink) {
    // From linux/io_uring.h. Older systems do not have this header, or have it without these names.
    constexpr uint64_t kBuffers = 0;
    constexpr uint64_t kBuffers2 = 15;
    constexpr uint64_t kBuffersUpdate = 16;
    struct Buffers2 {  // io_uring_rsrc_register
        uint32_t count, flags;
        uint64_t reserved, vectors, tags;
    };
    struct BuffersUpdate {  // io_uring_rsrc_update2
        uint32_t offset, reserved;
        uint64_t vectors, tags;
        uint32_t count, reserved2;
    };
    const uint64_t operation = call.arguments[1];
    const uint64_t argument = call.arguments[2];
    Buffers2 buffers{};
    BuffersUpdate update{};
    uint64_t vectors = 0;
    uint64_t count = 0;
    if (operation == kBuffers) {
        vectors = argument;
        count = call.arguments[3];
    } else if (operation == kBuffers2 && state.read(argument, &buffers, sizeof buffers)) {
        vectors = buffers.vectors;
        count = buffers.count;
    } else if (operation == kBuffersUpdate && state.read(argument, &update, sizeof update)) {
        vectors = update.vectors;
        count = update.count;
    }
    if (vectors != 0) {
        each_vector(state, {vectors, count}, ~uint64_t{0}, true, sink, tell_touch);
    }
}

void locks_pages(const MemoryState&, const SystemCall& call, uint64_t, EffectSink sink) {
    constexpr uint64_t kOnFault = 1;  // MLOCK_ONFAULT
    if (call.number == SYS_mlock || (call.arguments[2] & kOnFault) == 0) {
        tell_touch(call.arguments[0], call.arguments[1], true, sink);
    }
}

}  // namespace numascape
