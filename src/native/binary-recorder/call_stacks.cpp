// SPDX-License-Identifier: Apache-2.0
//
// Call stacks of allocations. Nothing is unwound here: the registers and the top of the stack are
// copied once per distinct stack, and unwound with the modules' call frame information when the
// shard is converted. Two stacks are taken for the same when the code addresses found in their
// innermost words are the same; stale words only make one stack appear under several identifiers.
#include <atomic>

#include "dr_api.h"
#include "os.h"
#include "phases.h"
#include "recorder.h"

namespace numascape {
namespace {

constexpr size_t kScannedWords = 96;
constexpr size_t kCopiedBytes = 8192;
constexpr uint32_t kSeenEntries = 1 << 20;
constexpr uint32_t kCallers = 1 << 14;
constexpr uint16_t kStacksPerCaller = 256;

std::atomic<uint8_t>* code_pages;      // by window page: holds code
std::atomic<uint64_t>* seen;           // identifiers written already; open addressing
std::atomic<uint16_t>* caller_stacks;  // distinct stacks by hash of the return address

bool is_code(uint64_t value) {
    return value >= kPageBytes && value < uint64_t{1} << 47 &&
           code_pages[window_page(value)].load(std::memory_order_relaxed) != 0;
}

uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

// True when `id` was not there before. A full table says "seen": the stack stays unnamed.
bool remember(uint64_t id) {
    uint32_t at = static_cast<uint32_t>(id % kSeenEntries);
    for (uint32_t tries = 0; tries < 64; ++tries, at = (at + 1) % kSeenEntries) {
        uint64_t expected = 0;
        if (seen[at].compare_exchange_strong(expected, id)) {
            return true;
        }
        if (expected == id) {
            return false;
        }
    }
    return false;
}

size_t readable_words(const ThreadRecorder& recorder, uint64_t stack_pointer, size_t most) {
    if (stack_pointer >= recorder.stack_start && stack_pointer < recorder.stack_end) {
        const size_t left = (recorder.stack_end - stack_pointer) / 8;
        return left < most ? left : most;
    }
    return 0;
}

void write_call_stack(ThreadRecorder& recorder, const ProgramRegisters& from, uint64_t pc,
                      uint64_t stack_pointer, uint64_t id) {
    char copy[kCopiedBytes];
    const size_t known = readable_words(recorder, stack_pointer, kCopiedBytes / 8) * 8;
    const size_t bytes = os::read_memory(stack_pointer, copy, known != 0 ? known : kCopiedBytes);
    auto* record = static_cast<CallStackRecord*>(shard.append(
        recorder, RecordType::kCallStack, recorder.thread, sizeof(CallStackRecord) + bytes));
    record->stack_id = id;
    const uint64_t registers[17] = {from.rax, from.rdx,      from.rcx, from.rbx, from.rsi, from.rdi,
                                    from.rbp, stack_pointer, from.r8,  from.r9,  from.r10, from.r11,
                                    from.r12, from.r13,      from.r14, from.r15, pc};
    for (int i = 0; i < 17; ++i) {
        record->registers[i] = registers[i];
    }
    record->bytes = bytes;
    auto* words = reinterpret_cast<uint64_t*>(record + 1);
    __builtin_memcpy(words, copy, bytes);
    for (size_t i = 0; i < bytes / 8; ++i) {
        words[i] = words[i] == region_return_stub() ? region_return_address() : words[i];
    }
    shard.commit(recorder, record);
}

}  // namespace

void call_stacks_init() {
    code_pages = static_cast<std::atomic<uint8_t>*>(os::map_sparse(kWindowPages));
    seen = static_cast<std::atomic<uint64_t>*>(os::map_sparse(kSeenEntries * sizeof *seen));
    caller_stacks =
        static_cast<std::atomic<uint16_t>*>(os::map_sparse(kCallers * sizeof *caller_stacks));
    DR_ASSERT(!os::failed(code_pages) && !os::failed(seen) && !os::failed(caller_stacks));
}

void call_stacks_add_code(uint64_t start, uint64_t end, bool present) {
    for (uint64_t at = start & ~(kPageBytes - 1); at < end; at += kPageBytes) {
        code_pages[window_page(at)].store(present ? 1 : 0, std::memory_order_relaxed);
    }
}

uint64_t call_stack(ThreadRecorder& recorder, const ProgramRegisters& registers, uint64_t pc,
                    uint64_t stack_pointer) {
    uint64_t copy[kScannedWords];
    const auto* words = reinterpret_cast<const uint64_t*>(stack_pointer);
    size_t count = readable_words(recorder, stack_pointer, kScannedWords);
    if (count == 0) {
        count = os::read_memory(stack_pointer, copy, sizeof copy) / 8;
        words = copy;
    }
    const uint64_t start = mix(pc, count > 0 ? words[0] : uint64_t{0});
    uint64_t id = start;
    for (size_t i = 1; i < count; ++i) {
        const uint64_t word = words[i] == region_return_stub() ? region_return_address() : words[i];
        if (is_code(word)) {
            id = mix(id, word);
        }
    }
    std::atomic<uint16_t>& stacks = caller_stacks[start % kCallers];
    if (stacks.load(std::memory_order_relaxed) >= kStacksPerCaller) {
        id = start;
    }
    id |= 1;  // 0 means none
    if (remember(id)) {
        stacks.fetch_add(1, std::memory_order_relaxed);
        write_call_stack(recorder, registers, pc, stack_pointer, id);
    }
    return id;
}

}  // namespace numascape
