// SPDX-License-Identifier: Apache-2.0
//
// System calls in which the kernel reads or fills buffers of the caller.
#pragma once

#include "memory_calls.h"

namespace numascape {

using TellTouches = void (*)(const MemoryState& state, const SystemCall& call, uint64_t result,
                             EffectSink sink);

// (file, buffer, bytes, ...): the result says how many bytes the kernel has filled.
void fills_buffer(const MemoryState&, const SystemCall&, uint64_t result, EffectSink);
// (buffer, bytes, ...)
void fills_first_argument(const MemoryState&, const SystemCall&, uint64_t result, EffectSink);
// (file, vectors, count, ...)
void fills_vectors(const MemoryState&, const SystemCall&, uint64_t result, EffectSink);
void fills_message(const MemoryState&, const SystemCall&, uint64_t result, EffectSink);
void fills_messages(const MemoryState&, const SystemCall&, uint64_t result, EffectSink);
// process_vm_readv and process_vm_writev; the other process may be the caller itself.
void copies_between_processes(const MemoryState&, const SystemCall&, uint64_t result, EffectSink);
// io_uring_register: buffers are pinned, so that all of their pages are there.
void registers_buffers(const MemoryState&, const SystemCall&, uint64_t result, EffectSink);
// (address, bytes, ...): all pages are made present.
void locks_pages(const MemoryState&, const SystemCall&, uint64_t result, EffectSink);

// The kernel made the pages present.
void tell_touch(uint64_t start, uint64_t bytes, bool writes, EffectSink sink);
// The kernel read or wrote the bytes.
void tell_access(uint64_t start, uint64_t bytes, bool writes, EffectSink sink);

}  // namespace numascape
