// SPDX-License-Identifier: Apache-2.0
#include "call_stack_log.h"

#include "os.h"
#include "private_memory.h"

namespace numascape {
namespace {

constexpr size_t kScannedWords = 96;
constexpr size_t kWrittenBytes = 8192;
constexpr size_t kCopiedBytes = 4096;  // on the current stack, which may be the program's
constexpr uint32_t kSeenEntries = 1 << 20;
constexpr uint32_t kPlaces = 1 << 14;
constexpr uint16_t kCopiesPerPlace = 256;
constexpr uint32_t kSteps = 1024;  // more than frames: recursive calls count as one frame
// Set in the key of a rule for the address of the called function. The same address may also be a
// return address: that of a call that is the last instruction of the previous function.
constexpr uint64_t kItself = uint64_t{1} << 63;

// Limits how many functions of a call stack are distinguished. The limit falls as the number of
// known stacks grows: of_place counts those of one place, in_all counts all. The innermost
// kFramesOfPlace functions are the place, because many programs allocate through one function.
constexpr uint32_t kFramesOfPlace = 4;
struct Limit {
    uint16_t of_place;
    uint32_t in_all;
    uint32_t frames;
};
constexpr Limit kFewer[] = {{2048, 1 << 19, kFramesOfPlace}, {512, 1 << 18, 12}};

uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

}  // namespace

// The words of a stack from its stack pointer upwards: in place where the recorder knows the stack,
// otherwise a copy.
class CallStackLog::StackWords {
  public:
    StackWords(const ThreadRecorder& recorder, uint64_t start, HijackedWord hijacked)
        : start_(start), hijacked_(hijacked) {
        if (start >= recorder.stack_start && start < recorder.stack_end) {
            words_ = reinterpret_cast<const uint64_t*>(start);
            count_ = (recorder.stack_end - start) / sizeof(uint64_t);
        } else {
            count_ = os::read_memory(start, copy_, sizeof copy_) / sizeof(uint64_t);
            words_ = copy_;
        }
    }
    uint64_t start() const { return start_; }
    size_t count() const { return count_; }
    uint64_t word(size_t index) const { return own(words_[index]); }
    bool operator()(uint64_t address, uint64_t& to) const {
        const uint64_t index = (address - start_) / sizeof(uint64_t);
        if (address < start_ || index >= count_ || (address - start_) % sizeof(uint64_t) != 0) {
            return false;
        }
        to = word(index);
        return true;
    }
    // Copies words from this address on, as far as memory can be read: the mapping may continue
    // behind the stack, and the program may protect it there. Returns how many words.
    size_t copy(uint64_t address, uint64_t* to, size_t most) const {
        const uint64_t index = (address - start_) / sizeof(uint64_t);
        const size_t left = address < start_ || index >= count_ ? 0 : count_ - index;
        const size_t bytes = (left < most ? left : most) * sizeof(uint64_t);
        const size_t words = os::read_memory(address, to, bytes) / sizeof(uint64_t);
        for (size_t i = 0; i < words; ++i) {
            to[i] = own(to[i]);
        }
        return words;
    }

  private:
    uint64_t own(uint64_t word) const {
        return hijacked_.word != 0 && word == hijacked_.word ? hijacked_.original : word;
    }

    const uint64_t start_;
    const HijackedWord hijacked_;
    const uint64_t* words_;
    size_t count_;
    uint64_t copy_[kCopiedBytes / sizeof(uint64_t)];
};

bool CallStackLog::open() {
    code_pages_ = map_private<std::atomic<uint8_t>>(kWindowPages);
    seen_ = map_private<std::atomic<uint64_t>>(kSeenEntries * sizeof *seen_);
    place_stacks_ = map_private<std::atomic<uint16_t>>(kPlaces * sizeof *place_stacks_);
    return code_pages_ != nullptr && seen_ != nullptr && place_stacks_ != nullptr && rules_.open();
}

void CallStackLog::close() {
    os::unmap(code_pages_, kWindowPages);
    os::unmap(seen_, kSeenEntries * sizeof *seen_);
    os::unmap(place_stacks_, kPlaces * sizeof *place_stacks_);
    rules_.close();
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

// True if `id` is new. False also if the table is full: the identifier then has no record.
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
    shard_.set_flag(kShardStacksCut);
    return false;
}

void CallStackLog::write_frames(ThreadRecorder& recorder, uint64_t id, const Walk& walked) {
    const size_t bytes = walked.frames * sizeof walked.addresses[0];
    auto* record = static_cast<CallFramesRecord*>(shard_.append(
        recorder, RecordType::kCallFrames, recorder.thread, sizeof(CallFramesRecord) + bytes));
    record->stack_id = id;
    record->frames = walked.frames;
    __builtin_memcpy(record + 1, walked.addresses, bytes);
    shard_.commit(recorder, record);
}

void CallStackLog::write_python(ThreadRecorder& recorder, uint64_t id,
                                const PythonFrame (&found)[PythonFrames::kMax], uint32_t frames) {
    PythonFrameEntry entries[PythonFrames::kMax];
    uint32_t count = 0;
    for (uint32_t i = 0; i < frames; ++i) {
        const uint64_t code = write_python_code(recorder, found[i].code);
        if (code != 0) {
            entries[count++] = {code, found[i].offset};
        }
    }
    if (count == 0) {
        return;
    }
    const size_t bytes = count * sizeof entries[0];
    auto* record = static_cast<PythonFramesRecord*>(shard_.append(
        recorder, RecordType::kPythonFrames, recorder.thread, sizeof(PythonFramesRecord) + bytes));
    record->stack_id = id;
    record->frames = count;
    __builtin_memcpy(record + 1, entries, bytes);
    shard_.commit(recorder, record);
}

// Returns what identifies the code object; 0 if there is none.
uint64_t CallStackLog::write_python_code(ThreadRecorder& recorder, uint64_t code) {
    PythonCode found;
    if (!python_.describe(code, found)) {
        return 0;
    }
    // Another code object may have been at this address before.
    const uint64_t id =
        mix(mix(mix(code, found.lines.address), found.function.address), found.first_line) | 1;
    if (!remember(id)) {
        return id;
    }
    auto* record = static_cast<PythonCodeRecord*>(
        shard_.append(recorder, RecordType::kPythonCode, recorder.thread,
                      sizeof(PythonCodeRecord) + found.bytes()));
    record->code = id;
    record->first_line = found.first_line;
    record->version = found.version;
    record->file_width = static_cast<uint8_t>(found.file.width);
    record->function_width = static_cast<uint8_t>(found.function.width);
    record->file_bytes = found.file.bytes;
    record->function_bytes = found.function.bytes;
    record->line_bytes = found.lines.bytes;
    found.copy(record + 1);
    shard_.commit(recorder, record);
    return id;
}

void CallStackLog::write_copy(ThreadRecorder& recorder, const ProgramRegisters& from, uint64_t pc,
                              const StackWords& stack, uint64_t id) {
    constexpr size_t kMax = kWrittenBytes / sizeof(uint64_t);
    const size_t count = stack.count() < kMax ? stack.count() : kMax;
    const size_t bytes = count * sizeof(uint64_t);
    auto* record = static_cast<CallStackRecord*>(shard_.append(
        recorder, RecordType::kCallStack, recorder.thread, sizeof(CallStackRecord) + bytes));
    record->stack_id = id;
    to_dwarf_order(from, stack.start(), pc, record->registers);
    record->bytes = stack.copy(stack.start(), reinterpret_cast<uint64_t*>(record + 1), count) *
                    sizeof(uint64_t);
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

uint32_t CallStackLog::frames_wanted(uint64_t place) const {
    const uint16_t known = place_stacks_[place % kPlaces].load(std::memory_order_relaxed);
    const uint32_t all = stacks_.load(std::memory_order_relaxed);
    for (const Limit& limit : kFewer) {
        if (known >= limit.of_place || all >= limit.in_all) {
            shard_.set_flag(kShardStacksCut);
            return limit.frames;
        }
    }
    return kMaxFrames;
}

// `frame` must be in the called function, not in its caller.
void CallStackLog::walk(const StackWords& stack, CallFrame frame, Walk& found) {
    CallFrameRule rule = rules_.at(frame.pc, told_apart(frame.pc) | kItself);
    if (rule.frame_address == FrameAddress::kUnknown) {
        rule = kAtFunctionStart;
    }
    found.id = found.place = frame.pc;
    for (uint32_t steps = 0; found.frames < found.wanted && steps < kSteps; ++steps) {
        const Step step = step_to_caller(rule, frame, stack);
        found.stack_pointer = frame.stack_pointer;
        if (step == Step::kOutermost) {
            return;
        }
        if (step == Step::kUnknown || !is_code(frame.pc)) {
            found.complete = false;
            return;
        }
        const uint64_t key = told_apart(frame.pc);
        if (found.frames == 0 || found.addresses[found.frames - 1] != frame.pc) {
            found.addresses[found.frames++] = frame.pc;
            found.id = mix(found.id, key);
            if (found.frames <= kFramesOfPlace) {
                found.place = found.id;
            }
            if (found.frames == kFramesOfPlace) {
                found.wanted = frames_wanted(found.place);
            }
        }
        rule = rules_.at(frame.pc - 1, key);  // -1: the call instruction, not the next one
    }
}

uint64_t CallStackLog::mix_code_words(const StackWords& stack, const Walk& walked) const {
    uint64_t id = walked.id;
    uint64_t words[kScannedWords];
    const size_t count = stack.copy(walked.stack_pointer, words, kScannedWords);
    for (size_t i = 0; i < count; ++i) {
        if (is_code(words[i])) {
            id = mix(id, told_apart(words[i]));
        }
    }
    return id;
}

uint64_t CallStackLog::identify(ThreadRecorder& recorder, const ProgramRegisters& registers,
                                uint64_t pc, uint64_t stack_pointer, uint64_t bytes,
                                HijackedWord hijacked) {
    if (!shard_.makes_calls()) {
        return 0;
    }
    const StackWords stack(recorder, stack_pointer, hijacked);
    Walk walked;
    walked.stack_pointer = stack_pointer;
    walk(stack, {pc, stack_pointer, frame_pointer(registers)}, walked);
    std::atomic<uint16_t>& stacks = place_stacks_[walked.place % kPlaces];
    uint64_t id = walked.id;
    if (!walked.complete) {
        if (stacks.load(std::memory_order_relaxed) < kCopiesPerPlace) {
            id = mix_code_words(stack, walked);
        } else {
            shard_.set_flag(kShardStacksCut);
        }
    }
    PythonFrame python[PythonFrames::kMax];
    const uint32_t python_frames =
        bytes < kPageBytes
            ? 0
            : python_.walk(recorder.os_tid, recorder.python_state, walked.wanted, python);
    for (uint32_t i = 0; i < python_frames; ++i) {
        id = mix(mix(id, python[i].code), python[i].offset);
    }
    id |= 1;  // 0 means none
    if (remember(id)) {
        write_python(recorder, id, python, python_frames);
        if (stacks.load(std::memory_order_relaxed) < kFewer[0].of_place) {
            stacks.fetch_add(1, std::memory_order_relaxed);
        }
        stacks_.fetch_add(1, std::memory_order_relaxed);
        if (walked.complete) {
            write_frames(recorder, id, walked);
        } else {
            write_copy(recorder, registers, pc, stack, id);
        }
    }
    return id;
}

uint64_t CallStackLog::frame_address(uint64_t pc, uint64_t stack_pointer, uint64_t frame_pointer) {
    const auto read_word = [](uint64_t address, uint64_t& to) {
        return os::read_memory(address, &to, sizeof to) == sizeof to;
    };
    CallFrame frame{pc, stack_pointer, frame_pointer};
    const CallFrameRule rule = rules_.at(pc, told_apart(pc) | kItself);
    return step_to_caller(rule, frame, read_word) == Step::kCaller ? frame.stack_pointer : 0;
}

}  // namespace numascape
