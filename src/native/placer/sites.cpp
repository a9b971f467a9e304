// SPDX-License-Identifier: Apache-2.0
#include "sites.h"

#include <atomic>

#include <unwind.h>

#include "held_signals.h"
#include "resolver.h"

// Where the linker puts this library.
extern "C" {
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));
}

namespace numascape::placer {
namespace {

constexpr std::size_t kDeepest = 64;  // the recorder walks this far, too
constexpr std::uint64_t kEndOfStack = 0x9ddfea08eb382d69u;

// The known call stacks, by a hash of the innermost addresses that determine the rule. A word has
// the upper bits of the hash and the rule + 1, or kUnplaced.
constexpr std::size_t kWords = 1u << 16;
constexpr std::uint64_t kRuleBits = 0x3fff;
constexpr std::uint64_t kUnplaced = kRuleBits;
static_assert(kMaxRules + 1 < kUnplaced);
std::atomic<std::uint64_t> known[kWords];
std::atomic<std::size_t> known_count{0};

std::uint64_t mix(std::uint64_t hash, std::uint64_t address) {
    hash = (hash ^ address) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

std::uint64_t find(std::uint64_t hash) {
    for (std::size_t i = 0; i < 16; ++i) {
        const std::uint64_t word = known[(hash + i * 0x1001) % kWords].load();
        if (word == 0) return 0;
        if ((word ^ hash) <= kRuleBits) return word & kRuleBits;
    }
    return 0;
}

void remember(std::uint64_t hash, std::uint64_t answer) {
    if (known_count.fetch_add(1) > kWords / 2) {  // forgotten call stacks are asked about again
        for (auto& word : known) word.store(0);
        known_count.store(0);
    }
    for (std::size_t i = 0; i < 16; ++i) {
        std::uint64_t empty = 0;
        if (known[(hash + i * 0x1001) % kWords].compare_exchange_strong(
                empty, (hash & ~kRuleBits) | answer)) {
            return;
        }
    }
}

struct CallStack {
    std::uint64_t addresses[kDeepest];
    std::uint64_t hashes[kDeepest];
    std::size_t count;
    std::uint64_t start;   // of the kind of allocation, and the Python functions
    std::uint64_t answer;  // found on the way
    std::uint64_t whole;   // hash of all of it
    PythonFrame python[PythonFrames::kMax];
    std::uint32_t python_count;
};

bool is_own(std::uint64_t address) {
    return address >= reinterpret_cast<std::uint64_t>(&__ehdr_start) &&
           address < reinterpret_cast<std::uint64_t>(&_end);
}

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
    auto& stack = *static_cast<CallStack*>(argument);
    const std::uint64_t address = _Unwind_GetIP(context);
    if (address == 0) return _URC_END_OF_STACK;
    if (stack.count == 0 && is_own(address)) return _URC_NO_REASON;
    const std::uint64_t before = stack.count == 0 ? stack.start : stack.hashes[stack.count - 1];
    stack.addresses[stack.count] = address;
    stack.hashes[stack.count] = mix(before, address);
    stack.answer = find(stack.hashes[stack.count]);
    ++stack.count;
    return stack.answer != 0 || stack.count == kDeepest ? _URC_END_OF_STACK : _URC_NO_REASON;
}

// Walks the stack of the calling thread, until the answer is known.
void find_stack(CallStack& stack, bool is_mapping) {
    stack.count = 0;
    stack.answer = 0;
    stack.start = is_mapping ? 1 : 2;
    stack.python_count = is_mapping ? 0 : python_functions(stack.python);
    for (std::uint32_t i = 0; i < stack.python_count; ++i) {
        stack.start = mix(mix(stack.start, stack.python[i].code), stack.python[i].offset);
    }
    _Unwind_Backtrace(add_frame, &stack);
    if (stack.count == 0) return;
    stack.whole = mix(stack.hashes[stack.count - 1], kEndOfStack);
    if (stack.answer == 0) stack.answer = find(stack.whole);
}

// Without a reply, the block is not placed. The call stack is asked about again only if the reply
// may come later.
void ask_about(const Plan& plan, CallStack& stack, bool is_mapping, bool& unanswered) {
    const os::HeldSignals held;  // a handler may fork: its child would wait for the same answer
    StackAnswer answer{kNone, 0};
    const AskedStack asked{stack.addresses, stack.count, stack.python, stack.python_count,
                           is_mapping};
    const Reply reply = ask_stack(plan, asked, answer);
    unanswered = reply == Reply::kNone;
    if (reply != Reply::kAnswer) answer = {kNone, 0};
    stack.answer = answer.rule == kNone ? kUnplaced : answer.rule + 1;
    if (reply == Reply::kLater) return;
    const bool is_part = answer.depth > 0 && answer.depth <= stack.count;
    remember(is_part ? stack.hashes[answer.depth - 1] : stack.whole, stack.answer);
}

}  // namespace

std::uint32_t rule_of_caller(const Plan& plan, bool is_mapping, bool& unanswered) {
    CallStack stack;
    find_stack(stack, is_mapping);
    // An unknown stack takes long anyway, so this is the time to look whether Python has been
    // loaded.
    if (stack.answer == 0 && !is_mapping && found_python()) find_stack(stack, is_mapping);
    if (stack.count == 0) return kNone;
    if (stack.answer == 0) ask_about(plan, stack, is_mapping, unanswered);
    return stack.answer == kUnplaced ? kNone : static_cast<std::uint32_t>(stack.answer - 1);
}

}  // namespace numascape::placer
