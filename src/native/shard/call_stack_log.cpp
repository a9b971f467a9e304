// SPDX-License-Identifier: Apache-2.0
#include "call_stack_log.h"

#include "os.h"
#include "private_memory.h"

namespace numascape {
namespace {

constexpr size_t kScannedWords = 96;
constexpr size_t kCopiedBytes = 8192;
constexpr uint32_t kSeenEntries = 1 << 20;
constexpr uint32_t kCallers = 1 << 14;
constexpr uint16_t kStacksPerCaller = 256;

uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

size_t readable_words(const ThreadRecorder& recorder, uint64_t stack_pointer, size_t most) {
    if (stack_pointer >= recorder.stack_start && stack_pointer < recorder.stack_end) {
        const size_t left = (recorder.stack_end - stack_pointer) / 8;
        return left < most ? left : most;
    }
    return 0;
}

}  // namespace

bool CallStackLog::open() {
    code_pages_ = map_private<std::atomic<uint8_t>>(kWindowPages);
    seen_ = map_private<std::atomic<uint64_t>>(kSeenEntries * sizeof *seen_);
    caller_stacks_ = map_private<std::atomic<uint16_t>>(kCallers * sizeof *caller_stacks_);
    return code_pages_ != nullptr && seen_ != nullptr && caller_stacks_ != nullptr;
}

void CallStackLog::close() {
    os::unmap(code_pages_, kWindowPages);
    os::unmap(seen_, kSeenEntries * sizeof *seen_);
    os::unmap(caller_stacks_, kCallers * sizeof *caller_stacks_);
}

bool CallStackLog::is_code(uint64_t value) const {
    const bool within =
        value - spans_[0].start < spans_[0].bytes || value - spans_[1].start < spans_[1].bytes;
    return within && (code_pages_[window_page(value)].load(std::memory_order_relaxed) & 1) != 0;
}

// Another module may be loaded at the addresses of an unloaded one, with other code.
uint64_t CallStackLog::told_apart(uint64_t code) const {
    const uint64_t loads = code_pages_[window_page(code)].load(std::memory_order_relaxed) >> 1;
    return code ^ loads << 56;
}

// True if `id` is new. A full table returns false, so the stack has no name.
bool CallStackLog::remember(uint64_t id) {
    uint32_t at = static_cast<uint32_t>(id % kSeenEntries);
    for (uint32_t tries = 0; tries < 64; ++tries, at = (at + 1) % kSeenEntries) {
        uint64_t expected = 0;
        if (seen_[at].compare_exchange_strong(expected, id)) {
            return true;
        }
        if (expected == id) {
            return false;
        }
    }
    return false;
}

void CallStackLog::write(ThreadRecorder& recorder, const ProgramRegisters& from, uint64_t pc,
                         uint64_t stack_pointer, uint64_t id, uint64_t exchanged,
                         uint64_t original) {
    char copy[kCopiedBytes];
    const size_t known = readable_words(recorder, stack_pointer, kCopiedBytes / 8) * 8;
    const size_t bytes = os::read_memory(stack_pointer, copy, known != 0 ? known : kCopiedBytes);
    auto* record = static_cast<CallStackRecord*>(shard_.append(
        recorder, RecordType::kCallStack, recorder.thread, sizeof(CallStackRecord) + bytes));
    record->stack_id = id;
    to_dwarf_order(from, stack_pointer, pc, record->registers);
    record->bytes = bytes;
    auto* words = reinterpret_cast<uint64_t*>(record + 1);
    __builtin_memcpy(words, copy, bytes);
    for (size_t i = 0; exchanged != 0 && i < bytes / 8; ++i) {
        words[i] = words[i] == exchanged ? original : words[i];
    }
    shard_.commit(recorder, record);
}

void CallStackLog::add_code(uint64_t start, uint64_t end, bool present) {
    Span& span = spans_[start < kLibraries ? 0 : 1];
    const uint64_t last = span.bytes == 0 ? end : span.start + span.bytes;
    span.start = start < span.start ? start : span.start;
    span.bytes = (end > last ? end : last) - span.start;
    for (uint64_t at = start & ~(kPageBytes - 1); at < end; at += kPageBytes) {
        std::atomic<uint8_t>& page = code_pages_[window_page(at)];
        const uint8_t before = page.load(std::memory_order_relaxed);
        if (present != ((before & 1) != 0)) {
            page.store(static_cast<uint8_t>(before + 1), std::memory_order_relaxed);
        }
    }
}

uint64_t CallStackLog::identify(ThreadRecorder& recorder, const ProgramRegisters& registers,
                                uint64_t pc, uint64_t stack_pointer, uint64_t exchanged,
                                uint64_t original) {
    uint64_t copy[kScannedWords];
    const auto* words = reinterpret_cast<const uint64_t*>(stack_pointer);
    size_t count = readable_words(recorder, stack_pointer, kScannedWords);
    if (count == 0) {
        count = os::read_memory(stack_pointer, copy, sizeof copy) / 8;
        words = copy;
    }
    const uint64_t caller = count > 0 ? words[0] : 0;
    const uint64_t start = mix(pc, is_code(caller) ? told_apart(caller) : caller);
    uint64_t id = start;
    for (size_t i = 1; i < count; ++i) {
        const uint64_t word = exchanged != 0 && words[i] == exchanged ? original : words[i];
        if (is_code(word)) {
            id = mix(id, told_apart(word));
        }
    }
    std::atomic<uint16_t>& stacks = caller_stacks_[start % kCallers];
    if (stacks.load(std::memory_order_relaxed) >= kStacksPerCaller) {
        id = start;
    }
    id |= 1;  // 0 means none
    if (remember(id)) {
        stacks.fetch_add(1, std::memory_order_relaxed);
        write(recorder, registers, pc, stack_pointer, id, exchanged, original);
    }
    return id;
}

}  // namespace numascape
